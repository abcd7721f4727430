//! Building a filter: named numbers in, a sized filter out.

use super::{AnyFilter, Filter, Preset};
use crate::bits::{OwnedBlocks, SharedBlocks};
use crate::layout::{Layout, LayoutKind};
use crate::{DigestFunction, Error, FilterParams, InstructionSet, sizing};
use core::marker::PhantomData;

/// Builds a filter of type `F` from the given numbers; the others are solved for.
///
/// | given | solved |
/// |---|---|
/// | n and p | m, k |
/// | n and m | k and the lowest p |
/// | m and p | k and the largest n |
/// | n, p and m | k; rejected if m bits cannot keep p |
///
/// m is `num_bits` (or `num_bytes`, or n times the bits of a `preset`); `num_hashes` can be fixed
/// as well. The digest function defaults to `xxh3` with seed 0: use `sip13` with a secret key if
/// the keys are chosen by untrusted parties.
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, BloomFilter, Layout};
///
/// let by_memory = BloomFilter::builder().num_bytes(1 << 20).target_fpp(0.001).build()?;
/// assert_eq!(by_memory.params().expected_items(), 583_448);
/// let any = AnyFilter::builder().expected_items(1_000).target_fpp(0.01).build()?;
/// assert_eq!(any.params().layout(), Layout::Blocked); // the default at 1 %
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Builder<F> {
    layout: Option<Layout>,
    expected_items: Option<u64>,
    target_fpp: Option<f64>,
    num_bits: Option<u64>,
    preset: Option<Preset>,
    num_hashes: Option<u32>,
    digest_function: DigestFunction,
    max_bytes: u64,
    most_instructions: Option<InstructionSet>,
    filter: PhantomData<fn() -> F>,
}

impl<F: Build> Builder<F> {
    pub(super) fn new() -> Self {
        Self {
            layout: F::LAYOUT,
            expected_items: None,
            target_fpp: None,
            num_bits: None,
            preset: None,
            num_hashes: None,
            digest_function: DigestFunction::default(),
            max_bytes: u64::MAX,
            most_instructions: None,
            filter: PhantomData,
        }
    }

    setters! {
        /// n: the number of distinct keys that the filter will hold.
        expected_items: u64,
        /// p: the false-positive probability to keep up to `expected_items`, above 0 and below 1.
        target_fpp: f64,
        /// k: the number of bits per key, instead of the best one. Needs `expected_items`, and
        /// `target_fpp`, `num_bits` or a `preset`.
        num_hashes: u32,
    }

    /// m: the size in bits, at most; `blocked` uses whole blocks of 512.
    pub fn num_bits(mut self, num_bits: u64) -> Self {
        (self.num_bits, self.preset) = (Some(num_bits), None);
        self
    }

    /// m as bytes.
    pub fn num_bytes(self, num_bytes: u64) -> Self {
        self.num_bits(num_bytes.saturating_mul(8))
    }

    /// m as bits per item, rounded up to whole blocks and at least the smallest filter. Needs
    /// `expected_items` and replaces `num_bits`.
    pub fn preset(mut self, preset: Preset) -> Self {
        (self.num_bits, self.preset) = (None, Some(preset));
        self
    }

    digest_setters!();

    /// Limits the hot loops of the filter to this instruction set, for tests and measurements: by
    /// default they use the best one that the CPU has and `MAYHAP_KERNEL` allows
    /// ([`crate::kernel_names`]). Answers never depend on it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, InstructionSet};
    /// let builder = BlockedBloomFilter::builder().expected_items(100).target_fpp(0.01);
    /// let filter = builder.instruction_set(InstructionSet::Scalar).build()?;
    /// assert_eq!(filter.kernel_name(), "scalar");
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn instruction_set(mut self, most: InstructionSet) -> Self {
        self.most_instructions = Some(most);
        self
    }

    /// Sizes the filter without building it.
    ///
    /// # Errors
    ///
    /// The errors of [`crate::sizing`]; [`Error::Missing`] if too few numbers are given;
    /// [`Error::FppUnreachable`] if `num_bits` cannot keep `target_fpp`; [`Error::TooLarge`] above
    /// [`Builder::max_bytes`].
    pub fn params(&self) -> Result<FilterParams, Error> {
        let params = self.solve()?;
        Error::check_limit("filter bytes", self.max_bytes, params.num_bytes())?;
        Ok(params)
    }

