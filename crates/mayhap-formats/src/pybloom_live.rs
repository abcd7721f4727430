//! `pybloom_live` for Python.
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | f64 LE | target p | above 0 and below 1 |
//! | 8 | 8 | u64 LE | k, number of slices | 1 to the limit |
//! | 16 | 8 | u64 LE | b, bits of a slice | at least 1 |
//! | 24 | 8 | u64 LE | n, the number of keys it was sized for | any |
//! | 32 | 8 | u64 LE | keys added | any |
//! | 40 | ceil(k b / 8) | bytes | bit i is bit `i % 8` from the least significant of byte `i / 8` | zeros from k b on |
//!
//! A key has one bit in each slice. The digest from which its positions are cut depends on the
//! sizes: a chunk is 2, 4 or 8 bytes, depending on b, and the digest is the shortest of SHA-1,
//! SHA-256, SHA-384 and SHA-512 with enough bits for k chunks; if 128 bits are enough, it is **MD5
//! up to 3.1 and XXH3 with 128 bits from 4.0, and the file does not record which**: hence two
//! formats.
//!
//! Read from and checked against 3.1.0 and 4.0.0.

use crate::error::same;
use crate::filter::answered_by;
use crate::limits::check_fpp;
use crate::modulo::Modulo;
use crate::scheme::items_by_bits;
use crate::{Bits, Error, Fact, ForeignFilter, Format, Limits, Reader, Scheme, SchemeFilter};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use xxhash_rust::xxh3::Xxh3Default;

/// The release that writes and reads a file: it determines the hash of small filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PyBloomLiveRelease {
    /// Up to 3.1: MD5.
    V3,
    /// From 4.0: XXH3 with 128 bits.
    V4,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Xxh3,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    fn for_bits(bits: u64, release: PyBloomLiveRelease) -> Self {
        match (bits, release) {
            (385.., _) => Self::Sha512,
            (257..=384, _) => Self::Sha384,
            (161..=256, _) => Self::Sha256,
            (129..=160, _) => Self::Sha1,
            (..=128, PyBloomLiveRelease::V3) => Self::Md5,
            (..=128, PyBloomLiveRelease::V4) => Self::Xxh3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Xxh3 => "xxh3_128",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Md5 | Self::Xxh3 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// The digest of `salt` and `key`, in the first [`Hash::len`] bytes.
    fn digest(self, salt: &[u8], key: &[u8]) -> [u8; 64] {
        fn of<D: sha2::Digest>(salt: &[u8], key: &[u8], out: &mut [u8; 64]) {
            let digest = D::new().chain_update(salt).chain_update(key).finalize();
            out[..digest.len()].copy_from_slice(&digest);
        }
        let mut out = [0; 64];
        match self {
            Self::Md5 => of::<Md5>(salt, key, &mut out),
            Self::Sha1 => of::<Sha1>(salt, key, &mut out),
            Self::Sha256 => of::<Sha256>(salt, key, &mut out),
            Self::Sha384 => of::<Sha384>(salt, key, &mut out),
            Self::Sha512 => of::<Sha512>(salt, key, &mut out),
            Self::Xxh3 => {
                let mut hasher = Xxh3Default::new();
                hasher.update(salt);
                hasher.update(key);
                out[..16].copy_from_slice(&hasher.digest128().to_be_bytes());
            }
        }
        out
    }
}

/// Key bytes → one position in each slice: `i b + c mod b` with the chunks c of the digests of
/// `salt i ‖ key`, where salt i is the digest of i as four bytes, least significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PyBloomLiveScheme {
    hash: Hash,
    num_slices: u32,
    slice_bits: Modulo,
    chunk_bytes: usize,
    salts: Vec<[u8; 64]>,
}

impl PyBloomLiveScheme {
    fn new(num_slices: u32, slice_bits: u64, release: PyBloomLiveRelease) -> Self {
        let chunk_bytes = match slice_bits {
            ..0x8000 => 2,
            0x8000..0x8000_0000 => 4,
            _ => 8,
        };
        let hash = Hash::for_bits(8 * u64::from(num_slices) * chunk_bytes as u64, release);
        let per_digest = (hash.len() / chunk_bytes) as u32;
        let salt = |i: u32| hash.digest(&[], &i.to_le_bytes());
        let salts = (0..num_slices.div_ceil(per_digest)).map(salt).collect();
        Self { hash, num_slices, slice_bits: Modulo::new(slice_bits), chunk_bytes, salts }
    }
}

impl Scheme for PyBloomLiveScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_slices
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let (mut slice, mut start) = (0, 0);
        for salt in &self.salts {
            let digest = self.hash.digest(&salt[..self.hash.len()], key);
            for chunk in digest[..self.hash.len()].chunks_exact(self.chunk_bytes) {
                let chunk = chunk.iter().rev().fold(0, |c: u64, &byte| c << 8 | u64::from(byte));
                if slice == self.num_slices || !each(start + self.slice_bits.of(chunk)) {
                    return;
                }
                slice += 1;
                start += self.slice_bits.divisor();
            }
        }
    }
}

/// A Bloom filter of `pybloom_live`.
///
/// A query touches up to k cache lines; hashing costs more than that. Keys are
/// `str(key).encode("utf-8")`.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, PyBloomLiveFilter, PyBloomLiveRelease};
///
/// let release = PyBloomLiveRelease::V4;
/// let mut filter = PyBloomLiveFilter::create(1_000, 0.01, release, &Limits::default())?;
/// assert!(filter.insert(b"hello")?);
/// assert!(filter.contains(b"hello") && !filter.contains(b"bye"));
/// assert_eq!((filter.num_bits(), filter.num_items()), (7 * 1_370, 1));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PyBloomLiveFilter {
    inner: SchemeFilter<PyBloomLiveScheme>,
    release: PyBloomLiveRelease,
    target_fpp: f64,
    capacity: u64,
    num_items: u64,
}

