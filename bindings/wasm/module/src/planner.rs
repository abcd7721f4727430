//! The planner of `mayhap plan`. Its answer crosses to JavaScript as one row of numbers;
//! `package/planner.js` names them and has the words, so that the module writes no number as text.

use crate::Fault;
use mayhap::Layout;
use mayhap::native::Kind;
use mayhap::plan::{self, Candidate, KindName, Reason};
use wasm_bindgen::prelude::wasm_bindgen;

/// Needs that are set or not, by the bits of `flags`.
const DELETE: u32 = 1;
const FORGET: u32 = 2;
const FROZEN: u32 = 4;
const UNKNOWN_ITEMS: u32 = 8;

/// Finds the kind, layout and size of filter for these needs; NaN is a number that is not given.
/// `curve` has the numbers of keys for which each candidate's rate is returned.
///
/// The row: the number of candidates; for each of them, the best one first, [`candidate`]; for each
/// kind that does not serve [`kind`] and [`reason`].
///
/// # Errors
///
/// A [`Fault`] unless two of n, p and the memory are given, and for numbers out of their range.
#[wasm_bindgen]
pub fn plan(
    items: f64,
    target_fpp: f64,
    max_bytes: f64,
    sets: f64,
    flags: u32,
    curve: &[f64],
) -> Result<Vec<f64>, Fault> {
    let count = |number: f64| (!number.is_nan()).then_some(number as u64);
    let planned = plan::plan(&plan::Needs {
        items: count(items),
        target_fpp: (!target_fpp.is_nan()).then_some(target_fpp),
        max_bytes: count(max_bytes),
        delete: flags & DELETE != 0,
        forget: flags & FORGET != 0,
        frozen: flags & FROZEN != 0,
        unknown_items: flags & UNKNOWN_ITEMS != 0,
        sets: sets as u64,
        ..plan::Needs::default()
    })?;
    let best = planned.best.iter().map(|best| (best, None));
    let others = planned.rejected.iter().map(|(other, why)| (other, Some(*why)));
    let mut row = vec![0.0];
    for (found, why) in best.chain(others) {
        row[0] += 1.0;
        row.push(kind(found.kind));
        row.extend(why.map_or([f64::NAN; 3], reason));
        row.extend(candidate(found));
        row.extend(curve.iter().map(|&n| found.fpp_after(n as u64).unwrap_or(f64::NAN)));
    }
    for (name, why) in &planned.unfit {
        row.push(kind(*name));
        row.extend(reason(*why));
    }
    Ok(row)
}

/// The place of the kind in `KINDS`.
fn kind(name: KindName) -> f64 {
    match name.layout {
        Some(Layout::Standard) => 0.0,
        Some(Layout::Blocked) => 1.0,
        Some(Layout::Blocked128) => 2.0,
        Some(Layout::Blocked64) => 3.0,
        _ => 2.0 + f64::from(name.kind as u16 - Kind::Counting as u16 + 2),
    }
}

/// The place of the reason in `REASONS`, and its numbers.
fn reason(why: Reason) -> [f64; 3] {
    match why {
        Reason::CannotDelete => [0.0, 0.0, 0.0],
        Reason::CannotForget => [1.0, 0.0, 0.0],
        Reason::CannotGrow => [2.0, 0.0, 0.0],
        Reason::CannotInsert => [3.0, 0.0, 0.0],
        Reason::RateUnreachable { lowest_fpp } => [4.0, lowest_fpp, 0.0],
        Reason::TooLarge => [5.0, 0.0, 0.0],
        Reason::BudgetTooSmall { max_bytes } => [6.0, max_bytes as f64, 0.0],
        Reason::OverBudget { num_bytes } => [7.0, num_bytes as f64, 0.0],
        Reason::MoreBits { times } => [8.0, times, 0.0],
        Reason::HigherRate { times } => [9.0, times, 0.0],
        Reason::FewerItems { share } => [10.0, share, 0.0],
        Reason::MoreCacheLines { lines, best } => [11.0, lines, best],
        // The others need costs or the size of keys, which are not given here.
        _ => [12.0, 0.0, 0.0],
    }
}

/// Its numbers in the order of `NUMBERS`; NaN for a rate of a kind that accepts no more than n.
fn candidate(found: &Candidate) -> [f64; 11] {
    [
        found.items as f64,
        found.target_fpp,
        found.num_bits as f64,
        f64::from(found.num_hashes),
        found.num_bytes as f64,
        found.expected_fpp,
        found.fpp_at_2x.unwrap_or(f64::NAN),
        found.fpp_at_10x.unwrap_or(f64::NAN),
        found.cache_lines.hit,
        found.cache_lines.miss,
        found.bits_per_item(),
    ]
}
