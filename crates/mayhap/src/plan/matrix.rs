//! The matrix of many sets.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Needs, Reason};
use crate::native::Kind;
use crate::sizing::matrix;

/// The number of sets in a panel, whose rows are one cache line each.
const PANEL_SETS: u64 = 512;

/// The panels for this many sets.
pub(super) const fn panels(sets: u64) -> u64 {
    sets.div_ceil(PANEL_SETS)
}

/// One set of a matrix for the needs: the share of a set is a 512th of a panel, used or not.
pub(super) fn candidate(needs: &Needs, wish: &Wish) -> Result<Candidate, Reason> {
    let places = panels(needs.sets).saturating_mul(PANEL_SETS);
    let budget_bits = needs.max_bytes.unwrap_or(0) / places * 8;
    let size = if let Wish::Fpp { items, max_bytes } = *wish {
        lowest_rate(items, budget_bits).ok_or(Reason::BudgetTooSmall { max_bytes })?
    } else {
        wish.solve(budget_bits, |items, target_fpp| {
            let (groups, k) = matrix::solve(items, target_fpp)?;
            Ok((matrix::num_bits(groups, k), k))
        })?
    };
    // A query touches k lines, whatever the answer.
    let lines = f64::from(size.num_hashes);
    let lines = CacheLines { hit: lines, miss: lines };
    let mut candidate = Candidate::new(KindName::only(Kind::Matrix), size, lines);
    candidate.num_bytes = size.num_bits / 8;
    Ok(candidate)
}

/// The lowest rate below 1 with this many bits, for any number of rows.
///
/// This does not use `matrix::solve`, which spends up to a tenth of the bits on fewer rows: its
/// bits fall with the rate at the step from k to k + 1 rows, and a search for the rate would end at
/// the first such step.
fn lowest_rate(items: u64, max_bits: u64) -> Option<Size> {
    let max_bits = max_bits.min(matrix::MAX_NUM_BITS);
    let of_rows = |num_hashes: u32| {
        let groups = max_bits / matrix::num_bits(1, num_hashes);
        if groups == 0 {
            return None;
        }
        let target_fpp = matrix::expected_fpp(groups, num_hashes, items);
        let num_bits = matrix::num_bits(groups, num_hashes);
        (target_fpp < 1.0).then_some(Size { items, target_fpp, num_bits, num_hashes })
    };
    let sizes = matrix::NUM_HASHES.into_iter().filter_map(of_rows);
    sizes.min_by(|a, b| a.target_fpp.total_cmp(&b.target_fpp))
}

/// Bytes and cache lines of all sets.
pub(super) fn scale(candidate: &mut Candidate, sets: u64) {
    let panels = panels(sets);
    let places = panels.saturating_mul(PANEL_SETS);
    candidate.num_bytes = candidate.num_bytes.saturating_mul(places);
    candidate.cache_lines.hit *= panels as f64;
    candidate.cache_lines.miss *= panels as f64;
}

pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> f64 {
    let groups = candidate.num_bits / matrix::num_bits(1, candidate.num_hashes);
    matrix::expected_fpp(groups, candidate.num_hashes, items)
}
