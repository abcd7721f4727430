//! Time windows: the keys remembered, the division into generations, and the number of rows that
//! keeps a rate under any load.
//!
//! A time window for n keys in a span has 64 columns. A generation begins with its first key and
//! ends when it has n/54 keys *or* is an eighth of the span old. In a span at most 54 generations
//! end in the first way and 8 in the second; with the one being filled and the column being
//! cleared, these are all 64. So while no more than n keys arrive in a span, in bursts of any kind,
//! the keys of the last span are present. Beyond that the oldest generation is forgotten first. A
//! key is kept for at most 9/8 of the span.
//!
//! The rate is highest when as many keys as possible are in as few generations as possible: n of
//! the last span and the others in the same generation as the oldest of them, which are 55 full
//! generations. More are never remembered, however many arrive, and the rows are sized for these.
//! The rate of a column grows faster than its number of keys, so no other distribution of these
//! keys has a higher rate.
//!
//! | bits per key | at 5 % | 1 % | 0.1 % | 0.01 % |
//! |---|---|---|---|---|
//! | with k rows per key | 18.0 (7) | 22.0 (9) | 28.1 (11) | 33.7 (14) |
//!
//! `bench/results/window-cost.md`, made by `cargo run -p mayhap --example window_cost`, compares
//! this with other numbers of columns and other rules.

use super::{Load, column_target, expected_fpp as fpp_of, fewest_rows, rows_for};
use crate::Error;
use crate::sizing::{MAX_NUM_BITS, standard};

/// Columns: the bits of a row. One of them is being cleared, the others can be queried.
pub const NUM_COLUMNS: u32 = 64;

/// G: a generation ends with this share of the keys of a span.
pub const BY_ITEMS: u64 = 54;

/// T: a generation ends after this share of the span.
pub const BY_TIME: u64 = 8;

/// The largest number of rows: 2^50, which are 2^56 bits.
pub const MAX_NUM_ROWS: u64 = MAX_NUM_BITS / NUM_COLUMNS as u64;

/// Fewer rows per key are chosen if they cost at most this many times the fewest bits: each is a
/// cache line of every insertion, and an absent key meets a clear row sooner.
const BITS_RATIO_LIMIT: f64 = 1.05;

/// The keys after which a generation ends: n/54, rounded up.
pub const fn generation_items(expected_items: u64) -> u64 {
    expected_items.div_ceil(BY_ITEMS)
}

/// The time after which a generation ends: an eighth of the span, rounded up.
pub const fn generation_span(span: u64) -> u64 {
    span.div_ceil(BY_TIME)
}

/// The largest number of full generations remembered: 55, fewer for windows of fewer than 54 keys.
pub const fn full_generations(expected_items: u64) -> u32 {
    let items = generation_items(expected_items);
    if items == 0 { 1 } else { expected_items.div_ceil(items) as u32 + 1 }
}

/// The largest number of keys remembered, as counted.
pub const fn most_items(expected_items: u64) -> u64 {
    let items = generation_items(expected_items);
    items.saturating_mul(full_generations(expected_items) as u64)
}

/// The fewest rows, and their k, that keep `target_fpp` under any load, with as few rows per key as
/// cost at most a twentieth more bits.
///
/// # Errors
///
/// Same as [`crate::sizing::for_items`]; [`Error::TooLarge`] above [`MAX_NUM_ROWS`].
///
/// # Examples
///
/// ```
/// use mayhap::sizing::window::spans;
/// let (num_rows, num_hashes) = spans::for_items(1_000_000, 0.01)?;
/// assert_eq!(num_hashes, 9);
/// assert!((num_rows * 64) as f64 / 1e6 < 22.1); // bits per key
/// let worst = spans::expected_fpp(num_rows, num_hashes, 1_000_000, 30_000_000);
/// assert!(worst <= 0.01 && worst > 0.0099);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn for_items(expected_items: u64, target_fpp: f64) -> Result<(u64, u32), Error> {
    let items = generation_items(expected_items);
    let (load, full) = (Load::Counted(items), full_generations(expected_items));
    let target = column_target(items, full, target_fpp)?;
    let (fewest, best) = fewest_rows(load, target, MAX_NUM_ROWS)?;
    let limit = (fewest as f64 * BITS_RATIO_LIMIT) as u64;
    let found = (1..best).find_map(|k| {
        // The textbook formula, which is a lower bound, rules out most values.
        let rows = standard::textbook_num_bits(items, target, k);
        let rows = (rows < limit as f64).then(|| rows_for(load, target, k, MAX_NUM_ROWS))??;
        (rows <= limit).then_some((rows, k))
    });
    Ok(found.unwrap_or((fewest, best)))
}

