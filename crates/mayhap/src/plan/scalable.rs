//! The chain of layers that grows with its keys.

use super::wish::Wish;
use super::{CacheLines, Candidate, KindName, Reason};
use crate::native::Kind;
use crate::sizing::scalable::{LayerParams, chain, chain_layer};

/// A chain whose first layer is sized for the wish: its bits are counted at the first guess.
pub(super) fn candidate(wish: &Wish) -> Result<Candidate, Reason> {
    let size = wish.solve(wish.max_bits(), |items, target_fpp| {
        let first = chain_layer(items, target_fpp, 0, 0.0)?;
        Ok((first.num_bits(), first.part().num_hashes() * first.num_parts()))
    })?;
    let first = chain_layer(size.items, size.target_fpp, 0, 0.0);
    let first = first.map_err(|error| wish.refusal(&error))?;
    // A present key is looked up in all parts; an absent one in the next part only after a "maybe".
    let (parts, part_fpp) = (first.num_parts(), first.part().expected_fpp(size.items));
    let miss = (0..parts).fold(0.0, |lines, _| 1.0 + part_fpp * lines);
    let lines = CacheLines { hit: parts.into(), miss };
    Ok(Candidate::new(KindName::only(Kind::Scalable), size, lines))
}

/// The rate of the chain after growing to `items` keys: 1 − Π (1 − pᵢ).
pub(super) fn fpp_after(candidate: &Candidate, items: u64) -> Option<f64> {
    let mut none_of = 0.0;
    let grown = for_each_layer(candidate, items, |layer, items| {
        none_of += libm::log1p(-layer.expected_fpp(items));
    });
    grown.then(|| -libm::expm1(none_of))
}

/// The bits of the chain after growing to `items` keys.
pub(super) fn num_bits_after(candidate: &Candidate, items: u64) -> Option<u64> {
    let mut num_bits = 0u64;
    let grown = for_each_layer(candidate, items, |layer, _| {
        num_bits = num_bits.saturating_add(layer.num_bits());
    });
    grown.then_some(num_bits)
}

/// Visits the layers that `items` distinct keys need, each with the number of keys that reach it:
/// older ones mistake some for their own. `false` if the chain cannot grow that far.
fn for_each_layer(
    candidate: &Candidate,
    items: u64,
    mut visit: impl FnMut(&LayerParams, u64),
) -> bool {
    let (mut rest, mut absent) = (items, 1.0);
    for layer in chain(candidate.items, candidate.target_fpp).map_while(Result::ok) {
        let most = libm::round(layer.expected_items() as f64 / absent) as u64;
        let come = rest.min(most);
        visit(&layer, libm::round(come as f64 * absent) as u64);
        absent *= 1.0 - layer.expected_fpp(layer.expected_items());
        rest -= come;
        if rest == 0 {
            return true;
        }
    }
    false
}