    fn solve(&self) -> Result<FilterParams, Error> {
        let layout = |n, p| self.layout.map_or_else(|| sizing::default_layout(n, p), Ok);
        // A memory budget alone does not determine the rate; the default is then one cache line per
        // key.
        let layout_for_bits = self.layout.unwrap_or(Layout::Blocked);
        let num_bits = match self.preset {
            None => self.num_bits,
            Some(preset) => Some(self.preset_bits(preset, layout_for_bits)?),
        };
        match (self.expected_items, self.target_fpp, num_bits) {
            (Some(n), Some(p), None) => match self.num_hashes {
                None => self
                    .layout
                    .map_or_else(|| sizing::default_params(n, p), |it| sizing::for_items(it, n, p)),
                Some(k) => sizing::for_items_and_hashes(layout(n, p)?, k, n, p),
            },
            (Some(n), None, Some(m)) => match self.num_hashes {
                None => sizing::for_bits(layout_for_bits, m, n),
                Some(k) => {
                    let best = sizing::for_bits(layout_for_bits, m, n)?;
                    let params = FilterParams::new(layout_for_bits, best.num_bits(), k, n, 0.5)?;
                    let fpp = params.expected_fpp(n).clamp(f64::MIN_POSITIVE, 1.0 - 1e-16);
                    with_target(params, fpp)
                }
            },
            (None, Some(_), Some(_)) if self.num_hashes.is_some() => {
                Err(Error::Missing { parameter: "expected_items (num_hashes is given)" })
            }
            (None, Some(p), Some(m)) => {
                let n = sizing::max_items(layout_for_bits, m, p)?;
                with_target(sizing::for_bits(layout_for_bits, m, n)?, p)
            }
            (Some(n), Some(p), Some(m)) => {
                let best = sizing::for_bits(layout(n, p)?, m, n)?;
                let k = self.num_hashes.unwrap_or(best.num_hashes());
                let params = FilterParams::new(best.layout(), best.num_bits(), k, n, p)?;
                let lowest_fpp = params.expected_fpp(n);
                if lowest_fpp > p {
                    return Err(Error::FppUnreachable { target_fpp: p, lowest_fpp });
                }
                Ok(params)
            }
            (None, Some(_), None) => Err(Error::Missing { parameter: "expected_items" }),
            _ => Err(Error::Missing { parameter: "target_fpp" }),
        }
    }

    fn preset_bits(&self, preset: Preset, layout: Layout) -> Result<u64, Error> {
        let items =
            self.expected_items.ok_or(Error::Missing { parameter: "expected_items (preset)" })?;
        let bits = items.saturating_mul(preset.bits_per_item()).max(layout.min_bits());
        let found = bits.checked_next_multiple_of(layout.block_bits()).unwrap_or(u64::MAX);
        Error::check_limit("num_bits", sizing::MAX_NUM_BITS, found)?;
        Ok(found)
    }

    /// Sizes the filter and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// Same as [`Builder::params`], and [`Error::OutOfMemory`].
    pub fn build(self) -> Result<F, Error> {
        let mut filter = F::empty(self.params()?, self.digest_function)?;
        if let Some(most) = self.most_instructions {
            filter.limit_kernel(most);
        }
        Ok(filter)
    }
}

impl Builder<AnyFilter> {
    /// Sets the layout instead of the default for n and p.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }
}

fn with_target(params: FilterParams, target_fpp: f64) -> Result<FilterParams, Error> {
    let (m, k, n) = (params.num_bits(), params.num_hashes(), params.expected_items());
    FilterParams::new(params.layout(), m, k, n, target_fpp)
}

/// The filter types that a [`Builder`] can build.
pub trait Build: Sized {
    /// The layout, if the type fixes it.
    #[doc(hidden)]
    const LAYOUT: Option<Layout>;

    /// An empty filter with these numbers.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Incompatible`] if the type fixes another layout.
    fn empty(params: FilterParams, digest_function: DigestFunction) -> Result<Self, Error>;

    #[doc(hidden)]
    fn limit_kernel(&mut self, most: InstructionSet);

    /// Returns a builder for a filter of this type.
    fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl<L: LayoutKind> Build for Filter<L, OwnedBlocks> {
    const LAYOUT: Option<Layout> = Some(L::LAYOUT);

    fn empty(params: FilterParams, digest_function: DigestFunction) -> Result<Self, Error> {
        Self::from_parts(params, digest_function, OwnedBlocks::zeroed(params.num_blocks())?, 0)
    }

    fn limit_kernel(&mut self, most: InstructionSet) {
        Self::limit_kernel(self, most);
    }
}

impl<L: LayoutKind> Build for Filter<L, SharedBlocks> {
    const LAYOUT: Option<Layout> = Some(L::LAYOUT);

    fn empty(params: FilterParams, digest_function: DigestFunction) -> Result<Self, Error> {
        Ok(Filter::<L, OwnedBlocks>::empty(params, digest_function)?.into_concurrent())
    }

    fn limit_kernel(&mut self, most: InstructionSet) {
        Self::limit_kernel(self, most);
    }
}

impl Build for AnyFilter {
    const LAYOUT: Option<Layout> = None;

    fn empty(params: FilterParams, digest_function: DigestFunction) -> Result<Self, Error> {
        let blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        Self::from_parts(params, digest_function, blocks, 0)
    }

    fn limit_kernel(&mut self, most: InstructionSet) {
        Self::limit_kernel(self, most);
    }
}
