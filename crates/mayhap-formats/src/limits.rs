//! The largest size of an untrusted filter.

use crate::Error;

/// Limits on the memory that a file may cause this crate to allocate, checked before any
/// allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of bits.
    pub max_bytes: u64,
    /// Hash functions per key: above it a query would be slow and a filter is surely forged.
    pub max_hashes: u32,
}

impl Default for Limits {
    /// 16 GiB, and 1,100 hash functions: more than −log2 of the smallest rate that a double holds.
    fn default() -> Self {
        Self { max_bytes: 16 << 30, max_hashes: 1_100 }
    }
}

impl Limits {
    /// Checks a size in bits.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero bits, [`Error::TooLarge`].
    pub fn check_bits(&self, field: &'static str, num_bits: u64) -> Result<(), Error> {
        if num_bits == 0 {
            return Err(Error::Zero { field });
        }
        let max_bits = self.max_bytes.saturating_mul(8);
        if num_bits > max_bits {
            return Err(Error::TooLarge { field, limit: max_bits, found: num_bits });
        }
        Ok(())
    }

    /// Checks a number of hash functions; as an unsigned number if it is allowed.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] (such a filter answers yes to every query), [`Error::TooLarge`].
    pub fn check_hashes(&self, field: &'static str, num_hashes: u64) -> Result<u32, Error> {
        if num_hashes == 0 {
            return Err(Error::Zero { field });
        }
        match u32::try_from(num_hashes) {
            Ok(hashes) if hashes <= self.max_hashes => Ok(hashes),
            _ => {
                let limit = u64::from(self.max_hashes);
                Err(Error::TooLarge { field, limit, found: num_hashes })
            }
        }
    }
}

/// Checks a false-positive probability: a number between 0 and 1, both excluded.
pub(crate) fn check_fpp(field: &'static str, fpp: f64) -> Result<f64, Error> {
    if fpp > 0.0 && fpp < 1.0 {
        Ok(fpp)
    } else {
        Err(Error::bad(field, "above 0 and below 1", fpp))
    }
}