impl PyBloomLiveFilter {
    /// `BloomFilter(capacity, p)`: `k = ceil(log2(1 / p))` slices of
    /// `ceil(n |ln p| / (k (ln 2)^2))` bits.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with the original's message for a p outside (0, 1) or zero capacity;
    /// [`Error::TooLarge`] by the limits, [`Error::OutOfMemory`].
    pub fn create(
        capacity: u64,
        target_fpp: f64,
        release: PyBloomLiveRelease,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let is_rate = target_fpp > 0.0 && target_fpp < 1.0;
        Error::require(is_rate, "Error_Rate must be between 0 and 1.")?;
        Error::require(capacity > 0, "Capacity must be > 0")?;
        let (num_slices, slice_bits) = sizes(capacity, target_fpp);
        let num_slices = limits.check_hashes("number of slices", num_slices)?;
        let bits = Bits::new(all_bits(num_slices, slice_bits, limits)?, limits)?;
        let scheme = PyBloomLiveScheme::new(num_slices, slice_bits, release);
        let inner = SchemeFilter { scheme, bits };
        Ok(Self { inner, release, target_fpp, capacity, num_items: 0 })
    }

    /// Reads the output of `tofile` of this release.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`] before
    /// anything is allocated; [`Error::TrailingBytes`], [`Error::OutOfMemory`].
    pub fn decode(
        bytes: &[u8],
        release: PyBloomLiveRelease,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let target_fpp = check_fpp("p", reader.f64_le("p")?)?;
        let num_slices = reader.u64_le("number of slices")?;
        let num_slices = limits.check_hashes("number of slices", num_slices)?;
        let slice_bits = reader.u64_le("bits of a slice")?;
        let capacity = reader.u64_le("capacity")?;
        let num_items = reader.u64_le("count")?;
        let (slices, bits) = sizes(capacity, target_fpp);
        Error::check_twice("number of slices", u64::from(num_slices), [slices])?;
        Error::check_twice("bits of a slice", slice_bits, [bits])?;
        let num_bits = all_bits(num_slices, slice_bits, limits)?;
        let bytes = reader.take("bits", num_bits.div_ceil(8))?;
        reader.finish()?;
        let bits = Bits::from_lsb_bytes(bytes, num_bits, limits)?;
        let scheme = PyBloomLiveScheme::new(num_slices, slice_bits, release);
        let inner = SchemeFilter { scheme, bits };
        Ok(Self { inner, release, target_fpp, capacity, num_items })
    }

    /// The release whose hash it uses.
    pub fn release(&self) -> PyBloomLiveRelease {
        self.release
    }

    /// The number of keys that it was sized for, n: beyond that, it accepts no more.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The rate that it was sized for, p.
    pub fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// Keys added that were not in it; 0 after a union.
    pub fn num_items(&self) -> u64 {
        self.num_items
    }

    /// `union`: adds the bits of `other`. The count starts at 0 again, as in the original.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless capacity, p and release are equal; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("capacity", &self.capacity, &other.capacity)?;
        same("p", &self.target_fpp, &other.target_fpp)?;
        same("release", &self.format().name(), &other.format().name())?;
        same("number of slices", &self.num_hashes(), &other.num_hashes())?;
        self.inner.bits.union_with(&other.inner.bits)?;
        self.num_items = 0;
        Ok(())
    }
}

/// k and the bits of a slice from n and p.
fn sizes(capacity: u64, target_fpp: f64) -> (u64, u64) {
    let ln_2 = std::f64::consts::LN_2;
    // As computed by `math.log(x, 2)`, which is above 29 for 2^29.
    let num_slices = (libm::log(1.0 / target_fpp) / ln_2).ceil();
    let slice_bits = capacity as f64 * libm::log(target_fpp).abs();
    (num_slices as u64, (slice_bits / (num_slices * (ln_2 * ln_2))).ceil() as u64)
}

fn all_bits(num_slices: u32, slice_bits: u64, limits: &Limits) -> Result<u64, Error> {
    let num_bits = slice_bits.saturating_mul(u64::from(num_slices));
    limits.check_bits("bits of all slices", num_bits)?;
    Ok(num_bits)
}

impl ForeignFilter for PyBloomLiveFilter {
    answered_by!(inner: key_types, union_with, estimated_fpp);

    fn format(&self) -> Format {
        match self.release {
            PyBloomLiveRelease::V3 => Format::PyBloomLive3,
            PyBloomLiveRelease::V4 => Format::PyBloomLive4,
        }
    }

    /// `add`: refused once it has more than n keys, even for a key that is found.
    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        Error::require(self.num_items <= self.capacity, "BloomFilter is at capacity")?;
        let new = self.inner.insert(key);
        self.num_items = self.num_items.saturating_add(u64::from(new));
        Ok(new)
    }

    fn estimated_items(&self) -> Option<u64> {
        Some(items_by_bits(self.num_items, self.inner.fill_items()))
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("capacity", self.capacity),
            Fact::new("target_fpp", self.target_fpp),
            Fact::new("hash", self.inner.scheme.hash.name()),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = self.target_fpp.to_le_bytes().to_vec();
        out.extend(u64::from(self.num_hashes()).to_le_bytes());
        out.extend(self.inner.scheme.slice_bits.divisor().to_le_bytes());
        out.extend(self.capacity.to_le_bytes());
        out.extend(self.num_items.to_le_bytes());
        out.extend(self.inner.bits.to_lsb_bytes());
        out
    }
}
