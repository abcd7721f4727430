//! The mean number of swallowed keys, and its inverse.

use super::{Cells, Intake};

/// 2^64.
const DIGESTS: f64 = 18_446_744_073_709_551_616.0;

/// The limit on steps of Newton's method: three suffice below capacity, thirty if nearly all bits
/// are set.
const STEPS: u32 = 100;

/// The precision at which it stops, in keys.
const PRECISION: f64 = 1e-3;

/// If fewer keys than this are counted, the last digits of C carry no information about T.
const LEAST_SLOPE: f64 = 1e-9;

/// When the clear bits have been reduced by e to this power, none remains.
pub(super) const FULL_LOAD: f64 = 50.0;

impl Intake {
    /// C(T): the mean number of keys counted out of `distinct` ones.
    pub(crate) fn counted(&self, distinct: f64) -> f64 {
        // After this many keys no clear bits remain for later ones to set.
        let distinct = distinct.min(FULL_LOAD / self.cells.load_of_one());
        (distinct - self.swallowed(distinct)).clamp(0.0, distinct)
    }

    /// The mean number of keys swallowed out of `distinct` ones.
    pub(super) fn swallowed(&self, distinct: f64) -> f64 {
        let of_bits = match self.parts {
            1 => self.cells.swallowed(distinct),
            parts => integral(distinct, 1, |t| power(self.cells.fpp(t), parts)),
        };
        // For few keys, rounding may yield a negative number.
        let of_bits = of_bits.max(0.0);
        // Digest collisions: t / 2^64 of the keys that are not swallowed by the bits.
        of_bits + (distinct - of_bits) * (distinct / DIGESTS / 2.0)
    }

    /// The rate after `distinct` keys.
    ///
    /// For `standard` at the mean fill, and good to 1e-13 for the other layouts: enough for the
    /// slope of C and for variances, not for small rates.
    pub(super) fn fpp(&self, distinct: f64) -> f64 {
        power(self.cells.fpp(distinct), self.parts)
    }

    /// The inverse of C: Newton's method from below, where it cannot overshoot since C is concave.
    /// Infinite if the mean count never reaches this number.
    pub(crate) fn distinct(&self, counted: f64) -> f64 {
        // The last rate is the highest.
        if counted * self.fpp(counted) < PRECISION {
            return counted;
        }
        let mut distinct = counted;
        for _ in 0..STEPS {
            let slope = 1.0 - self.fpp(distinct);
            if slope < LEAST_SLOPE {
                break;
            }
            let step = (counted - self.counted(distinct)) / slope;
            if step < PRECISION + 1e-9 * distinct {
                return distinct + step.max(0.0);
            }
            distinct += step;
        }
        f64::INFINITY
    }
}

impl Cells {
    pub(super) fn swallowed(&self, distinct: f64) -> f64 {
        match *self {
            Self::Standard { num_hashes, .. } => {
                swallowed_anywhere(self.load_of_one(), num_hashes, distinct)
            }
            Self::Lanes { .. } => {
                // Σ y^t for t < T, with y = 1 − miss.
                let sum = |miss: f64| -libm::expm1(distinct * libm::log1p(-miss)) / miss;
                distinct + self.sum_of_lanes(sum)
            }
        }
    }

    /// τ of a key: e^(−τ) of the clear bits stay clear.
    pub(super) fn load_of_one(&self) -> f64 {
        match *self {
            Self::Standard { num_bits, num_hashes } => {
                -f64::from(num_hashes) * libm::log1p(-1.0 / num_bits)
            }
            Self::Lanes { num_blocks, lane_bits, passes, .. } => {
                f64::from(passes) / (lane_bits * num_blocks)
            }
        }
    }

    pub(super) fn fpp(&self, distinct: f64) -> f64 {
        match *self {
            Self::Standard { num_hashes, .. } => {
                power(-libm::expm1(-distinct * self.load_of_one()), num_hashes)
            }
            Self::Lanes { .. } => {
                let sum = self.sum_of_lanes(|miss| libm::exp(distinct * libm::log1p(-miss)));
                (1.0 + sum).clamp(0.0, 1.0)
            }
        }
    }

