//! Layers that are made before they are needed: once, charged once, and used.

use mayhap::{Budget, ConcurrentScalableBloomFilter, DigestFunction, Error};
use std::sync::Arc;

/// A chain of which the newest layer is nine tenths full, and what it is charged to, of `limit`.
fn nearly_full(limit: impl Fn(u64) -> u64) -> (ConcurrentScalableBloomFilter, Arc<Budget>) {
    let function = DigestFunction::xxh3(12);
    let mut filter = ConcurrentScalableBloomFilter::new(2_000_000, 0.01, function).unwrap();
    let budget = Budget::new(limit(filter.num_bytes()));
    filter.set_charge(budget.charge(filter.num_bytes()).unwrap());
    filter.insert_batch(&(0..1_800_000u64).collect::<Vec<_>>()).unwrap();
    (filter, budget)
}

#[test]
fn a_layer_that_was_made_ahead_is_the_one_that_is_published_and_charged_once() {
    let (filter, budget) = nearly_full(|_| u64::MAX);
    let before = budget.used();
    assert!(filter.growth_is_due() && !filter.growth_is_due());
    filter.grow_ahead(|| true);
    filter.grow_ahead(|| true);
    let made = budget.used();
    assert!(made > before && filter.num_layers() == 1 && filter.num_bytes() == made);
    filter.insert_batch(&(1_800_000..3_000_000u64).collect::<Vec<_>>()).unwrap();
    assert_eq!((filter.num_layers(), filter.num_bytes(), budget.used()), (2, made, made));
    assert!((0..3_000_000u64).all(|key| filter.contains(&key)));
    assert!(filter.snapshot().unwrap().num_bytes() == made);
    let exclusive = filter.into_exclusive();
    assert!(exclusive.num_layers() == 2 && exclusive.contains(&2_999_999u64));
    assert_eq!(budget.used(), 0, "the charge goes with the filter that had it");
}

#[test]
fn a_layer_that_was_made_ahead_and_not_used_is_given_back() {
    let (filter, budget) = nearly_full(|_| u64::MAX);
    // Told at once to end: the layer is there, if not all of its memory.
    filter.grow_ahead(|| false);
    assert!(budget.used() == filter.num_bytes() && filter.num_layers() == 1);
    assert_eq!(filter.snapshot().unwrap().num_layers(), 1, "no part of a copy");
    drop(filter);
    assert_eq!(budget.used(), 0);
}

#[test]
fn where_a_limit_is_near_nothing_is_made_ahead_and_growth_is_as_ever() {
    // The next layer has about twice the bytes, so there is room for one and not for two.
    let (filter, budget) = nearly_full(|bytes| bytes * 4);
    let before = budget.used();
    filter.grow_ahead(|| true);
    assert_eq!((budget.used(), filter.num_bytes()), (before, before));
    filter.insert_batch(&(1_800_000..2_500_000u64).collect::<Vec<_>>()).unwrap();
    assert_eq!((filter.num_layers(), budget.used()), (2, filter.num_bytes()));

    let (filter, budget) = nearly_full(|bytes| bytes * 2);
    filter.grow_ahead(|| true);
    let refused = filter.insert_batch(&(1_800_000..2_500_000u64).collect::<Vec<_>>());
    assert!(matches!(refused, Err(Error::TooLarge { field: Budget::FIELD, .. })), "{refused:?}");
    assert_eq!(budget.used(), filter.num_bytes());
}
