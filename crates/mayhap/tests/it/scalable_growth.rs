//! Layers that are made before they are needed: once, charged once, and used.

use mayhap::{
    Budget, ConcurrentScalableBloomFilter, DigestFunction, Error, ScalableBloomFilter, native,
};
use std::sync::Arc;

/// A chain whose newest layer is nine tenths full, and the budget of `limit` that it is charged to.
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
    // Cancelled at once: the layer exists, if not all of its memory.
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

/// A guess that is a thousand times too low costs two layers more than one that is right for 2,000.
#[test]
fn a_small_first_guess_does_not_become_a_long_chain() {
    for (first_items, sizes) in
        [(1, [1, 2_048, 4_096]), (100, [100, 3_200, 6_400]), (2_000, [2_000, 4_000, 8_000])]
    {
        let function = DigestFunction::xxh3(11);
        let chain = || ScalableBloomFilter::new(first_items, 0.01, function).unwrap();
        let (mut filter, shared) = (chain(), chain().into_concurrent());
        let all: Vec<u64> = (0..sizes.iter().sum::<u64>() - 100).collect();
        filter.insert_batch(&all).unwrap();
        shared.insert_batch(&all).unwrap();
        let grown: Vec<u64> = filter.layers().map(|(params, _)| params.expected_items()).collect();
        assert_eq!(grown, sizes);
        assert!(filter.expected_fpp() <= 0.01 && all.iter().all(|key| filter.contains(key)));
        let bytes = native::encode(&filter, "");
        let (copy, _) = native::decode_as::<ScalableBloomFilter>(&bytes, None).unwrap();
        assert!(native::encode(&copy, "") == bytes);
        assert!(native::encode(&shared.into_exclusive(), "") == bytes);
    }
}
