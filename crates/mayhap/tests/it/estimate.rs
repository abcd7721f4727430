//! The numbers that a filter reports about itself, against the truth.
#![cfg(not(miri))]

use super::with_layout;
use mayhap::{
    BlockedBloomFilter, Build, DigestFunction, Filter, FilterParams, Health, Layout, LayoutKind,
    OwnedBlocks,
};

/// m, k and the items that fill half of the bits.
const SHAPES: [(Layout, u64, u32, u64); 7] = [
    (Layout::Standard, 20_011, 7, 1_981),
    (Layout::Standard, 64 * 1024, 20, 2_271),
    (Layout::Blocked, 512 * 50, 4, 4_430),
    (Layout::Blocked, 512 * 50, 8, 2_200),
    (Layout::Blocked, 512 * 100, 16, 2_200),
    (Layout::Blocked128, 128 * 200, 8, 2_240),
    (Layout::Blocked64, 64 * 500, 8, 2_770),
];

fn filled<L: LayoutKind>(params: FilterParams, seed: u64, items: u64) -> Filter<L, OwnedBlocks> {
    let mut filter: Filter<L, OwnedBlocks> =
        Build::empty(params, DigestFunction::xxh3(seed)).unwrap();
    filter.insert_batch(&(0..items).collect::<Vec<_>>());
    filter
}

fn times_covered<L: LayoutKind>(params: FilterParams, items: u64) -> (u32, f64) {
    let (mut covered, mut sum) = (0, 0.0);
    for seed in 0..100 {
        let estimate = filled::<L>(params, seed, items).estimated_items();
        assert!(estimate.low <= estimate.items && estimate.items <= estimate.high);
        covered += u32::from((estimate.low..=estimate.high).contains(&(items as f64)));
        sum += estimate.items;
    }
    (covered, sum / 100.0)
}

#[test]
fn the_interval_of_the_estimate_covers_the_truth() {
    for (layout, m, k, half_full) in SHAPES {
        for tenths in [1, 5, 10, 20] {
            let items = half_full * tenths / 10;
            let params = FilterParams::new(layout, m, k, items, 0.01).unwrap();
            let (covered, mean) = with_layout!(times_covered(params, items));
            // 99 expected of 100; 95 or fewer has a chance of 0.3 % and the seeds are fixed.
            assert!(covered >= 96, "{layout} m {m} k {k} n {items}: {covered} of 100");
            let bias = mean / items as f64 - 1.0;
            assert!(bias.abs() < 0.005, "{layout} m {m} k {k} n {items}: bias {bias}");
        }
    }
}

/// An interval that is always wide would cover everything and mean nothing.
#[test]
fn the_interval_is_narrow() {
    for (layout, m, k, items) in SHAPES {
        let params = FilterParams::new(layout, m, k, items, 0.01).unwrap();
        let estimate = with_layout!(estimate_of(params, items));
        let width = (estimate.high - estimate.low) / items as f64;
        assert!((0.005..0.08).contains(&width), "{layout} m {m} k {k}: {width}");
    }
}

fn estimate_of<L: LayoutKind>(params: FilterParams, items: u64) -> mayhap::Estimate {
    filled::<L>(params, 1, items).estimated_items()
}

fn fpp_now_and_measured<L: LayoutKind>(params: FilterParams, items: u64) -> (f64, u64) {
    let filter = filled::<L>(params, 5, items);
    let absent: Vec<u64> = (1 << 40..(1 << 40) + PROBES).collect();
    (filter.estimated_fpp(), filter.contains_batch(&absent).count_ones() as u64)
}

const PROBES: u64 = 1_000_000;

#[test]
fn the_rate_now_is_the_rate_measured() {
    for (layout, m, k, half_full) in SHAPES {
        for tenths in [5, 10, 20, 50] {
            let items = half_full * tenths / 10;
            let params = FilterParams::new(layout, m, k, items, 0.01).unwrap();
            let (fpp, found) = with_layout!(fpp_now_and_measured(params, items));
            let expected = fpp * PROBES as f64;
            let bound = 4.0 * (expected * (1.0 - fpp)).sqrt() + 1.0;
            let off = (found as f64 - expected).abs();
            assert!(off < bound, "{layout} m {m} k {k} n {items}: {found}, not {expected}");
        }
    }
}

#[test]
fn health_changes_at_80_and_100_percent() {
    for (items, health) in [
        (0.0, Health::Ok),
        (79.0, Health::Ok),
        (79.999, Health::Ok),
        (80.0, Health::NearCapacity),
        (99.999, Health::NearCapacity),
        (100.0, Health::NearCapacity),
        (100.001, Health::OverCapacity),
        (f64::INFINITY, Health::OverCapacity),
    ] {
        assert_eq!(Health::of(items, 100), health, "{items}");
    }
    let mut filter =
        BlockedBloomFilter::builder().expected_items(10_000).target_fpp(1e-3).build().unwrap();
    let mut next = 0u64;
    for (items, health) in [
        (0, Health::Ok),
        (7_850, Health::Ok),
        (8_150, Health::NearCapacity),
        (9_850, Health::NearCapacity),
        (10_350, Health::OverCapacity),
        (200_000, Health::OverCapacity),
    ] {
        filter.insert_batch(&(next..items).collect::<Vec<_>>());
        next = items;
        assert_eq!(filter.health(), health, "{items} of 10000");
    }
}

#[test]
fn an_empty_filter_and_a_full_one_say_so() {
    for (layout, m, k, _) in SHAPES {
        let params = FilterParams::new(layout, m, k, 10, 0.01).unwrap();
        with_layout!(extremes(params));
    }
}

fn extremes<L: LayoutKind>(params: FilterParams) {
    let empty = filled::<L>(params, 0, 0);
    let estimate = empty.estimated_items();
    assert_eq!((estimate.items, estimate.low), (0.0, 0.0));
    assert!(estimate.high < 10.0);
    assert_eq!((empty.fill_ratio(), empty.estimated_fpp(), empty.expected_fpp(0)), (0.0, 0.0, 0.0));
    let full = filled::<L>(params, 0, 400_000);
    let estimate = full.estimated_items();
    assert_eq!((estimate.items, estimate.high), (f64::INFINITY, f64::INFINITY));
    assert!(estimate.low > 0.0 && estimate.low < 400_000.0, "{estimate:?}");
    assert_eq!((full.fill_ratio(), full.estimated_fpp()), (1.0, 1.0));
    assert_eq!(estimate.rounded(), u64::MAX);
}
