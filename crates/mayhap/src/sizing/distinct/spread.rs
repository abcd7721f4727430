//! The deviation of the number of swallowed keys from its mean.
//!
//! Whether two keys s < t are swallowed is not independent: both meet the same bits, and s sets
//! none if it is. With I the indicators, keys numbered from 1, and all keys random,
//!
//! ```text
//! P(I_s I_t) = P(s is covered by a = s − 1 keys, t by the same and others, b = t − 2 in all)
//! ```
//!
//! since a swallowed s adds nothing for t. So the variance of ΣI depends only on the rates of two
//! keys at two times.

use super::mean::{FULL_LOAD, integral, power};
use super::{Cells, Intake};
use crate::sizing::blocked::mean_over_blocks;
use crate::sizing::standard::fill_moments;
use alloc::vec::Vec;

/// A block whose rate differs from 1 by less than this swallows all further keys.
const FULL_BLOCK: f64 = 1e-7;

/// Up to this rate keys are swallowed independently, within a hundredth of the variance.
const SMALL_FPP: f64 = 1e-3;

/// An overfilled filter's rate goes from 0 to 1 in a few of these.
const PIECES: u32 = 8;

/// A block of j keys.
#[derive(Debug, Clone, Copy)]
struct InBlock {
    /// The mean number of keys that it counted.
    counted: f64,
    /// The variance of that.
    variance: f64,
}

impl Intake {
    /// The standard deviation of the number of keys counted, or swallowed, out of this many
    /// distinct ones.
    ///
    /// Takes some 10 µs for `standard`, 50 µs for blocks below capacity, and milliseconds if they
    /// are overfilled many times.
    pub(super) fn deviation(&self, distinct: f64) -> f64 {
        if self.fpp(distinct) < SMALL_FPP {
            return libm::sqrt(self.swallowed(distinct));
        }
        let variance = match self.cells {
            Cells::Lanes { .. } if self.parts == 1 => self.cells.variance_over_blocks(distinct),
            _ => self.variance_at_mean_fill(distinct),
        };
        libm::sqrt(variance.max(0.0))
    }

    /// The standard deviation of the rates of filters with this many distinct keys, relative to the
    /// mean: each filter has different bits.
    pub(crate) fn fpp_deviation(&self, distinct: f64) -> f64 {
        let fpp = self.cells.fpp(distinct);
        if fpp <= 0.0 {
            return 0.0;
        }
        // Parts place the same keys independently.
        let variance = f64::from(self.parts) * self.cells.fpp_variance(distinct);
        libm::sqrt(variance.max(0.0)) / fpp
    }

    /// ∫ p(1 − p) − 2 p w (P − p) dt, with P the last rate and w = τ/(e^τ − 1): the solution of the
    /// linear equations for small deviations of the fill and of the number swallowed. A fill that
    /// is too high grows more slowly. For k = 1 it is the variance of the number of occupied cells,
    /// as it must be.
    fn variance_at_mean_fill(&self, distinct: f64) -> f64 {
        let (last, load_of_one) = (self.fpp(distinct), self.cells.load_of_one());
        integral(distinct.min(FULL_LOAD / load_of_one), PIECES, |t| {
            let (p, load) = (self.fpp(t), t * load_of_one);
            let alone = p * (1.0 - p);
            if self.parts > 1 {
                // Layers of several parts are never overfilled, and small rates have no feedback.
                return alone;
            }
            alone - 2.0 * p * (last - p) * load / libm::expm1(load)
        })
    }
}

impl Cells {
    /// The variance of the rate from filter to filter: for `standard` the variance of the fill,
    /// with the slope of its power; otherwise the variance of the mean over blocks, whose square
    /// follows from two keys.
    fn fpp_variance(&self, distinct: f64) -> f64 {
        match *self {
            Self::Standard { num_bits, num_hashes } => {
                let k = f64::from(num_hashes);
                let (fill, deviation) = fill_moments(num_bits, k * distinct);
                let slope = k * power(fill, num_hashes - 1) * deviation;
                slope * slope
            }
            Self::Lanes { num_blocks, lanes, lane_bits, passes } => {
                let (lane, keys) = (Lane::new(lane_bits, passes), distinct / num_blocks);
                let one = |keys: f64| power(lane.covered(keys), lanes);
                let two = |keys: f64| power(lane.both_covered_by(keys), lanes);
                if num_blocks < 2.0 {
                    return two(keys) - one(keys) * one(keys);
                }
                let mean = |g: &dyn Fn(f64) -> f64| mean_over_blocks(distinct, num_blocks, g);
                let fpp = mean(&one);
                let by_line = mean(&|keys| one(keys) * keys) - fpp * keys;
                let variance_of_keys = keys * (1.0 - 1.0 / num_blocks);
                (mean(&two) - fpp * fpp - by_line * by_line / variance_of_keys) / num_blocks
            }
        }
    }

