//! The filter and its state machine.

use super::options::BloomFileterOptions;
use super::scheme::BloomFileterScheme;
use super::serialized::Serialized;
use crate::filter::{answered_by, parts};
use crate::java::expected_fpp;
use crate::{Bits, Error, Fact, ForeignFilter, Format, KeyType, Limits, SchemeFilter};

/// A `BloomFileter`.
///
/// m is at most 2^31 − 1, k one of 4, 8, 16, 32. An insertion into a filter with an automatic clear
/// rate may forget everything before. Queries never do.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{BloomFileter, BloomFileterOptions, ForeignFilter, Limits};
///
/// let options = BloomFileterOptions::new(100, "com.example.BloomFileter");
/// let mut filter = BloomFileter::create(&options, &Limits::default())?;
/// assert!(!filter.add_if_not_exist("/8/8217/5159455.html"));
/// assert!(filter.add_if_not_exist("/8/8217/5159455.html"));
/// assert_eq!((filter.use_count(), filter.use_rate()), (16, 0.01));
/// let again = BloomFileter::decode(&filter.encode(), &Limits::default())?;
/// assert!(again.check("/8/8217/5159455.html"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BloomFileter {
    inner: SchemeFilter<BloomFileterScheme>,
    state: Serialized,
}

impl BloomFileter {
    /// An empty filter.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] as for [`BloomFileterOptions::size`]; [`Error::BadField`] for an
    /// automatic clear rate that is not a number, or a class name that is empty or longer than 255
    /// bytes; [`Error::TooLarge`] by the limits; [`Error::OutOfMemory`].
    pub fn create(options: &BloomFileterOptions, limits: &Limits) -> Result<Self, Error> {
        let size = options.size()?;
        let scheme = BloomFileterScheme::new(options.rate, size)?;
        let state = Serialized::of_new(options, size)?;
        let bits = Bits::new(u64::from(size.unsigned_abs()), limits)?;
        Ok(Self { inner: SchemeFilter { scheme, bits }, state })
    }

    /// Reads the object as an `ObjectOutputStream` wrote it.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`] for other bytes; the errors of a malformed stream;
    /// [`Error::BadField`] for a class with another serialVersionUID or other fields, and for seeds
    /// that are not the first k primes of the preset.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let (inner, state) = Serialized::read(bytes, limits)?;
        Ok(Self { inner, state })
    }

    parts!(BloomFileterScheme, "preset and size");

    /// The class that wrote the file and can read it.
    pub fn class_name(&self) -> &str {
        self.state.class_name()
    }

    /// `getUseCount`: marks since the last clearing, k for every added key. It exceeds the number
    /// of set bits, and may exceed m.
    pub fn use_count(&self) -> i32 {
        self.state.frame.count
    }

    /// `getUseRate`: use count / m.
    pub fn use_rate(&self) -> f64 {
        f64::from(self.state.frame.count) / self.inner.bits.num_bits() as f64
    }

    /// The use rate at which an insertion clears the filter first.
    pub fn auto_clear_rate(&self) -> Option<f64> {
        self.state.auto_clear_rate()
    }

    /// `check`: whether the text may be in it.
    pub fn check(&self, text: &str) -> bool {
        self.inner.contains(&utf16(text))
    }

    /// `add`: clears first if it is due, then marks the text, whether it was present or not.
    pub fn add(&mut self, text: &str) {
        self.add_utf16(&utf16(text));
    }

    /// Like [`BloomFileter::add`], for UTF-16 code units, least significant byte first.
    pub fn add_utf16(&mut self, key: &[u8]) {
        self.clear_if_due();
        self.mark(key);
    }

    /// `addIfNotExist`: clears first if it is due; returns whether the text was already present, in
    /// which case nothing changes.
    pub fn add_if_not_exist(&mut self, text: &str) -> bool {
        self.add_if_not_exist_utf16(&utf16(text))
    }

    /// Like [`BloomFileter::add_if_not_exist`], for UTF-16 code units, least significant byte
    /// first.
    pub fn add_if_not_exist_utf16(&mut self, key: &[u8]) -> bool {
        self.clear_if_due();
        let exists = self.inner.contains(key);
        if !exists {
            self.mark(key);
        }
        exists
    }

    /// `clear`.
    pub fn clear(&mut self) {
        self.state.frame.before_clear(&self.inner.bits);
        self.inner.bits.clear();
        self.state.frame.count = 0;
    }

    fn is_due(&self) -> bool {
        self.auto_clear_rate().is_some_and(|rate| self.use_rate() >= rate)
    }

    fn clear_if_due(&mut self) {
        if self.is_due() {
            self.clear();
        }
    }

    fn mark(&mut self, key: &[u8]) {
        self.inner.insert(key);
        let marks = self.num_hashes().cast_signed();
        self.state.frame.count = self.state.frame.count.wrapping_add(marks);
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

impl ForeignFilter for BloomFileter {
    answered_by!(inner);

    fn format(&self) -> Format {
        Format::BloomFileter
    }

    fn key_types(&self) -> &'static [KeyType] {
        &[KeyType::Utf16]
    }

    /// `addIfNotExist`.
    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(!self.add_if_not_exist_utf16(key))
    }

    fn clears_next(&self) -> bool {
        self.is_due()
    }

    /// The smallest number of keys, with k marks each, whose use rate reaches the automatic clear
    /// rate.
    fn clears_after(&self) -> Option<u64> {
        let marks = self.auto_clear_rate()? * self.inner.bits.num_bits() as f64;
        Some((marks / f64::from(self.num_hashes())).ceil().max(0.0) as u64)
    }

    fn clear(&mut self) -> bool {
        Self::clear(self);
        true
    }

    fn union_with(&mut self, _other: &dyn ForeignFilter) -> Result<(), Error> {
        Err(Error::Unsupported {
            format: "bloomfileter",
            operation: "a union",
            reason: "the class has none, and a combined use count is undefined; query both",
        })
    }

    /// `(set bits / m)^k`; the class has no formula. Its positions depend on one another, so
    /// similar keys collide far more often.
    fn estimated_fpp(&self) -> f64 {
        expected_fpp(self.inner.bits.fill_ratio(), self.num_hashes())
    }

    fn fpp_caution(&self) -> Option<&'static str> {
        Some("its hash takes many short or similar keys for one another, whatever the rate says")
    }

    /// Use count / k: the keys marked since the last clearing.
    fn estimated_items(&self) -> Option<u64> {
        u64::try_from(self.use_count()).ok().map(|marks| marks / u64::from(self.num_hashes()))
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("class", self.class_name()),
            Fact::new("rate", self.inner.scheme.rate().name()),
            Fact::new("use_count", self.use_count()),
            Fact::new("use_rate", self.use_rate()),
        ];
        facts.extend(self.auto_clear_rate().map(|rate| Fact::new("auto_clear_rate", rate)));
        facts
    }

    fn encode(&self) -> Vec<u8> {
        self.state.encode(&self.inner.bits)
    }
}
