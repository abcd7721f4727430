//! The table: rows of 16 or of 64 bits, one bit per generation.

use crate::bits::{Block, OwnedBlocks, block};
use crate::positions;
use crate::simd::{self, Row};
use crate::{Digest, Error};

/// The number of keys whose cache lines are requested together.
const GROUP: usize = 32;

/// With c columns a word has 64/c rows, the first one lowest: row r is the c bits from bit c · (r
/// mod 64/c) on of word r / (64/c), on every machine. Sets of columns are the low c bits of a
/// `u64`.
#[derive(Debug)]
pub(super) struct Table<R: Row> {
    pub(super) blocks: OwnedBlocks,
    probes: simd::Rows<R>,
}

impl Table<u16> {
    /// Gives the columns other places: column c that of c − `by`, modulo 16.
    pub(super) fn rotate_columns_right(&mut self, by: u32) {
        let rows: &mut [u16] = bytemuck::cast_slice_mut(self.blocks.as_mut());
        for row in rows {
            *row = row.rotate_right(by);
        }
    }

    /// Adds the keys of one column to another.
    pub(super) fn copy_column(&mut self, from: u32, to: u32) {
        let rows: &mut [u16] = bytemuck::cast_slice_mut(self.blocks.as_mut());
        for row in rows {
            *row |= (*row >> from & 1) << to;
        }
    }
}

impl<R: Row> Table<R> {
    const ROWS_PER_BLOCK: u64 = Block::BITS / R::COLUMNS as u64;

    /// The blocks for this many rows.
    pub(super) const fn blocks_of(num_rows: u64) -> u64 {
        num_rows.div_ceil(Self::ROWS_PER_BLOCK)
    }

    /// The table of these blocks, which are as many as its rows need.
    pub(super) fn new(blocks: OwnedBlocks, num_rows: u64, num_hashes: u32) -> Self {
        Self { blocks, probes: simd::Rows::new(num_rows, num_hashes) }
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
        &positions::PROBE_MULTIPLIERS[..self.num_hashes() as usize]
    }

    #[inline(always)]
    fn rows(&self) -> &[R] {
        bytemuck::cast_slice(self.blocks.as_ref())
    }

    /// The place of a probe's row.
    #[inline(always)]
    fn position(&self, digest: Digest, multiplier: u64) -> usize {
        simd::place::<R>(positions::standard(digest, multiplier, self.num_rows()))
    }

    /// The columns of `mask` that have the digest.
    #[inline(always)]
    pub(super) fn columns(&self, digest: Digest, mask: u64) -> u64 {
        self.probes.columns(self.rows(), digest, R::of(mask)).into()
    }

    /// Puts the digest into the column of `bit`; returns the columns that had it before.
    #[inline(always)]
    pub(super) fn insert(&mut self, digest: Digest, bit: u64) -> u64 {
        let rows = bytemuck::cast_slice_mut(self.blocks.as_mut());
        self.probes.insert(rows, digest, R::of(bit)).into()
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
            if !table.probes.is_near() {
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
        if self.probes.is_near() {
            for (i, &digest) in digests.iter().enumerate() {
                found[i / 64] |= u64::from(self.columns(digest, mask) != 0) << (i % 64);
            }
            return;
        }
        let first = &self.multipliers()[..simd::FIRST_ROWS.min(self.num_hashes() as usize)];
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
        let rows = self.rows();
        let rest = self.multipliers().get(simd::FIRST_ROWS..).unwrap_or_default();
        let mut columns = [R::NONE; GROUP];
        for (columns, &digest) in columns.iter_mut().zip(digests) {
            *columns = self.probes.first_columns(rows, digest, R::of(mask));
            if *columns != R::NONE {
                self.prefetch(digest, rest);
            }
        }
        let mut found = 0;
        for (i, (&columns, &digest)) in columns.iter().zip(digests).enumerate() {
            if columns != R::NONE {
                let columns = self.probes.other_columns(rows, digest, columns);
                found |= u64::from(columns != R::NONE) << i;
            }
        }
        found
    }

    pub(super) const fn num_rows(&self) -> u64 {
        self.probes.num_rows()
    }

    pub(super) const fn num_hashes(&self) -> u32 {
        self.probes.num_hashes()
    }

    pub(super) fn num_blocks(&self) -> u64 {
        self.blocks.as_ref().len() as u64
    }

    /// The bits of all columns.
    pub(super) const fn num_bits(&self) -> u64 {
        self.num_rows() * R::COLUMNS as u64
    }

    pub(super) const fn num_bytes(&self) -> u64 {
        Self::blocks_of(self.num_rows()) * 64
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
        (0..self.num_rows()).for_each(|row| f(self.row(row)));
    }

    /// The columns of a row.
    #[inline(always)]
    pub(super) fn row(&self, row: u64) -> u64 {
        self.rows()[simd::place::<R>(row)].into()
    }

    /// Rejects bits that only a faulty writer can have produced: bits past the last row, or in
    /// columns whose counts are 0, or in the spare column before `cursor`, where it is cleared.
    pub(super) fn check_clear(&self, counts: &[u64], spare: u32, cursor: u64) -> Result<(), Error> {
        let of_spare = counts[spare as usize];
        let is_cleared = cursor != self.num_blocks() || of_spare == 0;
        Error::check_field(is_cleared, "count of a cleared generation", of_spare)?;
        let columns = counts.iter().enumerate();
        let empty = columns.fold(0, |empty, (i, &count)| empty | u64::from(count == 0) << i);
        let found = self.count_ones(empty, 0, self.num_blocks());
        Error::check_field(found == 0, "bits of generations without keys", found)?;
        let found = self.count_ones(1 << spare, 0, cursor);
        Error::check_field(found == 0, "bits that were cleared", found)?;
        let mut past_end = self.num_rows()..self.num_blocks() * Self::ROWS_PER_BLOCK;
        Error::check_field(past_end.all(|row| self.row(row) == 0), "bits past num_bits", 1)
    }

    pub(super) fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }

    /// A word in which each row is `columns`.
    const fn in_every_row(columns: u64) -> u64 {
        // A one at the lowest bit of each row.
        columns * (u64::MAX / (u64::MAX >> (64 - R::COLUMNS)))
    }
}
