//! Chains that grow in memory and are never saved: `dedup` of a pipe.

use crate::error::Error;
use crate::memory;
use mayhap::{DigestFunction, Layout, ScalableBloomFilter, sizing};
use mayhap_sets::OwnSet;

/// Room in the first filter of a growing chain: 3 MiB at 1e-4, and each further one is larger.
pub const FIRST_ITEMS: u64 = 1 << 20;

/// A chain that grows as needed, up to `max_bytes`, and keeps `target_fpp` overall.
///
/// # Errors
///
/// [`Error::Filter`], [`Error::TooMuchMemory`].
pub fn growing(target_fpp: f64, function: DigestFunction, max_bytes: u64) -> Result<OwnSet, Error> {
    let mut items = FIRST_ITEMS;
    // A quarter of the memory at most for the first one, so that others can follow.
    while items > 1
        && sizing::for_items(Layout::Blocked, items, target_fpp)?.num_bytes() > max_bytes / 4
    {
        items /= 2;
    }
    let mut filter = ScalableBloomFilter::new(items, target_fpp, function)?;
    memory::check(filter.num_bytes(), max_bytes)?;
    filter.set_max_bytes(max_bytes);
    Ok(OwnSet::unsaved(filter))
}
