//! The systems, by name, and facts about their filters.

use crate::names::named;
use std::fmt;

named! {
    /// The systems whose filters are supported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Format {
        /// `BloomFileter`, a class of many Chinese crawlers.
        BloomFileter = "bloomfileter",
        /// `com.google.common.hash.BloomFilter`.
        Guava = "guava",
        /// Java-BloomFilter by `MagnusS`: a `BitSet`, or the object.
        MagnusS = "magnuss",
        /// The same hashes with the bits in a Redis string.
        MagnusRedis = "magnuss-redis",
        /// `RBloomFilter` of Redisson: its bitmap.
        Redisson = "redisson",
        /// bits-and-blooms/bloom for Go: binary, JSON and gob.
        BitsAndBlooms = "bits-and-blooms",
        /// willf/bloom up to 2.0.0, which hashes with FNV: its files look the same.
        WillfFnv = "willf-fnv",
        /// DCSO's `bloom`, plain or compressed with gzip.
        Dcso = "dcso",
        /// Split-block filters of Apache Parquet.
        Parquet = "parquet",
        /// `pybloomfiltermmap3` for Python.
        PyBloomFilterMmap = "pybloomfiltermmap",
        /// `pybloomfiltermmap` 0.3 for Python, whose hashes have 32 bits: its files look the same.
        PyBloomFilterMmap03 = "pybloomfiltermmap-0.3",
        /// `pybloom_live` for Python up to 3.1, whose small filters hash with MD5.
        PyBloomLive3 = "pybloom-live3",
        /// `pybloom_live` for Python from 4.0, whose small filters hash with XXH3.
        PyBloomLive4 = "pybloom-live4",
        /// `rbloom` for Python.
        Rbloom = "rbloom",
        /// `RedisBloom`: the replies of `BF.SCANDUMP`.
        RedisBloom = "redisbloom",
        /// `org.apache.spark.util.sketch.BloomFilter`.
        Spark = "spark",
    }
}

impl Format {
    /// Formats of other releases whose files look the same: with the wrong one no key is found.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::Format;
    ///
    /// assert_eq!(Format::BitsAndBlooms.alike(), [Format::WillfFnv]);
    /// assert!(Format::Guava.alike().is_empty());
    /// ```
    pub fn alike(self) -> &'static [Self] {
        match self {
            Self::BitsAndBlooms => &[Self::WillfFnv],
            Self::WillfFnv => &[Self::BitsAndBlooms],
            Self::PyBloomFilterMmap => &[Self::PyBloomFilterMmap03],
            Self::PyBloomFilterMmap03 => &[Self::PyBloomFilterMmap],
            Self::PyBloomLive3 => &[Self::PyBloomLive4],
            Self::PyBloomLive4 => &[Self::PyBloomLive3],
            _ => &[],
        }
    }

    /// Other names: of the current release, and of a filter outside any Parquet file.
    pub const ALIASES: &'static [(&'static str, Self)] =
        &[("pybloom-live", Self::PyBloomLive4), ("parquet-sbbf", Self::Parquet)];

    /// The format of this name, or of this one of [`Format::ALIASES`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::Format;
    ///
    /// assert_eq!(Format::from_name("pybloom-live"), Some(Format::PyBloomLive4));
    /// assert_eq!(Format::from_name("parquet-sbbf"), Format::from_name("parquet"));
    /// assert_eq!(Format::from_name("bloom"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let of_alias = || Self::ALIASES.iter().find(|(alias, _)| *alias == name);
        let known = Self::ALL.iter().copied().find(|format| format.name() == name);
        known.or_else(|| of_alias().map(|&(_, format)| format))
    }
}

/// A fact about a filter from its file, for reports and for JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The name in JSON: `snake_case`, the project's words where it has one.
    pub key: &'static str,
    /// The value.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub(crate) fn new(key: &'static str, value: impl fmt::Display) -> Self {
        Self { key, value: value.to_string() }
    }
}
