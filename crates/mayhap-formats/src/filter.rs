//! The operations common to all foreign filters.
use mayhap::sizing::estimated_fpp;

use crate::{Bits, Error, KeyType};
use mayhap::Bitmap;
use std::any::Any;
use std::fmt;

/// The systems whose filters are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// `BloomFileter`, a class of many Chinese crawlers.
    BloomFileter,
    /// `com.google.common.hash.BloomFilter`.
    Guava,
    /// Java-BloomFilter by `MagnusS`: a `BitSet`, or the object.
    MagnusS,
    /// The same hashes with the bits in a Redis string.
    MagnusRedis,
    /// `RBloomFilter` of Redisson: its bitmap.
    Redisson,
    /// bits-and-blooms/bloom for Go: binary, JSON and gob.
    BitsAndBlooms,
    /// The same of willf/bloom up to 2.0.0, which hashes with FNV: its files look the same.
    WillfFnv,
    /// DCSO's `bloom`, plain or compressed with gzip.
    Dcso,
    /// Split-block filters of Apache Parquet.
    Parquet,
    /// `pybloomfiltermmap3` for Python.
    PyBloomFilterMmap,
    /// `pybloomfiltermmap` 0.3 for Python, whose hashes have 32 bits: by its files not to be told
    /// apart.
    PyBloomFilterMmap03,
    /// `pybloom_live` for Python up to 3.1, whose small filters hash with MD5.
    PyBloomLive3,
    /// `pybloom_live` for Python from 4.0, whose small filters hash with XXH3.
    PyBloomLive4,
    /// `rbloom` for Python.
    Rbloom,
    /// `RedisBloom`: the replies of `BF.SCANDUMP`.
    RedisBloom,
    /// `org.apache.spark.util.sketch.BloomFilter`.
    Spark,
}

impl Format {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::BloomFileter,
        Self::Guava,
        Self::MagnusS,
        Self::MagnusRedis,
        Self::Redisson,
        Self::BitsAndBlooms,
        Self::WillfFnv,
        Self::Dcso,
        Self::Parquet,
        Self::PyBloomFilterMmap,
        Self::PyBloomFilterMmap03,
        Self::PyBloomLive3,
        Self::PyBloomLive4,
        Self::Rbloom,
        Self::RedisBloom,
        Self::Spark,
    ];

    /// The name, as the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BloomFileter => "bloomfileter",
            Self::Guava => "guava",
            Self::MagnusS => "magnuss",
            Self::MagnusRedis => "magnuss-redis",
            Self::Redisson => "redisson",
            Self::BitsAndBlooms => "bits-and-blooms",
            Self::WillfFnv => "willf-fnv",
            Self::Dcso => "dcso",
            Self::Parquet => "parquet",
            Self::PyBloomFilterMmap => "pybloomfiltermmap",
            Self::PyBloomFilterMmap03 => "pybloomfiltermmap-0.3",
            Self::PyBloomLive3 => "pybloom-live3",
            Self::PyBloomLive4 => "pybloom-live4",
            Self::Rbloom => "rbloom",
            Self::RedisBloom => "redisbloom",
            Self::Spark => "spark",
        }
    }

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

    /// Other names: of the release that is current, and of a filter that is in no table.
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

/// A fact about a filter from its file, for people and for JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The name in JSON: `snake_case`, the project's words where it has one.
    pub key: &'static str,
    /// The value.
    pub value: String,
}

/// Key bytes → positions of one filter.
pub trait Scheme: fmt::Debug + Send + Sync {
    /// Positions per key, k.
    fn num_hashes(&self) -> u32;

    /// Calls `each` with every position of a key, in the system's order, all below the number of
    /// bits of the filter; stops early when it returns `false`.
    fn positions(&self, key: &[u8], each: impl FnMut(u64) -> bool);

    /// Whether all bits of each of up to 64 keys are set: bit `i` is the answer for `keys[i]`. For
    /// schemes that can hash several keys at once.
    ///
    /// All words are read before any is tested, so that the k cache misses of a key overlap.
    /// `positions` is room to work in.
    #[inline]
    fn contains_each(&self, keys: &[&[u8]], bits: &Bits, positions: &mut Vec<u64>) -> u64 {
        positions.clear();
        for key in keys {
            self.positions(key, |position| {
                positions.push(position);
                true
            });
        }
        let mut found = 0;
        for (i, positions) in positions.chunks_exact(self.num_hashes() as usize).enumerate() {
            // Without a branch, so that the loads of the next keys do not wait for this answer.
            let all = positions.iter().fold(true, |all, &position| all & bits.get(position));
            found |= u64::from(all) << i;
        }
        found
    }
}

