//! The parameters of a filter, checked once and carried everywhere.

use super::limits::{check_num_hashes, check_whole_blocks};
use super::{check_fpp, check_items, check_num_bits, expected_fpp, max_items_and_hashes};
use crate::positions;
use crate::{Digest, Error, Layout};
use alloc::vec::Vec;

/// The capacity and size of a filter: layout, m, k, n and the promised p.
///
/// Always consistent: it is only created by [`FilterParams::new`] and the functions of
/// [`crate::sizing`], which reject values that no filter can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterParams {
    layout: Layout,
    num_bits: u64,
    num_hashes: u32,
    expected_items: u64,
    target_fpp: f64,
}

impl FilterParams {
    /// Checks the five values and stores them unchanged.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless `num_bits` is from 64 (a whole number of blocks, of 512, 128 or
    /// 64 bits, for `blocked`, `blocked128` and `blocked64`) to [`super::MAX_NUM_BITS`] and
    /// `num_hashes` from 1 to [`super::MAX_NUM_HASHES`] (4, 8 or 16 for `blocked`, 8 for
    /// `blocked128` and `blocked64`); [`Error::ZeroItems`]; [`Error::FppOutOfRange`].
    pub fn new(
        layout: Layout,
        num_bits: u64,
        num_hashes: u32,
        expected_items: u64,
        target_fpp: f64,
    ) -> Result<Self, Error> {
        check_num_bits(layout, num_bits)?;
        check_num_hashes(layout, num_hashes)?;
        check_whole_blocks(layout, num_bits)?;
        check_items(expected_items)?;
        check_fpp(target_fpp)?;
        Ok(Self { layout, num_bits, num_hashes, expected_items, target_fpp })
    }

    /// The mapping from digests to bits.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// m, the number of bits.
    pub const fn num_bits(&self) -> u64 {
        self.num_bits
    }

    /// k, the number of bits that a key sets.
    pub const fn num_hashes(&self) -> u32 {
        self.num_hashes
    }

    /// n, the number of distinct keys that the filter was sized for.
    pub const fn expected_items(&self) -> u64 {
        self.expected_items
    }

    /// p, the promised false-positive probability at `expected_items`.
    pub const fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// The bits in memory and in files, in 64-byte blocks: `ceil(num_bits / 512)`.
    pub const fn num_blocks(&self) -> u64 {
        self.num_bits.div_ceil(512)
    }

    /// Bytes of memory that the bits take: `64 * num_blocks`.
    pub const fn num_bytes(&self) -> u64 {
        self.num_blocks() * 64
    }

