//! Key bytes → positions.

use crate::Scheme;
use crate::limits::not_zero;
use crate::modulo::Modulo;

/// How Guava computes positions from a Murmur3 hash (x64, 128 bits, seed 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuavaStrategy {
    /// `MURMUR128_MITZ_32`, the only one up to Guava 14: the halves of the first 64 bits as signed
    /// numbers a, b; `a + i b` for i = 1 to k, complemented if negative. Never touches a bit at
    /// 2^31 or above.
    Mitz32,
    /// `MURMUR128_MITZ_64`, the default since: `h1 + i h2` for i = 0 to k − 1, without the sign
    /// bit.
    Mitz64,
}

impl GuavaStrategy {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mitz32 => "MURMUR128_MITZ_32",
            Self::Mitz64 => "MURMUR128_MITZ_64",
        }
    }
}

/// Key bytes → positions as in Guava.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuavaScheme {
    strategy: GuavaStrategy,
    num_hashes: u8,
    num_bits: Modulo,
}

impl GuavaScheme {
    /// The positions of filters of `num_longs` × 64 bits.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Zero`] for no longs or no hash functions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{GuavaScheme, GuavaStrategy, Scheme};
    ///
    /// let scheme = GuavaScheme::new(GuavaStrategy::Mitz64, 7, 150)?;
    /// let mut positions = Vec::new();
    /// scheme.positions(b"hello", |position| {
    ///     positions.push(position);
    ///     true
    /// });
    /// assert_eq!(positions, [898, 8731, 6964, 3405, 1638, 9471, 5912]);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(
        strategy: GuavaStrategy,
        num_hashes: u8,
        num_longs: u32,
    ) -> Result<Self, crate::Error> {
        not_zero("number of hash functions", u64::from(num_hashes))?;
        not_zero("number of bits", u64::from(num_longs))?;
        Ok(Self { strategy, num_hashes, num_bits: Modulo::new(u64::from(num_longs) * 64) })
    }

    /// The strategy.
    pub fn strategy(&self) -> GuavaStrategy {
        self.strategy
    }
}

impl Scheme for GuavaScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        u32::from(self.num_hashes)
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let (h1, h2) = mur3::murmurhash3_x64_128(key, 0);
        match self.strategy {
            GuavaStrategy::Mitz64 => {
                let mut combined = h1;
                for _ in 0..self.num_hashes {
                    if !each(self.num_bits.of(combined & i64::MAX as u64)) {
                        return;
                    }
                    combined = combined.wrapping_add(h2);
                }
            }
            GuavaStrategy::Mitz32 => {
                let (step, mut combined) = ((h1 >> 32) as i32, h1 as i32);
                for _ in 0..self.num_hashes {
                    combined = combined.wrapping_add(step);
                    let flipped = if combined < 0 { !combined } else { combined };
                    if !each(self.num_bits.of(flipped as u64)) {
                        return;
                    }
                }
            }
        }
    }
}
