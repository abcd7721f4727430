//! The table: rows of 16 or of 64 bits, one bit per generation.

use crate::bits::{Block, OwnedBlocks, block};
use crate::positions;
use crate::{Digest, Error, simd};
use core::marker::PhantomData;
use core::ops::{BitAnd, BitOrAssign};

/// Keys whose cache lines are requested together.
const GROUP: usize = 32;
/// The rows of the first round for each key; the others are requested only if these answer "maybe".
/// With 15 half-full columns, one miss in five needs more than 6 rows.
const FIRST_ROWS: usize = 6;

/// A row: one bit per column.
pub(super) trait Row:
    Copy + Into<u64> + bytemuck::Pod + BitAnd<Output = Self> + BitOrAssign
{
    const COLUMNS: u32 = 8 * size_of::<Self>() as u32;

    /// The lowest columns of a set.
    fn of(columns: u64) -> Self;
}

impl Row for u16 {
    #[inline(always)]
    fn of(columns: u64) -> Self {
        columns as Self
    }
}

impl Row for u64 {
    #[inline(always)]
    fn of(columns: u64) -> Self {
        columns
    }
}

/// With c columns a word has 64/c rows, the first one lowest: row r is the c bits from bit c · (r
/// mod 64/c) on of word r / (64/c), on every machine. Sets of columns are the low c bits of a
/// `u64`.
#[derive(Debug)]
pub(super) struct Table<R> {
    pub(super) blocks: OwnedBlocks,
    pub(super) num_rows: u64,
    pub(super) num_hashes: u32,
    row: PhantomData<R>,
}

impl<R: Row> Table<R> {
    const ROWS_PER_WORD: u64 = 64 / R::COLUMNS as u64;
    /// Rows in a block: the same number in each of its eight lanes.
    const ROWS_PER_BLOCK: u64 = 8 * Self::ROWS_PER_WORD;
    /// All columns.
    const ALL: u64 = u64::MAX >> (64 - R::COLUMNS);

    /// The blocks for this many rows.
    pub(super) const fn blocks_of(num_rows: u64) -> u64 {
        num_rows.div_ceil(Self::ROWS_PER_BLOCK)
    }

    /// The table of these blocks, which are as many as its rows need.
    pub(super) fn new(blocks: OwnedBlocks, num_rows: u64, num_hashes: u32) -> Self {
        Self { blocks, num_rows, num_hashes, row: PhantomData }
    }

    /// An empty table.
    ///
    /// # Errors
    ///
    /// [`crate::Error::OutOfMemory`].
    pub(super) fn empty(num_rows: u64, num_hashes: u32) -> Result<Self, Error> {
        Ok(Self::new(OwnedBlocks::zeroed(Self::blocks_of(num_rows))?, num_rows, num_hashes))
    }

