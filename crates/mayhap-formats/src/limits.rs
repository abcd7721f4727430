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
        not_zero(field, num_bits)?;
        Error::check_limit(field, self.max_bytes.saturating_mul(8), num_bits)
    }

    /// Checks a number of hash functions; as an unsigned number if it is allowed.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] (such a filter answers yes to every query), [`Error::TooLarge`].
    pub fn check_hashes(&self, field: &'static str, num_hashes: u64) -> Result<u32, Error> {
        not_zero(field, num_hashes)?;
        Error::check_limit(field, self.max_hashes.into(), num_hashes)?;
        Ok(num_hashes as u32)
    }
}

/// An empty vector with room for this many elements; [`Error::OutOfMemory`].
pub(crate) fn try_room<T>(len: u64) -> Result<Vec<T>, Error> {
    let out_of_memory = Error::OutOfMemory { bytes: len.saturating_mul(size_of::<T>() as u64) };
    let mut room = Vec::new();
    let len = usize::try_from(len).map_err(|_| out_of_memory.clone())?;
    room.try_reserve_exact(len).map_err(|_| out_of_memory)?;
    Ok(room)
}

/// Checks that a number is not 0.
pub(crate) fn not_zero(field: &'static str, number: u64) -> Result<(), Error> {
    if number == 0 { Err(Error::Zero { field }) } else { Ok(()) }
}

/// Checks a false-positive probability: a number between 0 and 1, both excluded.
pub(crate) fn check_fpp(field: &'static str, fpp: f64) -> Result<f64, Error> {
    Error::check(fpp > 0.0 && fpp < 1.0, field, "above 0 and below 1", fpp)?;
    Ok(fpp)
}
