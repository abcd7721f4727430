//! The parameters of a filter, checked once and carried everywhere.

use super::limits::{check_num_hashes, check_whole_blocks};
use super::{check_fpp, check_items, check_num_bits, expected_fpp};
use crate::positions;
use crate::{Digest, Error, Layout};

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
    /// a bit in each of its lanes from `d · 9E3779B97F4A7C15` (`docs/native-format.md`, "From
    /// digest to bits"). For callers that keep the bits themselves, as on a server.
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
