//! Intervals, rates and health, against keys that are known.
#![cfg(not(miri))]

use super::is_whole;
use mayhap::{
    AnyFilter, CountingBloomFilter, DigestFunction, Estimate, Health, Layout, ScalableBloomFilter,
    native,
};

/// 2^64.
const DIGESTS: f64 = 18_446_744_073_709_551_616.0;

fn filter(layout: Layout, items: u64, fpp: f64, seed: u64) -> AnyFilter {
    let builder = AnyFilter::builder().layout(layout).expected_items(items).target_fpp(fpp);
    builder.digest_function(DigestFunction::xxh3(seed)).build().unwrap()
}

/// The start of the second of two sets of `items` keys that share a part of their keys.
fn second(items: u64, overlap: f64) -> u64 {
    items - (items as f64 * overlap) as u64
}

/// A 99 % interval misses one time in a hundred: these must miss about as often, within chance.
fn check_misses(what: &str, intervals: &[(Estimate, u64)]) {
    let misses = |(estimate, truth): &&(Estimate, u64)| {
        let truth = *truth as f64;
        estimate.low > truth || truth > estimate.high
    };
    let missed: Vec<_> = intervals.iter().filter(misses).collect();
    let expected = intervals.len() as f64 / 100.0;
    let most = expected + 4.0 * expected.sqrt() + 1.0;
    assert!(
        missed.len() as f64 <= most,
        "{what}: {} of {} intervals miss, {expected:.0} may: {:?}",
        missed.len(),
        intervals.len(),
        missed.first()
    );
}

/// (n, p, share of n inserted into each, overlap) of each union.
fn unions() -> Vec<(u64, f64, f64, f64)> {
    let mut all = Vec::new();
    for items in [300, 2_000, 10_000] {
        for fpp in [0.1, 0.01, 1e-3, 1e-6] {
            for load in [0.3, 1.0, 1.6] {
                for overlap in [0.0, 0.5, 0.95] {
                    all.push((items, fpp, load, overlap));
                }
            }
        }
    }
    all
}

#[test]
fn intervals_of_distinct_keys_hold_after_unions_and_settling() {
    let times = if is_whole() { 6 } else { 1 };
    for layout in [Layout::Standard, Layout::Blocked] {
        let [mut united, mut saved, mut later, mut settled, mut shared] =
            [const { Vec::<(Estimate, u64)>::new() }; 5];
        for seed in 0..times {
            for (items, fpp, load, overlap) in unions() {
                let count = (items as f64 * load) as u64;
                let start = second(count, overlap);
                let truth = start + count;
                let mut left = filter(layout, items, fpp, seed);
                let mut right = filter(layout, items, fpp, seed);
                left.insert_batch(&(0..count).collect::<Vec<_>>());
                right.insert_batch(&(start..truth).collect::<Vec<_>>());
                let mut own = filter(layout, items, fpp, seed);
                own.insert_batch(&(start..truth).rev().collect::<Vec<_>>());
                own.settle_inserted_items();
                settled.push((own.distinct_items(), count));
                left.union_with(&right).unwrap();
                united.push((left.distinct_items(), truth));
                let bytes = native::encode(&left, "");
                let (copy, _) = native::decode_as::<AnyFilter>(&bytes, None).unwrap();
                saved.push((copy.distinct_items(), truth));
                left.insert_batch(&(truth..truth + 50).collect::<Vec<_>>());
                later.push((left.distinct_items(), truth + 50));
                // Threads that share a filter do not count insertions.
                let right = right.into_concurrent();
                for key in truth..truth + 20 {
                    right.insert_digest(right.digest_function().digest(&key));
                }
                shared.push((right.snapshot().unwrap().distinct_items(), count + 20));
            }
        }
        let name = layout.name();
        check_misses(&format!("{name}, united"), &united);
        check_misses(&format!("{name}, united and saved"), &saved);
        check_misses(&format!("{name}, united and filled"), &later);
        check_misses(&format!("{name}, settled"), &settled);
        check_misses(&format!("{name}, shared"), &shared);
    }
}

