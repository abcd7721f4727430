//! The promise of the growing filter, measured: at 1 to 10,000 times its first guess the rate is as
//! reported and not above the target.
#![cfg(not(miri))]

use mayhap::{Bitmap, Digest, DigestFunction, ScalableBloomFilter};

const FIRST_ITEMS: u64 = 100;
/// Each filter has a seed of its own, from here up.
const FIRST_SEED: u64 = 5_000;

fn for_each_chunk(
    function: DigestFunction,
    keys: std::ops::Range<u64>,
    mut f: impl FnMut(&[Digest]),
) {
    const CHUNK: u64 = 1 << 14;
    let mut digests = vec![Digest::default(); CHUNK as usize];
    for start in keys.clone().step_by(CHUNK as usize) {
        let chunk: Vec<u64> = (start..keys.end.min(start + CHUNK)).collect();
        let digests = &mut digests[..chunk.len()];
        function.digest_batch(&chunk, digests);
        f(digests);
    }
}

/// Filters of different seeds, filled and queried.
#[derive(Default)]
struct Measured {
    /// The filters' predictions, their rates by their bits, and the absent keys found.
    expected: Vec<f64>,
    now: Vec<f64>,
    found: u64,
}

impl Measured {
    fn add(&mut self, filter: &ScalableBloomFilter, probes: u64) {
        let mut found = Bitmap::new();
        for_each_chunk(*filter.digest_function(), 1 << 40..(1 << 40) + probes, |digests| {
            filter.contains_digests_into(digests, &mut found);
            self.found += found.count_ones() as u64;
        });
        self.expected.push(filter.expected_fpp());
        self.now.push(filter.estimated_fpp());
    }

    /// σ contains the counting of probes and the spread from filter to filter.
    fn check(&self, what: &str, probes: u64) {
        let count = self.now.len() as f64;
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / count;
        let (expected, now) = (mean(&self.expected), mean(&self.now));
        let between = self.now.iter().map(|r| (r - now).powi(2)).sum::<f64>() / (count - 1.0);
        let asked = count * probes as f64;
        let counting = (asked * expected * (1.0 - expected)).sqrt();
        let sigma = (counting * counting + asked * asked * between / count).sqrt();
        let found = self.found as f64;
        let deviation = (found - expected * asked) / sigma;
        let deviation_model = (now - expected) / (between / count).sqrt();
        println!(
            "{what}: expected {expected:.4e} now {now:.4e} ({deviation_model:+.2} σ) measured \
             {:.4e} ({deviation:+.2} σ)",
            found / asked
        );
        assert!(found >= 100.0, "too few found to say anything: {found}");
        assert!(deviation.abs() <= 3.0, "{what}: {deviation:.2} σ off");
        assert!(deviation_model.abs() <= 3.5, "{what}: {deviation_model:.2} σ off by its bits");
    }
}

fn filled(target: f64, seed: u64, keys: std::ops::Range<u64>) -> ScalableBloomFilter {
    let function = DigestFunction::xxh3(FIRST_SEED + seed);
    let mut filter = ScalableBloomFilter::new(FIRST_ITEMS, target, function).unwrap();
    let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
    for_each_chunk(function, keys.clone(), |digests| {
        filter.insert_digests_into(digests, &mut new).unwrap();
    });
    for_each_chunk(function, keys, |digests| {
        filter.contains_digests_into(digests, &mut found);
        assert_eq!(found.count_ones(), digests.len(), "false negative");
    });
    filter
}

fn check_at(times: u64, filters: u64) {
    for target in [0.05, 0.01, 0.001] {
        let mut measured = Measured::default();
        let (mut probes, mut bits_per_key) = (0, 0.0);
        for seed in 0..filters {
            let filter = filled(target, seed, 0..FIRST_ITEMS * times);
            assert!(filter.expected_fpp() <= target, "above the target");
            // Enough of them to expect 600 found in all.
            probes = (600.0 / filter.expected_fpp() / filters as f64) as u64 + 1;
            measured.add(&filter, probes);
            bits_per_key = filter.num_bits() as f64 / (FIRST_ITEMS * times) as f64;
        }
        let what = format!("{target} at {times:>6} × {FIRST_ITEMS}, {bits_per_key:.1} bits/key");
        measured.check(&what, probes);
    }
}

#[test]
fn the_rate_holds_at_the_first_guess() {
    check_at(1, 1_000);
}

#[test]
fn the_rate_holds_at_10_times_the_first_guess() {
    check_at(10, 200);
}

#[test]
fn the_rate_holds_at_1000_times_the_first_guess() {
    check_at(1_000, 20);
}

#[test]
fn the_rate_holds_at_10000_times_the_first_guess() {
    check_at(10_000, 4);
}

/// At low rates, layers have several parts: these must be as independent as in the model.
#[test]
fn layers_of_several_parts_keep_their_rate() {
    let mut measured = Measured::default();
    let probes = 300_000;
    for seed in 0..80 {
        let filter = filled(3e-5, 10_000 + seed, 0..20_000);
        assert!(filter.layers().all(|(params, _)| params.num_parts() >= 2));
        measured.add(&filter, probes);
    }
    measured.check("3e-5", probes);
}

#[test]
fn a_union_has_the_rate_that_it_reports() {
    for (target, left, right) in
        [(0.01, 20_000u64, 20_000u64), (0.05, 1_000, 50_000), (0.001, 300, 120)]
    {
        let mut measured = Measured::default();
        let (filters, mut probes) = (if left > 1_000 { 10 } else { 100 }, 0);
        for seed in 0..filters {
            let seed = 20_000 + seed;
            let mut filter = filled(target, seed, 0..left);
            // A tenth of the keys is in both.
            let start = left - left / 10;
            filter.union_with(&filled(target, seed, start..start + right)).unwrap();
            probes = (600.0 / filter.expected_fpp() / filters as f64) as u64 + 1;
            measured.add(&filter, probes);
            let mut found = Bitmap::new();
            for_each_chunk(*filter.digest_function(), 0..start + right, |digests| {
                filter.contains_digests_into(digests, &mut found);
                assert_eq!(found.count_ones(), digests.len(), "false negative");
            });
        }
        measured.check(&format!("union {target} of {left} and {right}"), probes);
    }
}
