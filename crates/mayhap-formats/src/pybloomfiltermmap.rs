//! `pybloomfiltermmap3` for Python.
//!
//! The file is the memory of a C structure as x86-64 lays it out, all numbers little-endian:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 9 | bytes | magic | `MBITARRAY` |
//! | 9 | 8 | u64 | m | computed from n, p and k |
//! | 17 | 4 | i32 | bytes of the structure with its reserve | 1200 |
//! | 21 | 8 | u64 | n, the number of keys it was sized for | any |
//! | 29 | 8 | f64 | target p | above 0 and below 1 |
//! | 37 | 4 | u32 | k | 1 to 256, the number of seeds |
//! | 41 | 1024 | 256 × u32 | seeds, k of them used | zeros after them |
//! | 1065 | 12 | | a pointer, padding | kept |
//! | 1077 | 1 | u8 | version | 1 |
//! | 1078 | 202 | | a count that stays 0, reserve | kept |
//! | 1280 | ceil(m / 8) | bytes | bit i is bit `i % 8` from the least significant of byte `i / 8` | zeros from m on |
//!
//! Read from and checked against 0.6.3 on x86-64; the files of other machines are unknown.

use crate::error::same;
use crate::filter::answered_by;
use crate::limits::{check_fpp, not_zero};
use crate::modulo::Modulo;
use crate::{
    Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader, Scheme, SchemeFilter,
};

pub(crate) const MAGIC: &[u8] = b"MBITARRAY";
const HEADER_BYTES: usize = 1280;
const MAX_HASHES: usize = 256;
/// The fewest bits of a new filter.
const MIN_BITS: u64 = 128;
/// The offset of the version.
const VERSION: usize = 1077;

/// Key bytes → positions: for each seed `h1 xor h2` of `MurmurHash3` (x64, 128 bits), modulo m; in
/// 0.3 its halves of 32 bits are combined by xor before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PyBloomFilterMmapScheme {
    seeds: Vec<u32>,
    num_bits: Modulo,
    /// Whether the four halves are combined to 32 bits, as in 0.3 of the older project.
    folds: bool,
}

impl Scheme for PyBloomFilterMmapScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.seeds.len() as u32
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        for &seed in &self.seeds {
            let (h1, h2) = mur3::murmurhash3_x64_128(key, seed);
            let hash = h1 ^ h2;
            let hash = if self.folds { (hash ^ hash >> 32) & 0xFFFF_FFFF } else { hash };
            if !each(self.num_bits.of(hash)) {
                return;
            }
        }
    }
}

/// A Bloom filter of `pybloomfiltermmap3`.
///
/// A query hashes the key k times and touches up to k cache lines.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, PyBloomFilterMmap};
///
/// let seeds = [1, 2, 3, 4, 5, 6];
/// let mut filter = PyBloomFilterMmap::create(1_000, 0.01, &seeds, &Limits::default())?;
/// assert!(filter.insert(b"hello")?);
/// assert!(filter.contains(b"hello") && !filter.contains(b"bye"));
/// assert_eq!(filter.num_bits(), 9_592);
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PyBloomFilterMmap {
    inner: SchemeFilter<PyBloomFilterMmapScheme>,
    capacity: u64,
    target_fpp: f64,
    /// The header as it was read: it has unused fields.
    header: Vec<u8>,
}

impl PyBloomFilterMmap {
    /// The number of seeds that the original draws for a p: `max(floor(log2(1 / p)), 1)`, and at
    /// most the 256 that fit.
    pub fn default_num_hashes(target_fpp: f64) -> usize {
        (libm::log2(1.0 / target_fpp).floor() as usize).clamp(1, MAX_HASHES)
    }

    /// `BloomFilter(capacity, p, hash_seeds=seeds)`: k is the number of seeds, `m = k ceil(n |ln p|
    /// / (k (ln 2)^2))` up to a multiple of 8, and at least 128. The original draws
    /// [`PyBloomFilterMmap::default_num_hashes`] random seeds if none are given.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero capacity or no seeds, [`Error::TooLarge`] for more than 256 seeds
    /// or by the limits, [`Error::BadField`] for a p outside of (0, 1), [`Error::OutOfMemory`].
    pub fn create(
        capacity: u64,
        target_fpp: f64,
        seeds: &[u32],
        limits: &Limits,
    ) -> Result<Self, Error> {
        not_zero("capacity", capacity)?;
        check_fpp("p", target_fpp)?;
        let num_hashes = check_num_hashes(seeds.len() as u64, limits)?;
        check_seeds(seeds, num_hashes, target_fpp)?;
        let [num_bits, ..] = sizes(capacity, target_fpp, num_hashes);
        let bits = Bits::new(num_bits, limits)?;
        let mut header = MAGIC.to_vec();
        header.extend(num_bits.to_le_bytes());
        header.extend(1200i32.to_le_bytes());
        header.extend(capacity.to_le_bytes());
        header.extend(target_fpp.to_le_bytes());
        header.extend(num_hashes.to_le_bytes());
        header.extend(seeds.iter().flat_map(|seed| seed.to_le_bytes()));
        header.resize(HEADER_BYTES, 0);
        // The version, and that the structure is in the file.
        header[VERSION] = 1;
        header[VERSION + 1] = 1;
        Ok(Self::of(seeds.to_vec(), bits, (capacity, target_fpp), header))
    }

