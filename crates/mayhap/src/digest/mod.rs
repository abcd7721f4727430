//! Bytes → digest: a key is hashed only once, here.
//!
//! | file | contents |
//! |---|---|
//! | `function.rs` | the two digest functions, their ids and their golden vectors |
//! | `key.rs` | the bytes of a key: the same in every language that opens our filters |
//! | `sip13.rs` | SipHash-1-3 with a secret key |
//! | `xxh3.rs` | XXH3-64 with a seed |

mod function;
mod key;
mod sip13;
mod xxh3;

pub use function::{DigestFunction, SecretKey};
pub use key::Key;

/// A key's 64-bit hash, which is all that a filter sees of the key.
///
/// Compute it with [`DigestFunction::digest`] and use it to query any number of filters with the
/// same digest function. Two keys with equal digests cannot be distinguished, which adds n / 2^64
/// to the false-positive probability of a filter with n items.
///
/// # Examples
///
/// ```
/// use mayhap::{Digest, DigestFunction};
///
/// let digest = DigestFunction::xxh3(0).digest("a");
/// assert_eq!(digest, Digest::new(0xE6C6_32B6_1E96_4E1F)); // XXH3-64 of "a"
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(transparent)]
pub struct Digest(u64);

impl Digest {
    /// Wraps 64 bits that are already a good hash, in which every bit is as random as a coin flip.
    ///
    /// Counters, ids and other structured numbers are not; hash them as keys instead.
    #[inline]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Digest({:016x})", self.0)
    }
}
