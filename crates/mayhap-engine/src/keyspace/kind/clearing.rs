//! Filters that forget all keys whenever a given share of their bits is set: `CLEARAT`. After a
//! crash one is cleared between the same two keys again.

use super::filter::{Filter, Home, News};
use super::locked::{Locked, Ordered, by_numbers};
use super::own::{Own, Owned};
use super::{FEWEST_ITEMS, Plan};
use crate::keyspace::{Info, Shape};
use mayhap::{Blocked, BlockedBloomFilter, Charge, ClearingFilter, Error, OwnedBlocks};

/// Sizes an empty filter.
pub(super) fn plan(shape: Shape, capacity: u64, target_fpp: f64, at: f64) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = BlockedBloomFilter::builder().expected_items(items).target_fpp(target_fpp);
    let params = builder.params()?;
    Ok(Plan::new(shape, params.num_bytes(), move |function| {
        let blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        BlockedBloomFilter::from_parts(params, function, blocks, 0)?.clear_at_fill_ratio(at)
    }))
}

impl Own for ClearingFilter<Blocked> {
    const IS_ORDERED: bool = true;

    fn num_bytes(&self) -> u64 {
        self.filter().params().num_bytes()
    }

    fn share(owned: Owned<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Locked::new(owned, charge))
    }
}

/// How far above the promised rate a filter may be that is cleared at half of its bits: it has
/// about as many keys then as it was sized for, and sometimes slightly more.
const MARGIN: f64 = 1.25;

impl Ordered for ClearingFilter<Blocked> {
    const NAME: &'static str = "clearing";

    fn copied(&self) -> Result<Self, Error> {
        self.try_clone()
    }

    /// Whether its number of keys puts its rate above the promised one, as for a while in a filter
    /// that is cleared late.
    fn is_over_capacity(&self, _shape: &Shape) -> bool {
        let (params, items) = (self.filter().params(), self.filter().inserted_items());
        params.expected_fpp(params.distinct_items(items)) > params.target_fpp() * MARGIN
    }

    fn describe(&self, info: Info, _counted: u64, events: u64) -> Info {
        Info { clears: Some(events), ..by_numbers(self, info) }
    }

    fn events(&self) -> u64 {
        self.num_clears()
    }

    fn news(&self, new: u64, _all: u64) -> Option<News> {
        Some(News::Cleared(new))
    }
}