    /// Blocks get Binomial numbers of keys whose sum is known, so the part explained by a
    /// regression line of the blocks' counts on their keys does not contribute to the variance of
    /// the sum.
    fn variance_over_blocks(&self, distinct: f64) -> f64 {
        let Self::Lanes { num_blocks, .. } = *self else { return 0.0 };
        let keys = distinct / num_blocks;
        // More keys than that have no block.
        let most = (keys + 12.0 * libm::sqrt(keys) + 20.0).min(distinct) as usize;
        let blocks = self.blocks_with(most);
        let block = |keys: f64| blocks[(keys as usize).min(blocks.len() - 1)];
        if num_blocks < 2.0 || keys > 2.0 * blocks.len() as f64 {
            return num_blocks * block(keys).variance;
        }
        let mean = |g: &dyn Fn(f64) -> f64| mean_over_blocks(distinct, num_blocks, g);
        let within = mean(&|keys| block(keys).variance);
        let counted = mean(&|keys| block(keys).counted);
        let between = mean(&|keys| block(keys).counted * block(keys).counted) - counted * counted;
        let by_line = mean(&|n| block(n).counted * n) - counted * keys;
        let variance_of_keys = keys * (1.0 - 1.0 / num_blocks);
        num_blocks * (within + between - by_line * by_line / variance_of_keys)
    }

    /// Blocks of 0, 1, … keys, up to `most` or until one swallows all further keys.
    fn blocks_with(&self, most: usize) -> Vec<InBlock> {
        let Self::Lanes { lanes, lane_bits, passes, .. } = *self else { return Vec::new() };
        let mut lane = Lane::new(lane_bits, passes);
        let mut blocks = Vec::new();
        // Σ P(I), and Σ P(I I') over pairs.
        let (mut swallowed, mut pairs) = (0.0, 0.0);
        for keys in 0..=most {
            let variance = swallowed + 2.0 * pairs - swallowed * swallowed;
            blocks.push(InBlock { counted: keys as f64 - swallowed, variance });
            let fpp = power(lane.covered(keys as f64), lanes);
            if 1.0 - fpp < FULL_BLOCK {
                break;
            }
            swallowed += fpp;
            if let Some(others) = keys.checked_sub(1) {
                lane.both_covered(others, |covered| pairs += power(covered, lanes));
            }
        }
        blocks
    }
}

/// The answers of a lane of s positions, at one or two of which each key throws, to two other keys:
/// u, when it has a keys, and v, when it has b ≥ a.
///
/// Both are covered with probability 1 + Σ w α^a β^b: by inclusion and exclusion over the clear
/// positions of u and v, several of which may coincide. A position of u is missed by a keys, one of
/// v by b, and one of both by b.
pub(super) struct Lane {
    terms: Vec<Term>,
}

struct Term {
    weight: f64,
    /// α, and α^0, α^1, … as far as they were needed.
    first: f64,
    powers: Vec<f64>,
    /// β, and β^b for the last b.
    second: f64,
    power: f64,
}

impl Lane {
    pub(super) fn new(s: f64, passes: u32) -> Self {
        let i = 1.0 / s;
        // A throw misses one position, two, three, four.
        let [q, r, w, z] = [1.0, 2.0, 3.0, 4.0].map(|positions| 1.0 - positions * i);
        let terms: &[[f64; 3]] = if passes == 1 {
            &[[-1.0, q, 1.0], [i - 1.0, 1.0, q], [q, r / q, q]]
        } else {
            &[
                [i - 2.0, q, 1.0],
                [q, r, 1.0],
                [i - 2.0 + 4.0 * i - 4.0 * i * i + i * i * i, 1.0, q],
                [q * (1.0 - 4.0 * i + 4.0 * i * i), 1.0, r],
                [q * (4.0 - 8.0 * i + 3.0 * i * i), r / q, q],
                [q * r * (i - 2.0), w / q, q],
                [q * r * (5.0 * i - 2.0), w / r, r],
                [q * r * w, z / r, r],
            ]
        };
        let term = |&[weight, first, second]: &[f64; 3]| {
            let (first, second) = (power(first, passes), power(second, passes));
            Term { weight, first, powers: alloc::vec![1.0], second, power: 1.0 }
        };
        Self { terms: terms.iter().map(term).collect() }
    }

    /// The probability that a key is covered by this many.
    fn covered(&self, keys: f64) -> f64 {
        let alone = self.terms.iter().filter(|term| term.second == 1.0);
        let missed: f64 = alone.map(|term| term.weight * libm::pow(term.first, keys)).sum();
        (1.0 + missed).clamp(0.0, 1.0)
    }

    /// The probability that two keys are covered by this many.
    fn both_covered_by(&self, keys: f64) -> f64 {
        let term = |term: &Term| term.weight * libm::pow(term.first * term.second, keys);
        (1.0 + self.terms.iter().map(term).sum::<f64>()).clamp(0.0, 1.0)
    }

    /// Calls `each` with the probability that both are covered, for b and each a from 0 to b. Must
    /// be called for b = 0, 1, 2, … in order.
    pub(super) fn both_covered(&mut self, b: usize, mut each: impl FnMut(f64)) {
        for term in &mut self.terms {
            if b > 0 {
                term.power *= term.second;
                term.powers.push(term.powers[b - 1] * term.first);
            }
        }
        for a in 0..=b {
            let missed: f64 =
                self.terms.iter().map(|term| term.weight * term.power * term.powers[a]).sum();
            each((1.0 + missed).max(0.0));
        }
    }
}
