//! The filter.

use super::codec::{self, Form};
use super::scheme::{SparkScheme, SparkVersion};
use super::sizing::SparkOptions;
use crate::error::same;
use crate::filter::{answered_by, java_streams, parts, typed};
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader, SchemeFilter};
use std::convert::identity;

/// A Bloom filter of Spark.
///
/// m is at most 64 (2^31 − 1). A query touches up to k cache lines. A batch hashes 32 keys side by
/// side, and the remaining ones one by one. Text columns are hashed as UTF-8, binary ones
/// unchanged, and all integer columns as longs: int 5 is long 5.
///
/// Spark itself reads a k of 0 and less (and then answers yes to every query) and no longs (and
/// then fails on the first query); both are rejected here.
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
    inner: SchemeFilter<SparkScheme>,
    form: Form,
}

impl SparkFilter {
    /// `BloomFilter.create`: an empty filter of the size chosen by Spark.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] as for [`SparkOptions::num_longs_and_hashes`]; [`Error::TooLarge`] by the
    /// limits; [`Error::OutOfMemory`].
    pub fn create(options: &SparkOptions, limits: &Limits) -> Result<Self, Error> {
        let (num_longs, num_hashes) = options.num_longs_and_hashes()?;
        let scheme = SparkScheme::new(options.version, num_hashes, num_longs)?;
        let bits = Bits::new(u64::from(num_longs) * 64, limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    java_streams!();

    parts!(SparkScheme, "version, seed, k and m");

    /// The version, with its seed.
    pub fn version(&self) -> SparkVersion {
        self.inner.scheme.version()
    }

    typed! {
        contains, insert: &[u8], identity, "bytes (`mightContainBinary`, `putBinary`)";
        contains_str, insert_str: &str, str::as_bytes, "a text (`mightContainString`, `putString`)";
        contains_i64, insert_i64: i64, i64::to_le_bytes, "a number (`mightContainLong`, `putLong`)";
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
    /// The errors of [`SparkFilter::union_with`].
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_like(other)?;
        self.inner.bits.intersect_with(&other.inner.bits)
    }
}

impl ForeignFilter for SparkFilter {
    answered_by!(inner: insert, union_with, java_estimates);

    fn format(&self) -> Format {
        Format::Spark
    }

    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::Bytes, KeyType::Long, KeyType::Hex]
    }

    /// Version 1 reaches no bit from 2^31 on.
    fn reachable_bits(&self) -> u64 {
        match self.version() {
            SparkVersion::V1 => self.num_bits().min(1 << 31),
            SparkVersion::V2 { .. } => self.num_bits(),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("version", self.version().number())];
        if let SparkVersion::V2 { seed } = self.version() {
            facts.push(Fact::new("seed", seed));
        }
        facts
    }

    fn encode(&self) -> Vec<u8> {
        self.form.encode(&self.inner)
    }
}
