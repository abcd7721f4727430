//! The location of a filter's bits: shards, their sizes, keys and slots.

use crate::server::{NUM_SLOTS, slot_of};
use crate::{Error, Misfit};
use mayhap::{Block, FilterParams, Layout};

/// The largest shard unless a larger one is requested.
pub(crate) const MAX_SHARD_BYTES: u64 = 4 << 20;
/// The largest string value in Redis.
pub(crate) const MAX_VALUE_BYTES: u64 = 512 << 20;
const MIN_SHARD_BYTES: u64 = 4 << 10;
/// A filter that is large enough has at least this many shards.
const MIN_SHARDS: u64 = 16;
/// The generation after the blocks.
pub(crate) const TRAILER_BYTES: u64 = 8;
/// The cost of a key apart from its name and value: an entry of the table, an object, a header.
const KEY_BYTES: u64 = 128;

/// The division of a filter into shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    num_blocks: u64,
    shard_blocks: u64,
}

impl Cut {
    /// The shards of a new filter, at most `max_bytes` each.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] for `standard` in more than one shard and for more shards than slots.
    pub(crate) fn plan(params: &FilterParams, max_bytes: Option<u64>) -> Result<Self, Error> {
        let (total, num_blocks) = (params.num_bytes(), params.num_blocks());
        let limit = max_bytes.unwrap_or(MAX_SHARD_BYTES).min(MAX_VALUE_BYTES);
        if limit < MIN_SHARD_BYTES {
            let misfit = Misfit::SmallShards { limit, least: MIN_SHARD_BYTES };
            return Err(Error::Layout { misfit });
        }
        if params.layout() == Layout::Standard {
            return Self::check(params, num_blocks, limit);
        }
        // More shards than slots could not be spread; so huge filters have larger ones.
        let least = total.div_ceil(u64::from(NUM_SLOTS) / 2).max(MIN_SHARD_BYTES);
        let size = limit.min(total / MIN_SHARDS).max(least).min(MAX_VALUE_BYTES);
        let largest = class_at_most(size);
        // The unused part of the last shard's size class decides between the next smaller ones.
        let classes = std::iter::successors(Some(largest), |&size| Some(class_at_most(size - 1)));
        let best = classes
            .take_while(|&size| size >= least && size > largest / 4)
            .map(|size| Self { num_blocks, shard_blocks: size / 64 - 1 })
            .min_by_key(Self::memory)
            .unwrap_or(Self { num_blocks, shard_blocks: largest / 64 - 1 });
        Self::check(params, best.shard_blocks, limit.max(size))
    }

    /// The shards of a filter that exists.
    pub(crate) fn check(
        params: &FilterParams,
        shard_blocks: u64,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let num_blocks = params.num_blocks();
        let cut = Self { num_blocks, shard_blocks: shard_blocks.min(num_blocks) };
        let bytes = cut.shard_blocks.saturating_mul(64).saturating_add(TRAILER_BYTES);
        let is_standard = params.layout() == Layout::Standard;
        let misfit = if cut.shard_blocks == 0 {
            Misfit::EmptyShards
        } else if is_standard && cut.num_shards() > 1 {
            Misfit::SeveralShards
        } else if bytes > max_bytes && is_standard {
            return Err(Error::OneValue { bytes, max_bytes, most_bytes: MAX_VALUE_BYTES });
        } else if bytes > max_bytes || cut.num_shards() > u64::from(NUM_SLOTS) {
            let (bytes, values) = (params.num_bytes(), NUM_SLOTS);
            Misfit::TooLarge { bytes, values, max_bytes, most_bytes: MAX_VALUE_BYTES }
        } else {
            return Ok(cut);
        };
        Err(Error::Layout { misfit })
    }

    pub(crate) fn num_shards(&self) -> u64 {
        self.num_blocks.div_ceil(self.shard_blocks)
    }

    pub(crate) fn shard_blocks(&self) -> u64 {
        self.shard_blocks
    }

    /// The first block and the number of blocks of a shard.
    pub(crate) fn blocks_of(&self, shard: usize) -> (u64, u64) {
        let first = shard as u64 * self.shard_blocks;
        (first, self.shard_blocks.min(self.num_blocks.saturating_sub(first)))
    }

    /// The bytes of the blocks of a shard, which its trailer follows.
    pub(crate) fn body_bytes(&self, shard: usize) -> u64 {
        self.blocks_of(shard).1 * Block::BYTES as u64
    }

    /// The shard of a bit, and its position in the shard.
    #[inline]
    pub(crate) fn place(&self, position: u64) -> (usize, u64) {
        let shard_bits = self.shard_blocks * Block::BITS;
        ((position / shard_bits) as usize, position % shard_bits)
    }

    /// The approximate memory of the shards on a server.
    fn memory(&self) -> u64 {
        let full = class_at_least(self.shard_blocks * 64 + 64);
        let last = class_at_least(self.body_bytes(self.num_shards() as usize - 1) + 18);
        (self.num_shards() - 1) * full + last + self.num_shards() * KEY_BYTES
    }
}

/// The largest jemalloc size class up to `bytes`, from 16 KiB on: 4, 5, 6 or 7 times a power of
/// two. Values of other sizes leave up to a fifth of their class unused.
fn class_at_most(bytes: u64) -> u64 {
    let shift = bytes.max(4).ilog2() - 2;
    bytes >> shift << shift
}

fn class_at_least(bytes: u64) -> u64 {
    let below = class_at_most(bytes.max(4));
    if below == bytes { bytes } else { below + (1 << (below.ilog2() - 2)) }
}

