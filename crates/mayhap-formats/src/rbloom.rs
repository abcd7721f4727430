//! `rbloom` for Python.
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | u64 LE | k | 1 to the limit |
//! | 8 | m / 8 | bytes | bit i is bit `i % 8` from the least significant of byte `i / 8` | at least one |
//!
//! There is no magic, no checksum, no n and no p, and the hash function is not in the file: the
//! user supplies one that returns an i128. Keys here are hashed as proposed in the library's
//! README: `int.from_bytes(sha256(pickle.dumps(key))[:16], "big") - 2**127`, where
//! [`KeyType::PickledStr`] is `pickle.dumps` of a `str` and [`KeyType::Bytes`] leaves that out;
//! [`RbloomFilter::contains_hash`] takes any other hash.
//!
//! Read from and checked against 1.5.4.

use crate::error::same;
use crate::filter::answered_by;
use crate::limits::{check_fpp, not_zero};
use crate::modulo::Modulo;
use crate::{
    Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader, Scheme, SchemeFilter,
};
use sha2::{Digest as _, Sha256};

/// The multiplier of a linear congruential generator of 128 bits (Steele & Vigna 2021).
const MULTIPLIER: u128 = 47_026_247_687_942_121_848_144_207_491_837_418_733;

/// Hash → positions: k times `s = s a + 1 mod 2^128`, position `(s / 2^32 mod 2^64) mod m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RbloomScheme {
    num_hashes: u32,
    num_bits: Modulo,
}

impl RbloomScheme {
    #[inline]
    fn positions_of_hash(&self, hash: i128, mut each: impl FnMut(u64) -> bool) {
        let mut state = hash as u128;
        for _ in 0..self.num_hashes {
            state = state.wrapping_mul(MULTIPLIER).wrapping_add(1);
            if !each(self.num_bits.of((state >> 32) as u64)) {
                return;
            }
        }
    }
}

/// The hash of the README's recipe, for bytes that are already pickled.
fn hash_of(key: &[u8]) -> i128 {
    let digest: [u8; 32] = Sha256::digest(key).into();
    let (first, _) = digest.split_at(16);
    let number = first.iter().fold(0, |number: u128, &byte| number << 8 | u128::from(byte));
    number.wrapping_sub(1 << 127).cast_signed()
}

impl Scheme for RbloomScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    #[inline]
    fn positions(&self, key: &[u8], each: impl FnMut(u64) -> bool) {
        self.positions_of_hash(hash_of(key), each);
    }
}

/// A Bloom filter of `rbloom`.
///
/// A query touches up to k cache lines.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, KeyType, Limits, RbloomFilter};
///
/// let mut filter = RbloomFilter::create(1_000, 0.01, &Limits::default())?;
/// let mut scratch = Vec::new();
/// let key = KeyType::PickledStr.encode(b"hello", &mut scratch)?;
/// assert!(filter.insert(key)?);
/// assert!(filter.contains(key) && !filter.contains(b"hello"));
/// assert!(filter.insert_hash(-1) && filter.contains_hash(-1));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RbloomFilter {
    inner: SchemeFilter<RbloomScheme>,
}

impl RbloomFilter {
    /// `Bloom(items, p)`: `m = floor(-n ln p / (ln 2)^2)` up to a multiple of 8 and
    /// `k = floor(-log2 p)`, by way of m / n.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero items; [`Error::BadField`] for a p outside (0, 1);
    /// [`Error::Refused`] for a p above about 0.5, which gives k = 0: the original creates a filter
    /// that contains everything. [`Error::TooLarge`] by the limits, [`Error::OutOfMemory`].
    pub fn create(items: u64, target_fpp: f64, limits: &Limits) -> Result<Self, Error> {
        not_zero("number of items", items)?;
        check_fpp("p", target_fpp)?;
        let n = items as f64;
        let ln_2 = std::f64::consts::LN_2;
        let m = -n * libm::log(target_fpp) / (ln_2 * ln_2);
        let num_hashes = (m / n * ln_2) as u64;
        let rule = "gives 0 hash functions: such a filter contains everything; use one below 0.5";
        Error::require(num_hashes > 0, format_args!("p = {target_fpp} {rule}"))?;
        let num_hashes = limits.check_hashes("number of hash functions", num_hashes)?;
        let num_bits = (m as u64).max(1).checked_next_multiple_of(8).unwrap_or(u64::MAX);
        Ok(Self::of(num_hashes, Bits::new(num_bits, limits)?))
    }

    fn of(num_hashes: u32, bits: Bits) -> Self {
        let scheme = RbloomScheme { num_hashes, num_bits: Modulo::new(bits.num_bits()) };
        Self { inner: SchemeFilter { scheme, bits } }
    }

    /// Reads the output of `save` or `save_bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`]; [`Error::Zero`] for k = 0, which the original opens and which answers
    /// yes to every query; [`Error::TooLarge`] before anything is allocated;
    /// [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let num_hashes = reader.u64_le("number of hash functions")?;
        let num_hashes = limits.check_hashes("number of hash functions", num_hashes)?;
        let bytes = reader.left();
        let bits = Bits::from_lsb_bytes(bytes, bytes.len() as u64 * 8, limits)?;
        Ok(Self::of(num_hashes, bits))
    }

    /// Whether a key with the hash `hash` may be in it.
    pub fn contains_hash(&self, hash: i128) -> bool {
        let mut all = true;
        self.inner.scheme.positions_of_hash(hash, |position| {
            all = self.inner.bits.get(position);
            all
        });
        all
    }

    /// Inserts a key with the hash `hash`; returns whether a bit changed.
    pub fn insert_hash(&mut self, hash: i128) -> bool {
        let Self { inner: SchemeFilter { scheme, bits } } = self;
        let mut new = false;
        scheme.positions_of_hash(hash, |position| {
            new |= bits.set(position);
            true
        });
        new
    }

    /// `approx_items`: `-m / k ln(1 - set bits / m)`; infinite for a full filter.
    pub fn approx_items(&self) -> f64 {
        self.inner.fill_items()
    }

    /// `update` and `|`: adds the bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless m and k are equal; nothing is changed then. The original also
    /// requires the same hash function, which no file records.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("number of hash functions", &self.num_hashes(), &other.num_hashes())?;
        self.inner.bits.union_with(&other.inner.bits)
    }
}

impl ForeignFilter for RbloomFilter {
    answered_by!(inner: insert, union_with, estimated_fpp, estimated_items);

    fn format(&self) -> Format {
        Format::Rbloom
    }

    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::PickledStr, KeyType::Bytes, KeyType::Hex]
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = u64::from(self.num_hashes()).to_le_bytes().to_vec();
        out.extend(self.inner.bits.to_lsb_bytes());
        out
    }
}
