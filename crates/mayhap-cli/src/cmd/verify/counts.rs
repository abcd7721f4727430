//! Counting false positives, and testing a rate against a count.

/// The 99.5th percentile of the standard normal distribution.
const Z_99: f64 = 2.575_829_303_548_901;

/// Half the width of the desired interval, relative to the rate.
const PRECISION: f64 = 0.05;

/// A sound filter is judged unsound less than once in this number of counts.
pub(super) const DOUBT: f64 = 1e9;

/// The number of absent digests that measures a rate to ±5 %: enough for 2,654 false positives.
///
/// The normal interval at 99 % has half the width `z · sqrt((1 − p) / (p · samples))` of p.
pub(super) fn samples_for(fpp: f64, least: u64, most: u64) -> u64 {
    let samples = (Z_99 / PRECISION).powi(2) * (1.0 - fpp) / fpp;
    // Infinite where no false positive is expected, which no number of samples shows.
    if samples.is_finite() { (samples.ceil() as u64).clamp(least, most) } else { least }
}

/// The number of absent digests that were taken for present ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Digests queried.
    pub(super) samples: u64,
    /// Digests among them that may be present.
    pub(super) hits: u64,
}

impl Count {
    /// The measured rate.
    pub(super) fn rate(self) -> f64 {
        self.hits as f64 / self.samples as f64
    }

    /// The 99 % interval of the rate (Wilson 1927).
    pub(super) fn interval(self) -> (f64, f64) {
        let (n, p, z2) = (self.samples as f64, self.rate(), Z_99 * Z_99);
        let middle = p + z2 / (2.0 * n);
        let half = Z_99 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z2 / n;
        // At the ends rounding may leave the range.
        (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
    }

    /// Whether a filter of the rate `fpp` gives such a count, or one further off, less than once in
    /// 10^9, for certain: by Chernoff's bound `P ≤ exp(−samples · KL(measured, fpp))`, which holds
    /// for few hits as well as for many.
    pub(super) fn contradicts(self, fpp: f64) -> bool {
        let (n, q) = (self.samples as f64, self.rate());
        let term = |q: f64, log_ratio: f64| if q == 0.0 { 0.0 } else { q * log_ratio };
        let hits = term(q, (q / fpp).ln());
        let misses = term(1.0 - q, (-q).ln_1p() - (-fpp).ln_1p());
        n * (hits + misses) > DOUBT.ln()
    }

    /// Whether the rate is above `fpp`, beyond doubt.
    pub(super) fn is_above(self, fpp: f64) -> bool {
        self.rate() > fpp && self.contradicts(fpp)
    }

    /// Whether the rate is below `fpp`, beyond doubt.
    pub(super) fn is_below(self, fpp: f64) -> bool {
        self.rate() < fpp && self.contradicts(fpp)
    }
}

/// Numbers of a query.
const BATCH: u64 = 4096;

/// Queries the digests that `create` makes of numbers, in batches.
///
/// # Errors
///
/// The errors of `query`.
pub(super) fn sample<T, E>(
    seed: u64,
    samples: u64,
    create: impl Fn(u64) -> T,
    mut query: impl FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    let mut numbers = Numbers::new(seed).map(create);
    let mut batch = Vec::new();
    let mut left = samples;
    while left > 0 {
        let length = left.min(BATCH);
        batch.clear();
        batch.extend(numbers.by_ref().take(length as usize));
        query(&batch)?;
        left -= length;
    }
    Ok(())
}

/// Numbers that are as good as random, the same for every run with one seed: `SplitMix64` (Steele,
/// Lea & Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// Starts with this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(number ^ (number >> 31))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_samples_gives_the_precision_and_no_more() {
        for fpp in [1e-4, 0.01, 0.3] {
            let samples = samples_for(fpp, 1, u64::MAX);
            let hits = (fpp * samples as f64) as u64;
            let (low, high) = Count { samples, hits }.interval();
            let half = (high - low) / 2.0 / fpp;
            assert!((half - 0.05).abs() < 0.001, "{fpp}: {half}");
        }
        assert_eq!(samples_for(0.0, 7, 9), 7);
        assert_eq!(samples_for(1e-9, 7, 9), 9);
        assert_eq!(samples_for(1.0, 7, 9), 7);
        assert_eq!(samples_for(f64::NAN, 7, 9), 7);
    }

    #[test]
    fn intervals_are_those_of_wilsons_formula() {
        // Worked out with 30 digits: (p + z²/2n ± z sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n).
        let (low, high) = Count { samples: 100, hits: 10 }.interval();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(low, 0.046_025_811_7) && near(high, 0.203_750_738_5), "{low} {high}");
        let none = Count { samples: 1000, hits: 0 }.interval();
        assert!(none.0 < 1e-12 && (none.1 - 0.006_59).abs() < 1e-5, "{none:?}");
        let all = Count { samples: 1000, hits: 1000 }.interval();
        assert!(1.0 - all.1 < 1e-12 && (1.0 - all.0 - 0.006_59).abs() < 1e-5, "{all:?}");
    }

    #[test]
    fn a_rate_is_only_contradicted_beyond_doubt() {
        let count = |hits| Count { samples: 1_000_000, hits };
        // 6 standard deviations are not enough, 7 are.
        assert!(!count(10_590).contradicts(0.01) && !count(9_410).contradicts(0.01));
        assert!(count(10_700).contradicts(0.01) && count(9_300).contradicts(0.01));
        assert!(count(10_700).is_above(0.01) && !count(9_300).is_above(0.01));
        // Few hits: 3 where a tenth is expected happen, 12 do not.
        assert!(!count(3).contradicts(1e-7) && count(12).contradicts(1e-7));
        assert!(count(1).contradicts(0.0) && !count(0).contradicts(0.0));
        assert!(!count(1_000_000).contradicts(1.0) && count(999_999).contradicts(1.0));
        assert!(!count(0).contradicts(1e-6) && count(0).contradicts(1e-4));
    }

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The first outputs for the seed 1234567, as its authors' C code prints them.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert!(Numbers::new(1_234_567).take(2).eq(expected));
    }
}
