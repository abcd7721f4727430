//! The rate model of a window: each generation's column is a `standard` filter.
//!
//! A window of 16 generations is a table of rows, one 16-bit word each ([`spans`] has words of 64);
//! generation `c` is the column of the words' bits `c`, a `standard` filter with as many bits as
//! there are rows, and all columns are queried with the same k rows. The answer for a key that was
//! never inserted is "maybe" if any live column has all its rows. The columns hold different keys,
//! so that their fills are independent, and
//!
//! ```text
//! p = 1 − Π over live generations c of (1 − p_c),   p_c = E[(X_c / rows)^k]
//! ```
//!
//! with the exact occupancy model of [`super::standard`] for each. That is exact where the k rows
//! of the queried key differ from one another, and an upper bound where some coincide (a
//! chance of k² / (2 · rows)).

pub mod spans;

use super::distinct::Intake;
use super::search::fewest;
use super::{MAX_NUM_BITS, MAX_NUM_HASHES, check_fpp, check_target, standard};
use crate::Error;

/// Columns of a window of the last w keys: the bits of a row.
///
/// With c columns one is being cleared, one is being filled, and c − 2 hold the window: the slack
/// is 1 / (c − 2). Bits per key at 1 %, including all columns: 18.2 for 8 columns (slack 1/6), 17.4
/// for 16 (1/14), 17.8 for 32 (1/30), 18.8 for 64 (1/62); at 5 % and at 0.1 % 16 columns need the
/// fewest as well.
pub const NUM_COLUMNS: u32 = 16;

/// The largest number of full generations that hold the window, in addition to the one being filled
/// and the one being cleared.
pub const MAX_OLDER_GENERATIONS: u32 = NUM_COLUMNS - 2;

/// The smallest number of rows of a window: the fewest bits of a `standard` filter.
pub const MIN_NUM_ROWS: u64 = 64;

/// The largest number of rows of a window: 2^52, which are 2^56 bits.
pub const MAX_NUM_ROWS: u64 = MAX_NUM_BITS / NUM_COLUMNS as u64;

/// The keys of a generation.
///
/// A key that already seems to be in the column, with the column's false-positive probability at
/// that time, changes nothing and is not counted: 0.006 % of the keys at 1 %, 0.04 % at 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// This many distinct keys were inserted.
    Distinct(u64),
    /// This many keys changed the column when they were inserted.
    Counted(u64),
}

impl Load {
    const fn items(self) -> u64 {
        let (Self::Distinct(items) | Self::Counted(items)) = self;
        items
    }
}

/// The false-positive probability of a window whose live generations hold these keys.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::window::{Load, expected_fpp};
/// let load = Load::Distinct(900);
/// let (one, two) = (expected_fpp(10_000, 7, [load]), expected_fpp(10_000, 7, [load, load]));
/// assert_eq!(expected_fpp(10_000, 7, [Load::Distinct(0); 15]), 0.0);
/// assert!((two - (1.0 - (1.0 - one) * (1.0 - one))).abs() < 1e-12);
/// ```
pub fn expected_fpp(
    num_rows: u64,
    num_hashes: u32,
    generations: impl IntoIterator<Item = Load>,
) -> f64 {
    let (mut log_absent, mut last) = (0.0, (Load::Distinct(0), 0.0));
    for load in generations {
        // Full generations hold the same number of keys each.
        if load != last.0 {
            last = (load, libm::log1p(-column_fpp(num_rows, num_hashes, load)));
        }
        log_absent += last.1;
    }
    // A difference, so that of nothing it is not -0.
    0.0 - libm::expm1(log_absent)
}

/// The fewest rows, and their k, that keep `target_fpp` with `live_generations` columns with this
/// load each.
///
/// # Errors
///
/// Same as [`super::for_items`]; [`Error::TooLarge`] above [`MAX_NUM_ROWS`].
///
/// # Examples
///
/// ```
/// // A window of 1.4 million keys: 15 live generations of 100,000.
/// use mayhap::sizing::window::{Load, for_items};
/// let (num_rows, num_hashes) = for_items(Load::Counted(100_000), 15, 0.01)?;
/// assert_eq!(num_hashes, 11);
/// assert!((num_rows * 16) as f64 / 1.4e6 < 17.5); // bits per key of the window
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn for_items(load: Load, live_generations: u32, target_fpp: f64) -> Result<(u64, u32), Error> {
    let column_target = column_target(load.items(), live_generations, target_fpp)?;
    fewest_rows(load, column_target, MAX_NUM_ROWS)
}

/// The rate of each of this number of columns such that at least one of them answers "maybe" with
/// probability `target_fpp`.
fn column_target(items: u64, columns: u32, target_fpp: f64) -> Result<f64, Error> {
    check_fpp(target_fpp)?;
    let columns = f64::from(columns.max(1));
    let column_target = -libm::expm1(libm::log1p(-target_fpp) / columns);
    check_target(items, column_target).map_err(|error| match error {
        // Callers know the rate of the window, not that of one of its columns.
        Error::FppUnreachable { lowest_fpp, .. } => Error::FppUnreachable {
            target_fpp,
            lowest_fpp: -libm::expm1(libm::log1p(-lowest_fpp) * columns),
        },
        error => error,
    })?;
    Ok(column_target)
}

