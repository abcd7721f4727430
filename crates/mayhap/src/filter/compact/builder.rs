//! Building a compact filter.

use super::CompactFilter;
use crate::sizing::compact::CompactParams;
use crate::{DigestFunction, Error};

/// Doublings that are reserved for a filter that grows: to a thousand times its keys.
const DOUBLINGS: u32 = 10;

/// Builds a [`CompactFilter`] from two of n, p and memory; the third is solved for. If all three
/// are given, they are checked against each other.
///
/// # Examples
///
/// ```
/// use mayhap::CompactFilter;
///
/// let by_memory = CompactFilter::builder().num_bytes(1 << 20).target_fpp(0.01).build()?;
/// assert_eq!(by_memory.params().expected_items(), 876_303);
/// assert!(by_memory.num_bytes() <= 1 << 20);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CompactBuilder {
    expected_items: Option<u64>,
    target_fpp: Option<f64>,
    num_bytes: Option<u64>,
    doublings: Option<u32>,
    grows: bool,
    digest_function: DigestFunction,
    max_bytes: u64,
}

impl CompactBuilder {
    pub(super) fn new() -> Self {
        Self {
            expected_items: None,
            target_fpp: None,
            num_bytes: None,
            doublings: None,
            grows: false,
            digest_function: DigestFunction::default(),
            max_bytes: u64::MAX,
        }
    }

    setters! {
        /// n: the number of keys, or copies of keys, that the filter will hold at one time.
        expected_items: u64,
        /// p: the false-positive probability to keep up to `expected_items`, at least 1e-12 and
        /// below 1.
        target_fpp: f64,
        /// The memory, at most.
        num_bytes: u64,
    }

    /// How often the filter may be doubled before the rate exceeds `target_fpp`: each time reserves
    /// a bit per key. None by default, 10 for a filter that grows.
    pub fn doublings(mut self, doublings: u32) -> Self {
        self.doublings = Some(doublings);
        self
    }

    /// The filter doubles itself when it is full ([`CompactFilter::doubled`]): the insertion that
    /// does takes 30 to 60 ns a key. Beyond the reserved doublings the rate doubles with it.
    pub fn grows(mut self, grows: bool) -> Self {
        self.grows = grows;
        self
    }

    digest_setters!();

    /// Sizes the filter without building it.
    ///
    /// # Errors
    ///
    /// The errors of [`CompactParams`]; [`Error::Missing`] if too few numbers are given;
    /// [`Error::FppUnreachable`] if `num_bytes` cannot keep `target_fpp`; [`Error::TooLarge`] above
    /// [`CompactBuilder::max_bytes`].
    pub fn params(&self) -> Result<CompactParams, Error> {
        let doublings = self.doublings.unwrap_or(if self.grows { DOUBLINGS } else { 0 });
        let reserved = libm::ldexp(1.0, -(doublings.min(64).cast_signed()));
        let fpp = self.target_fpp.map(|fpp| fpp * reserved);
        let params = match (self.expected_items, fpp, self.num_bytes) {
            (Some(items), Some(fpp), max_bytes) => {
                let params = CompactParams::for_items(items, fpp)?;
                if max_bytes.is_some_and(|max| max < params.num_bytes()) {
                    let lowest = CompactParams::for_bytes(max_bytes.unwrap_or(0), items)?;
                    let lowest_fpp = lowest.expected_fpp(items);
                    return Err(Error::FppUnreachable { target_fpp: fpp, lowest_fpp });
                }
                params
            }
            (Some(items), None, Some(bytes)) => CompactParams::for_bytes(bytes, items)?,
            (None, Some(fpp), Some(bytes)) => CompactParams::largest(bytes, fpp)?,
            (None, ..) => return Err(Error::Missing { parameter: "expected_items" }),
            (_, None, None) => return Err(Error::Missing { parameter: "target_fpp" }),
        };
        Error::check_limit("filter bytes", self.max_bytes, params.num_bytes())?;
        self.target_fpp.map_or(Ok(params), |target_fpp| params.with_target_fpp(target_fpp))
    }

    /// Sizes the filter and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// Same as [`CompactBuilder::params`], and [`Error::OutOfMemory`].
    pub fn build(self) -> Result<CompactFilter, Error> {
        let params = self.params()?;
        let mut filter = CompactFilter::empty(params, self.digest_function)?;
        filter.set_grows(self.grows);
        filter.set_max_bytes(self.max_bytes);
        Ok(filter)
    }
}
