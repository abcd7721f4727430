//! Sizing: bits m, hashes k, rate p and items n, each solved from the others.
//!
//! Every result comes from evaluating the rate model of the layout (exact, except for `standard`
//! above 512 bits, where it is within 0.5 %), never from the textbook formula alone, and uses
//! [`libm`], so that all platforms agree to the bit.
//!
//! ```
//! use mayhap::{Layout, sizing};
//!
//! // 1 % for a million keys: 9.59 bits a key spread out, 10.1 in one cache line a key.
//! let standard = sizing::for_items(Layout::Standard, 1_000_000, 0.01)?;
//! let blocked = sizing::for_items(Layout::Blocked, 1_000_000, 0.01)?;
//! assert_eq!((standard.num_bits(), standard.num_hashes()), (9_592_957, 7));
//! assert_eq!((blocked.num_bits(), blocked.num_hashes()), (10_099_712, 8));
//! # Ok::<(), mayhap::Error>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `blocked.rs` | the rate model of `blocked`, `blocked128` and `blocked64` |
//! | `compact.rs` | the size and rate of a compact filter |
//! | `distinct/` | the number of distinct keys inserted into a filter |
//! | `fold.rs` | filters that shrink without their keys |
//! | `fuse.rs` | the size and rate of a binary fuse filter |
//! | `limits.rs` | the sizes and rates that filters may have |
//! | `matrix.rs` | the rate model of a `crate::BloomMatrix`'s sets: `blocked` with k lanes |
//! | `params.rs` | the parameters of a filter, checked once and carried everywhere |
//! | `rate.rs` | the predicted rate of each layout, and that of the textbook for comparison |
//! | `remembered.rs` | the last sizes that a thread has solved |
//! | `ribbon.rs` | the size and rate of a ribbon filter |
//! | `scalable.rs` | the sizes of a chain of layers for an unknown number of keys |
//! | `search.rs` | searches for the smallest size that keeps a rate |
//! | `standard.rs` | the rate model of `standard`: k independent probes into m bits |
//! | `window/` | the rate model of a window: each generation's column is a `standard` filter |

pub mod blocked;
pub mod compact;
pub mod distinct;
pub mod fold;
pub mod fuse;
pub(crate) mod limits;
pub mod matrix;
mod params;
mod rate;
mod remembered;
pub mod ribbon;
pub mod scalable;
mod search;
pub mod standard;
pub mod window;

pub use fold::{Shrink, foldable};
pub use limits::{MAX_NUM_BITS, MAX_NUM_HASHES, with_collisions_of};
pub(crate) use limits::{
    check_fpp, check_items, check_num_hashes, check_target, check_whole_blocks,
    with_digest_collisions,
};
use limits::{check_num_bits, digest_collisions};
pub use params::FilterParams;
pub use rate::{estimated_fpp, expected_fpp, textbook_fpp};
pub(crate) use search::largest;

use crate::{Block, Error, Layout};
use search::fewest;

/// `blocked` is the default if it costs at most this many times the memory of `standard`.
const BLOCKED_SIZE_RATIO_LIMIT: f64 = 1.25;

/// The smallest filter of this layout that holds `expected_items` at `target_fpp` or less.
///
/// # Errors
///
/// [`Error::ZeroItems`]; [`Error::FppOutOfRange`] unless `0 < target_fpp < 1`;
/// [`Error::FppUnreachable`] below 2 n / 2^64, twice the rate added by digest collisions;
/// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
pub fn for_items(
    layout: Layout,
    expected_items: u64,
    target_fpp: f64,
) -> Result<FilterParams, Error> {
    check_target(expected_items, target_fpp)?;
    remembered::or_solve(Some(layout), expected_items, target_fpp, || {
        let (num_bits, num_hashes) = match layout {
            Layout::Standard => standard::solve_bits(expected_items, target_fpp)?,
            Layout::Blocked | Layout::Blocked128 | Layout::Blocked64 => {
                blocked::solve_bits(layout, layout.num_hashes(), expected_items, target_fpp)?
            }
        };
        FilterParams::new(layout, num_bits, num_hashes, expected_items, target_fpp)
    })
}

