//! The size and rate of a ribbon filter: close to the fewest bits that any filter can have.
//!
//! The answer for an absent key is "maybe" if its fingerprint of w bits equals the exclusive or of
//! some of 64 neighbouring slots: 2^−w, whatever they hold. The digests below a limit have one bit
//! more, so that any rate is met exactly.
//!
//! A set is solved in layers: what does not fit into one goes to the next. Their sizes follow from
//! the numbers of keys that are left, so those of a filter that is yet to be built are only
//! expected: [`num_bits`].

use super::search::largest;
use super::{MAX_NUM_BITS, check_fpp, with_digest_collisions};
use crate::{Error, FuseWidth};

/// Slots in a segment.
pub(crate) const SEGMENT_SLOTS: u64 = 64;
/// Segments in a bucket, whose keys share a threshold.
pub(crate) const BUCKET_SEGMENTS: u64 = 4;
/// The thresholds in a word of 64 bits, three bits each.
pub(crate) const CODES_IN_WORD: u64 = 21;
/// The most layers of either part: a header has room for 58.
pub(crate) const MAX_LAYERS: usize = 29;
/// Up to this many keys a layer has room for all of them.
const MAX_SPACIOUS: u64 = 2_000;
/// The slots beyond the keys of such a layer, at least: it fails once in 2^16.
const SPARE_SLOTS: u64 = 16;

/// The segments of a layer for this many keys.
///
/// A large layer gets 0.955 slots a key: it is then so full that 0.09 % of them stay empty. A small
/// one takes all keys, since each further layer has part of a segment to spare.
pub(crate) const fn segments_for(items: u64) -> u64 {
    if items <= MAX_SPACIOUS {
        (items + SPARE_SLOTS).div_ceil(SEGMENT_SLOTS)
    } else {
        (items / 200 * 191 + items % 200 * 191 / 200 + SEGMENT_SLOTS / 2) / SEGMENT_SLOTS
    }
}

/// The words of a layer's thresholds.
pub(crate) const fn code_words(segments: u64) -> u64 {
    segments.div_ceil(BUCKET_SEGMENTS).div_ceil(CODES_IN_WORD)
}

/// The bits that a filter of `items` distinct keys is expected to have: 1.002 to 1.006 times the
/// mean width a key from a million keys on, 1.01 to 1.04 times at 10,000.
///
/// A filter that was built has up to 2.5 % less for few keys, and hardly ever more.
///
/// # Errors
///
/// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
///
/// # Examples
///
/// ```
/// use mayhap::FuseWidth;
/// use mayhap::sizing::ribbon::num_bits;
/// let width = FuseWidth::from_bits(10).unwrap();
/// let bits = num_bits(width, 10_000_000)?;
/// assert!(10.0 < bits as f64 / 1e7 && bits as f64 / 1e7 < 10.1);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn num_bits(width: FuseWidth, items: u64) -> Result<u64, Error> {
    // There cannot be more keys than bits, so nothing below overflows.
    Error::check_limit("num_bits", MAX_NUM_BITS, items)?;
    let wide = (u128::from(items) * u128::from(width.wider())).div_ceil(1 << 32) as u64;
    let bits = u64::from(width.bits());
    // The second part begins at a block.
    let words = part_words(wide, bits + 1).next_multiple_of(8) + part_words(items - wide, bits);
    let num_bits = words.max(1) * 64;
    Error::check_limit("num_bits", MAX_NUM_BITS, num_bits)?;
    Ok(num_bits)
}

/// The words of all layers of a part, as expected.
fn part_words(items: u64, bits: u64) -> u64 {
    let (mut left, mut words) = (items, 0);
    while left > 0 {
        let segments = segments_for(left);
        words += segments * bits + code_words(segments);
        left = expected_bumped(left);
    }
    words
}

/// The keys that a layer of this many leaves to the next, a little above the mean.
pub(crate) const fn expected_bumped(items: u64) -> u64 {
    match items {
        0..=250 => 0,
        251..=MAX_SPACIOUS => 1,
        // 4.58 % of a large layer.
        _ => items / 10_000 * 459 + items % 10_000 * 459 / 10_000 + 60,
    }
}

/// The probability that the answer for an absent key is "maybe": 2^−w · (1 − s / 2) for a share s
/// of wider fingerprints, plus digest collisions (n / 2^64); 0 for an empty filter.
pub fn expected_fpp(width: FuseWidth, items: u64) -> f64 {
    if items == 0 { 0.0 } else { with_digest_collisions(width.fpp(), items) }
}

/// The narrowest width that keeps `target_fpp` for `items` keys, if one does.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::ribbon::{expected_fpp, width_for};
/// let width = width_for(1_000_000, 1e-6).unwrap();
/// assert!((width.mean_bits() - 19.951).abs() < 0.001);
/// assert!((0.999_999e-6..=1e-6).contains(&expected_fpp(width, 1_000_000)));
/// assert_eq!(width_for(1_000_000, 1e-10), None);
/// ```
pub fn width_for(items: u64, target_fpp: f64) -> Option<FuseWidth> {
    FuseWidth::meeting(items, target_fpp, expected_fpp)
}

/// Like [`width_for`], with an error that says which rates there are.
///
/// # Errors
///
/// [`Error::FppOutOfRange`], [`Error::FppUnreachable`].
pub fn check_target(items: u64, target_fpp: f64) -> Result<FuseWidth, Error> {
    check_fpp(target_fpp)?;
    let lowest_fpp = expected_fpp(FuseWidth::WIDEST, items.max(1));
    let unreachable = Error::FppUnreachable { target_fpp, lowest_fpp };
    width_for(items, target_fpp).ok_or(unreachable)
}

/// The widest width whose filter of `items` keys is expected to have at most `max_bits`, if one is.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::ribbon::{fitting, num_bits};
/// let width = fitting(1_000_000, 12_000_000).unwrap();
/// assert!((11.9..12.0).contains(&width.mean_bits()));
/// assert!(num_bits(width, 1_000_000)? <= 12_000_000);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn fitting(items: u64, max_bits: u64) -> Option<FuseWidth> {
    let fits = |width| num_bits(width, items).is_ok_and(|bits| bits <= max_bits);
    let bits = (FuseWidth::MIN_BITS..=FuseWidth::MAX_BITS).rev();
    let plain = bits.filter_map(FuseWidth::from_bits).find(|&width| fits(width))?;
    // A larger share takes more bits, but for whole segments: so the last step is checked.
    let mixed = |wider| FuseWidth::mixed(plain.bits(), u32::try_from(wider).ok()?);
    let wider = largest(|wider| mixed(wider).is_some_and(fits));
    Some(mixed(wider).filter(|&width| fits(width)).unwrap_or(plain))
}

/// The number of keys that a filter of at most `max_bits` is expected to hold; 0 if it holds none.
///
/// # Examples
///
/// ```
/// use mayhap::FuseWidth;
/// use mayhap::sizing::ribbon::{max_items, num_bits};
/// let width = FuseWidth::from_bits(8).unwrap();
/// let items = max_items(width, 8 << 30); // in 1 GiB
/// assert!(items > 1_060_000_000 && num_bits(width, items)? <= 8 << 30);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn max_items(width: FuseWidth, max_bits: u64) -> u64 {
    largest(|items| num_bits(width, items).is_ok_and(|bits| bits <= max_bits))
}
