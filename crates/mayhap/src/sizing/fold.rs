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

/// How far a filter is to shrink.
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, sizing::{self, Shrink}};
/// let large = sizing::for_bits(Layout::Blocked, 12_000 * 512, 500_000)?;
/// let large = large.folded(1, 0.01)?; // promises 1 %
/// let (factor, small) = Shrink::default().of(&large, 100_000)?;
/// assert_eq!((factor, small.num_bits()), (6, 2_000 * 512)); // where 1,973 blocks would do
/// assert!(small.expected_items() >= 100_000 && small.expected_fpp(100_000) <= 0.01);
///
/// let (factor, small) = Shrink::To { items: Some(400), target_fpp: Some(1e-4) }.of(&large, 300)?;
/// assert_eq!((factor, small.expected_items()), (600, 400));
/// assert!(Shrink::By(7).of(&large, 1).is_err()); // 12,000 is no multiple of 7
/// assert!(Shrink::By(12).of(&large, 100_000).is_err()); // which would be too many
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shrink {
    /// As far as the rate for the keys allows.
    To {
        /// The keys that the smaller filter is for; `None` for those that are in it.
        items: Option<u64>,
        /// The rate to keep for them; `None` for the one that it promises.
        target_fpp: Option<f64>,
    },
    /// By this factor, which divides the size.
    By(u64),
}

impl Default for Shrink {
    /// To the smallest size that keeps the promised rate for the keys in it.
    fn default() -> Self {
        Self::To { items: None, target_fpp: None }
    }
}

impl Shrink {
    /// The factor by which a filter of this size folds that has `items` distinct keys, and its
    /// parameters after that. Factor 1, with the parameters as they are, if no smaller size keeps
    /// the rate.
    ///
    /// # Errors
    ///
    /// [`Error::NoShrink`] if its own size does not keep the rate; [`Error::FoldOverfull`] if the
    /// smaller filter is for fewer keys than it has; as [`FilterParams::folded`].
    pub fn of(&self, params: &FilterParams, items: u64) -> Result<(u64, FilterParams), Error> {
        let promised = params.target_fpp();
        let (factor, folded) = match *self {
            Self::By(factor) => (factor, params.folded(factor, promised)?),
            Self::To { items: wanted, target_fpp } => {
                let (wanted_items, target_fpp) =
                    (wanted.unwrap_or(items), target_fpp.unwrap_or(promised));
                super::check_fpp(target_fpp)?;
                let factor = params.fold_factor(wanted_items, target_fpp).ok_or_else(|| {
                    Error::NoShrink {
                        items: wanted_items,
                        expected_fpp: params.expected_fpp(wanted_items),
                        target_fpp,
                    }
                })?;
                let folded = params.folded(factor, target_fpp)?;
                let (layout, num_bits, k) =
                    (folded.layout(), folded.num_bits(), folded.num_hashes());
                let promising = |items| FilterParams::new(layout, num_bits, k, items, target_fpp);
                (factor, wanted.map_or(Ok(folded), promising)?)
            }
        };
        if factor == 1 {
            return Ok((1, *params));
        }
        let expected_items = folded.expected_items();
        if items > expected_items {
            return Err(Error::FoldOverfull { factor, items, expected_items });
        }
        Ok((factor, folded))
    }
}
