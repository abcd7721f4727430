//! Hashes → positions.

use crate::Error;
use crate::limits::not_zero;
use crate::modulo::{Modulo, NarrowModulo};

/// The two generations of Spark's filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparkVersion {
    /// 32-bit arithmetic: `h1 + i h2` for i = 1 to k, complemented if negative. Never touches a bit
    /// at 2^31 or above.
    V1,
    /// 64-bit arithmetic: `h1 (2^31 − 1) + i h2` for i = 1 to k, complemented if negative.
    V2 {
        /// The seed of the first hash; 0 unless the creator chose another.
        seed: i32,
    },
}

impl SparkVersion {
    /// The number in the file.
    pub fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 { .. } => 2,
        }
    }

    /// The seed; 0 for V1, which has none.
    pub fn seed(self) -> i32 {
        match self {
            Self::V1 => 0,
            Self::V2 { seed } => seed,
        }
    }
}

/// Key bytes → positions as in Spark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SparkScheme {
    version: SparkVersion,
    num_hashes: u32,
    num_bits: Modulo,
    num_longs: NarrowModulo,
}

impl SparkScheme {
    /// The positions of filters of `num_longs` × 64 bits.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for no longs or no hash functions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{Scheme, SparkScheme, SparkVersion};
    ///
    /// let scheme = SparkScheme::new(SparkVersion::V2 { seed: 0 }, 7, 150)?;
    /// let mut positions = Vec::new();
    /// scheme.positions(b"hello", |position| {
    ///     positions.push(position);
    ///     true
    /// });
    /// assert_eq!(positions, [8582, 7181, 5780, 4379, 2978, 1577, 176]);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(version: SparkVersion, num_hashes: u32, num_longs: u32) -> Result<Self, Error> {
        not_zero("number of hash functions", u64::from(num_hashes))?;
        not_zero("number of bits", u64::from(num_longs))?;
        Ok(Self {
            version,
            num_hashes,
            num_bits: Modulo::new(u64::from(num_longs) * 64),
            num_longs: NarrowModulo::new(num_longs),
        })
    }

    /// The version, with its seed.
    pub fn version(&self) -> SparkVersion {
        self.version
    }

    #[inline(always)]
    pub(super) fn k(&self) -> u32 {
        self.num_hashes
    }

    #[inline(always)]
    pub(super) fn num_bits(&self) -> Modulo {
        self.num_bits
    }

    #[inline(always)]
    pub(super) fn num_longs(&self) -> NarrowModulo {
        self.num_longs
    }

    /// The positions of a key with these hashes.
    #[inline]
    pub(super) fn spread(&self, h1: u32, h2: u32, mut each: impl FnMut(u64) -> bool) {
        match self.version {
            SparkVersion::V1 => {
                let mut combined = h1.cast_signed();
                for _ in 0..self.num_hashes {
                    combined = combined.wrapping_add(h2.cast_signed());
                    let flipped = if combined < 0 { !combined } else { combined };
                    if !each(self.num_bits.of(flipped as u64)) {
                        return;
                    }
                }
            }
            SparkVersion::V2 { .. } => {
                let mut combined = i64::from(h1.cast_signed()).wrapping_mul(0x7FFF_FFFF);
                for _ in 0..self.num_hashes {
                    combined = combined.wrapping_add(i64::from(h2.cast_signed()));
                    // The next round starts from the number before complementing.
                    let flipped = if combined < 0 { !combined } else { combined };
                    if !each(self.num_bits.of(flipped as u64)) {
                        return;
                    }
                }
            }
        }
    }
}
