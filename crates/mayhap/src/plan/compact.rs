//! The filter from which keys can be removed, with fingerprints.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::native::Kind;
use crate::sizing::compact::CompactParams;

/// Pairs of lines that a query touches at the design load, by the share of keys that are not in
/// front buckets: 4 to 9 %.
const LINES: f64 = 2.2;

/// A compact filter for the wish.
pub(super) fn candidate(wish: &Wish) -> Result<Candidate, Reason> {
    let params = match *wish {
        Wish::Bits { items, target_fpp } => CompactParams::for_items(items, target_fpp),
        Wish::Fpp { items, max_bytes } => CompactParams::for_bytes(max_bytes, items),
        Wish::Items { target_fpp, max_bytes } => CompactParams::largest(max_bytes, target_fpp),
    };
    let params = params.map_err(|error| wish.refusal(&error))?;
    let size = Size {
        items: params.expected_items(),
        target_fpp: params.target_fpp(),
        num_bits: params.num_bytes() * 8,
        num_hashes: 1,
    };
    let lines = CacheLines { hit: LINES, miss: LINES };
    Ok(Candidate::new(KindName::only(Kind::Compact), size, lines))
}

/// It takes no more keys than it is made for.
pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> Option<f64> {
    let params = CompactParams::for_items(candidate.items, candidate.target_fpp).ok()?;
    (items <= candidate.items).then(|| params.expected_fpp(items))
}
