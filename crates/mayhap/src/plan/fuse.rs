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
                let lowest_fpp = expected_fpp(FuseWidth::Bits16, items);
                return Err(Reason::RateUnreachable { lowest_fpp });
            };
            (items, bits(width, items)?)
        }
        Wish::Fpp { items, max_bytes } => {
            let fitting = FuseWidth::ALL.into_iter().rev().find_map(|width| {
                let bits = num_bits(width, items).ok()?;
                (bits.div_ceil(512) <= max_bytes / 64).then_some(bits)
            });
            (items, fitting.ok_or(Reason::BudgetTooSmall { max_bytes })?)
        }
        Wish::Items { target_fpp, max_bytes } => {
            let max_bits = max_bytes * 8;
            // The rate hardly depends on n: n / 2^64.
            let Some(width) = FuseWidth::for_target(max_bits, target_fpp) else {
                let lowest_fpp = expected_fpp(FuseWidth::Bits16, max_bits);
                return Err(Reason::RateUnreachable { lowest_fpp });
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

fn width_of(items: u64, bits: u64) -> Option<FuseWidth> {
    FuseWidth::ALL.into_iter().find(|&width| num_bits(width, items) == Ok(bits))
}
