//! Whole sets in and out: columns of bits from and to the blocks of filters.

use super::transpose::transpose;
use super::{BloomMatrix, PANEL_SETS};
use crate::bits::{Block, OwnedBlocks, block};
use crate::layout::Blocked;
use crate::{BlockedBloomFilter, Error, Filter, FilterParams, Layout};
use alloc::vec::Vec;

/// Rows of a lane, and columns of a word.
const TILE: usize = 64;
/// Lanes that are read from a column at once: 256 bytes. There are many columns, far apart and
/// often allocated with the same alignment, so that corresponding words fall into the same cache
/// sets and evict one another before a neighbour is read.
const STRETCH: usize = 32;

impl BloomMatrix {
    /// Builds a matrix whose sets are these filters, all of the same shape and digest function: set
    /// `i` is `filters[i]`. `expected_items` and `target_fpp` are those of the first one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if there are none or more than [`BloomMatrix::MAX_SETS`], or if their
    /// k is 4; [`Error::Incompatible`] if they differ in m, k or digest; [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, BloomMatrix};
    ///
    /// let build = || BlockedBloomFilter::builder().expected_items(100).target_fpp(1e-4).build();
    /// let (mut a, mut b) = (build()?, build()?);
    /// a.insert("only in a");
    /// b.insert("only in b");
    /// let matrix = BloomMatrix::from_filters(&[&a, &b])?;
    /// assert_eq!(matrix.which("only in b").iter().collect::<Vec<_>>(), [1]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn from_filters<S: AsRef<[Block]>>(filters: &[&Filter<Blocked, S>]) -> Result<Self, Error> {
        let builder = Self::builder().num_sets(filters.len());
        let Some(first) = filters.first() else {
            let max = Self::MAX_SETS as u64;
            return Err(Error::OutOfRange { parameter: "filters", min: 1, max, found: 0 });
        };
        let builder = builder.like(first.params()).digest_function(*first.digest_function());
        // Checked before the memory is allocated.
        for filter in filters {
            first.check_compatible(filter)?;
        }
        let mut matrix = builder.build()?;
        matrix.set_columns_from(0, filters)?;
        Ok(matrix)
    }

    /// Replaces the sets from number `first_set` on by these filters, which must have the shape of
    /// a set (see [`super::MatrixBuilder::like`]) and the matrix's digest function. Bits are copied
    /// unchanged; no key is needed.
    ///
    /// Transposes 64 × 64 bits at a time: 512 filters at once cost little more than copying their
    /// bytes; a single one passes over all rows of its panel.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], and [`Error::OutOfRange`] unless k is 8 or 16, changing nothing.
    ///
    /// # Panics
    ///
    /// If a set is not below [`BloomMatrix::num_sets`].
    pub fn set_columns_from<S: AsRef<[Block]>>(
        &mut self,
        first_set: usize,
        filters: &[&Filter<Blocked, S>],
    ) -> Result<(), Error> {
        if filters.is_empty() {
            return Ok(());
        }
        self.place(first_set);
        self.place(first_set.saturating_add(filters.len() - 1));
        for filter in filters {
            let params = filter.params();
            Error::check_equal([
                ("num_hashes", self.num_hashes().into(), u64::from(params.num_hashes())),
                ("num_bits", self.num_bits(), params.num_bits()),
            ])?;
            crate::filter::check_same_digest(&self.digest_function, filter.digest_function())?;
        }
        self.shape.check_blocks()?;
        let columns: Vec<&[u64]> =
            filters.iter().map(|filter| block::words(filter.storage().as_ref())).collect();
        self.write_columns(first_set, &columns);
        for (count, filter) in self.counts_mut()[first_set..].iter_mut().zip(filters) {
            *count = filter.inserted_items();
        }
        Ok(())
    }

    /// [`BloomMatrix::set_columns_from`] for one set.
    ///
    /// # Errors
    ///
    /// As [`BloomMatrix::set_columns_from`].
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn set_column_from<S: AsRef<[Block]>>(
        &mut self,
        set: usize,
        filter: &Filter<Blocked, S>,
    ) -> Result<(), Error> {
        self.set_columns_from(set, &[filter])
    }

    /// A set as a separate filter, bit for bit the same. A pass over all rows of its panel.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless the matrix has 8 or 16 rows per key; [`Error::OutOfMemory`].
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn column(&self, set: usize) -> Result<BlockedBloomFilter, Error> {
        let place = self.place(set);
        let (n, p) = (self.expected_items(), self.target_fpp());
        self.shape.check_blocks()?;
        let params = FilterParams::new(Layout::Blocked, self.num_bits(), self.num_hashes(), n, p)?;
        let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        let lanes = self.panels[place.panel].as_ref().chunks_exact(TILE);
        for (word, rows) in block::words_mut(blocks.as_mut()).iter_mut().zip(lanes) {
            *word = rows
                .iter()
                .enumerate()
                .fold(0, |word, (i, row)| word | (row.0[place.word] >> place.shift & 1) << i);
        }
        Filter::from_parts(params, self.digest_function, blocks, self.inserted_items(set))
    }

    /// Writes columns, one bit per row each, in place of those from `first_set` on. They may be
    /// longer than the rows.
    pub(super) fn write_columns(&mut self, first_set: usize, columns: &[&[u64]]) {
        let (mut set, mut rest) = (first_set, columns);
        while !rest.is_empty() {
            let len = (PANEL_SETS - set % PANEL_SETS).min(rest.len());
            let (now, later) = rest.split_at(len);
            let panel = self.panels[set / PANEL_SETS].as_mut();
            write_panel_columns(panel, set % PANEL_SETS, now);
            (set, rest) = (set + len, later);
        }
    }
}

/// Columns that share a word of each row.
struct WordColumns<'a> {
    word: usize,
    shift: usize,
    columns: &'a [&'a [u64]],
}

/// Works on a stretch of lanes at a time, so that its rows stay in a near cache until all their
/// words are written.
fn write_panel_columns(panel: &mut [Block], first: usize, columns: &[&[u64]]) {
    let mut words = Vec::new();
    let (mut set, mut rest) = (first, columns);
    while !rest.is_empty() {
        let (now, later) = rest.split_at((TILE - set % TILE).min(rest.len()));
        words.push(WordColumns { word: set / TILE, shift: set % TILE, columns: now });
        (set, rest) = (set + now.len(), later);
    }
    let mut stretch = [[0; STRETCH]; TILE];
    for (i, rows) in panel.chunks_mut(STRETCH * TILE).enumerate() {
        for word in &words {
            word.write(i * STRETCH, rows, &mut stretch);
        }
    }
}

impl WordColumns<'_> {
    /// Writes the rows of the lanes from `first_lane` on.
    fn write(&self, first_lane: usize, rows: &mut [Block], stretch: &mut [[u64; STRETCH]; TILE]) {
        let lanes = rows.len() / TILE;
        for (copy, column) in stretch.iter_mut().zip(self.columns) {
            copy[..lanes].copy_from_slice(&column[first_lane..][..lanes]);
        }
        let others = !(u64::MAX >> (TILE - self.columns.len()) << self.shift);
        for (lane, rows) in rows.chunks_exact_mut(TILE).enumerate() {
            let mut tile = [0; TILE];
            for (word, column) in tile.iter_mut().zip(&stretch[..self.columns.len()]) {
                *word = column[lane];
            }
            transpose(&mut tile);
            for (row, bits) in rows.iter_mut().zip(tile) {
                let word = &mut row.0[self.word];
                *word = *word & others | bits << self.shift;
            }
        }
    }
}
