//! What does not fit on one level goes to the next: the distribution of how much that is.

use super::{CompactParams, FRONTS, NUM_LEVELS};
use alloc::vec;
use alloc::vec::Vec;

/// A bound of the probability that the attic overflows with n distinct keys.
///
/// From the exact distribution of what a bucket of each level leaves over, where front buckets have
/// independent Poisson numbers of keys. For the sum over the buckets of the last level, Chernoff's
/// bound `min_t E[exp(t · X)]^buckets · exp(−t · (room + 1))`. For n keys thrown at random at most
/// twice as much, since more keys never leave less over (Mitzenmacher & Upfal 2017, *Probability
/// and Computing*, theorem 5.10).
pub(super) fn attic_overflow(params: &CompactParams) -> f64 {
    let mut keys = poisson(params.expected_items() as f64 / params.num_fronts() as f64);
    for level in 0..NUM_LEVELS {
        if level > 0 {
            // A small filter has fewer buckets below the last ones.
            let below = FRONTS[level] / FRONTS[level - 1];
            keys = sum_of(&keys, below.min(params.num_buckets(level - 1)));
        }
        keys = left_over(&keys, params.shape(level).slots);
    }
    let buckets = params.num_buckets(NUM_LEVELS - 1) as f64;
    let room = params.attic_capacity() as f64;
    let log_bound = |t: f64| {
        // Without the 1 of 0 keys, whose logarithm would lose the small rest.
        let above: f64 =
            keys.iter().zip(0u32..).map(|(p, i)| p * libm::expm1(t * f64::from(i))).sum();
        buckets * libm::log1p(above) - t * (room + 1.0)
    };
    // Any t gives a bound.
    let best = (1..80).map(|i| log_bound(0.025 * f64::from(i))).fold(0.0, f64::min);
    2.0 * libm::exp(best)
}

/// Probabilities of 0, 1, 2, … keys.
type Distribution = Vec<f64>;

fn poisson(mean: f64) -> Distribution {
    let log_mean = libm::log(mean);
    let probability = |keys: f64| libm::exp(keys * log_mean - mean - libm::lgamma(keys + 1.0));
    let deviation = libm::sqrt(mean);
    // Twelve deviations and 30 keys more: less than 1e-20 is left out.
    (0..(mean + 12.0 * deviation) as u32 + 30).map(|keys| probability(keys.into())).collect()
}

/// What more than `slots` keys leave over.
fn left_over(keys: &[f64], slots: u32) -> Distribution {
    let (kept, over) = keys.split_at(keys.len().min(slots as usize + 1));
    core::iter::once(kept.iter().sum()).chain(over.iter().copied()).collect()
}

/// The sum of `times` independent numbers of keys, without what is less likely than 1e-30.
fn sum_of(keys: &[f64], times: u64) -> Distribution {
    (0..times).fold(vec![1.0], |sum, _| {
        let mut next = vec![0.0; sum.len() + keys.len() - 1];
        for (i, a) in sum.iter().enumerate() {
            keys.iter().zip(&mut next[i..]).for_each(|(b, next)| *next += a * b);
        }
        let len = next.iter().rposition(|&p| p > 1e-30).map_or(1, |last| last + 1);
        next.truncate(len);
        next
    })
}

#[cfg(test)]
mod tests {
    use super::super::MAX_OVERFLOW;
    use super::*;
    use crate::positions::splitmix64;
    use crate::{CompactFilter, DigestFunction};

    /// The distributions against buckets that are filled with keys at random.
    #[test]
    #[cfg_attr(miri, ignore = "too many keys for the interpreter")]
    fn levels_leave_over_what_is_computed() {
        let (mean, slots, ratio, fronts) = (20.0, 20u32, 10, 40_000);
        let exact = left_over(&sum_of(&left_over(&poisson(mean), slots), ratio), 25);
        let mut keys = vec![0u32; fronts];
        for i in 0..(mean * fronts as f64) as u64 {
            keys[(splitmix64(i) % fronts as u64) as usize] += 1;
        }
        let over = |keys: u32, slots: u32| keys.saturating_sub(slots);
        let groups = keys.chunks(ratio as usize);
        let left = groups.map(|group| over(group.iter().map(|&keys| over(keys, slots)).sum(), 25));
        let (mut none, mut sum) = (0.0, 0.0);
        left.for_each(|keys| {
            none += f64::from(u32::from(keys == 0));
            sum += f64::from(keys);
        });
        let groups = fronts as f64 / ratio as f64;
        let mean_of = |f: fn(f64) -> f64| -> f64 {
            exact.iter().zip(0u32..).map(|(p, i)| p * f(i.into())).sum()
        };
        let (expected, square) = (mean_of(|keys| keys), mean_of(|keys| keys * keys));
        let deviation = libm::sqrt((square - expected * expected) / groups);
        assert!((sum / groups - expected).abs() < 4.0 * deviation, "{sum} {expected}");
        let deviation = libm::sqrt(exact[0] * (1.0 - exact[0]) / groups);
        assert!((none / groups - exact[0]).abs() < 4.0 * deviation, "{none} {}", exact[0]);
        assert!((mean_of(|_| 1.0) - 1.0).abs() < 1e-12);
    }

    /// Fills of buckets that are loaded too highly, and of those that `for_items` makes.
    #[test]
    #[cfg_attr(miri, ignore = "too many keys for the interpreter")]
    fn the_bound_is_not_below_what_fills_show() {
        let (items, fpp, fills) = (9_000, 1e-6, 40);
        let failing = |params: &CompactParams| {
            let fails = (0..fills).filter(|&seed| {
                let function = DigestFunction::xxh3(seed);
                let mut filter = CompactFilter::empty(*params, function).unwrap();
                (0..items).any(|key: u64| filter.insert(&key).is_err())
            });
            fails.count()
        };
        let sized = CompactParams::for_items(items, fpp).unwrap();
        assert!(attic_overflow(&sized) < MAX_OVERFLOW && failing(&sized) == 0);
        let mut last = 0;
        for less in [10, 12, 14, 16] {
            let fronts = sized.num_fronts() * (100 - less) / 100;
            let (runs, bits) = (sized.runs(), sized.remainder_bits());
            let params = CompactParams::new(fronts, runs, bits, items, fpp).unwrap();
            last = failing(&params);
            let bound = attic_overflow(&params);
            assert!(bound >= last as f64 / fills as f64, "{less} % less: {last} fail, {bound}");
        }
        assert!(last > 10, "the last are loaded too highly: {last}");
    }
}
