//! Key bytes → positions.

use crate::java::round_half_up;
use crate::limits::not_zero;
use crate::modulo::Modulo;
use crate::{Error, Scheme};
use highway::{HighwayHash, HighwayHasher, Key};

const KEY: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xF39C_C060_5CED_C834, 0x1082_276B_F3A2_7251, 0xF86C_6A11_D0C1_8E95];

/// Key bytes → positions: HighwayHash-128 with Redisson's key, its halves added in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedissonScheme {
    size: i64,
    num_hashes: u32,
    modulo: Modulo,
}

impl RedissonScheme {
    /// The positions of filters of `size` bits; the sign is ignored, as Java's remainder does.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero bits or no hash functions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{RedissonScheme, Scheme};
    ///
    /// let scheme = RedissonScheme::new(7, 9585)?;
    /// let mut positions = Vec::new();
    /// scheme.positions(b"hello", |position| {
    ///     positions.push(position);
    ///     true
    /// });
    /// assert_eq!(positions, [8060, 4649, 776, 6950, 3077, 9251, 5378]);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(num_hashes: u32, size: i64) -> Result<Self, Error> {
        not_zero("hashIterations", u64::from(num_hashes))?;
        not_zero("size", size.unsigned_abs())?;
        Ok(Self { size, num_hashes, modulo: Modulo::new(size.unsigned_abs()) })
    }

    /// The position of a sum of hashes.
    #[inline]
    pub(super) fn position(&self, sum: u64) -> u64 {
        self.modulo.of(sum & i64::MAX as u64)
    }

    /// The size with its sign.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// `count()` of a filter with `ones` set bits: `round(−size / k ln(1 − ones / size))`; 2^63 − 1
    /// when all are set.
    ///
    /// # Examples
    ///
    /// ```
    /// let scheme = mayhap_formats::RedissonScheme::new(7, 9585)?;
    /// assert_eq!(scheme.count(4687), 919);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn count(&self, ones: u64) -> i64 {
        let size = self.size as f64;
        let fill = ones as f64 / size;
        round_half_up(-size / f64::from(self.num_hashes) * libm::log(1.0 - fill))
    }
}

impl Scheme for RedissonScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let [h0, h1] = HighwayHasher::new(Key(KEY)).hash128(key);
        let mut combined = h0;
        for i in 0..self.num_hashes {
            if !each(self.position(combined)) {
                return;
            }
            combined = combined.wrapping_add(if i % 2 == 0 { h1 } else { h0 });
        }
    }
}