    /// The predicted false-positive probability with `items` distinct keys inserted.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        expected_fpp(self.layout, self.num_bits, self.num_hashes, items)
    }

    /// Bits per key at `expected_items`: m / n.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits as f64 / self.expected_items as f64
    }

    /// The k bits that an insertion of the digest sets, in the order of the formulas. Several may
    /// coincide in `standard`, and in `blocked` with k = 16.
    ///
    /// `standard`: `mulhi(d · A_i, m)`. The blocked layouts: block `mulhi(d, m / block bits)`, then
    /// a bit in each of its lanes from `d · 9E3779B97F4A7C15` (`crates/mayhap/NATIVE-FORMAT.md`,
    /// "From digest to bits"). For callers that keep the bits themselves, as on a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, FilterParams, Layout};
    /// let params = FilterParams::new(Layout::Standard, 1000, 7, 100, 0.01)?;
    /// let digest = DigestFunction::xxh3(0).digest("a");
    /// assert!(params.positions(digest).eq([901, 607, 487, 227, 203, 533, 379]));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn positions(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let Self { layout, num_bits, num_hashes, .. } = *self;
        (0..num_hashes as usize)
            .map(move |i| positions::position(layout, num_bits, num_hashes, digest, i))
    }

    /// The positions that fold: blocks, or bits of `standard`.
    const fn num_units(&self) -> (u64, &'static str) {
        let unit = if let Layout::Standard = self.layout() { "bits" } else { "blocks" };
        (self.num_bits() / self.layout().block_bits(), unit)
    }

    /// The parameters after a fold by `factor`: the same layout and k, m / `factor` bits, and the
    /// largest n that keeps `target_fpp` there.
    ///
    /// # Errors
    ///
    /// [`Error::NoFold`] unless `factor` divides the number of blocks, or of `standard`'s bits;
    /// [`Error::FppOutOfRange`]; [`Error::OutOfRange`] if what is left is smaller than any filter,
    /// or keeps the rate for no key.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Layout, sizing};
    /// let params = sizing::for_bits(Layout::Blocked, 12_000 * 512, 500_000)?;
    /// let third = params.folded(3, params.target_fpp())?;
    /// assert_eq!((third.num_bits(), third.num_hashes()), (4_000 * 512, params.num_hashes()));
    /// assert!((166_000..167_000).contains(&third.expected_items()));
    /// assert!(params.folded(7, 0.1).is_err()); // 12,000 is no multiple of 7
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn folded(&self, factor: u64, target_fpp: f64) -> Result<Self, Error> {
        let (from, unit) = self.num_units();
        if factor == 0 || !from.is_multiple_of(factor) {
            return Err(Error::NoFold { unit, from, factor });
        }
        let (layout, num_bits, k) = (self.layout(), self.num_bits() / factor, self.num_hashes());
        let items = max_items_and_hashes(layout, k, num_bits, target_fpp)?;
        Self::new(layout, num_bits, k, items, target_fpp)
    }

    /// The factors by which the filter folds to a size that filters have, in ascending order, from
    /// 1 on. Of a `standard` filter in whole blocks of memory only those that leave whole blocks.
    ///
    /// Takes a time that grows with the square root of the size: less than a millisecond for 1 GiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{FilterParams, Layout};
    /// let params = FilterParams::new(Layout::Blocked, 12 * 512, 8, 100, 0.01)?;
    /// assert_eq!(params.fold_factors(), [1, 2, 3, 4, 6, 12]);
    /// let params = FilterParams::new(Layout::Standard, 1_000, 7, 100, 0.01)?;
    /// assert_eq!(params.fold_factors(), [1, 2, 4, 5, 8, 10]); // 64 bits are the smallest filter
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fold_factors(&self) -> Vec<u64> {
        let unit = match self.layout {
            Layout::Standard if self.num_bits.is_multiple_of(512) => 512,
            layout => layout.block_bits(),
        };
        let units = self.num_bits / unit;
        let mut factors: Vec<u64> = (1..=units.isqrt())
            .filter(|divisor| units.is_multiple_of(*divisor))
            .flat_map(|divisor| [divisor, units / divisor])
            .filter(|factor| self.num_bits / factor >= self.layout.min_bits())
            .collect();
        factors.sort_unstable();
        factors.dedup();
        factors
    }

    /// The largest of [`FilterParams::fold_factors`] that keeps `target_fpp` for `items` keys;
    /// `None` if the filter does not keep it as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{FilterParams, Layout};
    /// let params = FilterParams::new(Layout::Blocked, 12_000 * 512, 8, 500_000, 0.01)?;
    /// let factor = params.fold_factor(100_000, 0.01);
    /// assert_eq!(factor, Some(6)); // 2,000 blocks, where 1,973 would do
    /// assert!(params.folded(6, 0.01)?.expected_fpp(100_000) <= 0.01);
    /// assert_eq!(params.fold_factor(700_000, 0.01), None);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fold_factor(&self, items: u64, target_fpp: f64) -> Option<u64> {
        let keeps = |&factor: &u64| {
            let num_bits = self.num_bits / factor;
            expected_fpp(self.layout, num_bits, self.num_hashes, items) <= target_fpp
        };
        let factors = self.fold_factors();
        // The rate rises with the factor.
        let kept = factors.partition_point(keeps);
        kept.checked_sub(1).map(|last| factors[last])
    }

    /// [`Error::Incompatible`] for another layout.
    pub(crate) fn check_layout(&self, wanted: Layout) -> Result<(), Error> {
        Error::check_equal([("layout", wanted.id().into(), self.layout.id().into())])
    }

    /// [`Error::Incompatible`] with the first of layout, m and k in which two filters differ. Their
    /// capacities (n and p) may differ.
    pub(crate) fn check_same_shape(&self, other: &Self) -> Result<(), Error> {
        Error::check_equal([
            ("layout", u64::from(self.layout.id()), u64::from(other.layout.id())),
            ("num_bits", self.num_bits, other.num_bits),
            ("num_hashes", u64::from(self.num_hashes), u64::from(other.num_hashes)),
        ])
    }
}
