//! The table of functions that each instruction set fills.

use super::scalar;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::x86;
use crate::Digest;
use bytemuck::Pod;
use core::ops::{BitAnd, BitOrAssign};

/// The functions of one instruction set for one k: see [`super::Rows`].
///
/// # Safety
///
/// To call them: the CPU has the instruction set, and there are at least `num_rows` rows.
pub(crate) struct Kernel<R: 'static> {
    pub(super) name: &'static str,
    /// Reads all rows at once: for tables in a near cache, where a mispredicted branch costs more
    /// than the rows that it saves.
    pub(super) near: unsafe fn(&[R], Digest, Range, R) -> R,
    /// Reads the [`FIRST`] rows, and the others if columns are left.
    pub(super) far: unsafe fn(&[R], Digest, Range, R) -> R,
    /// Only the first few positions, and only the others.
    pub(super) first: unsafe fn(&[R], Digest, Range, R) -> R,
    pub(super) rest: unsafe fn(&[R], Digest, Range, R) -> R,
    pub(super) insert: unsafe fn(&mut [R], Digest, Range, R) -> R,
}

/// The number of rows of a query that are read before the others: with 15 half-full columns, nine
/// absent keys in ten need no more. One branch is mispredicted once for ten keys, where a branch
/// for each row is for most.
pub(crate) const FIRST: usize = 7;

/// The input of a kernel: the rows of the table, and k from 1 to 32.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(super) num_rows: u64,
    pub(super) num_hashes: u32,
}

/// A row of a table: one bit per column.
pub(crate) trait Row:
    Pod + Eq + Into<u64> + BitAnd<Output = Self> + BitOrAssign + core::fmt::Debug
{
    /// The bits of a row.
    const COLUMNS: u32 = 8 * size_of::<Self>() as u32;
    /// No column and all of them.
    const NONE: Self;
    const ALL: Self;
    const SCALAR: &'static Kernel<Self> = &scalar::kernel();
    /// The kernels for k from 1.
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    const AVX2: &'static [Kernel<Self>] = &x86::avx2_kernels();
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    const AVX512: &'static [Kernel<Self>] = &x86::avx512_kernels();

    /// The lowest columns of a set.
    fn of(columns: u64) -> Self;
}

impl Row for u16 {
    const NONE: Self = 0;
    const ALL: Self = Self::MAX;

    #[inline(always)]
    fn of(columns: u64) -> Self {
        columns as Self
    }
}

impl Row for u64 {
    const NONE: Self = 0;
    const ALL: Self = Self::MAX;

    #[inline(always)]
    fn of(columns: u64) -> Self {
        columns
    }
}

/// Where row `row` of a table is in memory: the rows of a word are in the order of its bits.
#[inline(always)]
pub(crate) const fn place<R: Row>(row: u64) -> usize {
    let reversed = if cfg!(target_endian = "big") { 64 / R::COLUMNS as u64 - 1 } else { 0 };
    (row ^ reversed) as usize
}
