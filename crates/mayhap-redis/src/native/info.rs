//! Information about a filter: its parameters, and counts of its bits.

use super::generation::Trailer;
use super::handle::{Current, Handle};
use super::meta::{Meta, State};
use super::resolve::Look;
use super::wire::{int, meta_of};
use crate::observe::{scaled, windows};
use crate::server::{Command, words};
use crate::{Error, FilterInfo};
use mayhap::sizing::estimated_fpp;
use mayhap::{Block, Estimate, Layout};
use redis::Value;
use std::ops::Range;

/// Which bits are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    All,
    Sample,
}

/// A shard and bytes of its blocks.
type Piece = (usize, Range<u64>);

impl Extent {
    /// The pieces, none of them empty or part of a trailer.
    fn pieces(self, meta: &Meta) -> Vec<Piece> {
        let cut = &meta.cut;
        match self {
            Self::All => {
                (0..cut.num_shards() as usize).map(|i| (i, 0..cut.body_bytes(i))).collect()
            }
            Self::Sample => {
                let within = |bytes: Range<u64>| {
                    let (shard, bit) = cut.place(bytes.start * 8);
                    let end = (bit / 8 + bytes.end - bytes.start).min(cut.body_bytes(shard));
                    (shard, bit / 8..end)
                };
                windows(meta.params.num_blocks() * Block::BYTES as u64)
                    .into_iter()
                    .map(within)
                    .collect()
            }
        }
    }
}

/// Counts the bits of one generation: if it is switched to another one meanwhile, the bits of the
/// new one.
pub(super) async fn read(handle: &Handle, extent: Extent) -> Result<FilterInfo, Error> {
    let until = handle.until_switched();
    loop {
        let current = handle.current();
        let pieces = extent.pieces(&current.made.meta);
        let (seen, bad) = look(handle, &current, &pieces).await?;
        let is_own = |meta: &Meta| {
            meta.generation == current.made.meta.generation && meta.state == State::Ready
        };
        if let Some(meta) = seen.meta.as_ref().filter(|meta| is_own(meta) && bad.is_empty()) {
            let counted = pieces.iter().map(|(_, bytes)| bytes.end - bytes.start).sum();
            let ones = match extent {
                Extent::All => seen.count_ones,
                Extent::Sample => scaled(seen.count_ones, counted, meta.params.num_bits()),
            };
            return Ok(info(meta, ones, seen.ttl));
        }
        let look = Look { is_query: true, from_replica: false };
        handle.resolve(&current, &bad, look, until).await?;
    }
}

/// Counts the bits of these pieces on the server and reads the parameters: all in one round trip
/// unless there are more than 256. Reports which of their shards are missing.
async fn look(
    handle: &Handle,
    current: &Current,
    pieces: &[Piece],
) -> Result<(Seen, Vec<(usize, Trailer)>), Error> {
    let (made, key) = (&current.made, handle.place_of(current).meta_key());
    let (mut seen, mut bad) = (Seen::default(), Vec::new());
    for (i, pieces) in pieces.chunks(256).enumerate() {
        let mut commands = Vec::with_capacity(2 * pieces.len() + 2);
        if i == 0 {
            // Not as a read: a replica may lag behind.
            commands.push(Command::write(&key, words(&["HGETALL", &key])));
            commands.push(Command::write(&key, words(&["PTTL", &key])));
        }
        commands.extend(pieces.iter().flat_map(|(shard, bytes)| {
            let [from, end] = [bytes.start, bytes.end - 1].map(|byte| byte.to_string());
            let count = words(&["BITCOUNT", &made.keys[*shard].0, &from, &end]);
            [made.write(*shard, count), made.write(*shard, made.get_trailer(*shard))]
        }));
        let mut replies = handle.server.run_unconfirmed(commands).await?.into_iter();
        let mut next =
            |key: &str, what| replies.next().map_or(Ok(Value::Nil), |reply| reply.of(key, what));
        if i == 0 {
            seen.meta = meta_of(&next(&key, "the parameters of the filter")?, &key)?;
            seen.ttl = int(&next(&key, "the expiry of the filter")?);
        }
        for &(shard, _) in pieces {
            let key = &made.keys[shard].0;
            let count = next(key, "to count bits")?;
            seen.count_ones += int(&count).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            // A fenced shard is complete: it is being switched.
            if !made.is_there(&next(key, "to look at a shard")?) {
                bad.push((shard, Trailer::Gone));
            }
        }
    }
    Ok((seen, bad))
}

/// The findings about a filter.
#[derive(Default)]
struct Seen {
    meta: Option<Meta>,
    /// Milliseconds until it expires; negative if it never does.
    ttl: Option<i64>,
    count_ones: u64,
}

/// The information computed from the numbers of a filter.
pub(super) fn info(meta: &Meta, count_ones: u64, ttl: Option<i64>) -> FilterInfo {
    let (params, cut) = (meta.params, meta.cut);
    let items = Estimate::from_ones(&params, count_ones).items;
    let fpp = match params.layout() {
        Layout::Standard => estimated_fpp(count_ones, params.num_bits(), params.num_hashes()),
        _ if items.is_finite() => params.expected_fpp(items.round() as u64),
        _ => 1.0,
    };
    FilterInfo {
        layout: params.layout().name(),
        num_bits: params.num_bits(),
        num_hashes: params.num_hashes(),
        expected_items: Some(params.expected_items()),
        grows: false,
        target_fpp: Some(params.target_fpp()),
        count_ones,
        estimated_items: items.is_finite().then_some(items),
        estimated_fpp: fpp,
        num_shards: cut.num_shards(),
        num_bytes: params.num_bytes() + cut.num_shards() * 8,
        ttl_ms: ttl.and_then(|ttl| u64::try_from(ttl).ok()),
    }
}
