//! Kernels of windows: k rows of a table, read and set.
//!
//! `kernel.rs` is a table of functions; `scalar.rs` is the definition, `x86.rs` the same for each
//! k, with positions side by side from `probes/`; `tests.rs` compares them.

mod kernel;
mod scalar;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod x86;

use super::fits_cache;
use crate::Digest;
use crate::bits::Block;
use crate::sizing::MAX_NUM_HASHES;
pub(crate) use kernel::{FIRST, Row, place};
use kernel::{Kernel, Range};

/// The rows of a table that digests have: how many, among how many, and the kernel that this CPU
/// runs.
#[derive(Clone, Copy)]
pub(crate) struct Rows<R: Row> {
    range: Range,
    is_near: bool,
    kernel: &'static Kernel<R>,
}

impl<R: Row> Rows<R> {
    /// The fastest kernel that this CPU can run.
    ///
    /// # Panics
    ///
    /// If there are no rows, or `num_hashes` is not from 1 to 32.
    pub(crate) fn new(num_rows: u64, num_hashes: u32) -> Self {
        Self::all(num_rows, num_hashes).next().expect("the scalar one is always there")
    }

    /// All kernels that this CPU can run, the fastest first; the last is scalar.
    fn all(num_rows: u64, num_hashes: u32) -> impl Iterator<Item = Self> {
        assert!((1..=MAX_NUM_HASHES).contains(&num_hashes), "parameters are checked before");
        assert!(num_rows > 0, "a position needs a row");
        let num_bits = num_rows.saturating_mul(R::COLUMNS.into());
        let is_near = fits_cache(num_bits.div_ceil(Block::BITS) as usize);
        #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
        let of_k = num_hashes as usize - 1;
        [
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
            (super::probes::has_avx512(), R::AVX512.get(of_k)),
            #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
            (super::probes::has_avx2(), R::AVX2.get(of_k)),
            (true, Some(R::SCALAR)),
        ]
        .into_iter()
        .filter_map(move |(is_available, kernel)| {
            let range = Range { num_rows, num_hashes };
            is_available.then_some(Self { range, is_near, kernel: kernel? })
        })
    }

    pub(crate) const fn num_rows(&self) -> u64 {
        self.range.num_rows
    }

    pub(crate) const fn num_hashes(&self) -> u32 {
        self.range.num_hashes
    }

    /// Whether the table is assumed to be in a near cache.
    #[inline(always)]
    pub(crate) fn is_near(&self) -> bool {
        self.is_near
    }

    #[inline(always)]
    fn range(&self, rows: &[R]) -> Range {
        assert!(self.range.num_rows <= rows.len() as u64, "a table has num_rows rows");
        self.range
    }

    /// The columns of `columns` that have the digest.
    #[inline(always)]
    pub(crate) fn columns(&self, rows: &[R], digest: Digest, columns: R) -> R {
        let and = if self.is_near { self.kernel.near } else { self.kernel.far };
        // SAFETY: `all` found the instructions of this kernel on this CPU; `range` checks the rows.
        unsafe { and(rows, digest, self.range(rows), columns) }
    }

    /// Like [`Rows::columns`], but only the first rows.
    #[inline(always)]
    pub(crate) fn first_columns(&self, rows: &[R], digest: Digest, columns: R) -> R {
        // SAFETY: as in `columns`.
        unsafe { (self.kernel.first)(rows, digest, self.range(rows), columns) }
    }

    /// Like [`Rows::columns`], but in the other rows.
    #[inline(always)]
    pub(crate) fn other_columns(&self, rows: &[R], digest: Digest, columns: R) -> R {
        // SAFETY: as in `columns`.
        unsafe { (self.kernel.rest)(rows, digest, self.range(rows), columns) }
    }

    /// Puts the digest into these columns; returns the columns that had it before.
    #[inline(always)]
    pub(crate) fn insert(&self, rows: &mut [R], digest: Digest, columns: R) -> R {
        let range = self.range(rows);
        // SAFETY: as in `columns`.
        unsafe { (self.kernel.insert)(rows, digest, range, columns) }
    }
}

impl<R: Row> core::fmt::Debug for Rows<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} of {} by {}", self.num_hashes(), self.num_rows(), self.kernel.name)
    }
}
