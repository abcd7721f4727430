//! The size and rate of a binary fuse filter: the set is fixed, so the rate is too.
//!
//! The answer for an absent key is "maybe" if its fingerprint of w bits equals the exclusive or of
//! three slots. The fingerprint is independent of the slots, so whatever they hold, this happens
//! with probability 2^−w: exactly, for every filter, without variation between filters. Rates
//! between two powers of 2 are met by a share of the keys with one bit more.
//!
//! `width.rs` has the widths and the choice of one, `segments.rs` the slots.

mod segments;
mod width;

use super::search::largest;
use super::{MAX_NUM_BITS, with_digest_collisions};
use crate::Error;
pub(crate) use segments::{MAX_LOG2_SEGMENT, SPARE_BITS, Segments};
pub use width::FuseWidth;

/// The bits of a filter of `items` distinct keys: 1.13 · w a key from a million keys on for the
/// widths 8 and 16, 1.12 · w for others (1.11 from three million on); more for fewer (1.25 · w at
/// 10,000 keys, 1.5 · w at 100).
///
/// # Errors
///
/// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
///
/// # Examples
///
/// ```
/// use mayhap::sizing::fuse::{FuseWidth, num_bits};
/// let bits = num_bits(FuseWidth::BITS_8, 10_000_000)?;
/// assert!(9.0 < bits as f64 / 1e7 && bits as f64 / 1e7 < 9.1);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn num_bits(width: FuseWidth, items: u64) -> Result<u64, Error> {
    // There cannot be more keys than bits, so nothing below overflows.
    let num_bits =
        if items > MAX_NUM_BITS { items } else { Segments::of(width, items).num_bits(width) };
    Error::check_limit("num_bits", MAX_NUM_BITS, num_bits)?;
    Ok(num_bits)
}

/// The probability that the answer for an absent key is "maybe": 2^−w plus digest collisions (n /
/// 2^64); 0 for an empty filter.
///
/// With v of c segments whose keys have one bit more it is 2^−w · (1 − v / 2c): whole segments, so
/// it is a little below [`FuseWidth::fpp`], by 2^−w / 2c at most.
pub fn expected_fpp(width: FuseWidth, items: u64) -> f64 {
    Segments::of(width, items).expected_fpp(width, items)
}

/// The number of keys that a filter of at most `max_bits` holds; 0 if it holds none.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::fuse::{FuseWidth, max_items, num_bits};
/// let items = max_items(FuseWidth::BITS_8, 8 << 30); // in 1 GiB
/// assert!(items > 950_000_000 && num_bits(FuseWidth::BITS_8, items)? <= 8 << 30);
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
        for (width, bits) in [(FuseWidth::BITS_8, 9_043_968), (FuseWidth::BITS_16, 18_087_936)] {
            assert_eq!(num_bits(width, 1_000_000), Ok(bits), "{width:?}");
            let most = max_items(width, bits);
            assert!(most >= 1_000_000 && num_bits(width, most).unwrap() <= bits);
            assert!(num_bits(width, most + 1).unwrap() > bits);
        }
        assert!(num_bits(FuseWidth::BITS_8, MAX_NUM_BITS + 1).is_err());
        assert_eq!(
            (FuseWidth::BITS_8.fpp(), FuseWidth::BITS_16.fpp()),
            (1.0 / 256.0, 1.0 / 65_536.0)
        );
    }
}
