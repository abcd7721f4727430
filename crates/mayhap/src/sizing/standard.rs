//! The rate model of `standard`: k independent probes into m bits.
//!
//! After t = kn throws into m bits the fill X/m has mean `1 − (1 − 1/m)^t` (each throw misses a
//! given bit with probability 1 − 1/m, like darts at a board of m fields). The answer to a query is
//! "maybe" with probability E[(X/m)^k]; the textbook formula `(1 − (1 − 1/m)^(kn))^k` puts the mean
//! inside the power and is too low by Jensen's inequality, which matters for small filters.

use super::search::{crossing, fewest_near, fewest_of};
use super::{MAX_NUM_BITS, MAX_NUM_HASHES, with_digest_collisions};
use crate::Error;

const MIN_NUM_BITS: u64 = 64;
/// Filters up to this size are computed throw by throw, up to this many throws.
const EXACT_BITS: usize = 512;
const EXACT_THROWS: f64 = 4096.0;

/// The false-positive probability of m bits and k hashes with `items` distinct keys.
///
/// E[(X/m)^k], with X the number of occupied cells after t = k·n throws into m cells. Up to 512
/// bits the distribution of X is computed throw by throw; above, its mean and variance are the
/// exact occupancy moments (Johnson & Kotz 1977, *Urn Models*, ch. 3) and a normal distribution is
/// assumed: within 0.5 % of the exact rate wherever the tests compare the two. Digest collisions (n
/// / 2^64) are added.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::standard::expected_fpp;
/// assert_eq!(expected_fpp(1000, 7, 0), 0.0);
/// assert!((expected_fpp(9_585_059, 7, 1_000_000) - 0.01004).abs() < 1e-5);
/// assert_eq!(expected_fpp(64, 1, 1 << 40), 1.0);
/// ```
pub fn expected_fpp(num_bits: u64, num_hashes: u32, items: u64) -> f64 {
    if items == 0 || num_bits < 2 {
        return if items == 0 { 0.0 } else { 1.0 };
    }
    let m = num_bits as f64;
    let k = f64::from(num_hashes);
    let throws = k * items as f64;
    let (fill, deviation) = fill_moments(m, throws);
    let fpp = if num_bits <= EXACT_BITS as u64 && throws <= EXACT_THROWS {
        exact_mean(num_bits as usize, throws as usize, |fill| libm::pow(fill, k))
    } else if deviation * k < 1e-6 * fill {
        libm::pow(fill, k)
    } else {
        normal_mean(|z| libm::pow((fill + deviation * z).clamp(0.0, 1.0), k))
    };
    with_digest_collisions(fpp, items)
}

/// E[g(X/m)] over the exact distribution of the number X of occupied cells.
fn exact_mean(m: usize, throws: usize, g: impl Fn(f64) -> f64) -> f64 {
    let mut occupied = [0.0; EXACT_BITS + 1];
    occupied[0] = 1.0;
    for throw in 1..=throws {
        for x in (1..=m.min(throw)).rev() {
            let (stay, grow) = (x as f64, (m - x + 1) as f64);
            occupied[x] = (occupied[x] * stay + occupied[x - 1] * grow) / m as f64;
        }
        occupied[0] = 0.0;
    }
    let probabilities = occupied[..=m].iter().enumerate();
    probabilities.map(|(x, probability)| probability * g(x as f64 / m as f64)).sum()
}

/// Mean and standard deviation of the fill X/m after `throws` throws into `m` cells.
pub(crate) fn fill_moments(m: f64, throws: f64) -> (f64, f64) {
    let log_empty = throws * libm::log1p(-1.0 / m);
    let empty = libm::exp(log_empty);
    let fill = -libm::expm1(log_empty);
    // Two given cells are both empty with probability empty² · (1 − 1/(m−1)²)^throws.
    let pair = libm::expm1(throws * libm::log1p(-1.0 / ((m - 1.0) * (m - 1.0))));
    let variance = empty * (1.0 - empty) / m + empty * empty * pair * (1.0 - 1.0 / m);
    (fill, libm::sqrt(variance.max(0.0)))
}

/// E[g(Z)] for a standard normal Z, by the trapezoidal rule (which converges exponentially here).
fn normal_mean(g: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 0.25;
    let (mut sum, mut weights) = (0.0, 0.0);
    for i in -32..=32 {
        let z = f64::from(i) * STEP;
        let weight = libm::exp(-0.5 * z * z);
        sum += weight * g(z);
        weights += weight;
    }
    sum / weights
}

