//! The size and rate of a binary fuse filter: the set is fixed, so the rate is too.
//!
//! The answer for an absent key is "maybe" if its fingerprint of w bits equals the exclusive or of
//! three slots. The fingerprint is independent of the slots, so whatever they hold, this happens
//! with probability 2^−w: exactly, for every filter, without variation between filters.

use super::search::largest;
use super::{MAX_NUM_BITS, with_digest_collisions};
use crate::Error;

/// The number of bits of a fingerprint of a [`crate::BinaryFuse`], which alone determines its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FuseWidth {
    /// p = 1/256 = 0.39 % in 9.0 bits per key.
    Bits8,
    /// p = 1/65,536 = 0.0015 % in 18.0 bits per key.
    Bits16,
}

impl FuseWidth {
    /// Both, the narrow one first.
    pub const ALL: [Self; 2] = [Self::Bits8, Self::Bits16];

    /// The number of bits: 8 or 16.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits8 => 8,
            Self::Bits16 => 16,
        }
    }

    /// The width with this many bits.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            8 => Some(Self::Bits8),
            16 => Some(Self::Bits16),
            _ => None,
        }
    }

    /// 2^−bits, the rate determined by the width.
    pub fn fpp(self) -> f64 {
        libm::ldexp(1.0, -self.bits().cast_signed())
    }

    /// The narrowest width that keeps `target_fpp` for `items` keys, if one does.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::sizing::fuse::FuseWidth;
    /// assert_eq!(FuseWidth::for_target(1_000_000, 0.01), Some(FuseWidth::Bits8));
    /// assert_eq!(FuseWidth::for_target(1_000_000, 1e-4), Some(FuseWidth::Bits16));
    /// assert_eq!(FuseWidth::for_target(1_000_000, 1e-6), None);
    /// ```
    pub fn for_target(items: u64, target_fpp: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|&width| expected_fpp(width, items) <= target_fpp)
    }
}

/// The longest segment, as a power of two: three of them stay in a near cache.
pub(crate) const MAX_LOG2_SEGMENT: u32 = 18;

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
        let least_count = libm::ceil(n / density / f64::from(1u32 << log2_length)) as u64;
        Self { log2_length, count: count.max(least_count) }
    }

    /// All slots.
    pub(crate) const fn num_slots(self) -> u64 {
        (self.count + 2) << self.log2_length
    }
}

/// The bits of a filter of `items` distinct keys: 9.0 or 18.0 a key from a million keys on, more
/// for fewer (10.0 at 10,000 keys, 12 at 100, for width 8).
///
/// # Errors
///
/// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
///
/// # Examples
///
/// ```
/// use mayhap::sizing::fuse::{FuseWidth, num_bits};
/// let bits = num_bits(FuseWidth::Bits8, 10_000_000)?;
/// assert!(9.0 < bits as f64 / 1e7 && bits as f64 / 1e7 < 9.1);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn num_bits(width: FuseWidth, items: u64) -> Result<u64, Error> {
    // There cannot be more keys than bits, so nothing below overflows.
    let num_bits = if items > MAX_NUM_BITS {
        items
    } else {
        Segments::for_items(items).num_slots() * u64::from(width.bits())
    };
    Error::check_limit("num_bits", MAX_NUM_BITS, num_bits)?;
    Ok(num_bits)
}

/// The probability that the answer for an absent key is "maybe": 2^−w plus digest collisions (n /
/// 2^64); 0 for an empty filter.
pub fn expected_fpp(width: FuseWidth, items: u64) -> f64 {
    if items == 0 {
        return 0.0;
    }
    with_digest_collisions(width.fpp(), items)
}

/// The number of keys that a filter of at most `max_bits` holds; 0 if it holds none.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::fuse::{FuseWidth, max_items, num_bits};
/// let items = max_items(FuseWidth::Bits8, 8 << 30); // in 1 GiB
/// assert!(items > 950_000_000 && num_bits(FuseWidth::Bits8, items)? <= 8 << 30);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn max_items(width: FuseWidth, max_bits: u64) -> u64 {
    largest(|items| num_bits(width, items).is_ok_and(|bits| bits <= max_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, where the paper's number of segments is one too low: 415,600 · 1.141 slots are 58
    /// segments of 8,192, two of them at the end, and at most 0.905 · 8,192 keys in each of the 56
    /// others are 415,170. Likewise for the other lengths, and where the paper's number is enough:
    /// 1.125 · 10^9 slots are 4,291.5 segments of 2^18, the longest, and two of 4,292 are no first.
    #[test]
    fn there_are_enough_segments_for_the_density_of_each_length() {
        for (items, log2_length, count) in [
            (3_961, 9, 9),
            (11_500, 10, 13),
            (12_300, 10, 14),
            (38_700, 11, 22),
            (39_100, 11, 22),
            (125_500, 12, 35),
            (415_600, 13, 57),
            (1_000_000, 13, 136),
            (10_000_000, 15, 342),
            (1_000_000_000, 18, 4_290),
        ] {
            assert_eq!(Segments::for_items(items), Segments { log2_length, count }, "{items}");
        }
    }

    /// By hand: log n / log 3.33 + 2.25 passes the next whole number at 3.33^(l − 2.25), at 3,362
    /// keys for 2^9 slots.
    #[test]
    fn a_segment_is_twice_as_long_for_about_three_times_the_keys() {
        for log2_length in 3..=18 {
            let first = libm::pow(3.33, f64::from(log2_length) - 2.25).ceil() as u64;
            let length = |items| Segments::for_items(items).log2_length;
            assert_eq!((length(first - 1), length(first)), (log2_length - 1, log2_length));
        }
        assert_eq!(libm::pow(3.33, 9.0 - 2.25).ceil(), 3_362.0);
        for items in [0, 1, 2] {
            assert_eq!(Segments::for_items(items), Segments::for_items(2), "{items}");
        }
        assert_eq!(Segments::for_items(1 << 50).log2_length, 18);
    }

    /// By hand: 137 + 1 segments of 8,192 slots are 1,130,496 slots of a byte, or of two.
    #[test]
    fn bits_and_keys_are_each_others_inverse() {
        for (width, bits) in [(FuseWidth::Bits8, 9_043_968), (FuseWidth::Bits16, 18_087_936)] {
            assert_eq!(num_bits(width, 1_000_000), Ok(bits), "{width:?}");
            let most = max_items(width, bits);
            assert!(most >= 1_000_000 && num_bits(width, most).unwrap() <= bits);
            assert!(num_bits(width, most + 1).unwrap() > bits);
        }
        assert!(num_bits(FuseWidth::Bits8, MAX_NUM_BITS + 1).is_err());
        assert_eq!(
            (FuseWidth::Bits8.fpp(), FuseWidth::Bits16.fpp()),
            (1.0 / 256.0, 1.0 / 65_536.0)
        );
    }
}