/// The smallest filter of this layout with this k that holds `expected_items` at `target_fpp` or
/// less: for cases where each position has a cost, such as an argument of a command.
///
/// # Errors
///
/// Same as [`for_items`]; [`Error::OutOfRange`] if the layout does not have this k.
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, sizing};
/// // Half as many bits to set for 4 % more memory; k = 4 halves them again, for 1 % and above.
/// let sixteen = sizing::for_items(Layout::Blocked, 1_000_000, 1e-4)?;
/// let eight = sizing::for_items_and_hashes(Layout::Blocked, 8, 1_000_000, 1e-4)?;
/// assert_eq!((sixteen.num_hashes(), eight.num_hashes()), (16, 8));
/// assert!((eight.num_bits() as f64) < sixteen.num_bits() as f64 * 1.04);
/// assert!(eight.expected_fpp(1_000_000) <= 1e-4);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn for_items_and_hashes(
    layout: Layout,
    num_hashes: u32,
    expected_items: u64,
    target_fpp: f64,
) -> Result<FilterParams, Error> {
    check_target(expected_items, target_fpp)?;
    FilterParams::new(layout, layout.min_bits(), num_hashes, expected_items, target_fpp)?;
    let unit = layout.block_bits();
    // No filter needs fewer bits than the ideal one.
    let ideal = standard::ideal_num_bits(expected_items, target_fpp);
    let (low, high) = (layout.min_bits() / unit, MAX_NUM_BITS / unit);
    let low = low.max((ideal / unit as f64) as u64).max(1);
    let fpp = |units| expected_fpp(layout, units * unit, num_hashes, expected_items);
    let found = if low > high { None } else { fewest(low, high, target_fpp, fpp) };
    let too_large = Error::TooLarge { field: "num_bits", limit: MAX_NUM_BITS, found: ideal as u64 };
    let num_bits = found.ok_or(too_large)? * unit;
    FilterParams::new(layout, num_bits, num_hashes, expected_items, target_fpp)
}

/// The default layout: `blocked` if it reaches the rate with at most 25 % more memory than
/// `standard`, which it does for rates from about 0.38 down to about 2e-5.
///
/// Memory is allocated in blocks of 64 bytes, so a filter that fits into one is `blocked`. If
/// `standard` also touches one cache line per key, as with k = 1, it is the default if it is
/// smaller.
///
/// # Errors
///
/// Same as [`for_items`].
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, sizing};
/// assert_eq!(sizing::default_layout(1_000_000, 1e-3)?, Layout::Blocked);
/// assert_eq!(sizing::default_layout(1_000_000, 1e-6)?, Layout::Standard);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn default_layout(expected_items: u64, target_fpp: f64) -> Result<Layout, Error> {
    default_params(expected_items, target_fpp).map(|params| params.layout())
}

/// The smallest filter of the default layout that holds `expected_items` at `target_fpp` or less.
///
/// # Errors
///
/// Same as [`for_items`].
pub(crate) fn default_params(expected_items: u64, target_fpp: f64) -> Result<FilterParams, Error> {
    check_target(expected_items, target_fpp)?;
    let solve = || solve_default(expected_items, target_fpp);
    remembered::or_solve(None, expected_items, target_fpp, solve)
}

fn solve_default(expected_items: u64, target_fpp: f64) -> Result<FilterParams, Error> {
    if let Some(least) = least_standard_bytes(expected_items, target_fpp) {
        let limit = least as f64 * BLOCKED_SIZE_RATIO_LIMIT;
        if let Some(blocked) = blocked_within(limit, expected_items, target_fpp)? {
            return Ok(blocked);
        }
    }
    let standard = for_items(Layout::Standard, expected_items, target_fpp)?;
    let one_line = standard.num_hashes() == 1 || standard.num_blocks() == 1;
    let ratio_limit = if one_line { 1.0 } else { BLOCKED_SIZE_RATIO_LIMIT };
    let limit = standard.num_bytes() as f64 * ratio_limit;
    Ok(blocked_within(limit, expected_items, target_fpp)?.unwrap_or(standard))
}

/// A lower bound for the bytes of a standard filter that has several hashes and blocks; `None` if
/// it may have only one.
fn least_standard_bytes(expected_items: u64, target_fpp: f64) -> Option<u64> {
    let fewest_hashes = libm::floor(standard::ideal_num_hashes(target_fpp)) as u32;
    let bits = [fewest_hashes, fewest_hashes + 1]
        .map(|k| standard::least_num_bits(expected_items, target_fpp, k.min(MAX_NUM_HASHES)));
    let bits = bits[0].min(bits[1]);
    let has_several = fewest_hashes > 1 && (Block::BITS + 1..=MAX_NUM_BITS / 2).contains(&bits);
    has_several.then(|| bits.div_ceil(Block::BITS) * (Block::BITS / 8))
}

