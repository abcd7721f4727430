//! The filter.

use super::codec::Form;
use super::scheme::{GuavaScheme, GuavaStrategy};
use super::serialized::GuavaFunnel;
use super::sizing::GuavaOptions;
use crate::filter::{answered_by, same, same_format};
use crate::java::{approximate_count, expected_fpp};
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, SchemeFilter};

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
    /// [`Error::Refused`] as [`GuavaOptions::num_longs_and_hashes`]; [`Error::TooLarge`] by the
    /// limits; [`Error::OutOfMemory`].
    pub fn create(options: &GuavaOptions, limits: &Limits) -> Result<Self, Error> {
        let (num_longs, num_hashes) = options.num_longs_and_hashes()?;
        let scheme = GuavaScheme::new(options.strategy, num_hashes, num_longs)?;
        let bits = Bits::new(u64::from(num_longs) * 64, limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, form: Form::Stream })
    }

    /// The scheme: strategy, k and m.
    pub fn scheme(&self) -> &GuavaScheme {
        &self.inner.scheme
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.inner.bits
    }

    /// Whether the key, as the bytes of its funnel, may be in it: `mightContain`.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.inner.contains(key)
    }

    /// Whether the text may be in it; for `stringFunnel(UTF_8)`.
    #[inline]
    pub fn contains_str(&self, key: &str) -> bool {
        self.contains(key.as_bytes())
    }

    /// Whether the number may be in it; for `integerFunnel()`.
    #[inline]
    pub fn contains_i32(&self, key: i32) -> bool {
        self.contains(&key.to_le_bytes())
    }

    /// Whether the number may be in it; for `longFunnel()`.
    #[inline]
    pub fn contains_i64(&self, key: i64) -> bool {
        self.contains(&key.to_le_bytes())
    }

    /// `put`: whether a bit changed.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        self.inner.insert(key)
    }

    /// Inserts a text; for `stringFunnel(UTF_8)`.
    #[inline]
    pub fn insert_str(&mut self, key: &str) -> bool {
        self.insert(key.as_bytes())
    }

    /// Inserts a number; for `integerFunnel()`.
    #[inline]
    pub fn insert_i32(&mut self, key: i32) -> bool {
        self.insert(&key.to_le_bytes())
    }

    /// Inserts a number; for `longFunnel()`.
    #[inline]
    pub fn insert_i64(&mut self, key: i64) -> bool {
        self.insert(&key.to_le_bytes())
    }

    /// `expectedFpp()`: `(set bits / m)^k`.
    pub fn expected_fpp(&self) -> f64 {
        expected_fpp(self.inner.bits.fill_ratio(), self.num_hashes())
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
    answered_by!(inner);

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

    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.inner.insert(key))
    }

    fn union_with(&mut self, other: &dyn ForeignFilter) -> Result<(), Error> {
        let other = same_format(self, other)?;
        self.union_with(other)
    }

    /// `MITZ_32` reaches no bit from 2^31 on.
    fn reachable_bits(&self) -> u64 {
        match self.strategy() {
            GuavaStrategy::Mitz32 => self.num_bits().min(1 << 31),
            GuavaStrategy::Mitz64 => self.num_bits(),
        }
    }

    /// `expectedFpp()`, of the bits that a position can be.
    fn estimated_fpp(&self) -> f64 {
        expected_fpp(self.reachable_fill(), self.num_hashes())
    }

    /// `approximateElementCount()`, of the bits that a position can be.
    fn estimated_items(&self) -> Option<u64> {
        approximate_count(self.reachable_fill(), self.reachable_bits(), self.num_hashes())
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("strategy", self.strategy().name())];
        facts.extend(self.funnel().map(|funnel| Fact::new("funnel", funnel)));
        facts
    }

    fn encode(&self) -> Vec<u8> {
        self.to_file()
    }
}
