//! The filter.

use super::config::RedissonConfig;
use super::rate;
use super::scheme::RedissonScheme;
use crate::error::same;
use crate::filter::{answered_by, parts, typed};
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, SchemeFilter};
use std::convert::identity;

/// A Bloom filter of Redisson: the value of its string key, with its config.
///
/// m is at most 4294967294. A query touches up to k cache lines. Elements are passed as encoded by
/// their codec: [`KeyType::KryoString`] and similar, or [`KeyType::Bytes`] for `StringCodec`,
/// `LongCodec`, `IntegerCodec` (decimal text) and `ByteArrayCodec`.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{
///     ForeignFilter, KeyType, Limits, RedissonConfig, RedissonFilter, RedissonSpelling,
/// };
///
/// let config = RedissonConfig::new(1_000, 0.01, RedissonSpelling::Exponent)?;
/// let mut filter = RedissonFilter::create(config.clone(), &Limits::default())?;
/// let mut scratch = Vec::new();
/// let key = KeyType::KryoString.encode("user:1".as_bytes(), &mut scratch)?;
/// assert!(filter.insert(key) && filter.contains(key) && !filter.contains(b"user:1"));
/// // GET of the name and HGETALL of the config's key return it.
/// let again = RedissonFilter::decode(&filter.encode(), config, &Limits::default())?;
/// assert!(again.contains(key));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RedissonFilter {
    inner: SchemeFilter<RedissonScheme>,
    config: Option<RedissonConfig>,
    /// The number of bytes of the value.
    kept: usize,
}

impl RedissonFilter {
    /// An empty filter, as after `tryInit`.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] by the limits; [`Error::OutOfMemory`].
    pub fn create(config: RedissonConfig, limits: &Limits) -> Result<Self, Error> {
        Self::decode(&[], config, limits)
    }

    /// Reads the value of the string key.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] by the limits; [`Error::TrailingBytes`] and [`Error::BadField`] if bits
    /// past the size are set.
    pub fn decode(value: &[u8], config: RedissonConfig, limits: &Limits) -> Result<Self, Error> {
        let mut filter = Self::decode_bare(value, config.size(), config.num_hashes(), limits)?;
        filter.config = Some(config);
        Ok(filter)
    }

    /// Reads the value of the string key of a filter of this size and k.
    ///
    /// # Errors
    ///
    /// The errors of [`RedissonFilter::decode`].
    pub fn decode_bare(
        value: &[u8],
        size: i64,
        num_hashes: u32,
        limits: &Limits,
    ) -> Result<Self, Error> {
        limits.check_hashes("hashIterations", u64::from(num_hashes))?;
        let scheme = RedissonScheme::new(num_hashes, size)?;
        let bits = Bits::from_msb_bytes(value, size.unsigned_abs(), limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, config: None, kept: value.len() })
    }

    /// The config, if it was given.
    pub fn config(&self) -> Option<&RedissonConfig> {
        self.config.as_ref()
    }

    parts!(RedissonScheme, "size and k");

    typed! {
        contains, insert: &[u8], identity, "the element as its codec writes it (`contains`, `add`)";
    }

    /// `count()` ([`RedissonScheme::count`]).
    pub fn count(&self) -> i64 {
        self.inner.scheme.count(self.inner.bits.count_ones())
    }

    /// Adds all bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless size and k are equal.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("size", &self.inner.scheme.size(), &other.inner.scheme.size())?;
        same("hashIterations", &self.num_hashes(), &other.num_hashes())?;
        self.inner.bits.union_with(&other.inner.bits)
    }
}

impl ForeignFilter for RedissonFilter {
    answered_by!(inner: insert, union_with);

    fn format(&self) -> Format {
        Format::Redisson
    }

    fn key_types(&self) -> &'static [KeyType] {
        use KeyType::{
            Bytes, Hex, JacksonLong, JacksonString, KryoInt, KryoLong, KryoString, MarshallingInt,
            MarshallingLong, MarshallingString,
        };
        &[
            KryoString,
            KryoLong,
            KryoInt,
            Bytes,
            MarshallingString,
            MarshallingLong,
            MarshallingInt,
            JacksonString,
            JacksonLong,
            Hex,
        ]
    }

    /// The rate of these bits with Redisson's positions; Redisson has no formula for it. For a full
    /// filter at 1 % it is 1.1 to 1.3 times the usual `(set bits / size)^k`, and more at lower
    /// rates and if a power of two divides the size, since the positions of a key depend on each
    /// other.
    fn estimated_fpp(&self) -> f64 {
        rate::estimated_fpp(&self.inner.bits, &self.inner.scheme)
    }

    /// `count()`; `None` for a filter whose bits are all set.
    fn estimated_items(&self) -> Option<u64> {
        let all_set = self.count_ones() == self.num_bits();
        if all_set { None } else { u64::try_from(self.count()).ok() }
    }

    fn facts(&self) -> Vec<Fact> {
        let Some(config) = &self.config else { return Vec::new() };
        vec![
            Fact::new("expected_items", config.expected_insertions()),
            Fact::new("target_fpp", config.false_probability()),
        ]
    }

    fn encode(&self) -> Vec<u8> {
        self.inner.bits.to_short_msb_bytes(self.kept)
    }
}
