//! Building a counting filter.

use super::CountingBloomFilter;
use crate::{AnyFilter, DigestFunction, Error, FilterParams, Layout};

/// The bits of a counter of a [`CountingBloomFilter`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CounterBits {
    /// 4 bits: counts to 14; 15 is saturated. Half the memory, and enough for distinct keys.
    #[default]
    Four,
    /// 8 bits: counts to 254; 255 is saturated. For keys that are inserted many times.
    Eight,
}

impl CounterBits {
    /// 4 or 8.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The value that means "this many or more": 15 or 255.
    pub const fn max(self) -> u32 {
        (1 << self.bits()) - 1
    }

    /// The width for 4 or 8 bits.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for all others.
    pub const fn new(bits: u32) -> Result<Self, Error> {
        match bits {
            4 => Ok(Self::Four),
            8 => Ok(Self::Eight),
            _ => {
                let (parameter, found) = ("counter_bits (4 or 8)", bits as u64);
                Err(Error::OutOfRange { parameter, min: 4, max: 8, found })
            }
        }
    }

    /// The layout of the plain filter with a bit for each counter.
    const fn layout(self) -> Layout {
        match self {
            Self::Four => Layout::Blocked128,
            Self::Eight => Layout::Blocked64,
        }
    }
}

/// Builds a [`CountingBloomFilter`] from two of n, p and memory; the third is solved for. If all
/// three are given, they are checked against each other.
///
/// # Examples
///
/// ```
/// use mayhap::{CounterBits, CountingBloomFilter};
///
/// let by_memory = CountingBloomFilter::builder().num_bytes(1 << 20).target_fpp(0.01).build()?;
/// assert_eq!(by_memory.params().expected_items(), 183_475);
/// let wide = CountingBloomFilter::builder()
///     .expected_items(1_000)
///     .target_fpp(0.01)
///     .counter_bits(CounterBits::Eight)
///     .build()?;
/// assert_eq!(wide.counter_bits().max(), 255);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CountingBuilder {
    expected_items: Option<u64>,
    target_fpp: Option<f64>,
    num_bytes: Option<u64>,
    counter_bits: CounterBits,
    digest_function: DigestFunction,
    max_bytes: u64,
}

impl CountingBuilder {
    pub(super) fn new() -> Self {
        Self {
            expected_items: None,
            target_fpp: None,
            num_bytes: None,
            counter_bits: CounterBits::default(),
            digest_function: DigestFunction::default(),
            max_bytes: u64::MAX,
        }
    }

    setters! {
        /// n: the number of distinct keys that the filter will hold at one time.
        expected_items: u64,
        /// p: the false-positive probability to keep up to `expected_items`, above 0 and below 1.
        target_fpp: f64,
        /// The memory of the counters, at most; whole blocks of 64 bytes are used.
        num_bytes: u64,
    }

    /// The bits of a counter, 4 by default.
    pub fn counter_bits(mut self, counter_bits: CounterBits) -> Self {
        self.counter_bits = counter_bits;
        self
    }

    digest_setters!();

    /// Sizes the filter without building it: the parameters of its plain form, with a bit for each
    /// counter.
    ///
    /// # Errors
    ///
    /// The errors of [`crate::sizing`]; [`Error::Missing`] if too few numbers are given;
    /// [`Error::FppUnreachable`] if `num_bytes` cannot keep `target_fpp`; [`Error::TooLarge`] above
    /// [`CountingBuilder::max_bytes`].
    pub fn params(&self) -> Result<FilterParams, Error> {
        let layout = self.counter_bits.layout();
        let mut plain = AnyFilter::builder().layout(layout);
        if let Some(items) = self.expected_items {
            plain = plain.expected_items(items);
        }
        if let Some(fpp) = self.target_fpp {
            plain = plain.target_fpp(fpp);
        }
        if let Some(bytes) = self.num_bytes {
            // Less than a block has no counters; `sizing` reports that.
            plain = plain.num_bits((bytes / 64).saturating_mul(layout.block_bits()));
        }
        let params = plain.params()?;
        Error::check_limit("filter bytes", self.max_bytes, super::num_blocks(&params) * 64)?;
        Ok(params)
    }

    /// Sizes the filter and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// Same as [`CountingBuilder::params`], and [`Error::OutOfMemory`].
    pub fn build(self) -> Result<CountingBloomFilter, Error> {
        CountingBloomFilter::empty(self.params()?, self.digest_function)
    }
}
