//! The closed forms against the models that they sum. The behaviour of filters is tested in
//! `tests/rates_distinct.rs`.

use super::spread::Lane;
use super::*;
use crate::sizing;
use alloc::vec::Vec;

fn params(layout: Layout, num_bits: u64, num_hashes: u32, items: u64) -> FilterParams {
    FilterParams::new(layout, num_bits, num_hashes, items, 0.5).unwrap()
}

const SHAPES: [(Layout, u64, u32); 12] = [
    (Layout::Standard, 64, 1),
    (Layout::Standard, 64, 5),
    (Layout::Standard, 500, 7),
    (Layout::Standard, 10_007, 13),
    (Layout::Standard, 40_000, 32),
    (Layout::Blocked, 512, 8),
    (Layout::Blocked, 8 * 512, 4),
    (Layout::Blocked, 20 * 512, 8),
    (Layout::Blocked, 20 * 512, 16),
    (Layout::Blocked128, 128, 8),
    (Layout::Blocked128, 100 * 128, 8),
    (Layout::Blocked64, 100 * 64, 8),
];

#[test]
fn the_closed_forms_are_the_sums_of_the_models() {
    for (layout, num_bits, num_hashes) in SHAPES {
        let params = params(layout, num_bits, num_hashes, 1);
        let mut sum = 0.0;
        for distinct in 0..5 * num_bits / u64::from(num_hashes) {
            let found = params.expected_inserted(distinct);
            let difference = found - (distinct as f64 - sum);
            // The terms left out for `standard` are bounded by half a key; the others are exact.
            let bound = if layout == Layout::Standard { 0.25 } else { 1e-9 * num_bits as f64 };
            assert!(difference.abs() < bound, "{params:?} {distinct}: {difference:e} of {sum}");
            sum += params.expected_fpp(distinct);
        }
        assert!(sum > 0.5 * num_bits as f64 / f64::from(num_hashes), "{params:?} is overfilled");
    }
}

#[test]
fn layers_of_several_parts_are_summed_too() {
    for (target, parts) in [(1e-2, 1), (1e-4, 2), (1e-6, 3), (1e-9, 4)] {
        let layer = sizing::scalable::layer(100_000, target).unwrap();
        assert_eq!(layer.num_parts(), parts);
        let step = 100;
        // The middle of each step.
        let sum: f64 = (0..100_000 / step).map(|i| layer.expected_fpp(i * step + step / 2)).sum();
        let found = layer.intake().swallowed(100_000.0);
        let expected = sum * step as f64;
        assert!((found / expected - 1.0).abs() < 1e-3, "{target}: {found:e} {expected:e}");
    }
}

/// With few keys in a large filter hardly any is swallowed, and rounding must not make that
/// negative.
#[test]
fn few_keys_have_an_interval_in_filters_of_any_size() {
    for (layout, target) in [Layout::Standard, Layout::Blocked, Layout::Blocked128]
        .into_iter()
        .flat_map(|layout| [0.3, 0.1, 0.01, 1e-3].map(|target| (layout, target)))
    {
        for items in [1_000, 32_000, 1_000_000] {
            let params = sizing::for_items(layout, items, target).unwrap();
            for counted in 0..100 {
                let (distinct, deviation) =
                    Intake::of(&params).distinct_with_deviation(f64::from(counted));
                assert!(
                    distinct >= f64::from(counted) && (0.0..10.0).contains(&deviation),
                    "{layout} {target} {items} {counted}: {distinct} ± {deviation}"
                );
            }
        }
    }
}

