//! Counting keys, measured: the share of distinct keys that a filter answers "new", and the number
//! of keys estimated from it, over many filters. The seeds are 1000 and up.
#![cfg(not(miri))]

use mayhap::{
    AnyFilter, Bitmap, BloomMatrix, Build, Digest, DigestFunction, Estimate, FilterParams, Health,
    Layout, ScalableBloomFilter, sizing,
};

const FIRST_SEED: u64 = 1000;

/// Filters of each row: the variance of their deviations is then within 0.25 of 1 by 3 σ.
const FILTERS: u64 = 300;

const CHUNK: u64 = 1 << 14;

fn fill(params: FilterParams, keys: u64, seed: u64) -> AnyFilter {
    let mut filter = AnyFilter::empty(params, DigestFunction::xxh3(FIRST_SEED + seed)).unwrap();
    for start in (0..keys).step_by(CHUNK as usize) {
        filter.insert_batch(&(start..keys.min(start + CHUNK)).collect::<Vec<u64>>());
    }
    filter
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

/// The true number is in the interval as often as it should be, whatever is counted: the
/// deviations, in each filter's own σ, have mean 0 and variance 1.
fn check_deviations(name: &str, deviations: &[f64]) {
    let (mean, variance) = moments(deviations);
    let filters = deviations.len() as f64;
    println!("{name}: mean {mean:+.3} σ, variance {variance:.3}");
    assert!(mean.abs() < 3.5 / filters.sqrt(), "{name}: the mean is {mean} σ off");
    let of_variance = (2.0 / filters).sqrt();
    assert!((variance - 1.0).abs() < 3.5 * of_variance, "{name}: the variance is {variance}");
}

#[test]
fn the_keys_offered_are_estimated_from_the_counted_ones() {
    for (layout, items, target, times) in [
        (Layout::Standard, 2_000, 0.3, &[1, 2, 3][..]),
        (Layout::Standard, 2_000, 0.1, &[1, 2, 5]),
        (Layout::Standard, 2_000, 0.01, &[2, 3, 5]),
        (Layout::Standard, 10_000, 1e-3, &[2, 5]),
        (Layout::Blocked, 2_000, 0.3, &[1, 2]), // k = 4
        (Layout::Blocked, 2_000, 0.1, &[1, 2, 3]),
        (Layout::Blocked, 2_000, 0.01, &[2, 3, 5]), // k = 8
        (Layout::Blocked, 10_000, 1e-3, &[2, 5, 10]),
        (Layout::Blocked, 10_000, 1e-4, &[3, 5]), // k = 16
        (Layout::Blocked128, 2_000, 0.1, &[1, 2]),
        (Layout::Blocked64, 2_000, 0.1, &[1, 2]),
        (Layout::Blocked64, 2_000, 0.01, &[2, 5]),
    ] {
        let params = sizing::for_items(layout, items, target).unwrap();
        for times in times {
            let keys = items * times;
            let deviations: Vec<f64> = (0..FILTERS)
                .map(|seed| {
                    let inserted = fill(params, keys, seed).inserted_items();
                    let estimate = Estimate::from_inserted(&params, inserted);
                    (estimate.items - keys as f64) / estimate.deviation()
                })
                .collect();
            let k = params.num_hashes();
            check_deviations(&format!("{layout} k {k} at {target}, {times} n"), &deviations);
        }
    }
}

/// With the bits, where they are more precise: also for filters with nearly all bits set.
#[test]
fn the_keys_offered_are_estimated_in_filters_overfilled_many_times() {
    for (layout, target, times) in [
        (Layout::Standard, 0.01, 1),
        (Layout::Standard, 0.01, 3),
        (Layout::Standard, 0.01, 10),
        (Layout::Blocked, 0.01, 1),
        (Layout::Blocked, 0.01, 10),
        (Layout::Blocked, 1e-3, 10),
    ] {
        let params = sizing::for_items(layout, 10_000, target).unwrap();
        let keys = 10_000 * times;
        let (mut deviations, mut by_bits) = (Vec::new(), 0);
        for seed in 0..FILTERS {
            let filter = fill(params, keys, seed);
            let estimate = filter.distinct_items();
            by_bits += u32::from(estimate == filter.estimated_items());
            deviations.push((estimate.items - keys as f64) / estimate.deviation());
        }
        // Where one in ten filters swallows a key, the estimate is off by 0 or by more than σ.
        if params.expected_fpp(keys) * keys as f64 > 500.0 {
            check_deviations(&format!("{layout} at {target}, {times} n"), &deviations);
        }
        let share = f64::from(by_bits) / FILTERS as f64;
        assert_eq!(share > 0.5, times == 10, "{layout} at {target}, {times} n: {share}");
    }
}

#[test]
fn the_keys_offered_to_a_chain_are_estimated_from_the_counted_ones() {
    for (target, first, keys) in [(0.1, 1_000, 30_000), (0.1, 8_000, 30_000), (0.01, 1_000, 60_000)]
    {
        let keys: Vec<u64> = (0..keys).collect();
        let deviations: Vec<f64> = (0..FILTERS)
            .map(|seed| {
                let function = DigestFunction::xxh3(FIRST_SEED + seed);
                let mut chain = ScalableBloomFilter::new(first, target, function).unwrap();
                chain.insert_batch(&keys).unwrap();
                let estimate = chain.distinct_items();
                (estimate.items - keys.len() as f64) / estimate.deviation()
            })
            .collect();
        check_deviations(&format!("chain at {target}"), &deviations);
    }
}

/// A chain's rate follows from the number of keys offered to it, and its layers are full after that
/// number.
#[test]
fn a_chain_estimates_its_rate_from_the_keys_offered() {
    for target in [0.5, 0.1] {
        let keys: Vec<u64> = (0..40_000).collect();
        let (mut expected, mut now, mut filters) = (0.0, Vec::new(), 0);
        for seed in 0..100 {
            let function = DigestFunction::xxh3(FIRST_SEED + seed);
            let mut chain = ScalableBloomFilter::new(20_000, target, function).unwrap();
            // One full layer: the last key of it is the first of the next.
            chain.insert_batch(&keys[..20_000]).unwrap();
            expected += chain.expected_fpp();
            now.push(chain.estimated_fpp());
            filters += u32::from(chain.num_layers() == 1);
        }
        let (mean, variance) = moments(&now);
        let (expected, sigma) = (expected / 100.0, (variance / 100.0).sqrt());
        println!("chain at {target}: {expected:.5} expected, {mean:.5} ± {sigma:.5} by the bits");
        // Without the swallowed keys it would be 5 σ too low at 0.1.
        assert!((expected - mean).abs() < 3.0 * sigma, "{target}: {expected} {mean} ± {sigma}");
        assert!(filters >= 98, "a layer that was made for 20,000 keys has room for them");
    }
}

/// A filter that stops when it is full has the requested rate.
#[test]
fn a_full_filter_has_its_target_rate() {
    for layout in [Layout::Standard, Layout::Blocked] {
        for target in [0.3, 0.1, 0.01] {
            let params = sizing::for_items(layout, 100_000, target).unwrap();
            let full = params.inserted_when_full();
            let (mut found, mut rates) = (0, Vec::new());
            for seed in 0..20 {
                let function = DigestFunction::xxh3(FIRST_SEED + seed);
                let mut filter = AnyFilter::empty(params, function).unwrap();
                let mut keys = 0..u64::MAX;
                while filter.inserted_items() < full {
                    filter.insert(&keys.next().unwrap());
                }
                assert_eq!(Health::of_inserted(&params, full), Health::NearCapacity);
                assert_eq!(Health::of_inserted(&params, full + 1), Health::OverCapacity);
                let absent: Vec<u64> = (1 << 40..(1 << 40) + 50_000).collect();
                found += filter.contains_batch(&absent).count_ones();
                rates.push(filter.estimated_fpp());
            }
            let (asked, measured) = (20.0 * 50_000.0, found as f64 / (20.0 * 50_000.0));
            let (_, between) = moments(&rates);
            let sigma = (target * (1.0 - target) / asked + between / 20.0).sqrt();
            let deviation = (measured - target) / sigma;
            println!("{layout} at {target}: {measured:.5} when full ({deviation:+.2} σ)");
            assert!(deviation.abs() <= 3.0, "{layout} at {target}: {measured} when full");
        }
    }
}

#[test]
fn a_union_estimates_the_keys_offered_to_both() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let params = sizing::for_items(layout, 20_000, 0.1).unwrap();
        let empty = || AnyFilter::empty(params, DigestFunction::xxh3(FIRST_SEED)).unwrap();
        let (mut left, mut right, mut one) = (empty(), empty(), empty());
        left.insert_batch(&(0..30_000u64).collect::<Vec<_>>());
        right.insert_batch(&(10_000..40_000u64).collect::<Vec<_>>());
        one.insert_batch(&(0..40_000u64).collect::<Vec<_>>());
        left.union_with(&right).unwrap();
        let (both, counted) = (left.inserted_items() as f64, one.inserted_items() as f64);
        assert!((both / counted - 1.0).abs() < 0.01, "{layout}: {both} of {counted}");
        let distinct = left.distinct_items();
        assert!(distinct.low < 40_000.0 && 40_000.0 < distinct.high, "{layout}: {distinct:?}");
        let by_count = params.distinct_items(left.inserted_items()) as f64;
        assert!((by_count / 40_000.0 - 1.0).abs() < 0.02, "{layout}: {by_count}");
    }
}

#[test]
fn sets_of_a_matrix_estimate_the_keys_offered() {
    let builder = BloomMatrix::builder().num_sets(600).expected_items(1_000).target_fpp(0.1);
    let mut matrix = builder.build().unwrap();
    let digests: Vec<Digest> = (0..1_500u64).map(|key| matrix.digest(&key)).collect();
    matrix.replace_set(599, digests).unwrap();
    let (counted, came) = (matrix.inserted_items(599), matrix.distinct_items(599));
    assert!(counted < 1_420 && came.abs_diff(1_500) < 45, "{counted} of {came}");
    assert_eq!(matrix.health_by_count(599), Health::OverCapacity);
    assert_eq!((matrix.distinct_items(0), matrix.health_by_count(0)), (0, Health::Ok));
    let mut found = Bitmap::new();
    matrix.contains_digests_into(599, &[matrix.digest(&0u64)], &mut found);
    assert!(found.get(0));
}
