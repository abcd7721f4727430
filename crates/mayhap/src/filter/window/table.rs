//! The table: one 16-bit word per row, one bit per generation.

use crate::bits::{Block, OwnedBlocks, block};
use crate::layout::positions;
use crate::{Digest, simd};

/// Rows in a block: four in each of its eight lanes.
pub(super) const ROWS_PER_BLOCK: u64 = 32;
/// Keys whose cache lines are asked for together.
const GROUP: usize = 32;
/// Rows of a first look at each key; the others are asked for only where these say "maybe". With
/// 15 half-full columns one miss in five gets beyond 6 rows.
const FIRST_ROWS: usize = 6;

/// Row r is bits 16 · (r mod 4) to 16 · (r mod 4) + 15 of word r / 4, on every machine.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) blocks: OwnedBlocks,
    pub(super) num_rows: u64,
    pub(super) num_hashes: u32,
}

impl Table {
    #[inline(always)]
    fn multipliers(&self) -> &'static [u64] {
        &positions::PROBE_MULTIPLIERS[..self.num_hashes as usize]
    }

    /// Where a probe's row is: its word, and how far to shift it right.
    #[inline(always)]
    fn position(&self, digest: Digest, multiplier: u64) -> (usize, u32) {
        let row = positions::standard(digest, multiplier, self.num_rows);
        ((row / 4) as usize, (row % 4) as u32 * 16)
    }

    /// The columns of `mask` that have the digest in the rows of `multipliers`; stops when none is
    /// left.
    #[inline(always)]
    fn columns_until_none(
        &self,
        words: &[u64],
        digest: Digest,
        mask: u16,
        multipliers: &[u64],
    ) -> u16 {
        let mut columns = mask;
        for &multiplier in multipliers {
            let (word, shift) = self.position(digest, multiplier);
            columns &= (words[word] >> shift) as u16;
            if columns == 0 {
                break;
            }
        }
        columns
    }

    /// The columns of `mask` that have the digest.
    #[inline(always)]
    pub(super) fn columns(&self, digest: Digest, mask: u16) -> u16 {
        let words = block::words(self.blocks.as_ref());
        if !simd::fits_cache(self.blocks.as_ref().len()) {
            return self.columns_until_none(words, digest, mask, self.multipliers());
        }
        // In the cache a mispredicted branch costs more than the rows it saves.
        self.multipliers().iter().fold(mask, |columns, &multiplier| {
            let (word, shift) = self.position(digest, multiplier);
            columns & (words[word] >> shift) as u16
        })
    }

    /// Puts the digest into the column of `bit`; the columns that had it before.
    #[inline(always)]
    pub(super) fn insert(&mut self, digest: Digest, bit: u16) -> u16 {
        let mut columns = u16::MAX;
        for &multiplier in self.multipliers() {
            let (word, shift) = self.position(digest, multiplier);
            let word = &mut block::words_mut(self.blocks.as_mut())[word];
            columns &= (*word >> shift) as u16;
            *word |= u64::from(bit) << shift;
        }
        columns
    }

    #[inline(always)]
    fn prefetch(&self, digest: Digest, multipliers: &[u64]) {
        for &multiplier in multipliers {
            simd::prefetch(block::words(self.blocks.as_ref()), self.position(digest, multiplier).0);
        }
    }

    /// Calls `insert` for each digest in order, with the cache lines of a group asked for together.
    /// `table` tells where they are in `filter`, which `insert` changes.
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

    /// Sets bit `i` of `found` where a column of `mask` has `digests[i]`.
    pub(super) fn contains_batch(&self, digests: &[Digest], mask: u16, found: &mut [u64]) {
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

    /// Answers a group whose first rows were asked for, in two rounds.
    fn contains_group(&self, digests: &[Digest], mask: u16) -> u64 {
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

    /// Clears the columns of `columns` in the blocks `from..to`.
    #[inline]
    pub(super) fn clear_columns(&mut self, columns: u16, from: u64, to: u64) {
        let keep = !in_every_row(columns);
        for block in &mut self.blocks.as_mut()[from as usize..to as usize] {
            for lane in &mut block.0 {
                *lane &= keep;
            }
        }
    }

    /// The set bits of the columns of `columns` in the blocks `from..to`.
    pub(super) fn count_ones(&self, columns: u16, from: u64, to: u64) -> u64 {
        let mask = in_every_row(columns);
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

    /// How many rows have each of the 65,536 values.
    pub(super) fn count_values(&self, mut count: impl FnMut(u16)) {
        let words = block::words(self.blocks.as_ref());
        for row in 0..self.num_rows {
            count((words[(row / 4) as usize] >> (row % 4 * 16)) as u16);
        }
    }

    /// Whether every bit past the last row is 0.
    pub(super) fn is_zero_past_the_end(&self) -> bool {
        let words = block::words(self.blocks.as_ref());
        (self.num_rows..self.num_blocks() * ROWS_PER_BLOCK)
            .all(|row| (words[(row / 4) as usize] >> (row % 4 * 16)) as u16 == 0)
    }

    pub(super) fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
    }
}

/// A word in which each of the four rows is `columns`.
const fn in_every_row(columns: u16) -> u64 {
    columns as u64 * 0x0001_0001_0001_0001
}