    /// The rate of blocks as a sum of geometric series.
    ///
    /// Its first term is 1 and is omitted.
    ///
    /// A lane of j keys answers "maybe" with probability 1 − q^j, q = 1 − 1/s, or for two bits a
    /// key with 1 − α q^(2j) + β r^(2j), r = 1 − 2/s ([`crate::sizing::blocked`]). Its power L is a
    /// sum of terms a · x^j, and E[x^j] over the Binomial(t, 1/B) keys of a block is (1 − (1 −
    /// x)/B)^t. `term` gets (1 − x)/B. The terms have both signs and are up to 4^8, so the sum is
    /// accurate to 1e-11 of `term`.
    fn sum_of_lanes(&self, term: impl Fn(f64) -> f64) -> f64 {
        let Self::Lanes { num_blocks, lanes, lane_bits, passes } = *self else { return 0.0 };
        let (one, two) = (1.0 / lane_bits, 2.0 / lane_bits);
        let (log_q, log_r) = (libm::log1p(-one), libm::log1p(-two));
        let throws = f64::from(passes);
        // With two throws: the shares of the lanes that miss one position, and that miss both.
        let (alpha, beta) = if passes == 1 { (1.0, 0.0) } else { (2.0 - one, 1.0 - one) };
        let mut sum = 0.0;
        for both in 0..=if passes == 1 { 0 } else { lanes } {
            for single in 0..=lanes - both {
                if single + both == 0 {
                    continue;
                }
                let ways = binomial(lanes, both) * binomial(lanes - both, single);
                let sign = if single % 2 == 1 { -1.0 } else { 1.0 };
                let weight = sign * ways * power(alpha, single) * power(beta, both);
                let (single, both) = (f64::from(single), f64::from(both));
                let log_x = throws * (single * log_q + both * log_r);
                sum += weight * term(-libm::expm1(log_x) / num_blocks);
            }
        }
        sum
    }
}

/// The swallowed keys of `standard`.
///
/// At the mean fill x = 1 − e^(−τ), τ = −k t ln(1 − 1/m), the rate x^k sums to (t/τ) · Σ x^i/i over
/// i > k: with dx = (1 − x) dτ it is ∫ x^k/(1 − x) dx. The spread of the fill adds ∫ k(k − 1)/2 ·
/// x^(k−2) Var(x), which is below half a key for any number of bits. Half of the last rate is the
/// difference of the integral and the sum.
fn swallowed_anywhere(load_of_one: f64, num_hashes: u32, distinct: f64) -> f64 {
    let k = f64::from(num_hashes);
    let load = distinct * load_of_one;
    let fill = -libm::expm1(-load);
    let (fpp, tail) = (power(fill, num_hashes), log_tail(fill, load, num_hashes));
    // ∫ y^(k−2) (1 − y) ln(1 − y) dy from 0 to x, times (k − 1)/2.
    let spread = if num_hashes == 1 {
        0.0
    } else {
        let shorter = (tail + fpp / k - load * fpp / fill.max(f64::MIN_POSITIVE)) / (k - 1.0);
        (k - 1.0) / 2.0 * (fpp / k + shorter - (tail - load * fpp) / k)
    };
    tail / load_of_one + spread - fpp / 2.0
}

/// Σ x^i / i over i > k, where −ln(1 − x) = `load`, the sum over all i.
fn log_tail(x: f64, load: f64, k: u32) -> f64 {
    let mut power_of_x = power(x, k);
    if x < 0.75 {
        let (mut sum, mut i) = (0.0, f64::from(k));
        loop {
            (power_of_x, i) = (power_of_x * x, i + 1.0);
            let term = power_of_x / i;
            sum += term;
            if term <= 1e-17 * sum {
                return sum;
            }
        }
    }
    let mut head = 0.0;
    for i in (1..=k).rev() {
        head += power_of_x / f64::from(i);
        power_of_x /= x;
    }
    load - head
}

/// Points, from the middle of an interval from -1 to 1, and weights of Gauss's rule with 16 of
/// them: exact for powers up to t^31 (Abramowitz & Stegun 1964, table 25.4).
const GAUSS: [(f64, f64); 8] = [
    (0.095_012_509_837_637_4, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_5),
    (0.617_876_244_402_643_8, 0.149_595_988_816_576_7),
    (0.755_404_408_355_003, 0.124_628_971_255_533_9),
    (0.865_631_202_387_831_8, 0.095_158_511_682_492_8),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_9),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_1),
];

/// The integral from 0 to `end`, in the given number of pieces.
pub(super) fn integral(end: f64, pieces: u32, f: impl Fn(f64) -> f64) -> f64 {
    let half = end / f64::from(pieces) / 2.0;
    let piece = |i: u32| {
        let middle = half * f64::from(2 * i + 1);
        let pair =
            |&(x, weight): &(f64, f64)| weight * (f(middle - half * x) + f(middle + half * x));
        GAUSS.iter().map(pair).sum::<f64>()
    };
    half * (0..pieces).map(piece).sum::<f64>()
}

pub(super) fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

pub(super) fn binomial(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |ways, i| ways * f64::from(n - i) / f64::from(i + 1))
}
