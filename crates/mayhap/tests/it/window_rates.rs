//! The promise of windows, measured: at the highest load, in steady state, the counted rate is the
//! predicted one within 3 σ, and so is the rate computed from the bits. The seeds are 0 to 199 for
//! small windows, 0 to 23 for large ones.
#![cfg(not(miri))]

use super::window_kinds::of_old_time;
use mayhap::sizing::window::Load;
use mayhap::{Bitmap, Digest, DigestFunction, WindowBloomFilter, sizing};

struct Measured {
    found: u64,
    fpp_now: f64,
}

const ABSENT: u64 = 1 << 40;

fn digests(function: DigestFunction, keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(|key| function.digest(&key)).collect()
}

fn found(filter: &WindowBloomFilter, digests: &[Digest]) -> u64 {
    let mut found = Bitmap::new();
    filter.contains_digests_into(digests, &mut found);
    found.count_ones() as u64
}

/// Fills a filter two and a half times over, up to the last key of a generation.
fn measure(mut filter: WindowBloomFilter, seed: u64, probes: u64, is_time: bool) -> Measured {
    let function = DigestFunction::xxh3(seed);
    let step = filter.generation_size();
    let live = u64::from(filter.num_generations());
    let mut key = 0;
    // All live generations full.
    while is_time || key < 2 * live * step {
        let digest = function.digest(&key);
        if is_time {
            // One key per tick, so that each generation gets exactly its share of keys.
            filter.insert_digest_at(digest, key);
            if key == 3 * live * step - 1 {
                break;
            }
        } else {
            filter.insert_digest(digest);
        }
        key += 1;
    }
    let end = key;
    let inside = digests(function, end - live * step + step..end);
    assert_eq!(found(&filter, &inside), inside.len() as u64, "false negative");
    let absent = digests(function, ABSENT..ABSENT + probes);
    Measured { found: found(&filter, &absent), fpp_now: filter.estimated_fpp() }
}

/// `filters` filters of a window with `items` keys at `target`.
fn check(items: u64, target: f64, is_time: bool, filters: u64) {
    let make = |seed| {
        if is_time {
            // Its seed is always 0, so that other keys have to do.
            return of_old_time(items, items, target);
        }
        WindowBloomFilter::builder()
            .target_fpp(target)
            .seed(seed)
            .window_items(items)
            .build()
            .unwrap()
    };
    let filter = make(0);
    let step = filter.generation_size();
    let load = Load::Distinct(step);
    let generations = (0..filter.num_generations()).map(|_| load);
    let predicted =
        sizing::window::expected_fpp(filter.num_rows(), filter.num_hashes(), generations);
    assert_eq!(predicted, filter.expected_fpp(items));
    assert!(predicted <= target && predicted > 0.99 * target);
    // At least two million, so that no rate rests on a few hundred thousand of one kind of key.
    let probes = ((20_000.0 / target).max(2e6) / filters as f64) as u64;
    let measured: Vec<Measured> =
        (0..filters).map(|seed| measure(make(seed), seed, probes, is_time)).collect();
    let (count, asked) = (filters as f64, (filters * probes) as f64);
    let found = measured.iter().map(|m| m.found).sum::<u64>() as f64;
    let now = measured.iter().map(|m| m.fpp_now).sum::<f64>() / count;
    let between = measured.iter().map(|m| (m.fpp_now - now).powi(2)).sum::<f64>() / (count - 1.0);
    let counting = asked * predicted * (1.0 - predicted);
    let deviation =
        (found - predicted * asked) / (counting + asked * asked * between / count).sqrt();
    let deviation_now = (found - now * asked) / counting.sqrt();
    let deviation_model = (now - predicted) / (between / count).sqrt();
    println!(
        "w {items:>7} time {is_time:5} target {target:.0e}: predicted {predicted:.4e} now \
         {now:.4e} ({deviation_model:+.2} σ) measured {:.4e} ({deviation:+.2} σ) {:.2} bits/key k \
         {}",
        found / asked,
        filter.bits_per_item(),
        filter.num_hashes(),
    );
    assert!(deviation.abs() <= 3.0, "measured: {deviation:.2} σ off");
    assert!(deviation_now.abs() <= 3.0, "measured against now: {deviation_now:.2} σ off");
    assert!(deviation_model.abs() <= 3.5, "now against predicted: {deviation_model:.2} σ off");
}

#[test]
fn windows_keep_their_rate_at_the_highest_load() {
    for target in [0.05, 0.01, 1e-3] {
        for is_time in [false, true] {
            check(1_400, target, is_time, 200);
            check(140_000, target, is_time, 24);
        }
    }
}

/// Keys beyond the bound are as if they had never been there.
#[test]
fn old_keys_are_found_as_often_as_absent_ones() {
    for target in [0.05, 0.01] {
        let mut filter =
            WindowBloomFilter::builder().window_items(14_000).target_fpp(target).build().unwrap();
        let keys = digests(DigestFunction::default(), 0..600_000);
        let mut new = Bitmap::new();
        filter.insert_digests_into(&keys, &mut new);
        // A false positive of its own generation is not counted, so that the bound is a little
        // later.
        let old = &keys[..keys.len() - 15_000 - 100];
        let (found, now) = (found(&filter, old) as f64, filter.estimated_fpp());
        let (expected, sigma) =
            (now * old.len() as f64, (now * (1.0 - now) * old.len() as f64).sqrt());
        println!("{target}: {found} of {} old keys found, {expected:.0} expected", old.len());
        assert!((found - expected).abs() <= 3.0 * sigma, "{found} {expected} {sigma}");
        // So the answer is "new" for all but the false positives, whose rate lies between that of
        // 14 and that of 15 full generations.
        let told_old = (keys.len() - new.count_ones()) as f64 / keys.len() as f64;
        assert!(told_old < target && told_old > target * 0.9, "{told_old}");
    }
}

#[test]
fn a_window_at_1_percent_takes_at_most_17_5_bits_a_key_and_22_1_if_it_is_of_time() {
    for items in [1_000u64, 14_000, 1_000_000, 100_000_000] {
        let builder = WindowBloomFilter::builder().target_fpp(0.01);
        let of_keys = builder.clone().window_items(items).build().unwrap();
        let of_time = builder.window_time(3_600_000, items).build().unwrap();
        for (filter, most) in [(of_keys, 17.5), (of_time, 22.1)] {
            let bits = filter.bits_per_item();
            println!("{items}: {bits:.3} bits a key, k {}", filter.num_hashes());
            // Generations are whole keys: 1,000 keys are 14 generations of 72, not of 71.43.
            assert!(bits <= if items < 10_000 { most * 1.05 } else { most }, "{bits}");
        }
    }
}
