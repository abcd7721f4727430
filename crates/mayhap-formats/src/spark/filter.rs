//! The filter.

use super::codec::Form;
use super::scheme::{SparkScheme, SparkVersion};
use super::sizing::SparkOptions;
use crate::filter::{answered_by, same, same_format};
use crate::java::{approximate_count, expected_fpp};
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, SchemeFilter};

/// A Bloom filter of Spark.
///
/// m is at most 64 (2^31 − 1). A query touches up to k cache lines. A batch hashes 32 keys side by
/// side, and the remaining ones one by one. Text columns are hashed as UTF-8, binary ones
/// unchanged, and all integer columns as longs: int 5 is long 5.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, SparkFilter, SparkOptions};
///
/// let mut filter = SparkFilter::create(&SparkOptions::new(1_000), &Limits::default())?;
/// assert!(filter.insert_str("user:1"));
/// assert!(filter.contains_str("user:1") && !filter.contains_str("user:2"));
/// let bytes = filter.encode();
/// assert_eq!(bytes[..12], [0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 115]); // V1, k, longs
/// assert!(SparkFilter::decode(&bytes, &Limits::default())?.contains_str("user:1"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparkFilter {
    pub(super) inner: SchemeFilter<SparkScheme>,
    pub(super) form: Form,
}

impl SparkFilter {
    /// `BloomFilter.create`: an empty filter of the size chosen by Spark.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] as [`SparkOptions::num_longs_and_hashes`]; [`Error::TooLarge`] by the
    /// limits; [`Error::OutOfMemory`].
    pub fn create(options: &SparkOptions, limits: &Limits) -> Result<Self, Error> {
        let (num_longs, num_hashes) = options.num_longs_and_hashes()?;
        let scheme = SparkScheme::new(options.version, num_hashes, num_longs)?;
        let bits = Bits::new(u64::from(num_longs) * 64, limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    /// The scheme: version, seed, k and m.
    pub fn scheme(&self) -> &SparkScheme {
        &self.inner.scheme
    }

    /// The version, with its seed.
    pub fn version(&self) -> SparkVersion {
        self.inner.scheme.version()
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.inner.bits
    }

    /// Whether the key may be in it: `mightContainBinary`.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.inner.contains(key)
    }

    /// Whether the text may be in it: `mightContainString`.
    #[inline]
    pub fn contains_str(&self, key: &str) -> bool {
        self.contains(key.as_bytes())
    }

    /// Whether the number may be in it: `mightContainLong`.
    #[inline]
    pub fn contains_i64(&self, key: i64) -> bool {
        self.contains(&key.to_le_bytes())
    }

    /// `putBinary`: whether a bit changed.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        self.inner.insert(key)
    }

    /// `putString`.
    #[inline]
    pub fn insert_str(&mut self, key: &str) -> bool {
        self.insert(key.as_bytes())
    }

    /// `putLong`.
    #[inline]
    pub fn insert_i64(&mut self, key: i64) -> bool {
        self.insert(&key.to_le_bytes())
    }

    /// `expectedFpp()`: `(set bits / m)^k`.
    pub fn expected_fpp(&self) -> f64 {
        expected_fpp(self.inner.bits.fill_ratio(), self.num_hashes())
    }

    fn check_like(&self, other: &Self) -> Result<(), Error> {
        same("version", &self.version().number(), &other.version().number())?;
        same("seed", &self.version().seed(), &other.version().seed())?;
        same("number of bits", &self.num_bits(), &other.num_bits())?;
        same("number of hash functions", &self.num_hashes(), &other.num_hashes())
    }

    /// `mergeInPlace`: adds all bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless version, seed, m and k are equal.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_like(other)?;
        self.inner.bits.union_with(&other.inner.bits)
    }

    /// `intersectInPlace`: keeps the bits that `other` also has. The keys of both filters stay, and
    /// some keys of only one may stay too.
    ///
    /// # Errors
    ///
    /// Those of [`SparkFilter::union_with`].
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_like(other)?;
        self.inner.bits.intersect_with(&other.inner.bits)
    }
}

impl ForeignFilter for SparkFilter {
    answered_by!(inner);

    fn format(&self) -> Format {
        Format::Spark
    }

    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::Bytes, KeyType::Long, KeyType::Hex]
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.inner.insert(key))
    }

    fn union_with(&mut self, other: &dyn ForeignFilter) -> Result<(), Error> {
        let other = same_format(self, other)?;
        self.union_with(other)
    }

    /// Version 1 reaches no bit from 2^31 on.
    fn reachable_bits(&self) -> u64 {
        match self.version() {
            SparkVersion::V1 => self.num_bits().min(1 << 31),
            SparkVersion::V2 { .. } => self.num_bits(),
        }
    }

    /// `expectedFpp()`, of the bits that a position can be.
    fn estimated_fpp(&self) -> f64 {
        expected_fpp(self.reachable_fill(), self.num_hashes())
    }

    /// Spark has no such formula; this is Guava's, of the bits that a position can be.
    fn estimated_items(&self) -> Option<u64> {
        approximate_count(self.reachable_fill(), self.reachable_bits(), self.num_hashes())
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("version", self.version().number())];
        if let SparkVersion::V2 { seed } = self.version() {
            facts.push(Fact::new("seed", seed));
        }
        facts
    }

    fn encode(&self) -> Vec<u8> {
        self.to_file()
    }
}