/// The false-positive probability of a time window for `expected_items` when `items` keys arrive in
/// a span in the worst case: in as few generations as possible, at most [`full_generations`] of
/// which are remembered.
pub fn expected_fpp(num_rows: u64, num_hashes: u32, expected_items: u64, items: u64) -> f64 {
    let of_generation = generation_items(expected_items).max(1);
    let items = items.min(most_items(expected_items));
    let full = (items / of_generation) as usize;
    let loads = core::iter::repeat_n(of_generation, full).chain([items % of_generation]);
    fpp_of(num_rows, num_hashes, loads.map(Load::Counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_that_can_come_keeps_the_target_and_one_row_less_does_not() {
        for items in [1, 5, 53, 54, 55, 1_000, 100_000, 1 << 33] {
            for target in [0.3, 0.05, 0.01, 1e-3, 1e-6] {
                let (rows, k) = for_items(items, target).unwrap();
                let worst = |rows| expected_fpp(rows, k, items, u64::MAX);
                assert!(worst(rows) <= target * (1.0 + 1e-9), "{items} {target}");
                if rows > super::super::MIN_NUM_ROWS {
                    assert!(worst(rows - 1) > target * (1.0 - 1e-9), "{items} {target}");
                }
                assert!(expected_fpp(rows, k, items, items) <= worst(rows));
            }
        }
    }

    #[test]
    fn fewer_rows_a_key_cost_a_twentieth_at_most() {
        for (target, bits, k) in
            [(0.05, 18.0, 7), (0.01, 22.0, 9), (1e-3, 28.1, 11), (1e-4, 33.7, 14)]
        {
            let (rows, hashes) = for_items(10_000_000, target).unwrap();
            let found = (rows * 64) as f64 / 1e7;
            assert!((found - bits).abs() < 0.051 && hashes == k, "{target}: {found} with {hashes}");
            let full = full_generations(10_000_000);
            let load = Load::Counted(generation_items(10_000_000));
            let (fewest, _) = super::super::for_items(load, full, target).unwrap();
            assert!(rows as f64 <= fewest as f64 * 1.05);
        }
    }

    #[test]
    fn generations_and_columns_add_up() {
        for items in 1..10_000 {
            let (of_one, full) = (generation_items(items), full_generations(items));
            // The columns that end by their keys, by the time, the one being filled and the one
            // cleared.
            let by_items = u64::from(full) - 1;
            assert!(by_items * of_one >= items && (by_items - 1) * of_one < items, "{items}");
            assert!(by_items + BY_TIME + 2 <= u64::from(NUM_COLUMNS), "{items}");
        }
        assert_eq!((full_generations(1 << 40), most_items(54)), (55, 55));
        for span in 1..100 {
            assert!(generation_span(span) * BY_TIME >= span);
        }
    }

    #[test]
    fn sizes_that_no_machine_has_are_errors() {
        let error = |items, fpp| for_items(items, fpp).unwrap_err();
        assert!(matches!(error(1 << 55, 0.01), Error::TooLarge { .. }));
        assert!(matches!(
            error(u64::MAX, 0.01),
            Error::TooLarge { .. } | Error::FppUnreachable { .. }
        ));
        assert!(matches!(error(0, 0.01), Error::ZeroItems));
        assert!(matches!(error(10, f64::NAN), Error::FppOutOfRange { .. }));
    }

    /// Spreading the keys over more generations is never worse.
    #[test]
    fn full_generations_are_the_worst() {
        let (rows, k) = for_items(54_000, 0.01).unwrap();
        let worst = expected_fpp(rows, k, 54_000, 55_000);
        for spread in [56, 60, 63] {
            let loads =
                (0..spread).map(|i| Load::Counted(55_000 * (i + 1) / spread - 55_000 * i / spread));
            assert!(fpp_of(rows, k, loads) < worst);
        }
        let uneven = (0..62).map(|i| Load::Counted(if i < 54 { 1_000 } else { 125 }));
        assert!(fpp_of(rows, k, uneven) < worst);
    }
}