/// The fewest rows, and their k, with which a column keeps its target.
fn fewest_rows(load: Load, column_target: f64, most: u64) -> Result<(u64, u32), Error> {
    let ideal = standard::ideal_num_hashes(column_target);
    let too_large = Error::TooLarge {
        field: "num_rows",
        limit: most,
        found: standard::ideal_num_bits(load.items(), column_target) as u64,
    };
    [libm::floor(ideal), libm::ceil(ideal)]
        .into_iter()
        .map(|k| (k as u32).clamp(1, MAX_NUM_HASHES))
        .filter_map(|k| Some((rows_for(load, column_target, k, most)?, k)))
        .min()
        .ok_or(too_large)
}

/// The smallest number of rows with which a column keeps `column_target`.
fn rows_for(load: Load, column_target: f64, num_hashes: u32, most: u64) -> Option<u64> {
    // The textbook formula is a lower bound.
    let low = standard::textbook_num_bits(load.items(), column_target, num_hashes) * 0.999;
    if low > most as f64 {
        return None;
    }
    let fpp = |rows| column_fpp(rows, num_hashes, load);
    fewest((low as u64).max(MIN_NUM_ROWS), most, column_target, fpp)
}

fn column_fpp(num_rows: u64, num_hashes: u32, load: Load) -> f64 {
    let items = match load {
        Load::Distinct(items) => items,
        Load::Counted(items) => distinct(num_rows, num_hashes, items),
    };
    standard::expected_fpp(num_rows, num_hashes, items)
}

/// The mean number of distinct keys inserted until `items` of them have changed the column.
fn distinct(num_rows: u64, num_hashes: u32, items: u64) -> u64 {
    libm::round(Intake::standard(num_rows, num_hashes).distinct(items as f64)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(items: u64) -> Load {
        if items.is_multiple_of(2) { Load::Distinct(items) } else { Load::Counted(items) }
    }

    #[test]
    fn a_size_keeps_its_target_and_one_row_less_does_not() {
        for items in [1, 5, 72, 1000, 100_000, 71_428_572] {
            for live in [2, 9, 15] {
                for target in [0.3, 0.05, 0.01, 1e-3, 1e-6] {
                    let (rows, k) = for_items(load(items), live, target).unwrap();
                    let fpp = |rows| expected_fpp(rows, k, (0..live).map(|_| load(items)));
                    assert!(fpp(rows) <= target * (1.0 + 1e-9), "{items} {live} {target}");
                    if rows > MIN_NUM_ROWS {
                        assert!(fpp(rows - 1) > target * (1.0 - 1e-9), "{items} {live} {target}");
                    }
                }
            }
        }
    }

    #[test]
    fn keys_that_change_nothing_are_counted_as_thrown() {
        // A column of 64 bits, k = 1: after n changes exactly n bits are set, and by the coupon
        // collector's sum 64 · (1/64 + 1/63 + … + 1/(64 − n + 1)) keys were thrown.
        for n in [1u32, 10, 30, 50] {
            let expected: f64 = (0..n).map(|i| 64.0 / f64::from(64 - i)).sum();
            let found = distinct(64, 1, n.into()) as f64;
            assert!((found - expected).abs() <= 0.6 + 0.02 * expected, "{n}: {found} {expected}");
        }
        assert_eq!(distinct(1 << 20, 7, 1000), 1000);
    }

    #[test]
    fn sizes_that_no_machine_has_are_errors() {
        let error = |items, fpp| for_items(load(items), 15, fpp).unwrap_err();
        assert!(matches!(error(1 << 52, 0.01), Error::TooLarge { .. }));
        assert!(matches!(error(u64::MAX, 0.01), Error::FppUnreachable { .. }));
        assert!(matches!(error(0, 0.01), Error::ZeroItems));
        assert!(matches!(error(10, f64::NAN), Error::FppOutOfRange { .. }));
        assert!(matches!(error(1 << 40, 1e-12), Error::FppUnreachable { .. }));
    }

    #[test]
    fn errors_name_the_rate_of_the_window_and_not_that_of_a_column() {
        let unreachable = |target| match for_items(Load::Distinct(1 << 40), 15, target) {
            Err(Error::FppUnreachable { target_fpp, lowest_fpp }) => Some((target_fpp, lowest_fpp)),
            _ => None,
        };
        let (target, lowest) = unreachable(1e-8).unwrap();
        assert_eq!(target, 1e-8);
        // The rate in the error is the lowest possible one.
        assert!(unreachable(lowest * (1.0 - 1e-9)).is_some());
        assert!(unreachable(lowest * (1.0 + 1e-9)).is_none());
    }

    /// An overfilled column reports that, up to the largest numbers.
    #[test]
    fn the_rate_grows_with_the_load_up_to_1() {
        let mut last = 0.0;
        for items in [1, 10, 100, 1000, 10_000, 1 << 40, u64::MAX] {
            let fpp = expected_fpp(1000, 7, [load(items)]);
            assert!(fpp >= last && fpp <= 1.0, "{items}: {fpp}");
            last = fpp;
        }
        assert!(last > 0.999_999);
    }
}
