//! The arrangement of the slots.

use super::width::power_of_two;
use super::{FuseWidth, with_digest_collisions};

/// The longest segment, as a power of two: three of them stay in a near cache.
pub(crate) const MAX_LOG2_SEGMENT: u32 = 18;

/// Zeros after slots that are not whole bytes: eight bytes can be loaded wherever one begins.
pub(crate) const SPARE_BITS: u64 = 64;

/// The arrangement of the slots: `count + 2` segments of `2^log2_length` slots; a key has one slot
/// in each of three neighbouring segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segments {
    pub(crate) log2_length: u32,
    /// The number of segments in which a key's first slot can be.
    pub(crate) count: u64,
}

impl Segments {
    /// The segments for `items` distinct keys.
    ///
    /// Length `2^floor(log_3.33 n + 2.25)` and n · max(1.125, 0.875 + 0.25 ln 10^6 / ln n) slots
    /// (Graf & Lemire 2022, *Binary Fuse Filters: Fast and Smaller Than Xor Filters*, section 4),
    /// rounded up to whole segments. In addition, at most 0.898 keys (0.91 in long segments) per
    /// slot that can be a key's first: with few segments the paper's numbers alone reach up to 0.97
    /// (at n = 3961, 11,500, 12,300, 39,100 and others), where 64 seeds in a row may fail: the
    /// limit for large n is 0.918 (Walzer 2021, *Peeling Close to the Orientability Threshold*).
    pub(crate) fn for_items(items: u64) -> Self {
        let n = items.max(2) as f64;
        let log2_length = libm::log(n) / libm::log(3.33) + 2.25;
        let log2_length = (log2_length as u32).min(MAX_LOG2_SEGMENT);
        let factor = (0.875 + 0.25 * libm::log(1e6) / libm::log(n)).max(1.125);
        let slots = libm::ceil(n * factor) as u64;
        let count = slots.div_ceil(1 << log2_length).saturating_sub(2);
        let density = match log2_length {
            0..13 => 0.898,
            13 => 0.905,
            _ => 0.91,
        };
        let least = Self { log2_length, count }.least_count(items.max(2), density);
        Self { log2_length, count: count.max(least) }
    }

    /// The segments of a filter of this width: those of [`Segments::for_items`], but for widths
    /// other than 8 and 16 fewer if they are long (from 1.4 million keys on).
    ///
    /// For each length a density replaces the paper's 1.125 slots per key: one with which the first
    /// seed served in all trials with 1.5 to 10 million keys.
    pub(crate) fn of(width: FuseWidth, items: u64) -> Self {
        let usual = Self::for_items(items);
        let density = match usual.log2_length {
            _ if width.is_whole_bytes() => return usual,
            0..14 => return usual,
            14 => 0.905,
            15 => 0.908,
            _ => 0.91,
        };
        Self { count: usual.least_count(items, density).min(usual.count), ..usual }
    }

    /// The count with which there are at most `density` keys per slot that can be a key's first.
    fn least_count(self, items: u64, density: f64) -> u64 {
        libm::ceil(items as f64 / density / f64::from(1u32 << self.log2_length)) as u64
    }

    /// All slots.
    pub(crate) const fn num_slots(self) -> u64 {
        (self.count + 2) << self.log2_length
    }

    /// The segments, from the first on, in which the first slot of a key with one bit more can be:
    /// v = ceil(s · c).
    pub(crate) const fn wider(self, width: FuseWidth) -> u64 {
        ((width.wider() as u128 * self.count as u128).div_ceil(1 << 32)) as u64
    }

    /// The slots with one bit more, from the first on: all that such keys have.
    pub(crate) const fn wider_slots(self, width: FuseWidth) -> u64 {
        match self.wider(width) {
            0 => 0,
            segments => (segments + 2) << self.log2_length,
        }
    }

    /// The bits of all slots.
    pub(crate) const fn slot_bits(self, width: FuseWidth) -> u64 {
        self.num_slots() * width.bits() as u64 + self.wider_slots(width)
    }

    /// The bits of a filter: all slots, and [`SPARE_BITS`].
    pub(crate) const fn num_bits(self, width: FuseWidth) -> u64 {
        self.slot_bits(width) + if width.is_whole_bytes() { 0 } else { SPARE_BITS }
    }

    /// The largest share of keys, in 2^32, for which one bit more takes at most this many bits.
    pub(crate) fn wider_within(self, spare_bits: u64) -> u32 {
        let segments = (spare_bits >> self.log2_length).saturating_sub(2).min(self.count);
        let share = (u128::from(segments) << 32) / u128::from(self.count);
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// The probability that the answer for an absent key is "maybe".
    pub(crate) fn expected_fpp(self, width: FuseWidth, items: u64) -> f64 {
        if items == 0 {
            return 0.0;
        }
        let share = self.wider(width) as f64 / self.count as f64;
        let fpp = (1.0 - share / 2.0) / power_of_two(width.bits());
        with_digest_collisions(fpp, items)
    }
}
