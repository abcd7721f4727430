//! The static filter of the fewest bits.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::FuseWidth;
use crate::native::Kind;
use crate::sizing::ribbon::{expected_fpp, fitting, max_items, num_bits, width_for};

/// A ribbon filter for the wish, with the bits that are expected.
pub(super) fn candidate(wish: &Wish) -> Result<Candidate, Reason> {
    let (items, width, target_fpp) = match *wish {
        Wish::Bits { items, target_fpp } => {
            let width = width_for(items, target_fpp).ok_or(rate_unreachable(items))?;
            (items, width, target_fpp)
        }
        Wish::Fpp { items, max_bytes } => {
            let width = fitting(items, max_bytes / 64 * 512);
            let width = width.ok_or(Reason::BudgetTooSmall { max_bytes })?;
            (items, width, expected_fpp(width, items))
        }
        Wish::Items { target_fpp, max_bytes } => {
            let max_bits = max_bytes * 8;
            // The rate hardly depends on n: n / 2^64.
            let width = width_for(max_bits, target_fpp).ok_or(rate_unreachable(max_bits))?;
            match max_items(width, max_bits) {
                0 => return Err(Reason::BudgetTooSmall { max_bytes }),
                items => (items, width, target_fpp),
            }
        }
    };
    let num_bits = num_bits(width, items).map_err(|error| wish.refusal(&error))?;
    // Two for each eight bits of a fingerprint; the first two tell nearly all absent keys.
    let of_all = 2.0 * libm::ceil(width.mean_bits() / 8.0);
    let blocks = num_bits.div_ceil(512) as f64;
    let cache_lines = CacheLines { hit: of_all.min(blocks), miss: 2f64.min(blocks) };
    let size = Size { items, target_fpp, num_bits, num_hashes: 1 };
    Ok(Candidate::new(KindName::only(Kind::Ribbon), size, cache_lines))
}

/// Its rate; it cannot be overfilled.
pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> Option<f64> {
    if items > candidate.items {
        return None;
    }
    let width = width_for(candidate.items, candidate.target_fpp)?;
    Some(expected_fpp(width, items))
}

fn rate_unreachable(items: u64) -> Reason {
    Reason::RateUnreachable { lowest_fpp: expected_fpp(FuseWidth::WIDEST, items.max(1)) }
}
