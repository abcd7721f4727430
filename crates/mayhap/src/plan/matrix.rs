//! The matrix of many sets.

use super::needs::Wish;
use super::{CacheLines, Candidate, KindName, Needs, Reason};
use crate::native::Kind;
use crate::sizing::matrix;

/// Sets in a panel, whose rows are one cache line each.
const PANEL_SETS: u64 = 512;

/// Panels for so many sets.
pub(super) const fn panels(sets: u64) -> u64 {
    sets.div_ceil(PANEL_SETS)
}

/// One set of a matrix for the needs: the share of a set is a 512th of a panel, used or not.
pub(super) fn candidate(needs: &Needs, wish: &Wish) -> Result<Candidate, Reason> {
    let places = panels(needs.sets).saturating_mul(PANEL_SETS);
    let budget_bits = needs.max_bytes.unwrap_or(0) / places * 8;
    let (items, num_bits, k) = wish.solve(budget_bits, |items, target_fpp| {
        let (groups, k) = matrix::solve(items, target_fpp)?;
        Ok((matrix::num_bits(groups, k), k))
    })?;
    // A query touches k lines, whatever the answer.
    let lines = CacheLines { hit: k.into(), miss: k.into() };
    let mut candidate = Candidate::new(KindName::only(Kind::Matrix), items, num_bits, k, lines);
    candidate.num_bytes = num_bits / 8;
    Ok(candidate)
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
