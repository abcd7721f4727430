//! Time windows over patterns of keys.

use crate::patterns::{Pattern, patterns};
use mayhap::{Bitmap, Digest, DigestFunction, WindowBloomFilter};
use serde::Serialize;

/// The effect of a pattern on a window.
#[derive(Serialize)]
pub(crate) struct Kept {
    pub(crate) pattern: &'static str,
    pub(crate) target_fpp: f64,
    pub(crate) bits_per_key: f64,
    /// The highest rate that the generations' counts gave.
    pub(crate) worst_expected_fpp: f64,
    /// The highest share of absent keys that were found at one time, and its standard deviation.
    pub(crate) worst_measured_fpp: f64,
    pub(crate) worst_measured_sigma: f64,
    /// The keys that arrived, and the ones that were forgotten early.
    pub(crate) keys: u64,
    pub(crate) forgotten_early: u64,
    /// The longest time after which a key was still found, in spans.
    pub(crate) longest_kept: f64,
    pub(crate) brings_too_many: bool,
}

impl Kept {
    /// Whether the rate and the time are kept, and keys only forgotten where more arrived.
    pub(crate) fn holds(&self) -> bool {
        self.worst_expected_fpp <= self.target_fpp * (1.0 + 1e-9)
            // A filter's own rate is within some percent of the expected one.
            && self.worst_measured_fpp <= self.target_fpp * 1.05 + 4.0 * self.worst_measured_sigma
            && self.longest_kept <= 1.126
            && (self.forgotten_early > 0) == self.brings_too_many
    }
}

const SPAN: u64 = 7_000_000;
/// The number of absent keys that are looked up at one time.
const PROBES: u64 = 200_000;
/// The number of keys of the window with so low a rate that it has no false positives.
const FEW: u64 = 10_800;

pub(crate) fn all(items: u64) -> Vec<Kept> {
    let few = patterns(SPAN, FEW).map(|(_, _, pattern)| longest_kept(&pattern));
    let mut kept = Vec::new();
    for target_fpp in [0.05, 0.01, 0.001] {
        let all = patterns(SPAN, items).into_iter().zip(few);
        kept.extend(all.map(|((pattern, brings_too_many, keys), longest_kept)| {
            eprintln!("{pattern} at {target_fpp}");
            let came = Came { pattern, brings_too_many, keys, longest_kept };
            came.measure(items, target_fpp)
        }));
    }
    kept
}

fn window(items: u64, target_fpp: f64) -> WindowBloomFilter {
    let builder = WindowBloomFilter::builder().window_time(SPAN, items).target_fpp(target_fpp);
    builder.build().expect("a window of memory")
}

fn digest(key: u64) -> Digest {
    DigestFunction::xxh3(7).digest(&key)
}

struct Came {
    pattern: &'static str,
    brings_too_many: bool,
    keys: Pattern,
    longest_kept: f64,
}

impl Came {
    fn measure(&self, items: u64, target_fpp: f64) -> Kept {
        let mut filter = window(items, target_fpp);
        let (mut key, mut looked, mut found) = (0u64, 0, Bitmap::new());
        let (mut worst_expected, mut worst_found) = (0.0f64, 0);
        for &(time, count) in &self.keys {
            for _ in 0..count {
                filter.insert_digest_at(digest(key), time);
                key += 1;
                // Where generations end most is remembered.
                if key - looked >= items / 54 * 9 {
                    looked = key;
                    worst_expected = worst_expected.max(filter.expected_fpp_now());
                    // Other absent keys each time.
                    let absent = (key << 40)..(key << 40) + PROBES;
                    let absent: Vec<Digest> = absent.map(digest).collect();
                    filter.contains_digests_into(&absent, &mut found);
                    worst_found = worst_found.max(found.count_ones());
                }
            }
        }
        let worst_measured_fpp = worst_found as f64 / PROBES as f64;
        Kept {
            pattern: self.pattern,
            target_fpp,
            bits_per_key: filter.num_bits() as f64 / items as f64,
            worst_expected_fpp: worst_expected,
            worst_measured_fpp,
            worst_measured_sigma: (worst_measured_fpp / PROBES as f64).sqrt(),
            keys: key,
            forgotten_early: filter.forgotten_early().unwrap_or(0),
            longest_kept: self.longest_kept,
            brings_too_many: self.brings_too_many,
        }
    }
}

/// The longest time after which a key of the pattern was still found, in spans.
fn longest_kept(pattern: &Pattern) -> f64 {
    let mut filter = window(FEW, 1e-9);
    // The time of each key, and the first of them that may still be found.
    let (mut times, mut first, mut longest) = (Vec::<u64>::new(), 0, 0);
    let mut look = |filter: &WindowBloomFilter, times: &[u64], now: u64| {
        while first < times.len() && !filter.contains_digest(digest(first as u64)) {
            first += 1;
        }
        longest = longest.max(times.get(first).map_or(0, |&then| now - then));
    };
    let end = pattern.last().map_or(0, |&(time, _)| time) + 2 * SPAN;
    let mut now = 0;
    for &(time, count) in pattern.iter().chain(&[(end, 0)]) {
        // At the last moments of keys too, within a thousandth.
        while now + SPAN / 1000 < time {
            now += SPAN / 1000;
            filter.advance(now);
            look(&filter, &times, now);
        }
        now = time;
        filter.advance(now);
        look(&filter, &times, now);
        for _ in 0..count {
            filter.insert_digest_at(digest(times.len() as u64), time);
            times.push(time);
        }
    }
    longest as f64 / SPAN as f64
}
