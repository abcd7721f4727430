//! m, n and k.

use crate::Error;
use mayhap_formats::{Limits, MagnusHash, MagnusScheme, MagnusSizing};

/// m, n and k of one bitmap. A bitmap does not record them: to attach, you have to know them.
///
/// Two are equal if all three are, like two objects of the class.
///
/// # Examples
///
/// ```
/// use mayhap_redis::MagnusParams;
///
/// // `new BloomFilter<>()`, `new BloomFilter<>(0.0001, 600000)` and its m, n and k.
/// let params = MagnusParams::default();
/// assert_eq!(params, MagnusParams::of_rate(0.0001, 600_000)?);
/// assert_eq!((params.num_bits, params.num_hashes), (12_118_639, 14));
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MagnusParams {
    /// m, as returned by `getSizeOfBloomFilter`: negative where the class overflows; its sign is
    /// ignored.
    pub num_bits: i32,
    /// n, as returned by `getExpectedNumberOfElements`.
    pub expected_items: i32,
    /// k, as returned by `getNumberOfHashFunctions`.
    pub num_hashes: u32,
}

impl Default for MagnusParams {
    /// The parameters for 600,000 keys at 1e-4.
    fn default() -> Self {
        Self { num_bits: 12_118_639, expected_items: 600_000, num_hashes: 14 }
    }
}

impl MagnusParams {
    /// The results of `BloomFilter(double f, int n)`, with its overflow
    /// ([`MagnusSizing::RedisRate`]).
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where the class creates a filter that divides by zero or answers yes to
    /// every query.
    pub fn of_rate(target_fpp: f64, expected_items: i32) -> Result<Self, Error> {
        let sizing = MagnusSizing::RedisRate { fpp: target_fpp, expected_items };
        let (num_bits, num_hashes) = sizing.num_bits_and_hashes()?;
        Ok(Self { num_bits, expected_items, num_hashes })
    }

    /// |m|.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.num_bits.unsigned_abs())
    }

    /// The positions in one bitmap, if the numbers are within the limits.
    pub(super) fn scheme(&self) -> Result<MagnusScheme, Error> {
        Limits::default().check_hashes("number of hash functions", u64::from(self.num_hashes))?;
        Ok(MagnusScheme::new(MagnusHash::Md5, self.num_hashes, self.num_bits)?)
    }
}
