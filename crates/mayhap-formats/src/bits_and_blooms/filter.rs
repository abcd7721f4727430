//! The filter and its positions.

use super::codec::{self, BitsAndBloomsForm, Form};
use crate::error::same;
use crate::filter::answered_by;
use crate::limits::{check_fpp, not_zero};
use crate::modulo::Modulo;
use crate::{Bits, Error, Fact, ForeignFilter, Format, Limits, Scheme, SchemeFilter};

/// Keys up to this length are hashed without an allocation.
const SHORT_KEY: usize = 255;

/// Key bytes → positions: h0, h1 are the `MurmurHash3` (x64, 128 bits, seed 0) of the key, h2, h3
/// that of the key and a byte 01; position i is `h[i % 2] + i h[2 + (i + i % 2) % 4 / 2]` modulo m.
///
/// Up to willf/bloom 2.0.0 (2015), whose files look the same, `h[j]` is FNV-1a (64 bits) with j
/// added to its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitsAndBloomsScheme {
    num_hashes: u32,
    num_bits: Modulo,
    is_fnv: bool,
}

impl BitsAndBloomsScheme {
    fn new(num_hashes: u32, num_bits: u64) -> Self {
        Self { num_hashes, num_bits: Modulo::new(num_bits), is_fnv: false }
    }

    /// `Locations`: the positions before they are taken modulo m, any number of them.
    pub fn locations(key: &[u8]) -> impl Iterator<Item = u64> {
        locations_of(base_hashes(key))
    }
}

fn locations_of([h0, h1, h2, h3]: [u64; 4]) -> impl Iterator<Item = u64> {
    (0u64..).map(move |i| {
        let first = if i % 2 == 0 { h0 } else { h1 };
        let second = if (i + i % 2) % 4 == 0 { h2 } else { h3 };
        first.wrapping_add(i.wrapping_mul(second))
    })
}

fn fnv_hashes(key: &[u8]) -> [u64; 4] {
    [0, 1, 2, 3].map(|j| {
        key.iter().fold(0xCBF2_9CE4_8422_2325 + j, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    })
}

fn base_hashes(key: &[u8]) -> [u64; 4] {
    let (h0, h1) = mur3::murmurhash3_x64_128(key, 0);
    let (h2, h3) = if key.len() <= SHORT_KEY {
        let mut longer = [0; SHORT_KEY + 1];
        longer[..key.len()].copy_from_slice(key);
        longer[key.len()] = 1;
        mur3::murmurhash3_x64_128(&longer[..=key.len()], 0)
    } else {
        let mut longer = key.to_vec();
        longer.push(1);
        mur3::murmurhash3_x64_128(&longer, 0)
    };
    [h0, h1, h2, h3]
}

impl Scheme for BitsAndBloomsScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let hashes = if self.is_fnv { fnv_hashes(key) } else { base_hashes(key) };
        for location in locations_of(hashes).take(self.num_hashes as usize) {
            if !each(self.num_bits.of(location)) {
                return;
            }
        }
    }
}

/// A Bloom filter of bits-and-blooms/bloom.
///
/// A query touches up to k cache lines.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{BitsAndBloomsFilter, ForeignFilter, Limits};
///
/// let mut filter = BitsAndBloomsFilter::create(1_000, 0.01, &Limits::default())?;
/// assert!(filter.insert(b"hello")?);
/// assert!(filter.contains(b"hello") && !filter.contains(b"bye"));
/// assert_eq!((filter.num_bits(), filter.num_hashes()), (9_586, 7));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BitsAndBloomsFilter {
    inner: SchemeFilter<BitsAndBloomsScheme>,
    form: Form,
}

impl BitsAndBloomsFilter {
    /// `NewWithEstimates`: `m = ceil(-n ln p / (ln 2)^2)`, `k = ceil(m ln 2 / n)`, both at least 1.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] for zero items, for which Go computes a meaningless k; [`Error::BadField`]
    /// for a p outside (0, 1), [`Error::TooLarge`] by the limits, [`Error::OutOfMemory`].
    pub fn create(items: u64, target_fpp: f64, limits: &Limits) -> Result<Self, Error> {
        not_zero("number of items", items)?;
        check_fpp("p", target_fpp)?;
        let n = items as f64;
        let ln_2 = std::f64::consts::LN_2;
        let m = (-n * libm::log(target_fpp) / (ln_2 * ln_2)).ceil().max(1.0);
        let k = (ln_2 * m / n).ceil().max(1.0);
        Self::with_sizes(m as u64, k as u64, limits)
    }

    /// `New`: an empty filter of m bits and k positions.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`] (where Go uses 1), [`Error::TooLarge`] by the limits,
    /// [`Error::OutOfMemory`].
    pub fn with_sizes(num_bits: u64, num_hashes: u64, limits: &Limits) -> Result<Self, Error> {
        let num_hashes = limits.check_hashes("k", num_hashes)?;
        Ok(Self::of(num_hashes, Bits::new(num_bits, limits)?, Form::Binary))
    }

    /// Reads a file in one of the three forms; it is written back in the same.
    ///
    /// JSON starts with a brace, gob with the length and the negative number of a type; everything
    /// else is binary.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`] before
    /// anything is allocated; [`Error::TrailingBytes`], [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let (num_hashes, bits, form) = codec::read(bytes, limits)?;
        Ok(Self::of(num_hashes, bits, form))
    }

    /// The form of the file.
    pub fn form(&self) -> BitsAndBloomsForm {
        self.form.public()
    }

    /// Sets another form for writing.
    pub fn set_form(&mut self, form: BitsAndBloomsForm) {
        if form != self.form() {
            self.form = Form::of_new(form);
        }
    }

    /// The same file, read as one of willf/bloom up to 2.0.0, which has another hash.
    #[must_use]
    pub fn of_willf(mut self) -> Self {
        self.inner.scheme.is_fnv = true;
        self
    }

    fn of(num_hashes: u32, bits: Bits, form: Form) -> Self {
        let scheme = BitsAndBloomsScheme::new(num_hashes, bits.num_bits());
        Self { inner: SchemeFilter { scheme, bits }, form }
    }

    /// `Merge`: adds the bits of `other`.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless m and k are equal; nothing is changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("hash", self.format().name(), other.format().name())?;
        same("m", &self.num_bits(), &other.num_bits())?;
        same("k", &self.num_hashes(), &other.num_hashes())?;
        self.inner.bits.union_with(&other.inner.bits)
    }

    /// `ApproximatedSize`: `floor(-m / k ln(1 - set bits / m) + 1 / 2)` as 32 bits. `None` for a
    /// full filter, where Go answers 0 on amd64 and 4,294,967,295 on arm64.
    pub fn approximated_size(&self) -> Option<u32> {
        let items = (self.inner.fill_items() + 0.5).floor();
        items.is_finite().then_some(items as u32)
    }
}

impl ForeignFilter for BitsAndBloomsFilter {
    answered_by!(inner: key_types, insert, union_with, estimated_fpp);

    fn format(&self) -> Format {
        if self.inner.scheme.is_fnv { Format::WillfFnv } else { Format::BitsAndBlooms }
    }

    fn estimated_items(&self) -> Option<u64> {
        self.approximated_size().map(u64::from)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::new("form", self.form().name())]
    }

    fn encode(&self) -> Vec<u8> {
        self.form.encode(self.num_hashes(), &self.inner.bits)
    }
}
