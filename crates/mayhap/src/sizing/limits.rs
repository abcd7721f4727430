//! The sizes and rates that filters may have, and the lower bound that digests set for a rate.

use crate::{Error, Layout};

/// The largest `num_hashes`: beyond it, a lower rate is only reached by more bits.
///
/// 32 hashes are optimal at p = 2.3e-10; at 1e-12 the cap costs 2 % more bits.
pub const MAX_NUM_HASHES: u32 = 32;

/// The largest number of bits: 2^56 (8 PiB).
pub const MAX_NUM_BITS: u64 = 1 << 56;

pub(crate) fn check_fpp(target_fpp: f64) -> Result<(), Error> {
    // `contains` is false for NaN.
    if target_fpp > 0.0 && target_fpp < 1.0 {
        Ok(())
    } else {
        Err(Error::FppOutOfRange { found: target_fpp })
    }
}

pub(crate) fn check_items(expected_items: u64) -> Result<(), Error> {
    if expected_items == 0 { Err(Error::ZeroItems) } else { Ok(()) }
}

pub(crate) fn check_target(expected_items: u64, target_fpp: f64) -> Result<(), Error> {
    check_fpp(target_fpp)?;
    check_items(expected_items)?;
    let lowest_fpp = 2.0 * digest_collisions(expected_items);
    if target_fpp < lowest_fpp {
        return Err(Error::FppUnreachable { target_fpp, lowest_fpp });
    }
    Ok(())
}

pub(super) fn check_num_bits(layout: Layout, num_bits: u64) -> Result<(), Error> {
    Error::check_range("num_bits", layout.min_bits()..=MAX_NUM_BITS, num_bits)
}

/// Whether filters of this layout can set `num_hashes` bits for a key.
pub(crate) fn check_num_hashes(layout: Layout, num_hashes: u32) -> Result<(), Error> {
    let refused = |parameter, min: u32, max: u32| {
        let (min, max, found) = (min.into(), max.into(), num_hashes.into());
        Err(Error::OutOfRange { parameter, min, max, found })
    };
    match layout {
        Layout::Standard if !(1..=MAX_NUM_HASHES).contains(&num_hashes) => {
            refused("num_hashes", 1, MAX_NUM_HASHES)
        }
        Layout::Blocked if !layout.num_hashes().contains(&num_hashes) => {
            refused("num_hashes (4, 8 or 16)", 4, 16)
        }
        Layout::Blocked128 | Layout::Blocked64 if num_hashes != 8 => refused("num_hashes", 8, 8),
        _ => Ok(()),
    }
}

/// Checks that `num_bits` is a whole number of blocks of this layout.
pub(crate) fn check_whole_blocks(layout: Layout, num_bits: u64) -> Result<(), Error> {
    let block_bits = layout.block_bits();
    if num_bits.is_multiple_of(block_bits) {
        return Ok(());
    }
    let min = num_bits - num_bits % block_bits;
    let parameter = "num_bits (whole blocks)";
    Err(Error::OutOfRange { parameter, min, max: min + block_bits, found: num_bits })
}

/// The share of absent keys whose digest equals that of one of `items` keys: n / 2^64.
pub(super) fn digest_collisions(items: u64) -> f64 {
    items as f64 / 18_446_744_073_709_551_616.0
}

/// Above this rate, digest collisions do not show: filters have far fewer than 2^40 keys.
const COLLISIONS_SHOW_BELOW: f64 = 1e-4;

/// The rate that bits alone give, or a digest collision: p + (1 − p) n / 2^64. `items` is called
/// only if that shows, below 1e-4.
///
/// # Examples
///
/// ```
/// let p = mayhap::sizing::with_collisions_of(1e-30, || 1 << 30);
/// assert!((p - 2f64.powi(-34)).abs() < 1e-20);
/// assert_eq!(mayhap::sizing::with_collisions_of(0.01, || unreachable!()), 0.01);
/// ```
pub fn with_collisions_of(fpp: f64, items: impl FnOnce() -> u64) -> f64 {
    if fpp > COLLISIONS_SHOW_BELOW { fpp } else { with_digest_collisions(fpp, items()) }
}

/// `p` or a digest collision, whichever happens.
pub(crate) fn with_digest_collisions(fpp: f64, items: u64) -> f64 {
    let collisions = digest_collisions(items);
    (fpp + (1.0 - fpp) * collisions).min(1.0)
}
