//! The static filter.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::native::Kind;
use crate::sizing::fuse::{FuseWidth, expected_fpp, max_items, num_bits};

/// The slots, and so the cache lines, of a query.
const NUM_SLOTS: u32 = 3;

/// A static filter for the wish.
pub(super) fn candidate(wish: &Wish) -> Result<Candidate, Reason> {
    let bits = |width, items| num_bits(width, items).map_err(|error| wish.refusal(&error));
    let (items, num_bits) = match *wish {
        Wish::Bits { items, target_fpp } => {
            let Some(width) = FuseWidth::for_target(items, target_fpp) else {
                return Err(rate_unreachable(items));
            };
            (items, bits(width, items)?)
        }
        Wish::Fpp { items, max_bytes } => {
            let fitting = FuseWidth::fitting(items, max_bytes / 64 * 512);
            (items, bits(fitting.ok_or(Reason::BudgetTooSmall { max_bytes })?, items)?)
        }
        Wish::Items { target_fpp, max_bytes } => {
            let max_bits = max_bytes * 8;
            // The rate hardly depends on n: n / 2^64.
            let Some(width) = FuseWidth::for_target(max_bits, target_fpp) else {
                return Err(rate_unreachable(max_bits));
            };
            match max_items(width, max_bits) {
                0 => return Err(Reason::BudgetTooSmall { max_bytes }),
                items => (items, bits(width, items)?),
            }
        }
    };
    let lines = f64::from(NUM_SLOTS).min(num_bits.div_ceil(512) as f64);
    let cache_lines = CacheLines { hit: lines, miss: lines };
    let width = width_of(items, num_bits);
    let target_fpp = match *wish {
        Wish::Bits { target_fpp, .. } | Wish::Items { target_fpp, .. } => target_fpp,
        Wish::Fpp { .. } => width.map_or(1.0, |width| expected_fpp(width, items)),
    };
    let size = Size { items, target_fpp, num_bits, num_hashes: NUM_SLOTS };
    Ok(Candidate::new(KindName::only(Kind::Fuse), size, cache_lines))
}

/// Its rate; it cannot be overfilled.
pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> Option<f64> {
    if items > candidate.items {
        return None;
    }
    width_of(candidate.items, candidate.num_bits).map(|width| expected_fpp(width, items))
}

/// The width of a candidate: the only one with these bits, except for shares of the keys with one
/// more that come to the same number of segments.
fn width_of(items: u64, bits: u64) -> Option<FuseWidth> {
    let whole_bytes = [FuseWidth::BITS_8, FuseWidth::BITS_16];
    let found = whole_bytes.into_iter().find(|&width| num_bits(width, items) == Ok(bits));
    found.or_else(|| FuseWidth::fitting(items, bits))
}

fn rate_unreachable(items: u64) -> Reason {
    Reason::RateUnreachable { lowest_fpp: expected_fpp(FuseWidth::WIDEST, items.max(1)) }
}
