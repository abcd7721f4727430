//! Counting filters keep the promised rate: at their design load, and after half of twice as many
//! keys was removed again. Predicted and counted rates agree within 3 σ.
//!
//! As in `rates`, σ contains the counting of probes and the spread between filters, whose own
//! rates follow from their counters.
#![cfg(not(miri))]

use mayhap::{Bitmap, Blocked64, Blocked128, Build, CounterBits, CountingBloomFilter, Digest};
use mayhap::{DigestFunction, Filter, FilterParams, LayoutKind, OwnedBlocks, sizing};

/// Filter i has this seed + i.
const FIRST_SEED: u64 = 3000;
const TARGETS: [f64; 3] = [0.05, 0.01, 1e-3];
const CHUNK: u64 = 1 << 14;

struct Measured {
    found: u64,
    fpp_now: f64,
}

fn for_each_chunk(
    function: DigestFunction,
    keys: std::ops::Range<u64>,
    mut f: impl FnMut(&[Digest]),
) {
    let mut digests = vec![Digest::default(); CHUNK as usize];
    for start in keys.clone().step_by(CHUNK as usize) {
        let keys: Vec<u64> = (start..keys.end.min(start + CHUNK)).collect();
        function.digest_batch(&keys, &mut digests[..keys.len()]);
        f(&digests[..keys.len()]);
    }
}

const ABSENT: u64 = 1 << 40;

/// n keys in the filter. With `removed`, 2n were, and the first n of them are removed.
fn measure(params: FilterParams, seed: u64, removed: bool, probes: u64) -> Measured {
    let n = params.expected_items();
    let function = DigestFunction::xxh3(FIRST_SEED + seed);
    let mut filter = CountingBloomFilter::empty(params, function).unwrap();
    let mut answers = Bitmap::new();
    let inside = if removed { n..2 * n } else { 0..n };
    for_each_chunk(function, 0..inside.end, |keys| filter.insert_digests_into(keys, &mut answers));
    for_each_chunk(function, 0..inside.start, |keys| {
        filter.remove_digests_into(keys, &mut answers);
        assert_eq!(answers.count_ones(), keys.len(), "present keys can be removed");
    });
    assert_eq!(filter.inserted_items(), n);
    for_each_chunk(function, inside, |keys| {
        filter.contains_digests_into(keys, &mut answers);
        assert_eq!(answers.count_ones(), keys.len(), "false negative");
    });
    let mut found = 0;
    for_each_chunk(function, ABSENT..ABSENT + probes, |keys| {
        filter.contains_digests_into(keys, &mut answers);
        found += answers.count_ones() as u64;
    });
    Measured { found, fpp_now: filter.estimated_fpp() }
}

fn check(name: &str, params: FilterParams, probes: u64, measured: &[Measured]) {
    let n = params.expected_items();
    let predicted = params.expected_fpp(n);
    assert!(predicted <= params.target_fpp(), "prediction above target");
    let count = measured.len() as f64;
    let asked = count * probes as f64;
    let found = measured.iter().map(|m| m.found).sum::<u64>() as f64;
    let now = measured.iter().map(|m| m.fpp_now).sum::<f64>() / count;
    let between = measured.iter().map(|m| (m.fpp_now - now).powi(2)).sum::<f64>() / (count - 1.0);
    let counting = (asked * predicted * (1.0 - predicted)).sqrt();
    let sigma = (counting * counting + asked * asked * between / count).sqrt();
    let deviation = (found - predicted * asked) / sigma;
    let deviation_now = (found - now * asked) / counting;
    let deviation_model = (now - predicted) / (between / count).sqrt();
    println!(
        "{name:16} {:10} n {n:>7} target {:.0e}: predicted {predicted:.4e} now {now:.4e} \
         ({deviation_model:+.2} σ) measured {:.4e} ({deviation:+.2} σ)",
        params.layout().name(),
        params.target_fpp(),
        found / asked,
    );
    assert!(found >= 100.0, "too few found to say anything: {found}");
    assert!(deviation.abs() <= 3.0, "measured: {deviation:.2} σ off");
    assert!(deviation_now.abs() <= 3.0, "measured against now: {deviation_now:.2} σ off");
    assert!(deviation_model.abs() <= 3.0, "now against predicted: {deviation_model:.2} σ off");
}

