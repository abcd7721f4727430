//! The last sizes that a thread has solved: one takes as long as a thousand insertions, and
//! programs that create many small filters create them alike.

use super::FilterParams;
use crate::{Error, Layout};

/// What is solved; the rate by its bits, and without a layout for the default one.
#[cfg(feature = "std")]
type Question = (Option<Layout>, u64, u64);

/// The sizes that are remembered: few, since looking costs as well.
#[cfg(feature = "std")]
const MOST: usize = 8;

#[cfg(feature = "std")]
struct Sizes {
    all: [Option<(Question, FilterParams)>; MOST],
    /// The one to be replaced next.
    oldest: usize,
}

/// The remembered size of this, or else the one that `solve` finds; an error is not remembered.
///
/// # Errors
///
/// Those of `solve`.
#[cfg(feature = "std")]
pub(super) fn or_solve(
    layout: Option<Layout>,
    expected_items: u64,
    target_fpp: f64,
    solve: impl FnOnce() -> Result<FilterParams, Error>,
) -> Result<FilterParams, Error> {
    use std::cell::RefCell;

    std::thread_local! {
        static SIZES: RefCell<Sizes> =
            const { RefCell::new(Sizes { all: [None; MOST], oldest: 0 }) };
    }
    let question = (layout, expected_items, target_fpp.to_bits());
    let known = SIZES.with_borrow(|sizes| {
        let is_it = |(known, _): &&(Question, FilterParams)| *known == question;
        sizes.all.iter().flatten().find(is_it).map(|&(_, params)| params)
    });
    if let Some(params) = known {
        return Ok(params);
    }
    // Nothing is borrowed here: one solution may need another.
    let params = solve()?;
    SIZES.with_borrow_mut(|sizes| {
        sizes.all[sizes.oldest] = Some((question, params));
        sizes.oldest = (sizes.oldest + 1) % MOST;
    });
    Ok(params)
}

/// Nothing is remembered without `std`, which has the storage of threads.
#[cfg(not(feature = "std"))]
pub(super) fn or_solve(
    _: Option<Layout>,
    _: u64,
    _: f64,
    solve: impl FnOnce() -> Result<FilterParams, Error>,
) -> Result<FilterParams, Error> {
    solve()
}
