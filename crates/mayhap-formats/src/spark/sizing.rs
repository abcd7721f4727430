//! The size of a new filter: `BloomFilter.create`.

use super::scheme::SparkVersion;
use crate::Error;
use crate::java::{optimal_num_bits, optimal_num_hashes};

/// The arguments of `BloomFilter.create`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparkOptions {
    /// n.
    pub expected_items: i64,
    /// p; Spark's default is 0.03.
    pub fpp: f64,
    /// Spark's default is V1 up to 4.0 and V2 with seed 0 from 4.1.
    pub version: SparkVersion,
}

impl SparkOptions {
    /// Spark's defaults for n items, readable by every Spark: V1.
    pub fn new(expected_items: i64) -> Self {
        Self { expected_items, fpp: 0.03, version: SparkVersion::V1 }
    }

    /// The number of longs and of hash functions, or Spark's own refusal.
    ///
    /// `m' = (long)(−n ln p / (ln 2)^2)`, `k = max(1, round(m' / n ln 2))`, `ceil(m' / 64)` longs.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with Spark's message.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::SparkOptions;
    ///
    /// let options = SparkOptions { fpp: 0.01, ..SparkOptions::new(1_000) };
    /// assert_eq!(options.num_longs_and_hashes()?, (150, 7));
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn num_longs_and_hashes(&self) -> Result<(u32, u32), Error> {
        let n = self.expected_items;
        // NaN passes, as in Spark.
        let is_outside = self.fpp <= 0.0 || self.fpp >= 1.0;
        let rule = "False positive probability must be within range (0.0, 1.0)";
        Error::require(!is_outside, rule)?;
        let num_bits = optimal_num_bits(n, self.fpp);
        Error::require(n > 0, "Expected insertions must be positive")?;
        Error::require(num_bits > 0, "Number of bits must be positive")?;
        let num_longs = num_bits.unsigned_abs().div_ceil(64);
        let rule = format_args!("Can't allocate enough space for {num_bits} bits");
        Error::require(i32::try_from(num_longs).is_ok(), rule)?;
        Ok((num_longs as u32, optimal_num_hashes(n, num_bits) as u32))
    }
}
