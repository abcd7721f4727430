//! The rate model of a [`crate::BloomMatrix`]'s sets: `blocked` with k lanes.
//!
//! A set of a matrix is a column of `num_groups` groups of k lanes of 64 rows (8 lanes with two
//! rows each for k = 16); a key has one row in each lane of its group. For k = 8 and 16 a set is a
//! `blocked` filter, bit for bit; for fewer rows it is one with fewer lanes, and the model is the
//! same: see [`super::blocked::expected_fpp_of_lanes`].
//!
//! | rows per key | 3 | 4 | 5 | 6 | 7 | 8 | 16 |
//! |---|---|---|---|---|---|---|---|
//! | bits per key at 5 % | 6.71 | 6.41 | 6.44 | 6.59 | 6.80 | 7.05 | 9.45 |
//! | at 1 % | 13.09 | 11.07 | 10.32 | 10.06 | 10.02 | 10.10 | 12.40 |
//! | at 0.1 % | 32.7 | 22.7 | 18.9 | 17.2 | 16.2 | 15.7 | 17.2 |
//! | at 0.01 % | 85.8 | 46.5 | 34.0 | 28.4 | 25.4 | 23.6 | 22.9 |
//!
//! The time of a query depends on its rows, each of which is a cache line, so [`solve`] chooses the
//! fewest rows that cost at most a tenth more bits.

use super::search::fewest;
use super::{blocked, check_target, standard};
use crate::Error;

/// Rows of a lane: the values of 6 bits of a product.
pub(crate) const LANE_ROWS: u64 = 64;

/// The largest number of bits per set: 2^40, which is a panel of 64 TiB.
pub const MAX_NUM_BITS: u64 = 1 << 40;

/// The possible numbers of rows per key.
pub(crate) const NUM_HASHES: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 16];

/// Fewer rows are chosen if they cost at most this many times the fewest bits.
const BITS_RATIO_LIMIT: f64 = 1.1;

/// The lanes of a group: one for each of up to 8 rows per key, and 8 for 16.
pub(crate) const fn lanes(num_hashes: u32) -> u32 {
    if num_hashes < 8 { num_hashes } else { 8 }
}

/// The bits of one set: `num_groups` groups of 64 per lane.
pub const fn num_bits(num_groups: u64, num_hashes: u32) -> u64 {
    num_groups.saturating_mul(LANE_ROWS * lanes(num_hashes) as u64)
}

/// [`Error::OutOfRange`] unless k is from 1 to 8, or 16.
pub(crate) fn check_num_hashes(num_hashes: u32) -> Result<(), Error> {
    if matches!(num_hashes, 1..=8 | 16) {
        return Ok(());
    }
    let parameter = "num_hashes (1 to 8, or 16)";
    Err(Error::OutOfRange { parameter, min: 1, max: 16, found: num_hashes.into() })
}

/// The probability that the answer for a key that is not in a set of `items` keys is "maybe".
///
/// # Examples
///
/// ```
/// use mayhap::sizing::matrix;
/// // 32,259 groups of 5 × 64 rows: 10.32 bits a key.
/// assert!((matrix::expected_fpp(32_259, 5, 1_000_000) - 0.01).abs() < 1e-5);
/// ```
pub fn expected_fpp(num_groups: u64, num_hashes: u32, items: u64) -> f64 {
    blocked::expected_fpp_of_lanes(num_groups, LANE_ROWS, num_hashes, items)
}

/// The fewest groups that keep `target_fpp` with k = `num_hashes` rows per key.
///
/// # Errors
///
/// Same as [`super::for_items`]; [`Error::OutOfRange`] unless k is from 1 to 8, or 16;
/// [`Error::TooLarge`] above [`MAX_NUM_BITS`].
pub fn num_groups(expected_items: u64, target_fpp: f64, num_hashes: u32) -> Result<u64, Error> {
    check_target(expected_items, target_fpp)?;
    check_num_hashes(num_hashes)?;
    let group_bits = num_bits(1, num_hashes);
    // No layout needs fewer bits than the ideal standard filter.
    let ideal = standard::ideal_num_bits(expected_items, target_fpp);
    let (low, high) = ((ideal / group_bits as f64) as u64, MAX_NUM_BITS / group_bits);
    let too_large =
        Error::TooLarge { field: "bits per set", limit: MAX_NUM_BITS, found: ideal as u64 };
    if low > high {
        return Err(too_large);
    }
    let fpp = |groups| expected_fpp(groups, num_hashes, expected_items);
    fewest(low.max(1), high, target_fpp, fpp).ok_or(too_large)
}

