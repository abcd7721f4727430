//! m and k of a new filter.

use crate::Error;
use crate::java::round_half_up;
use crate::limits::{check_fpp, not_zero};
use std::f64::consts::LN_2;

/// The arguments of a constructor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MagnusSizing {
    /// `BloomFilter(double f, int n)` of the class: `k = ceil(−log2 f)`,
    /// `m = (int)ceil(k / ln 2 · n)`, at most 2^31 − 1.
    Rate {
        /// f.
        fpp: f64,
        /// n.
        expected_items: i32,
    },
    /// The Redis variant: the same k, `m = (int)ceil(k n / ln 2)` with `k n` a 32-bit product that
    /// may overflow; then m is negative, or smaller than intended. Crawlers often use n = 600,000
    /// and f = 0.0001.
    RedisRate {
        /// f.
        fpp: f64,
        /// n.
        expected_items: i32,
    },
    /// `BloomFilter(double c, int n, int k)`: `m = (int)ceil(c n)`.
    BitsPerItem {
        /// c.
        bits_per_item: f64,
        /// n.
        expected_items: i32,
        /// k.
        num_hashes: i32,
    },
    /// `BloomFilter(int m, int n)`: `k = round(m / n ln 2)`, m computed once more as `ceil(m / n
    /// n)`.
    Bits {
        /// m.
        num_bits: i32,
        /// n.
        expected_items: i32,
    },
}

/// The values that the class computes from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) num_bits: i32,
    pub(super) num_hashes: u32,
    pub(super) bits_per_item: f64,
    pub(super) expected_items: i32,
}

impl MagnusSizing {
    /// m, negative if the original overflows, and k.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] and [`Error::BadField`] where the original creates a filter that divides by
    /// zero (m = 0), fails on creation (the class with m < 0) or answers yes to every query (k ≤
    /// 0).
    pub fn num_bits_and_hashes(&self) -> Result<(i32, u32), Error> {
        self.numbers().map(|numbers| (numbers.num_bits, numbers.num_hashes))
    }

    /// Checks that the original neither cuts m off nor overflows on the way to it, which makes a
    /// filter smaller than intended.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than 2^31 − 1 bits; [`Error::BadField`] for an f outside of
    /// (0, 1).
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::MagnusSizing;
    ///
    /// let sizing = |expected_items| MagnusSizing::RedisRate { fpp: 0.01, expected_items };
    /// // 7 n is negative in 32 bits.
    /// assert!(sizing(386_433_243).num_bits_and_hashes()?.0 < 0);
    /// assert!(sizing(386_433_243).check_overflow().is_err());
    /// assert!(sizing(1_000_000).check_overflow().is_ok());
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn check_overflow(&self) -> Result<(), Error> {
        let num_bits = match *self {
            Self::Rate { fpp, expected_items } | Self::RedisRate { fpp, expected_items } => {
                let num_hashes = libm::ceil(-libm::log2(check_fpp("p", fpp)?));
                num_hashes * f64::from(expected_items) / LN_2
            }
            Self::BitsPerItem { bits_per_item, expected_items, .. } => {
                bits_per_item * f64::from(expected_items)
            }
            Self::Bits { num_bits, .. } => f64::from(num_bits),
        };
        if num_bits <= f64::from(i32::MAX) {
            return Ok(());
        }
        let (field, limit) = ("number of bits", i32::MAX as u64);
        Err(Error::TooLarge { field, limit, found: num_bits.ceil() as u64 })
    }

    pub(super) fn numbers(&self) -> Result<Numbers, Error> {
        let exact_hashes = |fpp: f64| libm::ceil(-(libm::log(fpp) / LN_2));
        let bits = |per_item: f64, items: i32| libm::ceil(per_item * f64::from(items)) as i32;
        let (num_bits, num_hashes, bits_per_item, expected_items) = match *self {
            Self::Rate { fpp, expected_items } => {
                let per_item = exact_hashes(fpp) / LN_2;
                (bits(per_item, expected_items), exact_hashes(fpp) as i32, per_item, expected_items)
            }
            Self::RedisRate { fpp, expected_items } => {
                let hashes = exact_hashes(fpp) as i32;
                let product = hashes.wrapping_mul(expected_items);
                let num_bits = libm::ceil(f64::from(product) / LN_2) as i32;
                let per_item = f64::from(num_bits) / f64::from(expected_items);
                (num_bits, hashes, per_item, expected_items)
            }
            Self::BitsPerItem { bits_per_item, expected_items, num_hashes } => {
                (bits(bits_per_item, expected_items), num_hashes, bits_per_item, expected_items)
            }
            Self::Bits { num_bits, expected_items } => {
                let per_item = f64::from(num_bits) / f64::from(expected_items);
                let hashes = round_half_up(per_item * LN_2) as i32;
                (bits(per_item, expected_items), hashes, per_item, expected_items)
            }
        };
        let num_hashes = u32::try_from(num_hashes)
            .map_err(|_| Error::bad("number of hash functions", "1 and more", num_hashes))?;
        not_zero("number of hash functions", u64::from(num_hashes))?;
        not_zero("number of bits", u64::from(num_bits.unsigned_abs()))?;
        let is_right = num_bits >= 0 || matches!(self, Self::RedisRate { .. });
        Error::check(is_right, "number of bits", "1 and more", num_bits)?;
        Ok(Numbers { num_bits, num_hashes, bits_per_item, expected_items })
    }
}
