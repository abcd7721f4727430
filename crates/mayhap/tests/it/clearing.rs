//! A filter that clears itself: exactly when, and its rate until then.

use super::{cases, digests, empty, shape, shapes, with_layout};
use mayhap::{
    Bitmap, BlockedBloomFilter, BloomFilter, ClearingFilter, Digest, Error, Filter, FilterParams,
    Layout, LayoutKind, OwnedBlocks,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn it_is_cleared_before_the_insertion_that_finds_it_full(
        params in shapes(), ratio in 0.01f64..=1.0, digests in digests(400),
    ) {
        with_layout!(clears_like_one_that_counts(params, ratio, &digests))?;
    }
}

/// The definition, word for word: all bits are counted after every insertion.
fn clears_like_one_that_counts<L: LayoutKind>(
    params: FilterParams,
    ratio: f64,
    digests: &[Digest],
) -> Result<(), TestCaseError> {
    let mut counting = empty::<L>(params);
    let mut clears = 0;
    let mut single = empty::<L>(params).clear_at_fill_ratio(ratio).unwrap();
    let mut batch = empty::<L>(params).clear_at_fill_ratio(ratio).unwrap();
    let mut new = Bitmap::new();
    batch.insert_digests_into(digests, &mut new);
    for (i, &digest) in digests.iter().enumerate() {
        if counting.fill_ratio() >= ratio {
            counting.clear();
            clears += 1;
        }
        let expected = counting.insert_digest(digest);
        prop_assert_eq!(single.insert_digest(digest), expected);
        prop_assert_eq!(new.get(i), expected);
        prop_assert!(single.contains_digest(digest));
        prop_assert!(single.filter().storage().as_ref() == counting.storage().as_ref());
    }
    for clearing in [&single, &batch] {
        prop_assert_eq!(clearing.num_clears(), clears);
        prop_assert_eq!(clearing.filter().inserted_items(), counting.inserted_items());
    }
    prop_assert!(batch.into_filter().storage().as_ref() == counting.storage().as_ref());
    Ok(())
}

/// A stream of a million keys through a filter for 20,000: memory stays, the rate stays below the
/// model's at the limit.
#[test]
#[cfg(not(miri))]
fn an_endless_stream_keeps_the_rate_in_constant_memory() {
    for (layout, bits) in [
        (Layout::Standard, 200_000),
        (Layout::Blocked, 512 * 400),
        (Layout::Blocked128, 128 * 1600),
        (Layout::Blocked64, 64 * 3200),
    ] {
        with_layout!(stream(shape(layout, bits, 8)));
    }
}

fn stream<L: LayoutKind>(params: FilterParams) {
    let absent: Vec<Digest> =
        (0..100_000u64).map(|i| empty::<L>(params).digest(&(1 << 40 | i))).collect();
    let mut filter = empty::<L>(params).clear_at_fill_ratio(0.5).unwrap();
    let limit = filter.fpp_at_limit();
    let (mut rounds, mut sum_at_end, mut sum_measured, mut last_fpp) = (0, 0.0, 0.0, 0.0);
    let mut found = Bitmap::new();
    let mut since_clear: Vec<u64> = Vec::new();
    for key in 0..1_000_000u64 {
        let clears = filter.num_clears();
        filter.insert(&key);
        if filter.num_clears() > clears {
            rounds += 1;
            sum_at_end += last_fpp;
            since_clear.clear();
        }
        since_clear.push(key);
        if filter.filter().fill_ratio() >= 0.5 {
            last_fpp = filter.filter().estimated_fpp();
            assert!(filter.filter().fill_ratio() < 0.5 + 8.0 / params.num_bits() as f64);
            assert!(since_clear.iter().all(|key| filter.contains(key)), "false negative");
            filter.contains_digests_into(&absent, &mut found);
            sum_measured += found.count_ones() as f64 / 100_000.0;
        }
    }
    let mean_items = filter.items_at_limit().items;
    let expected_rounds = 1e6 / mean_items;
    let (at_end, measured) = (sum_at_end / f64::from(rounds), sum_measured / f64::from(rounds));
    println!("{}: {rounds} rounds, limit {limit:.5}, {at_end:.5} {measured:.5}", params.layout());
    assert!(
        (f64::from(rounds) / expected_rounds - 1.0).abs() < 0.03,
        "{rounds} of {expected_rounds}"
    );
    // At the end of a round, where it is highest, the rate is the model's.
    assert!((at_end / limit - 1.0).abs() < 0.02, "{at_end} of {limit}");
    assert!((measured / limit - 1.0).abs() < 0.05, "{measured} of {limit}");
    assert_eq!(filter.filter().storage().as_ref().len() as u64, params.num_blocks());
}

#[test]
fn a_limit_that_is_no_share_is_refused() {
    for ratio in [0.0, -0.5, 1.000_001, f64::NAN, f64::INFINITY] {
        let filter = empty::<mayhap::Blocked>(shape(Layout::Blocked, 512, 8));
        let refused = filter.clear_at_fill_ratio(ratio).map(|_| ()).unwrap_err();
        assert!(matches!(refused, Error::FillRatioOutOfRange { .. }), "{ratio}");
        assert!(refused.to_string().contains("at most 1"), "{refused}");
    }
}

#[test]
fn a_filter_that_is_already_full_is_cleared_by_the_first_insertion() {
    let mut full = BloomFilter::builder().expected_items(100).target_fpp(0.01).build().unwrap();
    full.insert_batch(&(0..1000u64).collect::<Vec<_>>());
    let mut filter: ClearingFilter<_, OwnedBlocks> = full.clear_at_fill_ratio(0.5).unwrap();
    assert!(filter.contains(&7u64) && filter.num_clears() == 0, "asking clears nothing");
    assert!(filter.insert(&2000u64), "new, since all others are forgotten");
    assert_eq!((filter.num_clears(), filter.filter().inserted_items()), (1, 1));
    filter.clear();
    assert_eq!((filter.num_clears(), filter.contains(&2000u64)), (1, false));
}

/// A limit of 1 is reached by a filter without a clear bit, whose rate is 1.
#[test]
fn a_limit_of_one_is_the_full_filter() {
    let filter = empty::<mayhap::Blocked>(shape(Layout::Blocked, 512, 8));
    let mut filter = filter.clear_at_fill_ratio(1.0).unwrap();
    assert_eq!(filter.fpp_at_limit(), 1.0);
    let keys = if cfg!(miri) { 10 } else { 10_000u64 };
    (0..keys).for_each(|key| {
        filter.insert(&key);
    });
    // The last of the 512 bits is set after 400 keys on average.
    assert_eq!((15..40).contains(&filter.num_clears()), !cfg!(miri), "{}", filter.num_clears());
}

/// The path with prefetching: a filter larger than the caches.
#[test]
#[cfg(not(miri))]
fn batches_in_large_filters_say_what_single_insertions_say() {
    let make = || -> Filter<_, OwnedBlocks> {
        BlockedBloomFilter::builder().num_bytes(4 << 20).target_fpp(0.01).build().unwrap()
    };
    let keys: Vec<u64> = (0..200_000).collect();
    let mut single = make().clear_at_fill_ratio(0.03).unwrap();
    let mut batch = make().clear_at_fill_ratio(0.03).unwrap();
    let expected: Vec<bool> = keys.iter().map(|key| single.insert(key)).collect();
    assert!(batch.insert_batch(&keys).iter().eq(expected));
    assert_eq!((batch.num_clears(), single.num_clears()), (1, 1));
    assert!(batch.filter().storage().as_ref() == single.filter().storage().as_ref());
}
