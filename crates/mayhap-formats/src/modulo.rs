//! Remainders by a number that does not change.

/// `n % divisor` by two multiplications: a 64-bit division takes 25 to 40 cycles on older CPUs, and
/// a query does k of them by the same divisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modulo {
    divisor: u64,
    /// `floor((2^64 - 1) / divisor)`.
    reciprocal: u64,
}

impl Modulo {
    /// Panics if `divisor` is 0: every caller has checked it.
    pub(crate) fn new(divisor: u64) -> Self {
        Self { divisor, reciprocal: u64::MAX / divisor }
    }

    /// The divisor.
    #[inline]
    pub(crate) fn divisor(self) -> u64 {
        self.divisor
    }

    /// `n % divisor`.
    ///
    /// `reciprocal > 2^64 / divisor - 1 - 1 / divisor`, so `n * reciprocal / 2^64` is less than 1
    /// below `n / divisor`, and its floor at most 1 below the quotient: one subtraction corrects
    /// it.
    #[inline]
    pub(crate) fn of(self, n: u64) -> u64 {
        let quotient = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = n - quotient * self.divisor;
        if rest >= self.divisor { rest - self.divisor } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::Modulo;
    use proptest::prelude::*;

    #[test]
    fn the_remainder_is_right_at_the_edges() {
        let edges = [0u64, 1, 2, 3, 63, 64, 65, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1];
        let all = edges.into_iter().flat_map(|n| [n, n.wrapping_neg(), !n, n ^ (1 << 63)]);
        let all: Vec<u64> = all.collect();
        for &divisor in all.iter().filter(|&&divisor| divisor != 0) {
            for &n in &all {
                assert_eq!(Modulo::new(divisor).of(n), n % divisor, "{n} % {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_remainder_is_right(n: u64, divisor in 1u64.., shift in 0u32..64, times: u64) {
            let divisor = (divisor >> shift).max(1);
            let multiple = times.wrapping_mul(divisor);
            for n in [n, n >> shift, multiple, multiple.wrapping_sub(1)] {
                prop_assert_eq!(Modulo::new(divisor).of(n), n % divisor);
            }
        }
    }
}