fn check_sized(n: u64, filters: u64, min_probes: u64) {
    for bits in [CounterBits::Four, CounterBits::Eight] {
        for target in TARGETS {
            let builder = CountingBloomFilter::builder().counter_bits(bits);
            let params = builder.expected_items(n).target_fpp(target).params().unwrap();
            let probes = ((400.0 / target / filters as f64) as u64 + 1).max(min_probes);
            for removed in [false, true] {
                let measured: Vec<Measured> =
                    (0..filters).map(|seed| measure(params, seed, removed, probes)).collect();
                let name = if removed { "half removed" } else { "filled" };
                check(name, params, probes, &measured);
            }
        }
    }
}

#[test]
fn counting_filters_of_100_keys_keep_their_rate() {
    check_sized(100, 1000, 1_000);
}

#[test]
fn counting_filters_of_10_thousand_keys_keep_their_rate() {
    check_sized(10_000, 100, 10_000);
}

#[test]
fn counting_filters_of_a_million_keys_keep_their_rate() {
    check_sized(1_000_000, 8, 200_000);
}

/// The mean over many filters' own rates, which follow from their counters, is the model, to 0.1 %.
#[test]
fn the_model_is_the_mean_over_many_filters() {
    let keys: Vec<u64> = (0..10_000).collect();
    for bits in [CounterBits::Four, CounterBits::Eight] {
        for target in TARGETS {
            let builder = CountingBloomFilter::builder().counter_bits(bits);
            let params = builder.expected_items(10_000).target_fpp(target).params().unwrap();
            let rates: Vec<f64> = (70_000..71_500)
                .map(|seed| {
                    let function = DigestFunction::xxh3(seed);
                    let mut filter = CountingBloomFilter::empty(params, function).unwrap();
                    filter.insert_batch(&keys);
                    filter.estimated_fpp()
                })
                .collect();
            let (count, predicted) = (rates.len() as f64, params.expected_fpp(10_000));
            let mean = rates.iter().sum::<f64>() / count;
            let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let sigma = (variance / count).sqrt();
            let deviation = (mean - predicted) / sigma;
            println!("{bits:?} {target}: {predicted:.6e} mean {mean:.6e} ({deviation:+.2} σ)");
            assert!(deviation.abs() <= 3.0, "{deviation:.2} σ off");
            assert!(sigma < 2e-3 * predicted, "too wide to see anything: {sigma:e}");
        }
    }
}

/// The layouts of plain filters that counting filters become, filled themselves.
#[test]
fn narrow_layouts_keep_their_rate() {
    fn measure<L: LayoutKind>(params: FilterParams, seed: u64, probes: u64) -> Measured {
        let function = DigestFunction::xxh3(FIRST_SEED + seed);
        let mut filter = Filter::<L, OwnedBlocks>::empty(params, function).unwrap();
        for_each_chunk(function, 0..params.expected_items(), |keys| {
            filter.insert_digests(keys);
            assert_eq!(filter.contains_digests(keys).count_ones(), keys.len(), "false negative");
        });
        let mut found = 0;
        for_each_chunk(function, ABSENT..ABSENT + probes, |keys| {
            found += filter.contains_digests(keys).count_ones() as u64;
        });
        Measured { found, fpp_now: filter.estimated_fpp() }
    }
    fn check_layout<L: LayoutKind>() {
        for (n, filters) in [(10_000, 50), (300_000, 8)] {
            for target in TARGETS {
                let params = sizing::for_items(L::LAYOUT, n, target).unwrap();
                let probes = ((400.0 / target / filters as f64) as u64 + 1).max(20_000);
                let measured: Vec<Measured> =
                    (0..filters).map(|seed| measure::<L>(params, seed, probes)).collect();
                check("plain", params, probes, &measured);
            }
        }
    }
    check_layout::<Blocked128>();
    check_layout::<Blocked64>();
}

/// Distinct keys at the design load saturate no counter of 4 bits: the probability of one is 2e-15
/// at 1 % and less at lower rates.
#[test]
fn distinct_keys_saturate_no_counter() {
    for target in TARGETS {
        let mut filter = CountingBloomFilter::builder()
            .expected_items(1_000_000)
            .target_fpp(target)
            .build()
            .unwrap();
        filter.insert_batch(&(0..1_000_000u64).collect::<Vec<_>>());
        assert_eq!(filter.saturated_counters(), 0, "{target}");
        assert!((0..1_000_000u64).all(|key| filter.remove(&key)));
        assert_eq!(filter.fill_ratio(), 0.0, "{target}");
    }
}