/// The groups and the rows per key for sets of `expected_items` at `target_fpp`: the fewest rows
/// that cost at most 10 % more bits than the best number of rows.
///
/// # Errors
///
/// Same as [`num_groups`].
///
/// # Examples
///
/// ```
/// use mayhap::sizing::matrix;
/// assert_eq!(matrix::solve(1_000_000, 0.01)?, (32_259, 5));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn solve(expected_items: u64, target_fpp: f64) -> Result<(u64, u32), Error> {
    let mut error = None;
    let mut found = [None; NUM_HASHES.len()];
    for (found, num_hashes) in found.iter_mut().zip(NUM_HASHES) {
        match num_groups(expected_items, target_fpp, num_hashes) {
            Ok(groups) => *found = Some((groups, num_hashes)),
            Err(e) => error = Some(e),
        }
    }
    let bits = |&(groups, num_hashes): &(u64, u32)| num_bits(groups, num_hashes) as f64;
    let fewest = found.iter().flatten().map(bits).fold(f64::INFINITY, f64::min);
    match found.iter().flatten().find(|shape| bits(shape) <= fewest * BITS_RATIO_LIMIT) {
        Some(&shape) => Ok(shape),
        None => Err(error.unwrap_or(Error::ZeroItems)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_bits_per_key_is_the_models() {
        for (target, bits) in [
            (0.05, [6.71, 6.41, 6.44, 6.59, 6.80, 7.05, 9.45]),
            (0.01, [13.09, 11.07, 10.32, 10.06, 10.02, 10.10, 12.40]),
            (0.001, [32.7, 22.7, 18.9, 17.2, 16.2, 15.7, 17.2]),
            (0.0001, [85.8, 46.5, 34.0, 28.4, 25.4, 23.6, 22.9]),
        ] {
            for (k, expected) in [3, 4, 5, 6, 7, 8, 16].into_iter().zip(bits) {
                let groups = num_groups(1_000_000, target, k).unwrap();
                let found = num_bits(groups, k) as f64 / 1e6;
                let digits = if target < 0.01 { 0.051 } else { 0.0051 };
                assert!((found - expected).abs() < digits, "{target} k {k}: {found}");
                // The fewest: one group fewer does not keep the target.
                assert!(expected_fpp(groups, k, 1_000_000) <= target);
                assert!(expected_fpp(groups - 1, k, 1_000_000) > target);
            }
        }
    }

    #[test]
    fn rows_per_key_follow_the_rate() {
        let rows = |p| solve(100_000, p).unwrap().1;
        let found = [0.5, 0.05, 0.01, 1e-3, 1e-4, 1e-6].map(rows);
        assert_eq!(found, [1, 3, 5, 6, 8, 16]);
    }

    #[test]
    fn impossible_sets_are_errors() {
        assert_eq!(solve(0, 0.01), Err(Error::ZeroItems));
        assert!(matches!(solve(10, 1.0), Err(Error::FppOutOfRange { .. })));
        assert!(matches!(solve(10, f64::NAN), Err(Error::FppOutOfRange { .. })));
        assert!(matches!(solve(1 << 40, 0.01), Err(Error::TooLarge { .. })));
        assert!(matches!(solve(1 << 30, 1e-12), Err(Error::FppUnreachable { .. })));
        for k in [0, 9, 15, 17, u32::MAX] {
            assert!(matches!(num_groups(10, 0.01, k), Err(Error::OutOfRange { .. })), "{k}");
        }
    }
}
