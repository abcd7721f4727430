//! Whole shards that are built here and merged on the server.

use super::generation::{Generation, Trailer};
use super::handle::Handle;
use super::resolve::Look;
use super::wire::word;
use crate::{Error, Server};
use mayhap::Digest;
use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;

/// The bytes of shards in flight at once; at least one shard.
const BYTES_AT_ONCE: u64 = 8 << 20;

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

/// The next shards that are in flight together.
pub(super) fn group(
    made: &Generation,
    shards: &mut Peekable<impl Iterator<Item = usize>>,
) -> Vec<usize> {
    let (mut group, mut bytes) = (Vec::new(), 0);
    while let Some(shard) = shards.next_if(|&shard| {
        group.is_empty() || bytes + made.meta.cut.body_bytes(shard) <= BYTES_AT_ONCE
    }) {
        bytes += made.meta.cut.body_bytes(shard);
        group.push(shard);
    }
    group
}

/// Merges these shards; returns the missing and the fenced ones.
pub(super) async fn merge<B: AsRef<[u8]>>(
    server: &Server,
    made: &Generation,
    group: &[usize],
    bits: impl Fn(usize) -> B,
) -> Result<Vec<(usize, Trailer)>, Error> {
    let commands = group.iter().map(|&shard| {
        let key = &made.keys[shard].0;
        let mut merge = made.script(MERGE, shard, &[key, &format!("{key}:or")]);
        merge.arg(&made.own_trailer()).arg(bits(shard).as_ref());
        made.write(shard, merge)
    });
    let replies = server.run(commands.collect()).await?;
    let mut bad = Vec::new();
    for (&shard, reply) in group.iter().zip(replies) {
        let value = reply.of(&made.keys[shard].0, "to merge a shard")?;
        if word(&value) != "ok" {
            bad.push((shard, made.trailer_of(&value)));
        }
    }
    Ok(bad)
}

/// Inserts a large number of keys, without reporting which are new.
pub(super) async fn insert(handle: &Handle, digests: &[Digest]) -> Result<(), Error> {
    let until = handle.until_switched();
    let mut left = Cow::Borrowed(digests);
    let mut since = handle.server.losses();
    while !left.is_empty() {
        let current = handle.current();
        let made = &current.made;
        let (sorted, ranges) = by_shard(made, &left);
        let of_shard = |shard: usize| &sorted[ranges[shard].clone()];
        let mut shards = (0..ranges.len()).filter(|&i| !ranges[i].is_empty()).peekable();
        let mut bad = Vec::new();
        while shards.peek().is_some() {
            let group = group(made, &mut shards);
            let build = |shard| build(made, shard, of_shard(shard));
            bad.extend(merge(&handle.server, made, &group, build).await?);
        }
        if !bad.is_empty() {
            handle.resolve(&current, &bad, Look::WRITE, until).await?;
        }
        left = bad.iter().flat_map(|&(shard, _)| of_shard(shard)).copied().collect();
        if left.is_empty() && made.has_lost(&handle.server, since) {
            // A master that is lost may take with it what it had acknowledged.
            if until.is_over() {
                return Err(handle.server.broken("the insertion"));
            }
            since = handle.server.losses();
            left = Cow::Borrowed(digests);
        }
    }
    Ok(())
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