/// The smallest `blocked` filter, unless it is larger than `limit` bytes.
fn blocked_within(limit: f64, items: u64, target_fpp: f64) -> Result<Option<FilterParams>, Error> {
    let (layout, block_bytes) = (Layout::Blocked, Layout::Blocked.block_bits() / 8);
    let limit = (limit / block_bytes as f64) as u64;
    let limit = limit.min(MAX_NUM_BITS / layout.block_bits());
    let found =
        blocked::solve_blocks_up_to(limit, layout, layout.num_hashes(), items, target_fpp).ok();
    let params = |(bits, k)| FilterParams::new(layout, bits, k, items, target_fpp);
    found.map(params).transpose()
}

/// The filter with the lowest rate for `expected_items` in at most `max_bits` bits.
///
/// Its `target_fpp` is the predicted rate at `expected_items`.
///
/// # Errors
///
/// [`Error::ZeroItems`]; [`Error::OutOfRange`] if `max_bits` is below the layout's smallest filter
/// (64 bits, or one block) or above [`MAX_NUM_BITS`].
pub fn for_bits(layout: Layout, max_bits: u64, expected_items: u64) -> Result<FilterParams, Error> {
    check_items(expected_items)?;
    check_num_bits(layout, max_bits)?;
    let (num_bits, num_hashes) = match layout {
        Layout::Standard => (max_bits, standard::best_num_hashes(max_bits, expected_items)),
        Layout::Blocked => {
            let num_blocks = max_bits / 512;
            (num_blocks * 512, blocked::best_num_hashes(num_blocks, expected_items))
        }
        Layout::Blocked128 | Layout::Blocked64 => (max_bits - max_bits % layout.block_bits(), 8),
    };
    let fpp = expected_fpp(layout, num_bits, num_hashes, expected_items);
    // An overfull filter has p = 1 in floating point; a target must be below 1.
    let target_fpp = fpp.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
    FilterParams::new(layout, num_bits, num_hashes, expected_items, target_fpp)
}

/// The number of items that a filter of this layout and at most `max_bits` bits holds at
/// `target_fpp`.
///
/// # Errors
///
/// [`Error::FppOutOfRange`]; [`Error::OutOfRange`] for `max_bits` as in [`for_bits`], or if the
/// filter is too small to hold a single item at that rate.
pub fn max_items(layout: Layout, max_bits: u64, target_fpp: f64) -> Result<u64, Error> {
    check_fpp(target_fpp)?;
    check_num_bits(layout, max_bits)?;
    let meets = |items: u64| {
        for_bits(layout, max_bits, items).is_ok_and(|p| p.expected_fpp(items) <= target_fpp)
    };
    // No filter holds more items than bits at a useful rate; at rates near 1 the search continues
    // by doubling.
    match largest(meets) {
        0 => Err(Error::OutOfRange {
            parameter: "num_bits",
            min: for_items(layout, 1, target_fpp)?.num_bits(),
            max: MAX_NUM_BITS,
            found: max_bits,
        }),
        items => Ok(items),
    }
}

/// Like [`max_items`], for a filter with this k.
///
/// # Errors
///
/// Same as [`max_items`]; [`Error::OutOfRange`] if the layout does not have this k.
///
/// # Examples
///
/// ```
/// use mayhap::{Layout, sizing};
/// // 1 % in 1 MiB: k = 7 is the best, and with 3 hashes 31 % fewer keys fit.
/// let best = sizing::max_items(Layout::Standard, 1 << 23, 0.01)?;
/// assert_eq!(sizing::max_items_and_hashes(Layout::Standard, 7, 1 << 23, 0.01)?, best);
/// let three = sizing::max_items_and_hashes(Layout::Standard, 3, 1 << 23, 0.01)?;
/// assert!((three as f64 / best as f64 - 0.779).abs() < 0.01);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn max_items_and_hashes(
    layout: Layout,
    num_hashes: u32,
    max_bits: u64,
    target_fpp: f64,
) -> Result<u64, Error> {
    check_fpp(target_fpp)?;
    check_num_bits(layout, max_bits)?;
    check_num_hashes(layout, num_hashes)?;
    let num_bits = max_bits - max_bits % layout.block_bits();
    match largest(|items| expected_fpp(layout, num_bits, num_hashes, items) <= target_fpp) {
        0 => Err(Error::OutOfRange {
            parameter: "num_bits",
            min: for_items_and_hashes(layout, num_hashes, 1, target_fpp)?.num_bits(),
            max: MAX_NUM_BITS,
            found: max_bits,
        }),
        items => Ok(items),
    }
}

#[cfg(test)]
mod tests;