    /// A copy.
    ///
    /// # Errors
    ///
    /// [`crate::Error::OutOfMemory`].
    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { blocks: OwnedBlocks::copy_of(self.blocks.as_ref())?, ..*self })
    }

    #[inline(always)]
    fn multipliers(&self) -> &'static [u64] {
        &positions::PROBE_MULTIPLIERS[..self.num_hashes as usize]
    }

    #[inline(always)]
    fn rows(&self) -> &[R] {
        bytemuck::cast_slice(self.blocks.as_ref())
    }

    /// Where row `row` is among the rows in the machine's order.
    #[inline(always)]
    const fn place(row: u64) -> usize {
        let reversed = if cfg!(target_endian = "big") { Self::ROWS_PER_WORD - 1 } else { 0 };
        (row ^ reversed) as usize
    }

    /// The place of a probe's row.
    #[inline(always)]
    fn position(&self, digest: Digest, multiplier: u64) -> usize {
        Self::place(positions::standard(digest, multiplier, self.num_rows))
    }

    /// The columns of `columns` that have the digest in the rows of `multipliers`; stops when none
    /// remains.
    #[inline(always)]
    fn columns_until_none(&self, digest: Digest, mut columns: R, multipliers: &[u64]) -> R {
        let rows = self.rows();
        for &multiplier in multipliers {
            columns = columns & rows[self.position(digest, multiplier)];
            if columns.into() == 0 {
                break;
            }
        }
        columns
    }

    /// The columns of `mask` that have the digest.
    #[inline(always)]
    pub(super) fn columns(&self, digest: Digest, mask: u64) -> u64 {
        if !simd::fits_cache(self.blocks.as_ref().len()) {
            return self.columns_until_none(digest, R::of(mask), self.multipliers()).into();
        }
        // In the cache a mispredicted branch costs more than the rows it saves.
        let rows = self.rows();
        let all = self.multipliers().iter().fold(R::of(mask), |columns, &multiplier| {
            columns & rows[self.position(digest, multiplier)]
        });
        all.into()
    }

    /// Puts the digest into the column of `bit`; returns the columns that had it before.
    #[inline(always)]
    pub(super) fn insert(&mut self, digest: Digest, bit: u64) -> u64 {
        let mut columns = R::of(Self::ALL);
        for &multiplier in self.multipliers() {
            let position = self.position(digest, multiplier);
            let row = &mut self.rows_mut()[position];
            columns = columns & *row;
            *row |= R::of(bit);
        }
        columns.into()
    }

    /// Puts the digest into the column of `bit`.
    #[inline(always)]
    pub(super) fn set(&mut self, digest: Digest, bit: u64) {
        for &multiplier in self.multipliers() {
            let position = self.position(digest, multiplier);
            self.rows_mut()[position] |= R::of(bit);
        }
    }

    #[inline(always)]
    fn rows_mut(&mut self) -> &mut [R] {
        bytemuck::cast_slice_mut(self.blocks.as_mut())
    }

    #[inline(always)]
    fn prefetch(&self, digest: Digest, multipliers: &[u64]) {
        for &multiplier in multipliers {
            simd::prefetch(self.rows(), self.position(digest, multiplier));
        }
    }

    /// Calls `insert` for each digest in order, with the cache lines of a group requested together.
    /// `table` returns the table of `filter`, which `insert` changes.
    pub(super) fn insert_batch<F>(
        filter: &mut F,
        table: impl Fn(&F) -> &Self,
        digests: &[Digest],
        mut insert: impl FnMut(&mut F, usize, Digest),
    ) {
        for (group_index, group) in digests.chunks(GROUP).enumerate() {
            let table = table(filter);
            if !simd::fits_cache(table.blocks.as_ref().len()) {
                for &digest in group {
                    for &multiplier in table.multipliers() {
                        simd::prefetch_write(table.rows(), table.position(digest, multiplier));
                    }
                }
            }
            for (i, &digest) in group.iter().enumerate() {
                insert(filter, group_index * GROUP + i, digest);
            }
        }
    }

    /// Sets bit `i` of `found` if a column of `mask` has `digests[i]`.
    pub(super) fn contains_batch(&self, digests: &[Digest], mask: u64, found: &mut [u64]) {
        if simd::fits_cache(self.blocks.as_ref().len()) {
            for (i, &digest) in digests.iter().enumerate() {
                found[i / 64] |= u64::from(self.columns(digest, mask) != 0) << (i % 64);
            }
            return;
        }
        let first = &self.multipliers()[..FIRST_ROWS.min(self.num_hashes as usize)];
        let mut groups = digests.chunks(GROUP);
        let mut next = groups.next();
        for &digest in next.unwrap_or_default() {
            self.prefetch(digest, first);
        }
        let mut start = 0;
        while let Some(group) = next {
            next = groups.next();
            for &digest in next.unwrap_or_default() {
                self.prefetch(digest, first);
            }
            found[start / 64] |= self.contains_group(group, mask) << (start % 64);
            start += GROUP;
        }
    }

    /// Answers a group whose first rows were requested, in two rounds.
    fn contains_group(&self, digests: &[Digest], mask: u64) -> u64 {
        let (first, rest) = self.multipliers().split_at(FIRST_ROWS.min(self.num_hashes as usize));
        let mut columns = [R::of(0); GROUP];
        for (columns, &digest) in columns.iter_mut().zip(digests) {
            *columns = self.columns_until_none(digest, R::of(mask), first);
            if (*columns).into() != 0 {
                self.prefetch(digest, rest);
            }
        }
        let mut found = 0;
        for (i, (&columns, &digest)) in columns.iter().zip(digests).enumerate() {
            if columns.into() != 0 {
                let columns = self.columns_until_none(digest, columns, rest);
                found |= u64::from(columns.into() != 0) << i;
            }
        }
        found
    }

    pub(super) fn num_blocks(&self) -> u64 {
        self.blocks.as_ref().len() as u64
    }

    /// The bits of all columns.
    pub(super) const fn num_bits(&self) -> u64 {
        self.num_rows * R::COLUMNS as u64
    }

    pub(super) const fn num_bytes(&self) -> u64 {
        Self::blocks_of(self.num_rows) * 64
    }

    /// Clears the columns of `columns` in the blocks `from..to`.
    #[inline]
    pub(super) fn clear_columns(&mut self, columns: u64, from: u64, to: u64) {
        let keep = !Self::in_every_row(columns);
        for block in &mut self.blocks.as_mut()[from as usize..to as usize] {
            for lane in &mut block.0 {
                *lane &= keep;
            }
        }
    }

    /// The set bits of the columns of `columns` in the blocks `from..to`.
    pub(super) fn count_ones(&self, columns: u64, from: u64, to: u64) -> u64 {
        let mask = Self::in_every_row(columns);
        let words = block::words(&self.blocks.as_ref()[from as usize..to as usize]);
        simd::with_popcount(
            #[inline(always)]
            || {
                let mut ones = 0;
                for word in words {
                    ones += u64::from((word & mask).count_ones());
                }
                ones
            },
        )
    }

    /// Calls `f` with the columns of each row.
    pub(super) fn for_each_row(&self, mut f: impl FnMut(u64)) {
        (0..self.num_rows).for_each(|row| f(self.row(row)));
    }

    /// The columns of a row.
    #[inline(always)]
    pub(super) fn row(&self, row: u64) -> u64 {
        self.rows()[Self::place(row)].into()
    }

    /// Whether every bit past the last row is 0.
    pub(super) fn is_zero_past_the_end(&self) -> bool {
        (self.num_rows..self.num_blocks() * Self::ROWS_PER_BLOCK).all(|row| self.row(row) == 0)
    }

    pub(super) fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }

    /// A word in which each row is `columns`.
    const fn in_every_row(columns: u64) -> u64 {
        // A one at the lowest bit of each row.
        columns * (u64::MAX / Self::ALL)
    }
}
