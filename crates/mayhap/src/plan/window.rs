//! The filter that forgets: a window of the last n keys, or of a time span in which n keys arrive.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::bits::Block;
use crate::native::Kind;
use crate::simd::{FIRST_ROWS, fits_cache};
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
        let full = spans::full_generations(size.items);
        let lines = lines(&size, spans::NUM_COLUMNS, spans::generation_items(size.items), full);
        return Ok(Candidate::new(KindName::only(Kind::Window), size, lines).of_time());
    }
    let size = wish.solve(wish.max_bits(), |items, target_fpp| {
        let step = step(items);
        let live = live(items, step) + 1;
        let (rows, k) = for_items(Load::Counted(step), live, target_fpp)?;
        Ok((rows * u64::from(NUM_COLUMNS), k))
    })?;
    let step = step(size.items);
    let lines = lines(&size, NUM_COLUMNS, step, live(size.items, step) + 1);
    Ok(Candidate::new(KindName::only(Kind::Window), size, lines))
}

/// The rows that a query reads, at the highest load: all in a near cache; elsewhere the first few
/// and, if one of `generations` generations of `items` keys remains by chance, the others.
fn lines(size: &Size, columns: u32, items: u64, generations: u32) -> CacheLines {
    let hit = f64::from(size.num_hashes);
    if fits_cache(size.num_bits.div_ceil(Block::BITS) as usize) {
        return CacheLines { hit, miss: hit };
    }
    let rows = (size.num_bits / u64::from(columns)) as f64;
    let fill = -libm::expm1(-hit * items as f64 / rows);
    let first = hit.min(FIRST_ROWS as f64);
    let none = libm::pow(1.0 - libm::pow(fill, first), f64::from(generations));
    CacheLines { hit, miss: first + (hit - first) * (1.0 - none) }
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
    let loads = core::iter::repeat_n(Load::Distinct(step), generations);
    expected_fpp(rows, candidate.num_hashes, loads)
}
