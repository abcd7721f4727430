//! A filter for a list of unknown length, in one pass: as large as its memory allows, and folded at
//! the end to what its keys need.

use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, grouped};
use crate::memory;
use mayhap::sizing::{default_layout, foldable, for_items};
use mayhap::{AnyFilter, Build, Layout};
use mayhap_sets::{LayoutName, OwnSet};
use mayhap_units::number::format_bytes;

/// The memory for a list of unknown length, unless it is given.
const DEFAULT_BYTES: u64 = 256 << 20;
/// Where the layout depends on the number of keys, which is hardly ever.
const USUAL_ITEMS: u64 = 1_000_000;

/// Whether the filter is folded at the end: if requested, or if the keys of a pipe have no number.
///
/// # Errors
///
/// [`Error::Usage`] where that is requested of a filter that does not fold.
pub(super) fn applies(
    (requested, size): (bool, &SizeArgs),
    is_pipe: bool,
    is_foreign: bool,
) -> Result<bool, Error> {
    let is_plain = size.layout.is_none_or(|name| name.layout().is_some());
    let folds = is_plain && !is_foreign && size.preset.is_none();
    if requested && !folds {
        return Err(Error::usage(
            "--shrink is for blocked and standard filters that are sized by -p",
            "omit it, or choose --layout blocked or --layout standard, and -p",
        ));
    }
    Ok(folds && (requested || is_pipe && !size.is_fixed()))
}

/// An empty filter of `--mem`, or for `-n` keys, of a size that folds to many others.
///
/// # Errors
///
/// [`Error::TooMuchMemory`], [`Error::Filter`], those of [`DigestArgs::function`].
pub(super) fn begin(size: &SizeArgs, digest: &DigestArgs) -> Result<AnyFilter, Error> {
    let limit = size.max_bytes();
    let fpp = size.fpp.unwrap_or(DEFAULT_FPP);
    let layout = match size.layout.and_then(LayoutName::layout) {
        Some(layout) => layout,
        None => default_layout(size.items.unwrap_or(USUAL_ITEMS), fpp)?,
    };
    let num_bits = match (size.mem, size.items) {
        (Some(bytes), _) => bytes.saturating_mul(8),
        (None, Some(items)) => bits_for(layout, items, fpp)?,
        (None, None) => DEFAULT_BYTES.min(limit / 2) * 8,
    };
    let params = foldable(layout, num_bits, fpp)?;
    // And the folded one, of half its size or less.
    memory::check(params.num_bytes() / 2 * 3, limit)?;
    Ok(Build::empty(params, digest.function()?)?)
}

/// Bits of which a size with many divisors, which leaves a 16th of them unused, is enough.
fn bits_for(layout: Layout, items: u64, fpp: f64) -> Result<u64, Error> {
    Ok(for_items(layout, items, fpp)?.num_bits().div_ceil(15).saturating_mul(16))
}

/// The filter at the smallest size that keeps its rate for its keys: byte for byte the one that
/// `--reproducible` builds at that size.
///
/// # Errors
///
/// [`Error::Filter`].
pub(super) fn end(filter: &AnyFilter, talk: Reporter) -> Result<OwnSet, Error> {
    let (params, items) = (filter.params(), filter.distinct_items().rounded());
    // The count that follows from the bits of the smaller filter may be as much higher.
    let items = items.saturating_add(items / 100).max(1);
    // A filter that was overfilled keeps no rate, and its size.
    let factor = params.fold_factor(items, params.target_fpp()).unwrap_or(1);
    let mut folded = filter.fold(factor, params.target_fpp())?;
    folded.settle_inserted_items();
    let [before, after] = [params, folded.params()].map(|it| format_bytes(it.num_bytes()));
    talk.say(&format!("folded by {}: {before} to {after}", grouped(factor)));
    Ok(folded.into())
}