#[test]
fn distinct_keys_are_found_from_those_counted() {
    for (layout, num_bits, num_hashes) in SHAPES {
        let intake = Intake::of(&params(layout, num_bits * 100, num_hashes, 1));
        for load in [1e-3, 0.1, 0.7, 2.0, 4.0] {
            let distinct = (load * num_bits as f64 * 100.0 / f64::from(num_hashes)).round();
            let counted = intake.counted(distinct);
            let found = intake.distinct(counted);
            let off = (found - distinct).abs();
            assert!(off < 2e-3 + 1e-6 * distinct, "{intake:?} {distinct}: {found}");
            assert!(counted <= distinct && (load < 3.0 || counted < 0.95 * distinct));
        }
        // The most that it ever counts: H_k keys a k-th of the bits in `standard`.
        let most = intake.counted(f64::INFINITY);
        assert_eq!(intake.distinct(most * 1.001 + 1.0), f64::INFINITY);
        if layout == Layout::Standard {
            let harmonic: f64 = (1..=num_hashes).map(|i| 1.0 / f64::from(i)).sum();
            let expected = harmonic * num_bits as f64 * 100.0 / f64::from(num_hashes);
            assert!((most / expected - 1.0).abs() < 1e-3, "{most} {expected}");
        }
    }
    let params = params(Layout::Standard, 1 << 20, 7, 1);
    assert_eq!((params.distinct_items(0), params.distinct_items(1)), (0, 1));
    assert_eq!(params.distinct_items(u64::MAX), u64::MAX);
    assert_eq!(params.expected_inserted(0), 0.0);
}

/// n²/2^65 keys have the digest of another one, in filters that have room for 10^13.
#[test]
fn digests_that_collide_are_swallowed() {
    let params = sizing::for_items(Layout::Blocked, 10_000_000_000_000, 1e-5).unwrap();
    let swallowed = 1e13 - params.expected_inserted(10_000_000_000_000);
    let without = Intake::of(&params).cells.swallowed(1e13);
    assert!((swallowed - without - 2_710_505.0).abs() < 1e3, "{swallowed} {without}");
}

/// With k = 1 the keys that are counted are the occupied cells.
#[test]
fn the_variance_with_one_hash_is_that_of_the_occupied_cells() {
    for load in [0.01, 0.5, 1.0, 3.0] {
        let m = 1e6;
        let (_, fill) = sizing::standard::fill_moments(m, load * m);
        let found = Intake::standard(m as u64, 1).deviation(load * m);
        assert!((found / (fill * m) - 1.0).abs() < 1e-3, "{load}: {found} {}", fill * m);
    }
}

/// Enumerates all positions of two keys and of the thrown ones, in a lane of 4.
#[test]
fn two_keys_are_covered_as_often_as_by_counting() {
    for (passes, keys) in [(1usize, 4usize), (2, 2)] {
        let mut lane = Lane::new(4.0, passes as u32);
        let positions = |code: usize, from: usize, count: usize| {
            (from..from + count).fold(0u32, |set, i| set | 1 << (code >> (2 * i) & 3))
        };
        for b in 0..=keys {
            let throws = passes * (2 + b);
            let mut found = Vec::new();
            lane.both_covered(b, |both| found.push(both));
            for (a, &found) in found.iter().enumerate() {
                let counted = (0..1usize << (2 * throws)).filter(|&code| {
                    let (u, v) = (positions(code, 0, passes), positions(code, passes, passes));
                    let first = positions(code, 2 * passes, a * passes);
                    let all = positions(code, 2 * passes, b * passes);
                    u & !first == 0 && v & !all == 0
                });
                let expected = counted.count() as f64 / (1usize << (2 * throws)) as f64;
                let difference = (found - expected).abs();
                assert!(difference < 1e-12, "{passes} a {a} b {b}: {found} {expected}");
            }
        }
    }
}

#[test]
fn a_filter_is_full_at_its_items_where_few_are_swallowed() {
    for layout in [Layout::Standard, Layout::Blocked, Layout::Blocked64] {
        for (items, fpp) in [(1, 0.5), (2, 0.9), (10, 0.1), (1_000, 0.01), (1_000_000, 1e-6)] {
            let params = sizing::for_items(layout, items, fpp).unwrap();
            assert_eq!(params.inserted_when_full(), items, "{layout} {items} {fpp}");
        }
        // Else at most 99.5 % of the filters that get exactly their keys are reported as full
        // before.
        let params = sizing::for_items(layout, 100_000, 0.1).unwrap();
        let full = params.inserted_when_full();
        let (distinct, deviation) = Intake::of(&params).distinct_with_deviation(full as f64);
        let sigmas = (distinct - 100_000.0) / deviation;
        assert!((2.5..2.65).contains(&sigmas), "{layout}: {full}, {sigmas} σ");
    }
}