    fn of(seeds: Vec<u32>, bits: Bits, numbers: (u64, f64), header: Vec<u8>) -> Self {
        let (capacity, target_fpp) = numbers;
        let num_bits = Modulo::new(bits.num_bits());
        let scheme = PyBloomFilterMmapScheme { seeds, num_bits, folds: false };
        Self { inner: SchemeFilter { scheme, bits }, capacity, target_fpp, header }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`]; [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`],
    /// [`Error::Truncated`] before anything is allocated; [`Error::TrailingBytes`],
    /// [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let format = Format::PyBloomFilterMmap.name();
        let is_this = bytes.starts_with(MAGIC);
        Error::check_format(is_this, format, "it does not start with MBITARRAY")?;
        let mut reader = Reader::new(bytes);
        let header = reader.take("header", HEADER_BYTES as u64)?;
        let mut fields = Reader::new(&header[MAGIC.len()..]);
        let num_bits = fields.u64_le("number of bits")?;
        let size = fields.i32_le("size of the structure")?;
        Error::check(size == 1200, "size of the structure", "1200", size)?;
        let capacity = fields.u64_le("capacity")?;
        let target_fpp = check_fpp("p", fields.f64_le("p")?)?;
        let num_hashes = check_num_hashes(u64::from(fields.u32_le("number of hashes")?), limits)?;
        let version = header[VERSION];
        Error::check(version == 1, "version", "1", version)?;
        Error::check_twice("number of bits", num_bits, sizes(capacity, target_fpp, num_hashes))?;
        let mut seeds: Vec<u32> =
            (0..MAX_HASHES).map(|_| fields.u32_le("seed")).collect::<Result<_, _>>()?;
        check_seeds(&seeds, num_hashes, target_fpp)?;
        seeds.truncate(num_hashes as usize);
        let bytes = reader.left();
        Error::check_left("bits", num_bits.div_ceil(8), bytes.len() as u64)?;
        let bits = Bits::from_lsb_bytes(bytes, num_bits, limits)?;
        Ok(Self::of(seeds, bits, (capacity, target_fpp), header.to_vec()))
    }

    /// The same file, read as one of `pybloomfiltermmap` 0.3 (2015 and earlier), whose hashes have
    /// 32 bits and whose files do not record that.
    #[must_use]
    pub fn of_release_03(mut self) -> Self {
        self.inner.scheme.folds = true;
        self
    }

    /// The number of keys that it was sized for, n.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The rate that it was sized for, p.
    pub fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// The seeds, k of them.
    pub fn seeds(&self) -> &[u32] {
        &self.inner.scheme.seeds
    }

    /// `update` and `|`: adds the bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless m and the seeds are equal; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("release", self.format().name(), other.format().name())?;
        let seeds = |filter: &Self| format!("{:?}", filter.seeds());
        same("seeds", &seeds(self), &seeds(other))?;
        self.inner.bits.union_with(&other.inner.bits)
    }
}

/// m from n, p and k: in 0.6.3, in earlier releases with a minimum, and in still earlier ones that
/// rounded it up to whole bytes.
fn sizes(capacity: u64, target_fpp: f64, num_hashes: u32) -> [u64; 3] {
    let ln_2 = std::f64::consts::LN_2;
    let per_hash = capacity as f64 * libm::log(target_fpp).abs();
    let per_hash = (per_hash / (f64::from(num_hashes) * (ln_2 * ln_2))).ceil() as u64;
    let exact = per_hash.saturating_mul(u64::from(num_hashes));
    let whole = exact.checked_next_multiple_of(8).unwrap_or(u64::MAX);
    [whole.max(MIN_BITS), whole, exact]
}

/// Refuses a k that its seeds contradict: the seeds after k are 0, and if the seeds that the
/// original draws for p are not 0, k cannot be larger.
fn check_seeds(seeds: &[u32], num_hashes: u32, target_fpp: f64) -> Result<(), Error> {
    let used = seeds.iter().rposition(|&seed| seed != 0).map_or(0, |last| last + 1);
    let is_drawn = used == PyBloomFilterMmap::default_num_hashes(target_fpp);
    let num_seeds = num_hashes as usize;
    let is_number = used == num_seeds || !is_drawn && used < num_seeds;
    Error::check(is_number, "number of hashes", "the number of seeds", num_hashes)
}

fn check_num_hashes(num_hashes: u64, limits: &Limits) -> Result<u32, Error> {
    let max_hashes = limits.max_hashes.min(MAX_HASHES as u32);
    Limits { max_hashes, ..*limits }.check_hashes("number of hashes", num_hashes)
}

impl ForeignFilter for PyBloomFilterMmap {
    answered_by!(inner: insert, union_with, estimated_fpp, estimated_items);

    fn format(&self) -> Format {
        if self.inner.scheme.folds {
            Format::PyBloomFilterMmap03
        } else {
            Format::PyBloomFilterMmap
        }
    }

    /// An int is hashed as its eight bytes.
    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::Bytes, KeyType::Long, KeyType::Hex]
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::new("capacity", self.capacity),
            Fact::new("target_fpp", self.target_fpp),
            Fact::new("seeds", format_args!("{:?}", self.seeds())),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = self.header.clone();
        out.extend(self.inner.bits.to_lsb_bytes());
        out
    }
}
