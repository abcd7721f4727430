//! The table: rows of 16 or of 64 bits, one bit per generation.

use crate::bits::{Block, OwnedBlocks, block};
use crate::positions;
use crate::{Digest, Error, simd};

/// Keys whose cache lines are requested together.
const GROUP: usize = 32;
/// The rows of the first round for each key; the others are requested only if these answer "maybe".
/// With 15 half-full columns, one miss in five needs more than 6 rows.
const FIRST_ROWS: usize = 6;

/// With c columns a word has 64/c rows, the first one lowest: row r is the c bits from bit c · (r
/// mod 64/c) on of word r / (64/c), on every machine. Sets of columns are the low c bits of a
/// `u64`.
#[derive(Debug)]
pub(super) struct Table<const COLUMNS: u32> {
    pub(super) blocks: OwnedBlocks,
    pub(super) num_rows: u64,
    pub(super) num_hashes: u32,
}

impl<const COLUMNS: u32> Table<COLUMNS> {
    const ROWS_PER_WORD: u64 = 64 / COLUMNS as u64;
    /// Rows in a block: the same number in each of its eight lanes.
    const ROWS_PER_BLOCK: u64 = 8 * Self::ROWS_PER_WORD;
    /// All columns.
    const ALL: u64 = u64::MAX >> (64 - COLUMNS);

    /// The blocks for this many rows.
    pub(super) const fn blocks_of(num_rows: u64) -> u64 {
        num_rows.div_ceil(Self::ROWS_PER_BLOCK)
    }

    /// An empty table.
    ///
    /// # Errors
    ///
    /// [`crate::Error::OutOfMemory`].
    pub(super) fn empty(num_rows: u64, num_hashes: u32) -> Result<Self, Error> {
        let blocks = OwnedBlocks::zeroed(Self::blocks_of(num_rows))?;
        Ok(Self { blocks, num_rows, num_hashes })
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

    /// The position of a probe's row: its word, and how far to shift it right.
    #[inline(always)]
    fn position(&self, digest: Digest, multiplier: u64) -> (usize, u32) {
        let row = positions::standard(digest, multiplier, self.num_rows);
        ((row / Self::ROWS_PER_WORD) as usize, (row % Self::ROWS_PER_WORD) as u32 * COLUMNS)
    }

    /// The columns of `mask` that have the digest in the rows of `multipliers`; stops when none
    /// remains.
    #[inline(always)]
    fn columns_until_none(
        &self,
        words: &[u64],
        digest: Digest,
        mask: u64,
        multipliers: &[u64],
    ) -> u64 {
        let mut columns = mask;
        for &multiplier in multipliers {
            let (word, shift) = self.position(digest, multiplier);
            columns &= words[word] >> shift;
            if columns == 0 {
                break;
            }
        }
        columns
    }

    /// The columns of `mask` that have the digest.
    #[inline(always)]
    pub(super) fn columns(&self, digest: Digest, mask: u64) -> u64 {
        let words = block::words(self.blocks.as_ref());
        if !simd::fits_cache(self.blocks.as_ref().len()) {
            return self.columns_until_none(words, digest, mask, self.multipliers());
        }
        // In the cache a mispredicted branch costs more than the rows it saves.
        self.multipliers().iter().fold(mask, |columns, &multiplier| {
            let (word, shift) = self.position(digest, multiplier);
            columns & words[word] >> shift
        })
    }

    /// Puts the digest into the column of `bit`; returns the columns that had it before.
    #[inline(always)]
    pub(super) fn insert(&mut self, digest: Digest, bit: u64) -> u64 {
        let mut columns = Self::ALL;
        for &multiplier in self.multipliers() {
            let (word, shift) = self.position(digest, multiplier);
            let word = &mut block::words_mut(self.blocks.as_mut())[word];
            columns &= *word >> shift;
            *word |= bit << shift;
        }
        columns
    }

    /// Puts the digest into the column of `bit`.
    #[inline(always)]
    pub(super) fn set(&mut self, digest: Digest, bit: u64) {
        for &multiplier in self.multipliers() {
            let (word, shift) = self.position(digest, multiplier);
            block::words_mut(self.blocks.as_mut())[word] |= bit << shift;
        }
    }

    #[inline(always)]
    fn prefetch(&self, digest: Digest, multipliers: &[u64]) {
        for &multiplier in multipliers {
            simd::prefetch(block::words(self.blocks.as_ref()), self.position(digest, multiplier).0);
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
                let words = block::words(table.blocks.as_ref());
                for &digest in group {
                    for &multiplier in table.multipliers() {
                        simd::prefetch_write(words, table.position(digest, multiplier).0);
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
        let words = block::words(self.blocks.as_ref());
        let (first, rest) = self.multipliers().split_at(FIRST_ROWS.min(self.num_hashes as usize));
        let mut columns = [0; GROUP];
        for (columns, &digest) in columns.iter_mut().zip(digests) {
            *columns = self.columns_until_none(words, digest, mask, first);
            if *columns != 0 {
                self.prefetch(digest, rest);
            }
        }
        let mut found = 0;
        for (i, (&columns, &digest)) in columns.iter().zip(digests).enumerate() {
            if columns != 0 {
                let columns = self.columns_until_none(words, digest, columns, rest);
                found |= u64::from(columns != 0) << i;
            }
        }
        found
    }

    pub(super) fn num_blocks(&self) -> u64 {
        self.blocks.as_ref().len() as u64
    }

    /// The bits of all columns.
    pub(super) const fn num_bits(&self) -> u64 {
        self.num_rows * COLUMNS as u64
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
        let word = block::words(self.blocks.as_ref())[(row / Self::ROWS_PER_WORD) as usize];
        word >> (row % Self::ROWS_PER_WORD * u64::from(COLUMNS)) & Self::ALL
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