#[test]
fn intervals_of_distinct_keys_hold_after_unions_of_chains() {
    let times = if is_whole() { 12 } else { 2 };
    let mut intervals = Vec::new();
    for seed in 0..times {
        for first in [100, 5_000] {
            for fpp in [0.1, 0.01, 1e-4] {
                for count in [90, 2_000, 12_000] {
                    for overlap in [0.0, 0.5, 1.0] {
                        let chain = || {
                            let function = DigestFunction::xxh3(seed);
                            ScalableBloomFilter::new(first, fpp, function).unwrap()
                        };
                        let (mut left, mut right) = (chain(), chain());
                        let start = second(count, overlap);
                        left.insert_batch(&(0..count).collect::<Vec<_>>()).unwrap();
                        // In another order: its layers have other keys.
                        let keys: Vec<u64> = (start..start + count).rev().collect();
                        right.insert_batch(&keys).unwrap();
                        left.union_with(&right).unwrap();
                        let truth = start + count;
                        intervals.push((left.distinct_items(), truth));
                        left.insert_batch(&(truth..truth + 30).collect::<Vec<_>>()).unwrap();
                        intervals.push((left.distinct_items(), truth + 30));
                        let shared = left.into_concurrent();
                        intervals.push((shared.distinct_items(), truth + 30));
                    }
                }
            }
        }
    }
    check_misses("chains", &intervals);
    // One layer, from whose bits its number of keys is estimated.
    let chain = || ScalableBloomFilter::new(20_000, 0.01, DigestFunction::default()).unwrap();
    let (mut left, mut right) = (chain(), chain());
    left.insert_batch(&(0..8_000u64).collect::<Vec<_>>()).unwrap();
    right.insert_batch(&(4_000..12_000u64).collect::<Vec<_>>()).unwrap();
    left.union_with(&right).unwrap();
    let distinct = left.distinct_items();
    assert!(distinct.high - distinct.low < 600.0, "{distinct:?}");
}

/// The rate by the bits alone, computed bit by bit.
fn fpp_of_bits(filter: &AnyFilter) -> f64 {
    let (params, blocks) = (filter.params(), filter.blocks());
    let k = f64::from(params.num_hashes());
    let lanes = |block: &mayhap::Block| {
        let (lane_bits, per_lane) = if k < 8.0 { (128.0, 1.0) } else { (64.0, k / 8.0) };
        let lanes: Vec<f64> = block.0.iter().map(|lane| f64::from(lane.count_ones())).collect();
        let lanes = lanes.chunks((lane_bits / 64.0) as usize).map(|lane| lane.iter().sum::<f64>());
        lanes.map(|ones| (ones / lane_bits).powf(per_lane)).product::<f64>()
    };
    match params.layout() {
        Layout::Standard => filter.fill_ratio().powf(k),
        _ => blocks.iter().map(lanes).sum::<f64>() / blocks.len() as f64,
    }
}

/// No filter can distinguish keys with equal digests.
#[test]
fn the_rate_now_includes_equal_digests() {
    for (items, fpp) in [(10_000u64, 1.2e-15), (10_000, 1e-12), (100_000, 3e-14), (1_000, 0.01)] {
        let least = items as f64 / DIGESTS;
        for layout in [Layout::Standard, Layout::Blocked] {
            let mut filter = filter(layout, items, fpp, 1);
            assert_eq!(filter.estimated_fpp(), 0.0, "empty");
            filter.insert_batch(&(0..items).collect::<Vec<_>>());
            let (found, model) = (filter.estimated_fpp(), fpp_of_bits(&filter) + least);
            assert!(found >= least, "{items} at {fpp}, {layout}: {found} below {least}");
            assert!(
                (found / model - 1.0).abs() < 0.03,
                "{items} at {fpp}, {layout}: {found}, {model}"
            );
        }
        // The layers of a chain need lower rates than it has.
        let (first, fpp) = (1_000, fpp.max(1e-12));
        let mut chain = ScalableBloomFilter::new(first, fpp, DigestFunction::default()).unwrap();
        chain.insert_batch(&(0..items).collect::<Vec<_>>()).unwrap();
        assert!(chain.estimated_fpp() >= 0.97 * least, "{items} at {fpp}: a chain");
    }
    let builder = CountingBloomFilter::builder().expected_items(1_000).target_fpp(1e-14);
    let mut counting = builder.build().unwrap();
    counting.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    assert!(counting.estimated_fpp() >= 0.97 * 1_000.0 / DIGESTS);
}

/// One answer to "is it full": by the count or by the bits, whichever is worse.
#[test]
fn the_health_of_a_filter_is_the_worse_of_count_and_bits() {
    let times = if is_whole() { 40 } else { 4 };
    for seed in 0..times {
        for (items, fpp) in [(58u64, 0.01), (15_712, 0.02), (1_000, 0.3)] {
            for share in [0.5, 0.78, 0.79, 0.8, 0.81, 0.9, 1.0, 1.3] {
                let mut filter = filter(Layout::Blocked, items, fpp, seed);
                filter.insert_batch(&(0..(items as f64 * share) as u64).collect::<Vec<_>>());
                let (params, counted) = (*filter.params(), filter.inserted_items());
                let by_count = Health::of_inserted(&params, counted);
                let by_bits = filter.estimated_items().health(items);
                assert_eq!(filter.health(), by_count.max(by_bits));
                if share < 0.6 {
                    assert_eq!(filter.health(), Health::Ok, "{items} {share}");
                } else if (0.85..0.95).contains(&share) {
                    assert_eq!(filter.health(), Health::NearCapacity, "{items} {share}");
                } else if share > 1.2 && items > 100 {
                    assert_eq!(filter.health(), Health::OverCapacity, "{items} {share}");
                }
            }
        }
    }
}
