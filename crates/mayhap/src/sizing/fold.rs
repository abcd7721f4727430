//! Filters that shrink without their keys: the sizes they can have, and the rates there.
//!
//! A position is a share of the size: a digest h has block ⌊h·B / 2^64⌋ of B, and a probe of
//! `standard` bit ⌊h'·m / 2^64⌋ of m. With f times as many, position x is ⌊f·y⌋ where it would be
//! ⌊y⌋, and
//!
//! ```text
//! ⌊⌊f·y⌋ / f⌋ = ⌊y⌋    for every whole f ≥ 1
//! ```
//!
//! since ⌊y⌋ ≤ y < ⌊y⌋ + 1 gives f·⌊y⌋ ≤ f·y < f·⌊y⌋ + f, where both ends are whole numbers, so
//! that f·⌊y⌋ ≤ ⌊f·y⌋ < f·⌊y⌋ + f. A key whose position is x in the larger filter has therefore
//! position ⌊x/f⌋ in the smaller one, and f adjacent positions become one. The bits within a block
//! do not depend on the number of blocks. The OR of f adjacent blocks (of `standard`: bits) is, bit
//! for bit, the filter into which the same keys were inserted at 1/f of the size.
//!
//! So a filter folds to each size that divides its own ([`FilterParams::folded`],
//! [`crate::Filter::fold`]). k stays as it is.

use super::{FilterParams, MAX_NUM_BITS, for_bits, max_items};
use crate::{Error, Layout};

/// Numbers with more divisors than any smaller one.
const WITH_DIVISORS: [u64; 7] = [720_720, 55_440, 5_040, 720, 60, 12, 1];
/// The least number of multiples of such a number in a filter: at most a 16th of the memory is not
/// used.
const MULTIPLES: u64 = 16;

/// The largest filter in `max_bits` bits whose number of blocks has many divisors, and so folds to
/// many sizes, with the n that it holds at `target_fpp`. At least 15/16 of the bits are used, from
/// 16 blocks on.
///
/// # Errors
///
/// Same as [`max_items`].
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, sizing};
/// let params = sizing::foldable(Layout::Blocked, 8 << 20, 0.01)?; // 1 MiB
/// assert_eq!(params.num_bits() / 512, 22 * 720); // of 16,384 blocks
/// let sizes = (1..=15_840).filter(|&factor| params.folded(factor, 0.01).is_ok());
/// assert_eq!(sizes.count(), 72);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn foldable(layout: Layout, max_bits: u64, target_fpp: f64) -> Result<FilterParams, Error> {
    let blocks = max_bits.min(MAX_NUM_BITS) / 512;
    let unit = WITH_DIVISORS.into_iter().find(|unit| blocks / unit >= MULTIPLES);
    let num_bits = unit.map_or(max_bits, |unit| (blocks - blocks % unit) * 512);
    let items = max_items(layout, num_bits, target_fpp)?;
    let best = for_bits(layout, num_bits, items)?;
    FilterParams::new(layout, best.num_bits(), best.num_hashes(), items, target_fpp)
}
