//! Chains that grow in memory and are never saved: `dedup` of a pipe.

use crate::error::Error;
use crate::memory;
use mayhap::{DigestFunction, Layout, ScalableBloomFilter, sizing};
use mayhap_sets::OwnSet;

/// Room in the first filter of a growing chain: 3 MiB at 1e-4, and each further one is larger.
pub const FIRST_ITEMS: u64 = 1 << 20;

/// A chain that has no memory yet: it grows as needed, up to `max_bytes`, and keeps `target_fpp`
/// overall.
#[derive(Debug)]
pub struct Chain {
    first_items: u64,
    target_fpp: f64,
    function: DigestFunction,
    max_bytes: u64,
}

impl Chain {
    /// One whose first filter takes a quarter of the memory at most, so that others can follow.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`], [`Error::TooMuchMemory`].
    pub fn plan(target_fpp: f64, function: DigestFunction, max_bytes: u64) -> Result<Self, Error> {
        let mut first_items = FIRST_ITEMS;
        let quarter = max_bytes / 4;
        while first_items > 1
            && sizing::for_items(Layout::Blocked, first_items, target_fpp)?.num_bytes() > quarter
        {
            first_items /= 2;
        }
        let first = sizing::scalable::chain_layer(first_items, target_fpp, 0, 0.0)?;
        memory::check(first.num_bytes(), max_bytes)?;
        Ok(Self { first_items, target_fpp, function, max_bytes })
    }

    /// The chain, with the memory of its first filter.
    ///
    /// # Errors
    ///
    /// [`mayhap::Error::OutOfMemory`].
    pub fn create(&self) -> Result<OwnSet, mayhap::Error> {
        let Self { first_items, target_fpp, function, max_bytes } = *self;
        let mut filter = ScalableBloomFilter::new(first_items, target_fpp, function)?;
        filter.set_max_bytes(max_bytes);
        Ok(OwnSet::unsaved(filter))
    }
}