/// A filter created by another system, in any format.
pub trait ForeignFilter: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> Format;

    /// The number of bits, m, which is the modulus of positions.
    fn num_bits(&self) -> u64;

    /// Positions per key, k.
    fn num_hashes(&self) -> u32;

    /// The key types that this system hashes, the usual one first.
    fn key_types(&self) -> &'static [KeyType];

    /// The bytes that the system hashes of a key given as text, of one of
    /// [`ForeignFilter::key_types`]; in `scratch` unless they equal the text.
    ///
    /// # Errors
    ///
    /// As [`KeyType::encode`], which this is for all but the column of a table.
    fn encode_key<'a>(
        &self,
        key_type: KeyType,
        text: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        key_type.encode(text, scratch)
    }

    /// The text of a random key, where the column of a table knows what its values look like.
    fn random_value(&self, _number: u64) -> Option<String> {
        None
    }

    /// Why any key may be in it, whatever its bits are: a sentence; `None` if its bits decide.
    fn holds_any(&self) -> Option<String> {
        None
    }

    /// Whether the key (the bytes that the system hashes) may be in it.
    fn contains(&self, key: &[u8]) -> bool;

    /// Inserts a key (the bytes that the system hashes); returns the system's own answer to whether
    /// it was new.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the system would refuse.
    fn insert(&mut self, key: &[u8]) -> Result<bool, Error>;

    /// Whether the next insertion first forgets all keys, whether or not its own is present, as the
    /// system does with a filter that clears itself when it is full.
    fn clears_next(&self) -> bool {
        false
    }

    /// The number of keys after which [`ForeignFilter::clears_next`]; `None` if it never does.
    fn clears_after(&self) -> Option<u64> {
        None
    }

    /// Removes all keys, where the system has an operation for that; returns whether it has.
    fn clear(&mut self) -> bool {
        false
    }

    /// Queries many keys: bit `i` of `found` is the answer for `keys[i]`.
    fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap);

    /// Adds the keys of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] naming what differs; nothing is changed then.
    fn union_with(&mut self, other: &dyn ForeignFilter) -> Result<(), Error>;

    /// The number of set bits. Reads all of them.
    fn count_ones(&self) -> u64;

    /// The bits that a position can be: all of them, unless the system computes in 32 bits.
    fn reachable_bits(&self) -> u64 {
        self.num_bits()
    }

    /// The share of these that is set. Reads all bits.
    fn reachable_fill(&self) -> f64 {
        self.count_ones() as f64 / self.reachable_bits() as f64
    }

    /// The current rate, by the system's own formula.
    fn estimated_fpp(&self) -> f64;

    /// What the rate by the formula does not reflect, where that is much: a clause.
    fn fpp_caution(&self) -> Option<&'static str> {
        None
    }

    /// The number of keys, by the system's own formula; `None` if that fails.
    fn estimated_items(&self) -> Option<u64>;

    /// Other facts from the file.
    fn facts(&self) -> Vec<Fact>;

    /// The file: byte for byte what the system would have written.
    fn encode(&self) -> Vec<u8>;

    /// For [`ForeignFilter::union_with`].
    fn as_any(&self) -> &dyn Any;
}

