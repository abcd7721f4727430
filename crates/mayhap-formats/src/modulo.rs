//! Remainders by a constant divisor.

/// `n % divisor` by two multiplications: a 64-bit division takes 25 to 40 cycles on older CPUs, and
/// a query does k of them with the same divisor.
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

    /// `n mod divisor`, from 0 on: the complement of n counts from the other end.
    #[inline]
    pub(crate) fn of_signed(self, n: i64) -> u64 {
        let sign = (n >> 63).cast_unsigned();
        let rest = self.of(n.cast_unsigned() ^ sign);
        (rest ^ sign).wrapping_add(self.divisor & sign)
    }
}

/// `n % divisor` for n below 2^31, in steps that vector instructions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NarrowModulo {
    divisor: u32,
    shift: u32,
    /// `floor(2^shift / divisor) + 1`.
    reciprocal: u32,
}

impl NarrowModulo {
    /// Panics if `divisor` is 0: every caller has checked it.
    pub(crate) fn new(divisor: u32) -> Self {
        let shift = 31 + u64::from(divisor).next_power_of_two().trailing_zeros();
        Self { divisor, shift, reciprocal: ((1 << shift) / u64::from(divisor) + 1) as u32 }
    }

    /// `n % divisor`, for n below 2^31.
    ///
    /// `reciprocal = (2^shift + e) / divisor` with 0 < e ≤ divisor, and n e < 2^31 divisor ≤
    /// 2^shift: `n reciprocal / 2^shift` is less than 1 / divisor above `n / divisor`, and its
    /// floor is the quotient (Granlund and Montgomery 1994, "Division by Invariant Integers using
    /// Multiplication").
    #[inline(always)]
    pub(crate) fn of(self, n: u32) -> u32 {
        debug_assert!(n < 1 << 31);
        let quotient = ((u64::from(n) * u64::from(self.reciprocal)) >> self.shift) as u32;
        n.wrapping_sub(quotient.wrapping_mul(self.divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::{Modulo, NarrowModulo};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

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

    #[test]
    fn the_narrow_remainder_is_right_at_the_edges() {
        const MOST: u32 = (1 << 31) - 1;
        for divisor in [1, 2, 3, 7, 64, 65, (1 << 25) + 1, 1 << 30, MOST, 1 << 31, u32::MAX] {
            let multiple = MOST / divisor * divisor;
            let before = multiple.saturating_sub(1);
            for n in [0, 1, 2, 63, 64, divisor - 1, divisor, multiple, before, MOST] {
                let n = n.min(MOST);
                assert_eq!(NarrowModulo::new(divisor).of(n), n % divisor, "{n} % {divisor}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(0x0F0F),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_narrow_remainder_is_right(n in 0u32..1 << 31, divisor in 1u32.., shift in 0u32..31) {
            let divisor = (divisor >> shift).max(1);
            for n in [n, n >> shift, (n / divisor * divisor).saturating_sub(1)] {
                prop_assert_eq!(NarrowModulo::new(divisor).of(n), n % divisor);
            }
        }

        #[test]
        fn the_remainder_of_a_negative_number_is_not_negative(
            n: i64, divisor in 1i64.., shift in 0u32..63,
        ) {
            let divisor = (divisor >> shift).max(1);
            for n in [n, n >> shift, n / divisor * divisor, i64::MIN, -1, 0] {
                let expected = n.rem_euclid(divisor) as u64;
                prop_assert_eq!(Modulo::new(divisor as u64).of_signed(n), expected);
            }
        }

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
