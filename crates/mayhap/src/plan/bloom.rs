//! The plain filter of both layouts.

use super::size::Size;
use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::sizing::{self, standard::fill_moments};
use crate::{Error, FilterParams, Layout};

/// A plain filter of this layout for the wish.
pub(super) fn candidate(layout: Layout, wish: &Wish) -> Result<Candidate, Reason> {
    let params = params(layout, wish).map_err(|error| wish.refusal(&error))?;
    let (items, num_bits) = (params.expected_items(), params.num_bits());
    let k = f64::from(params.num_hashes());
    let cache_lines = match layout {
        Layout::Blocked | Layout::Blocked128 | Layout::Blocked64 => {
            CacheLines { hit: 1.0, miss: 1.0 }
        }
        Layout::Standard => {
            // A small filter has fewer lines than probes: the expected number of distinct ones.
            let lines = num_bits.div_ceil(512) as f64;
            let different = |probes: f64| {
                if lines <= 1.0 {
                    1.0
                } else {
                    // At least one, despite rounding.
                    (-libm::expm1(probes * libm::log1p(-1.0 / lines)) * lines).max(1.0)
                }
            };
            // Probes until the first clear bit: Σ fill^i.
            let (fill, _) = fill_moments(num_bits as f64, k * items as f64);
            let probes = if fill < 1.0 { (1.0 - libm::pow(fill, k)) / (1.0 - fill) } else { k };
            CacheLines { hit: different(k), miss: different(probes) }
        }
    };
    let (target_fpp, num_hashes) = (params.target_fpp(), params.num_hashes());
    let size = Size { items, target_fpp, num_bits, num_hashes };
    Ok(Candidate::new(KindName::bloom(layout), size, cache_lines))
}

/// The parameters of a plain filter of this layout for the wish.
pub(super) fn params(layout: Layout, wish: &Wish) -> Result<FilterParams, Error> {
    match *wish {
        Wish::Bits { items, target_fpp } => sizing::for_items(layout, items, target_fpp),
        Wish::Fpp { items, max_bytes } => sizing::for_bits(layout, max_bytes * 8, items),
        Wish::Items { target_fpp, max_bytes } => {
            let max_bits = max_bytes * 8;
            let items = sizing::max_items(layout, max_bits, target_fpp)?;
            sizing::for_bits(layout, max_bits, items)
        }
    }
}

pub(super) fn fpp_after(candidate: &Candidate, layout: Layout, items: u64) -> f64 {
    sizing::expected_fpp(layout, candidate.num_bits, candidate.num_hashes, items)
}
