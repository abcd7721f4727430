//! Key bytes → positions.

use crate::limits::not_zero;
use crate::modulo::Modulo;
use crate::{Error, Scheme};
use md5::{Digest, Md5};
use sha1::Sha1;

/// The digest with which the class is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MagnusHash {
    /// The default: four numbers per digest.
    #[default]
    Md5,
    /// The alternative named in the source: five numbers per digest.
    Sha1,
}

/// Key bytes → positions: digests of a salt byte and the key, cut into 32-bit numbers, modulo m.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MagnusScheme {
    hash: MagnusHash,
    num_hashes: u32,
    num_bits: i32,
    modulo: Modulo,
}

impl MagnusScheme {
    /// The positions of filters of `num_bits` bits; the sign is ignored, as Java's remainder does.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero bits, since the class would divide by them, or no hash functions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{MagnusHash, MagnusScheme, Scheme};
    ///
    /// let scheme = MagnusScheme::new(MagnusHash::Md5, 5, 12_118_639)?;
    /// let mut positions = Vec::new();
    /// scheme.positions(b"hello", |position| {
    ///     positions.push(position);
    ///     true
    /// });
    /// assert_eq!(positions, [6_481_933, 4_203_089, 1_471_590, 11_572_637, 4_458_130]);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(hash: MagnusHash, num_hashes: u32, num_bits: i32) -> Result<Self, Error> {
        not_zero("number of hash functions", u64::from(num_hashes))?;
        let bits = u64::from(num_bits.unsigned_abs());
        not_zero("number of bits", bits)?;
        Ok(Self { hash, num_hashes, num_bits, modulo: Modulo::new(bits) })
    }

    /// The digest.
    pub fn hash(&self) -> MagnusHash {
        self.hash
    }

    /// m as in the class: negative after its overflow.
    pub fn signed_num_bits(&self) -> i32 {
        self.num_bits
    }

    /// The numbers of one salt, big-endian.
    fn digest(&self, salt: u8, key: &[u8]) -> ([u8; 20], usize) {
        let mut bytes = [0; 20];
        match self.hash {
            MagnusHash::Md5 => {
                let digest = Md5::new().chain_update([salt]).chain_update(key).finalize();
                bytes[..16].copy_from_slice(&digest);
                (bytes, 16)
            }
            MagnusHash::Sha1 => {
                let digest = Sha1::new().chain_update([salt]).chain_update(key).finalize();
                bytes.copy_from_slice(&digest);
                (bytes, 20)
            }
        }
    }
}

impl Scheme for MagnusScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    /// The salt is one byte and wraps: from the 1,025th number on (MD5) they repeat.
    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let mut left = self.num_hashes;
        let mut salt = 0u8;
        loop {
            let (bytes, len) = self.digest(salt, key);
            for &number in bytes[..len].as_chunks::<4>().0 {
                // |h rem m| = |h| mod |m|, also for h = −2^31, whose absolute value no i32 holds.
                let number = i32::from_be_bytes(number).unsigned_abs();
                if !each(self.modulo.of(u64::from(number))) {
                    return;
                }
                left -= 1;
                if left == 0 {
                    return;
                }
            }
            salt = salt.wrapping_add(1);
        }
    }
}