/// The offset of a bit in a value, counted as Redis does: from the most significant of each byte.
#[inline]
pub(crate) const fn redis_bit(bit: u64) -> u64 {
    bit ^ 7
}

/// The keys of shards, and their slots: `{name:number}:generation`, where the number of shard i
/// of S is the smallest whose slot is in the i-th of S equal ranges.
pub(crate) fn shard_keys(name: &str, generation: i64, num_shards: u64) -> Vec<(String, u16)> {
    let mut keys = vec![(String::new(), 0); num_shards as usize];
    let mut missing = keys.len();
    // About S ln S numbers; the ranges of 16,384 shards are single slots.
    for number in 0u64.. {
        if missing == 0 {
            break;
        }
        let tag = format!("{name}:{number}");
        let slot = slot_of(&tag);
        let entry = &mut keys[(u64::from(slot) * num_shards / u64::from(NUM_SLOTS)) as usize];
        if entry.0.is_empty() {
            *entry = (format!("{{{tag}}}:{generation:016x}"), slot);
            missing -= 1;
        }
    }
    keys
}

/// Checks that a name is valid in keys.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > 512 {
        "it has more than 512 bytes"
    } else if name.contains(['{', '}']) {
        "{ and } mark the slot of a key"
    } else if name.chars().any(char::is_control) {
        "it has control characters"
    } else {
        return Ok(());
    };
    Err(Error::BadName { name: name.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::sizing;

    #[test]
    fn sizes_are_those_of_the_allocator() {
        for (bytes, below, above) in
            [(4096, 4096, 4096), (4097, 4096, 5120), (5119, 4096, 5120), (7168, 7168, 7168)]
        {
            assert_eq!((class_at_most(bytes), class_at_least(bytes)), (below, above), "{bytes}");
        }
        assert_eq!(class_at_most((4 << 20) - 1), 3_670_016);
    }

    #[test]
    fn every_block_is_in_one_shard_whose_class_is_full() {
        for items in [1, 1000, 100_000, 1_000_000, 100_000_000, 3_000_000_000] {
            let params = sizing::for_items(Layout::Blocked, items, 0.001).unwrap();
            let cut = Cut::plan(&params, None).unwrap();
            let shards = 0..cut.num_shards() as usize;
            assert_eq!(
                shards.clone().map(|i| cut.blocks_of(i).1).sum::<u64>(),
                params.num_blocks()
            );
            assert!(shards.map(|i| cut.body_bytes(i)).all(|bytes| bytes < MAX_SHARD_BYTES));
            assert_eq!(cut.place(params.num_bits() - 1).0 as u64, cut.num_shards() - 1);
            if params.num_bytes() > 1 << 18 {
                assert!(cut.memory() as f64 <= params.num_bytes() as f64 * 1.019, "{items}");
                assert!(cut.num_shards() >= MIN_SHARDS);
            }
        }
    }

    #[test]
    fn huge_filters_have_larger_shards_and_absurd_ones_none() {
        let params = |bits| FilterParams::new(Layout::Blocked, bits, 8, 1, 0.01).unwrap();
        let cut = Cut::plan(&params(1 << 40), None).unwrap();
        assert!(cut.num_shards() <= u64::from(NUM_SLOTS) && cut.body_bytes(0) > MAX_SHARD_BYTES);
        assert!(matches!(Cut::plan(&params(1 << 56), None), Err(Error::Layout { .. })));
        assert!(matches!(Cut::plan(&params(512), Some(100)), Err(Error::Layout { .. })));
    }

    #[test]
    fn standard_is_in_one_shard_or_refused_with_the_way_out() {
        let params = |bits| FilterParams::new(Layout::Standard, bits, 7, 1, 0.01).unwrap();
        assert_eq!(Cut::plan(&params(1 << 24), None).unwrap().num_shards(), 1);
        let error = Cut::plan(&params(1 << 30), None).unwrap_err().to_string();
        assert!(error.contains("the layout blocked"), "{error}");
        assert_eq!(Cut::plan(&params(1 << 30), Some(1 << 28)).unwrap().num_shards(), 1);
    }

    /// 100 M keys at 0.1 %: bytes on each of three masters with equal ranges of slots.
    #[test]
    fn a_filter_of_100_million_keys_spreads_within_ten_percent() {
        let params = sizing::for_items(Layout::Blocked, 100_000_000, 0.001).unwrap();
        let cut = Cut::plan(&params, None).unwrap();
        for masters in 3..=6 {
            let mut bytes = vec![0; masters];
            for (i, (key, slot)) in shard_keys("seen", 1, cut.num_shards()).iter().enumerate() {
                assert_eq!(slot_of(key), *slot);
                bytes[usize::from(*slot) * masters / usize::from(NUM_SLOTS)] += cut.body_bytes(i);
            }
            let mean = params.num_bytes() as f64 / masters as f64;
            let off = bytes.iter().map(|&b| (b as f64 / mean - 1.0).abs()).fold(0.0, f64::max);
            assert!(off <= 0.1, "{masters} masters: {bytes:?}");
        }
    }

    #[test]
    fn as_many_shards_as_slots_have_a_slot_each() {
        let keys = shard_keys("a", -1, u64::from(NUM_SLOTS));
        assert!(keys.iter().enumerate().all(|(i, (_, slot))| i == usize::from(*slot)));
        assert!(keys[0].0.ends_with("}:ffffffffffffffff"));
    }

    #[test]
    fn names_that_would_break_a_key_are_refused() {
        for name in ["", "a{b", "}", "a\nb", &"x".repeat(513)] {
            assert!(matches!(check_name(name), Err(Error::BadName { .. })), "{name:?}");
        }
        check_name("seen urls/ü:1").unwrap();
    }
}