/// The k that minimises p for m bits and n items, m/n · ln 2 (Broder & Mitzenmacher 2004), rounded
/// to the better integer and kept within 1..=[`MAX_NUM_HASHES`].
pub fn best_num_hashes(num_bits: u64, items: u64) -> u32 {
    let ideal = num_bits as f64 / items.max(1) as f64 * core::f64::consts::LN_2;
    better_of_neighbours(ideal, |k| expected_fpp(num_bits, k, items))
}

/// The best k for p alone, −log2 p, as a real number.
pub fn ideal_num_hashes(target_fpp: f64) -> f64 {
    -libm::log2(target_fpp)
}

/// The bits for n items at p with the ideal (fractional) k, −n ln p / (ln 2)², as a real number
/// (Broder & Mitzenmacher 2004). A lower bound for whole k.
pub fn ideal_num_bits(items: u64, target_fpp: f64) -> f64 {
    -(items as f64) * libm::log(target_fpp) / (core::f64::consts::LN_2 * core::f64::consts::LN_2)
}

/// The fewest bits and their k for n items at p or less.
pub(super) fn solve_bits(items: u64, target_fpp: f64) -> Result<(u64, u32), Error> {
    let ideal = ideal_num_hashes(target_fpp);
    let too_large = Error::TooLarge {
        field: "num_bits",
        limit: MAX_NUM_BITS,
        found: ideal_num_bits(items, target_fpp) as u64,
    };
    let k = |ideal| (ideal as u32).clamp(1, MAX_NUM_HASHES);
    let [low, high] = [k(libm::floor(ideal)), k(libm::ceil(ideal))];
    let textbook = |k| textbook_num_bits(items, target_fpp, k);
    let likely = if textbook(high) < textbook(low) { high } else { low };
    let bits = |k, at_most| bits_for(items, target_fpp, k, at_most);
    fewest_of(&[low, high], likely, MAX_NUM_BITS, bits).ok_or(too_large)
}

/// The bits for n items at p with k hashes by the textbook formula, a lower bound:
/// kn / −ln(1 − fill) with fill = p^(1/k).
pub(super) fn textbook_num_bits(items: u64, target_fpp: f64, num_hashes: u32) -> f64 {
    let k = f64::from(num_hashes);
    k * items as f64 / -libm::log1p(-libm::pow(target_fpp, 1.0 / k))
}

/// The smallest m with `expected_fpp(m, k, n) ≤ p`, if that is at most `limit`.
fn bits_for(items: u64, target_fpp: f64, num_hashes: u32, limit: u64) -> Option<u64> {
    let low = least_num_bits(items, target_fpp, num_hashes);
    let fpp = |m| expected_fpp(m, num_hashes, items);
    if low > limit || limit < MAX_NUM_BITS && fpp(limit) > target_fpp {
        return None;
    }
    let guess = crossing(low, limit, target_fpp, |m| approximate_fpp(m, num_hashes, items));
    fewest_near(low, limit, guess, target_fpp, fpp)
}

/// A lower bound for the bits of n items at p with k hashes.
pub(super) fn least_num_bits(items: u64, target_fpp: f64, num_hashes: u32) -> u64 {
    ((textbook_num_bits(items, target_fpp, num_hashes) * 0.999) as u64).max(MIN_NUM_BITS)
}

/// [`expected_fpp`] up to the second power of the fill's deviation, for a tenth of its cost.
fn approximate_fpp(num_bits: u64, num_hashes: u32, items: u64) -> f64 {
    let k = f64::from(num_hashes);
    let (fill, deviation) = fill_moments(num_bits as f64, k * items as f64);
    let spread = deviation / fill;
    let fpp = libm::pow(fill, k) * (1.0 + k * (k - 1.0) / 2.0 * spread * spread);
    with_digest_collisions(fpp.min(1.0), items)
}

fn better_of_neighbours(ideal: f64, fpp: impl Fn(u32) -> f64) -> u32 {
    let floor = (libm::floor(ideal).min(f64::from(MAX_NUM_HASHES)) as u32).max(1);
    let ceil = (floor + 1).min(MAX_NUM_HASHES);
    if fpp(ceil) < fpp(floor) { ceil } else { floor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_approximation_of_the_rate_is_close() {
        for (bits, k, items) in [(700, 3, 100), (9_600, 7, 1_000), (10_000_000, 20, 350_000)] {
            let ratio = approximate_fpp(bits, k, items) / expected_fpp(bits, k, items);
            assert!((ratio - 1.0).abs() < 1e-3, "{bits} {k} {items}: {ratio}");
        }
    }
}
