//! Filters from which keys can be removed: `COUNTING`. One is full with as many distinct keys as
//! its capacity, however often each of them was added.

use super::filter::{Filter, Home};
use super::locked::{Locked, Ordered};
use super::own::{Own, Owned};
use super::{FEWEST_ITEMS, Plan};
use crate::keyspace::{Info, Shape};
use mayhap::set::{Set, same_kind};
use mayhap::{Charge, CountingBloomFilter, Error};

/// Sizes an empty filter.
pub(super) fn plan(shape: Shape, capacity: u64, target_fpp: f64) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = CountingBloomFilter::builder().expected_items(items).target_fpp(target_fpp);
    let params = builder.params()?;
    let num_bytes = (params.num_bits() / params.layout().block_bits()).saturating_mul(64);
    Ok(Plan::new(shape, num_bytes, move |function| CountingBloomFilter::empty(params, function)))
}

impl Own for CountingBloomFilter {
    const IS_ORDERED: bool = true;

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn share(owned: Owned<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Locked::new(owned, charge))
    }

    fn unite(&mut self, other: &dyn Set) -> Result<bool, Error> {
        let other = same_kind(self, other)?;
        let fill_ratio = self.fill_ratio().max(other.fill_ratio());
        self.union_with(other)?;
        Ok(self.fill_ratio() > fill_ratio)
    }

    /// Of a filter that was read or merged: as many as were added if its counters allow that, else
    /// their estimate. Exact if each was added once.
    fn counted_of(&self, capacity: u64) -> Option<(u64, u64)> {
        let (added, estimate) = (self.inserted_items(), self.estimated_items());
        let fits = added as f64 <= estimate.high;
        let distinct = if fits { added } else { estimate.rounded().min(added) };
        Some((distinct, self.params().inserted_when_holding(capacity)))
    }
}

impl Ordered for CountingBloomFilter {
    const NAME: &'static str = "counting";

    fn copied(&self) -> Result<Self, Error> {
        self.try_clone()
    }

    /// By the distinct keys that are present, while the filter counts each addition.
    fn describe(&self, info: Info, counted: u64, _events: u64) -> Info {
        let distinct_items = self.params().distinct_items(counted);
        Info { distinct_items, expected_fpp: self.expected_fpp(distinct_items), ..info }
    }
}