/// The methods of [`ForeignFilter`] that are delegated to a [`SchemeFilter`] in a field, plus the
/// named ones, which are not the same in all formats: `answered_by!(inner: insert, union_with);`.
macro_rules! answered_by {
    ($field:ident: $($method:ident),+) => {
        $crate::filter::answered_by!($field);
        $($crate::filter::answered_by!(@$method $field);)+
    };
    // Keys are bytes, whatever their meaning.
    (@key_types $field:ident) => {
        fn key_types(&self) -> &'static [$crate::KeyType] {
            &[$crate::KeyType::Bytes, $crate::KeyType::Hex]
        }
    };
    (@insert $field:ident) => {
        fn insert(&mut self, key: &[u8]) -> Result<bool, $crate::Error> {
            Ok(self.$field.insert(key))
        }
    };
    // The type has a method of this name that takes another value of its own type.
    (@union_with $field:ident) => {
        fn union_with(&mut self, other: &dyn $crate::ForeignFilter) -> Result<(), $crate::Error> {
            let other = $crate::filter::same_format(self, other)?;
            Self::union_with(self, other)
        }
    };
    (@estimated_fpp $field:ident) => {
        fn estimated_fpp(&self) -> f64 {
            self.$field.fill_fpp()
        }
    };
    (@estimated_items $field:ident) => {
        fn estimated_items(&self) -> Option<u64> {
            let items = self.$field.fill_items();
            items.is_finite().then(|| items.round() as u64)
        }
    };
    ($field:ident) => {
        fn num_bits(&self) -> u64 {
            self.$field.bits.num_bits()
        }

        fn num_hashes(&self) -> u32 {
            $crate::Scheme::num_hashes(&self.$field.scheme)
        }

        fn contains(&self, key: &[u8]) -> bool {
            self.$field.contains(key)
        }

        fn contains_batch(&self, keys: &[&[u8]], found: &mut mayhap::Bitmap) {
            self.$field.contains_batch(keys, found);
        }

        fn count_ones(&self) -> u64 {
            self.$field.bits.count_ones()
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    };
}
pub(crate) use answered_by;

/// The other filter of a union, if it is of the same format.
pub(crate) fn same_format<'a, F: ForeignFilter + 'static>(
    left: &F,
    right: &'a dyn ForeignFilter,
) -> Result<&'a F, Error> {
    right.as_any().downcast_ref().ok_or_else(|| Error::Incompatible {
        parameter: "format",
        left: left.format().name().to_owned(),
        right: right.format().name().to_owned(),
    })
}

/// Checks that a parameter of two filters is equal.
pub(crate) fn same<T: PartialEq + fmt::Display + ?Sized>(
    parameter: &'static str,
    left: &T,
    right: &T,
) -> Result<(), Error> {
    if left == right {
        return Ok(());
    }
    Err(Error::Incompatible { parameter, left: left.to_string(), right: right.to_string() })
}

/// The keys of a filter that counts those that changed a bit, unless its bits contradict the count
/// by more than 5 standard deviations: no file protects it, and unions add or forget counts.
pub(crate) fn items_by_bits(counted: u64, by_bits: f64) -> u64 {
    let spread = 5.0 * by_bits.sqrt() + 1.0;
    match by_bits {
        by_bits if by_bits.is_infinite() || (counted as f64 - by_bits).abs() <= spread => counted,
        by_bits => by_bits.round() as u64,
    }
}

impl Fact {
    /// A fact.
    pub(crate) fn new(key: &'static str, value: impl fmt::Display) -> Self {
        Self { key, value: value.to_string() }
    }
}

/// A scheme and its bits: the part that most formats share.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemeFilter<S> {
    /// Key bytes → positions.
    pub scheme: S,
    /// The bits.
    pub bits: Bits,
}

/// Keys queried together, so that many cache misses are in flight: a word of answers.
const BATCH_KEYS: usize = 64;

impl<S: Scheme> SchemeFilter<S> {
    /// Whether all bits of the key are set.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        let mut all = true;
        self.scheme.positions(key, |position| {
            all = self.bits.get(position);
            all
        });
        all
    }

    /// Sets all bits of the key; returns whether one of them was clear before.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let mut new = false;
        self.scheme.positions(key, |position| {
            new |= self.bits.set(position);
            true
        });
        new
    }

    /// The rate of a random key: `(set bits / m)^k`. Reads all bits.
    pub fn fill_fpp(&self) -> f64 {
        estimated_fpp(self.bits.count_ones(), self.bits.num_bits(), self.scheme.num_hashes())
    }

    /// The textbook estimate of the distinct keys, `−m / k ln(1 − set bits / m)`; infinite when all
    /// bits are set. Reads all bits.
    pub fn fill_items(&self) -> f64 {
        let m = self.bits.num_bits() as f64;
        -m / f64::from(self.scheme.num_hashes()) * libm::log1p(-self.bits.fill_ratio())
    }

    /// Queries many keys: bit `i` of `found` is the answer for `keys[i]`.
    pub fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap) {
        found.clear_to(keys.len());
        let mut positions = Vec::with_capacity(BATCH_KEYS * self.scheme.num_hashes() as usize);
        for (group, keys) in keys.chunks(BATCH_KEYS).enumerate() {
            let answers = self.scheme.contains_each(keys, &self.bits, &mut positions);
            found.set_word(group, answers);
        }
    }
}
