//! Large batches: shards are built here and merged on the server.

use super::filter::NativeFilter;
use super::generation::Generation;
use super::resolve::Look;
use super::round::Trailer;
use super::wire::{bytes, eval, value_of, word};
use crate::Error;
use mayhap::Digest;
use std::ops::Range;
use std::time::Instant;

/// The bytes of shards in flight at once; at least one shard.
pub(super) const BYTES_AT_ONCE: u64 = 8 << 20;

/// Keys: the shard, a name for the bits. Arguments: the position of the trailer, the generation,
/// the bits. `BITOP` creates a new value without the expiry of the old one. Servers before 7.0 do
/// not report the time of expiry, and time passes during their scripts: there the shard may expire
/// a millisecond later.
pub(super) const MERGE: &str = "\
local t = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
if t ~= ARGV[3] then return t end
local at = redis.pcall('PEXPIRETIME', KEYS[1])
local ttl = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[4], 'PX', 60000)
redis.call('BITOP', 'OR', KEYS[1], KEYS[1], KEYS[2])
if type(at) == 'number' then
if at >= 0 then redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', at)) end
elseif ttl >= 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
redis.call('UNLINK', KEYS[2])
return 'ok'";

impl NativeFilter {
    /// Inserts a large number of keys that are already digests, without reporting which are new.
    ///
    /// The bits are put into shards here and merged on the server, by one script per shard with
    /// `BITOP OR`: the traffic is the size of the shards that have keys, whatever the number of
    /// keys. That is less than [`NativeFilter::insert_digests`] sends if there is more than about
    /// one key per 400 bytes of shards (`docs/redis.md`). A shard is merged atomically. At most 8
    /// MiB of shards, or one, are in flight at once, and in memory four times; they have to arrive
    /// within [`crate::ServerOptions::response_timeout`].
    ///
    /// # Errors
    ///
    /// As [`NativeFilter::insert_digests`]; any of the keys may be in it then.
    pub async fn insert_bulk(&self, digests: &[Digest]) -> Result<(), Error> {
        let until = Instant::now() + self.inner.server.options().deadline;
        let current = self.current();
        let mut left = self.merge(&current.made, digests).await?;
        let mut current = current;
        while !left.is_empty() {
            let bad: Vec<(usize, Trailer)> =
                left.iter().map(|&(shard, trailer, _)| (shard, trailer)).collect();
            let look = Look { is_query: false, from_replica: false };
            self.resolve(&current, &bad, look, until).await?;
            let again: Vec<Digest> = left.into_iter().flat_map(|(_, _, digests)| digests).collect();
            current = self.current();
            left = self.merge(&current.made, &again).await?;
        }
        Ok(())
    }

    /// Merges all shards, and returns those that are missing or fenced, with their digests.
    async fn merge(
        &self,
        made: &Generation,
        digests: &[Digest],
    ) -> Result<Vec<(usize, Trailer, Vec<Digest>)>, Error> {
        let (sorted, ranges) = by_shard(made, digests);
        let mut left = Vec::new();
        let mut shards = (0..ranges.len()).filter(|&shard| !ranges[shard].is_empty()).peekable();
        while shards.peek().is_some() {
            let mut bytes_left = BYTES_AT_ONCE;
            let mut group = Vec::new();
            while let Some(shard) = shards
                .next_if(|&shard| group.is_empty() || made.meta.cut.body_bytes(shard) <= bytes_left)
            {
                bytes_left = bytes_left.saturating_sub(made.meta.cut.body_bytes(shard));
                group.push(shard);
            }
            let commands = group.iter().map(|&shard| {
                let key = &made.keys[shard].0;
                let (start, end) = made.trailer_range(shard);
                let mut merge = eval(MERGE, &[key, &format!("{key}:or")]);
                merge.arg(start).arg(end).arg(&made.own_trailer());
                merge.arg(build(made, shard, &sorted[ranges[shard].clone()]));
                made.write(shard, merge)
            });
            let replies = self.inner.server.run(commands.collect()).await?;
            for (&shard, reply) in group.iter().zip(replies) {
                let value = value_of(reply, &made.keys[shard].0, "to merge a shard")?;
                if word(&value) != "ok" {
                    debug_assert!(bytes(&value).is_some());
                    let digests = sorted[ranges[shard].clone()].to_vec();
                    left.push((shard, made.trailer_of(&value), digests));
                }
            }
        }
        Ok(left)
    }
}

/// The digests in the order of their shards, and the range of each shard.
fn by_shard(made: &Generation, digests: &[Digest]) -> (Vec<Digest>, Vec<Range<usize>>) {
    let mut ends = vec![0; made.keys.len()];
    for &digest in digests {
        ends[made.shard(digest)] += 1;
    }
    let mut start = 0;
    let ranges: Vec<Range<usize>> = ends
        .iter_mut()
        .map(|end| {
            let range = start..start + *end;
            *end = start;
            start = range.end;
            range
        })
        .collect();
    let mut sorted = vec![Digest::default(); digests.len()];
    for &digest in digests {
        let at = &mut ends[made.shard(digest)];
        sorted[*at] = digest;
        *at += 1;
    }
    (sorted, ranges)
}

/// The blocks of a shard with only these digests.
fn build(made: &Generation, shard: usize, digests: &[Digest]) -> Vec<u8> {
    let mut bytes = vec![0; made.meta.cut.body_bytes(shard) as usize];
    for &digest in digests {
        for position in made.meta.params.positions(digest) {
            let bit = made.meta.cut.place(position).1;
            bytes[(bit / 8) as usize] |= 1 << (bit % 8);
        }
    }
    bytes
}
