//! The filter from which keys can be removed, with counters of 4 bits.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason, bloom};
use crate::native::Kind;
use crate::{CounterBits, Layout, sizing};

/// The plain filter with a bit for each counter, which has the same rate.
const LAYOUT: Layout = Layout::Blocked128;

/// Bits of memory for each bit of the plain filter.
const COUNTER_BITS: u64 = CounterBits::Four.bits() as u64;

/// A counting filter for the wish.
pub(super) fn candidate(wish: &Wish) -> Result<Candidate, Reason> {
    let plain = wish.with_share_of_bytes(COUNTER_BITS);
    let params = bloom::params(LAYOUT, &plain).map_err(|error| wish.refusal(&error))?;
    let size = Size {
        items: params.expected_items(),
        target_fpp: params.target_fpp(),
        num_bits: params.num_bits() * COUNTER_BITS,
        num_hashes: params.num_hashes(),
    };
    let lines = CacheLines { hit: 1.0, miss: 1.0 };
    Ok(Candidate::new(KindName::only(Kind::Counting), size, lines))
}

pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> f64 {
    let num_counters = candidate.num_bits / COUNTER_BITS;
    sizing::expected_fpp(LAYOUT, num_counters, candidate.num_hashes, items)
}
