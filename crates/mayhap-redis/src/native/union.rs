//! Merges the keys of a filter in memory into one on a server, shard by shard with OR.

use super::bulk::{BYTES_AT_ONCE, MERGE};
use super::filter::NativeFilter;
use super::resolve::Look;
use super::round::Trailer;
use super::wire::{eval, value_of, word};
use crate::Error;
use mayhap::native::body_bytes;
use mayhap::{AnyFilter, Block};
use std::time::Instant;

/// A union in progress: [`NativeFilter::union`].
#[derive(Debug)]
pub struct Union<'a> {
    filter: NativeFilter,
    blocks: &'a [Block],
    generation: i64,
    /// Shards that are merged.
    done: usize,
}

impl NativeFilter {
    /// Begins to add all keys of another filter, a shard at a time.
    ///
    /// Each shard is merged atomically; an unfinished union leaves some of the keys.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] with the first parameter in which the two differ: layout, m, k or digest.
    pub fn union<'a, S: AsRef<[Block]>>(
        &self,
        other: &'a AnyFilter<S>,
    ) -> Result<Union<'a>, Error> {
        let (params, function) = (self.params(), self.digest_function());
        let (theirs, their_function) = (other.params(), other.digest_function());
        let all = [
            ("layout", params.layout().to_string(), theirs.layout().to_string()),
            ("num_bits", params.num_bits().to_string(), theirs.num_bits().to_string()),
            ("num_hashes", params.num_hashes().to_string(), theirs.num_hashes().to_string()),
            ("digest function", function.id().to_string(), their_function.id().to_string()),
            (
                "digest seed or key",
                function.parameter().to_string(),
                their_function.parameter().to_string(),
            ),
        ];
        for (parameter, has, wanted) in all {
            if has != wanted {
                let name = self.inner.name.clone();
                return Err(Error::Exists { name, parameter, has, wanted });
            }
        }
        let generation = self.current().made.meta.generation;
        Ok(Union { filter: self.clone(), blocks: other.blocks(), generation, done: 0 })
    }
}

impl Union<'_> {
    /// Merges the next shards, at most 8 MiB or one; returns the number of bytes done, or `None` if
    /// all are.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the filter no longer exists; [`Error::Switched`] if it was switched to
    /// another one: start over. [`Error::ServerFull`], [`Error::WrongType`], and those of the
    /// connection: call again.
    pub async fn next(&mut self) -> Result<Option<u64>, Error> {
        let inner = &self.filter.inner;
        let until = Instant::now() + inner.server.options().deadline;
        loop {
            let current = self.filter.current();
            let made = &current.made;
            if made.meta.generation != self.generation {
                return Err(Error::Switched { name: inner.name.clone() });
            }
            if self.done == made.keys.len() {
                return Ok(None);
            }
            let mut bytes = 0;
            let group = (self.done..made.keys.len()).take_while(|&shard| {
                bytes += made.meta.cut.body_bytes(shard);
                shard == self.done || bytes <= BYTES_AT_ONCE
            });
            let group: Vec<usize> = group.collect();
            let commands = group.iter().map(|&shard| {
                let key = &made.keys[shard].0;
                let (start, end) = made.trailer_range(shard);
                let (first, count) = made.meta.cut.blocks_of(shard);
                let blocks = &self.blocks[first as usize..(first + count) as usize];
                let mut merge = eval(MERGE, &[key, &format!("{key}:or")]);
                merge.arg(start).arg(end).arg(&made.own_trailer());
                merge.arg(&*body_bytes(blocks));
                made.write(shard, merge)
            });
            let replies = inner.server.run(commands.collect()).await?;
            let mut bad: Vec<(usize, Trailer)> = Vec::new();
            for (&shard, reply) in group.iter().zip(replies) {
                let value = value_of(reply, &made.keys[shard].0, "to merge a shard")?;
                if word(&value) != "ok" {
                    bad.push((shard, made.trailer_of(&value)));
                }
            }
            if bad.is_empty() {
                self.done += group.len();
                let (first, count) = made.meta.cut.blocks_of(self.done - 1);
                return Ok(Some((first + count) * Block::BYTES as u64));
            }
            let look = Look { is_query: false, from_replica: false };
            self.filter.resolve(&current, &bad, look, until).await?;
        }
    }
}
