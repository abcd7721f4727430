//! The filter that forgets: a window of the last n keys, or of a time span in which n keys arrive.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::native::Kind;
use crate::sizing::window::{
    Load, MAX_OLDER_GENERATIONS, NUM_COLUMNS, expected_fpp, for_items, spans,
};

/// A window that remembers the last n keys, or the keys of a time span, at most n.
pub(super) fn candidate(wish: &Wish, by_time: bool) -> Result<Candidate, Reason> {
    if by_time {
        let size = wish.solve(wish.max_bits(), |items, target_fpp| {
            let (rows, k) = spans::for_items(items, target_fpp)?;
            Ok((rows * u64::from(spans::NUM_COLUMNS), k))
        })?;
        return Ok(of_size(size).of_time());
    }
    let size = wish.solve(wish.max_bits(), |items, target_fpp| {
        let step = step(items);
        let live = live(items, step) + 1;
        let (rows, k) = for_items(Load::Counted(step), live, target_fpp)?;
        Ok((rows * u64::from(NUM_COLUMNS), k))
    })?;
    Ok(of_size(size))
}

fn of_size(size: Size) -> Candidate {
    // A miss ends when no column remains; without a model of that, all k rows are an upper bound.
    let lines = f64::from(size.num_hashes);
    let lines = CacheLines { hit: lines, miss: lines };
    Candidate::new(KindName::only(Kind::Window), size, lines)
}

/// Keys of a generation.
const fn step(items: u64) -> u64 {
    items.div_ceil(MAX_OLDER_GENERATIONS as u64)
}

/// The number of generations that this many keys fill.
fn live(items: u64, step: u64) -> u32 {
    items.div_ceil(step) as u32
}

/// The rate after `items` keys, counting each generation begun as full: it is constant once the
/// window is full. For a time window, after this many keys in one span, in bursts of any kind.
pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> f64 {
    if candidate.by_time {
        let rows = candidate.num_bits / u64::from(spans::NUM_COLUMNS);
        return spans::expected_fpp(rows, candidate.num_hashes, candidate.items, items);
    }
    let step = step(candidate.items);
    let most = live(candidate.items, step) + 1;
    let generations = u64::from(most).min(items.div_ceil(step)) as usize;
    let generations = if items >= candidate.items { most as usize } else { generations };
    let rows = candidate.num_bits / u64::from(NUM_COLUMNS);
    let loads = core::iter::repeat_n(Load::Counted(step), generations);
    expected_fpp(rows, candidate.num_hashes, loads)
}
