//! The filter.

use super::codec::{self, Form};
use super::scheme::{GuavaScheme, GuavaStrategy};
use super::serialized::{self, GuavaFunnel};
use super::sizing::GuavaOptions;
use crate::error::same;
use crate::filter::{answered_by, java_streams, parts, typed};
use crate::java::approximate_count;
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, Reader, SchemeFilter};
use std::convert::identity;

/// A Bloom filter of Guava.
///
/// m is at most 64 (2^31 − 1), k at most 255. A query touches up to k cache lines. The caller
/// applies the funnel: `insert` takes its bytes ([`KeyType`] converts text to them).
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, GuavaFilter, GuavaOptions, Limits};
///
/// let mut filter = GuavaFilter::create(&GuavaOptions::new(1_000), &Limits::default())?;
/// assert!(filter.insert_i64(42));
/// assert!(filter.contains_i64(42) && !filter.contains_i64(43));
/// let bytes = filter.encode();
/// assert_eq!(bytes[..6], [1, 5, 0, 0, 0, 115]); // MITZ_64, k, longs
/// assert!(GuavaFilter::decode(&bytes, &Limits::default())?.contains_i64(42));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GuavaFilter {
    pub(super) inner: SchemeFilter<GuavaScheme>,
    pub(super) form: Form,
}

impl GuavaFilter {
    /// `BloomFilter.create`: an empty filter of the size chosen by Guava.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] as for [`GuavaOptions::num_longs_and_hashes`]; [`Error::TooLarge`] by the
    /// limits; [`Error::OutOfMemory`].
    pub fn create(options: &GuavaOptions, limits: &Limits) -> Result<Self, Error> {
        let (num_longs, num_hashes) = options.num_longs_and_hashes()?;
        let scheme = GuavaScheme::new(options.strategy, num_hashes, num_longs)?;
        let bits = Bits::new(u64::from(num_longs) * 64, limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    java_streams!();

    /// The filter as an `ObjectOutputStream` writes it, for a JVM that has this funnel.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a [`GuavaFunnel::Other`], whose fields are not known.
    pub fn to_serialized(&self, funnel: &GuavaFunnel) -> Result<Vec<u8>, Error> {
        serialized::write(&self.inner, funnel)
    }

    /// The funnel, if the file names it.
    pub fn funnel(&self) -> Option<&GuavaFunnel> {
        match &self.form {
            Form::Stream => None,
            Form::Serialized(around) => Some(around.funnel()),
        }
    }

    parts!(GuavaScheme, "strategy, k and m");

    typed! {
        contains, insert: &[u8], identity, "the bytes of its funnel (`mightContain`, `put`)";
        contains_str, insert_str: &str, str::as_bytes, "a text, for `stringFunnel(UTF_8)`";
        contains_i32, insert_i32: i32, i32::to_le_bytes, "a number, for `integerFunnel()`";
        contains_i64, insert_i64: i64, i64::to_le_bytes, "a number, for `longFunnel()`";
    }

    /// `approximateElementCount()`: `round(−ln(1 − set bits / m) m / k)`; `None` for a filter whose
    /// bits are all set, where Guava throws.
    pub fn approximate_element_count(&self) -> Option<u64> {
        approximate_count(
            self.inner.bits.fill_ratio(),
            self.inner.bits.num_bits(),
            self.num_hashes(),
        )
    }

    /// `putAll`: adds all bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless k, m, strategy and, if both are known, the funnels are equal.
    /// n and p may differ: no file records them.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("number of hash functions", &self.num_hashes(), &other.num_hashes())?;
        same("number of bits", &self.num_bits(), &other.num_bits())?;
        let strategy = |filter: &Self| filter.inner.scheme.strategy().name();
        same("strategy", strategy(self), strategy(other))?;
        if let (Some(left), Some(right)) = (self.funnel(), other.funnel()) {
            same("funnel", left, right)?;
        }
        self.inner.bits.union_with(&other.inner.bits)
    }

    /// The strategy.
    pub fn strategy(&self) -> GuavaStrategy {
        self.inner.scheme.strategy()
    }
}

impl ForeignFilter for GuavaFilter {
    answered_by!(inner: insert, union_with, java_estimates);

    fn format(&self) -> Format {
        Format::Guava
    }

    fn key_types(&self) -> &'static [KeyType] {
        use KeyType::{Ascii, Bytes, Hex, Int, Latin1, Long, Utf16, Utf16Be, Utf16Bom};
        match self.funnel() {
            Some(GuavaFunnel::Integer) => &[Int],
            Some(GuavaFunnel::Long) => &[Long],
            Some(GuavaFunnel::UnencodedChars) => &[Utf16],
            Some(GuavaFunnel::ByteArray) => &[Bytes, Hex],
            Some(GuavaFunnel::String { charset }) => match charset.as_str() {
                "UTF-8" => &[Bytes],
                "UTF-16LE" => &[Utf16],
                "UTF-16BE" => &[Utf16Be],
                "UTF-16" => &[Utf16Bom],
                "ISO-8859-1" => &[Latin1],
                "US-ASCII" => &[Ascii],
                _ => &[Hex],
            },
            Some(GuavaFunnel::Other { .. }) => &[Hex],
            None => &[Bytes, Utf16, Long, Int, Latin1, Ascii, Utf16Be, Utf16Bom, Hex],
        }
    }

    /// `MITZ_32` reaches no bit from 2^31 on.
    fn reachable_bits(&self) -> u64 {
        match self.strategy() {
            GuavaStrategy::Mitz32 => self.num_bits().min(1 << 31),
            GuavaStrategy::Mitz64 => self.num_bits(),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("strategy", self.strategy().name())];
        facts.extend(self.funnel().map(|funnel| Fact::new("funnel", funnel)));
        facts
    }

    fn encode(&self) -> Vec<u8> {
        match &self.form {
            Form::Stream => self.to_stream(),
            Form::Serialized(around) => around.encode(self.bits()),
        }
    }
}
