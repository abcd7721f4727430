//! The size of a new filter: `BloomFilter.create`.

use super::scheme::GuavaStrategy;
use crate::Error;
use crate::java::{double_to_string, optimal_num_bits, optimal_num_hashes, round_half_up};
use std::f64::consts::LN_2;

/// The versions of the formula for k of a new filter. They differ only for few expected insertions,
/// and k is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuavaRelease {
    /// Up to 31.1 at least: `k = max(1, round(m' / n ln 2))` with m' before it is rounded to longs.
    UpTo31,
    /// 33.4.0 and later: `k = max(1, round(−ln p / ln 2))`.
    #[default]
    From33,
}

/// The arguments of `BloomFilter.create`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuavaOptions {
    /// n; 0 counts as 1.
    pub expected_insertions: i64,
    /// p; Guava's default is 0.03.
    pub fpp: f64,
    /// Guava's default since 15 is [`GuavaStrategy::Mitz64`].
    pub strategy: GuavaStrategy,
    /// The formula for k.
    pub release: GuavaRelease,
}

impl GuavaOptions {
    /// Guava's defaults for n insertions.
    pub fn new(expected_insertions: i64) -> Self {
        Self {
            expected_insertions,
            fpp: 0.03,
            strategy: GuavaStrategy::Mitz64,
            release: GuavaRelease::default(),
        }
    }

    /// The number of longs and of hash functions, or Guava's own refusal.
    ///
    /// `m' = (long)(−n ln p / (ln 2)^2)`, not rounded up; `ceil(m' / 64)` longs.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with Guava's message, followed by a colon and the cause if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{GuavaOptions, GuavaRelease};
    ///
    /// let options = GuavaOptions { fpp: 0.01, ..GuavaOptions::new(3) };
    /// assert_eq!(options.num_longs_and_hashes()?, (1, 7));
    /// let older = GuavaOptions { release: GuavaRelease::UpTo31, ..options };
    /// assert_eq!(older.num_longs_and_hashes()?, (1, 6));
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn num_longs_and_hashes(&self) -> Result<(u32, u8), Error> {
        let (n, fpp) = (self.expected_insertions, self.fpp);
        Error::require(n >= 0, format_args!("Expected insertions ({n}) must be >= 0"))?;
        let what = format!("False positive probability ({})", double_to_string(fpp));
        // NaN is not above 0 either.
        Error::require(fpp > 0.0, format_args!("{what} must be > 0.0"))?;
        Error::require(fpp < 1.0, format_args!("{what} must be < 1.0"))?;
        let n = n.max(1);
        let num_bits = optimal_num_bits(n, fpp);
        let num_hashes = match self.release {
            GuavaRelease::UpTo31 => optimal_num_hashes(n, num_bits),
            GuavaRelease::From33 => round_half_up(-libm::log(fpp) / LN_2).max(1),
        };
        let num_longs = num_bits.unsigned_abs().div_ceil(64);
        let what = format!("Could not create BloomFilter of {num_bits} bits");
        let fits = i32::try_from(num_longs).is_ok();
        Error::require(fits, format_args!("{what}: Out of range: {num_longs}"))?;
        Error::require(num_longs > 0, format_args!("{what}: data length is zero!"))?;
        let rule = format_args!("{what}: numHashFunctions ({num_hashes}) must be <= 255");
        Error::require(num_hashes <= 255, rule)?;
        Ok((num_longs as u32, num_hashes as u8))
    }
}
