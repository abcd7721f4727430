//! Merges the keys of a filter in memory into one on a server, shard by shard with OR.

use super::bulk::{group, merge};
use super::handle::Handle;
use super::resolve::Look;
use crate::Error;
use mayhap::native::body_bytes;
use mayhap::{AnyFilter, Block};
use std::sync::Arc;

/// A union in progress: [`super::NativeFilter::union`].
#[derive(Debug)]
pub struct Union<'a> {
    handle: Arc<Handle>,
    blocks: &'a [Block],
    generation: i64,
    /// Shards that are merged.
    done: usize,
    /// The losses before the first one, and how often it began again because of later ones.
    losses: u64,
    restarts: u32,
}

/// A union begins again this often when masters are lost that may take what they acknowledged.
const RESTARTS: u32 = 10;

impl<'a> Union<'a> {
    /// Checks that the parameters of both are the same.
    pub(super) fn new<S: AsRef<[Block]>>(
        handle: &Arc<Handle>,
        other: &'a AnyFilter<S>,
    ) -> Result<Self, Error> {
        let (meta, function) = (&handle.current().made.meta, handle.digest_function);
        let params = meta.params;
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
                let name = handle.name.clone();
                return Err(Error::Exists { name, parameter, has, wanted });
            }
        }
        let (handle, generation) = (handle.clone(), meta.generation);
        let losses = handle.server.losses();
        Ok(Self { handle, blocks: other.blocks(), generation, done: 0, losses, restarts: 0 })
    }

    /// Merges the next shards, at most 8 MiB or one; returns the number of bytes done, or `None` if
    /// all are. It begins again if a master was lost meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the filter no longer exists; [`Error::Switched`] if it was switched to
    /// another one: start over. [`Error::Broken`] if masters are lost again and again.
    /// [`Error::ServerFull`], [`Error::WrongType`], and connection errors: call again.
    pub async fn next(&mut self) -> Result<Option<u64>, Error> {
        let Self { handle, blocks, .. } = self;
        let until = handle.until_switched();
        loop {
            let current = handle.current();
            let made = &current.made;
            if made.meta.generation != self.generation {
                return Err(handle.switched());
            }
            if self.done == made.keys.len() {
                if !made.has_lost(&handle.server, self.losses) {
                    return Ok(None);
                }
                if self.restarts == RESTARTS {
                    return Err(handle.server.broken("the union"));
                }
                self.losses = handle.server.losses();
                (self.done, self.restarts) = (0, self.restarts + 1);
            }
            let group = group(made, &mut (self.done..made.keys.len()).peekable());
            let bits = |shard| {
                let (first, count) = made.meta.cut.blocks_of(shard);
                body_bytes(&blocks[first as usize..(first + count) as usize])
            };
            let bad = merge(&handle.server, made, &group, bits).await?;
            if bad.is_empty() {
                self.done += group.len();
                let (first, count) = made.meta.cut.blocks_of(self.done - 1);
                return Ok(Some((first + count) * Block::BYTES as u64));
            }
            handle.resolve(&current, &bad, Look::WRITE, until).await?;
        }
    }
}
