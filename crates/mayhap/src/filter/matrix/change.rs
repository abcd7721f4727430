//! Inserting, removing, adding sets; whole sets in and out, as columns of bits from and to the
//! blocks of filters.

use super::transpose::transpose;
use super::{BloomMatrix, PANEL_SETS};
use crate::bits::{Bitmap, Block, OwnedBlocks, block};
use crate::layout::Blocked;
use crate::{BlockedBloomFilter, Digest, Error, Filter, FilterParams, Key, Layout, simd};
use alloc::vec::Vec;

/// The number of keys whose rows are requested together.
const GROUP: usize = 16;

impl BloomMatrix {
    /// Inserts a key into a set; `true` if it is new there: surely not in the set before.
    ///
    /// Touches k cache lines.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, set: usize, key: &K) -> bool {
        self.insert_digest(set, self.digest_function.digest(key))
    }

    /// Like [`BloomMatrix::insert`], for a key that is already a digest.
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::insert`].
    #[inline]
    pub fn insert_digest(&mut self, set: usize, digest: Digest) -> bool {
        let place = self.place(set);
        let rows = self.panels[place.panel].as_mut();
        let mut before = u64::MAX;
        self.shape.for_each_row(digest, |row| {
            let word = &mut rows[row].0[place.word];
            before &= *word;
            *word |= 1 << place.shift;
        });
        let new = before >> place.shift & 1 == 0;
        let count = &mut self.counts_mut()[set];
        *count = count.saturating_add(new.into());
        new
    }

    /// Inserts many keys into a set, in order: bit `i` of the result is the answer of
    /// [`BloomMatrix::insert`] for `digests[i]`.
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::insert`].
    pub fn insert_digests(&mut self, set: usize, digests: &[Digest]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_digests_into(set, digests, &mut new);
        new
    }

    /// Like [`BloomMatrix::insert_digests`], but into a reused bitmap.
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::insert`].
    pub fn insert_digests_into(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap) {
        let panel = self.place(set).panel;
        let words = new.reset(digests.len());
        let fetch = !simd::fits_cache(self.shape.num_bits() as usize);
        for (group, digests) in digests.chunks(GROUP).enumerate() {
            if fetch {
                let rows = self.panels[panel].as_ref();
                for &digest in digests {
                    self.shape.for_each_row(digest, |row| simd::prefetch_write(rows, row));
                }
            }
            for (i, &digest) in digests.iter().enumerate() {
                let i = group * GROUP + i;
                words[i / 64] |= u64::from(self.insert_digest(set, digest)) << (i % 64);
            }
        }
    }

    /// Inserts many keys into a set, as [`BloomMatrix::insert_digests`].
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::insert`].
    pub fn insert_batch<K: Key>(&mut self, set: usize, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        let function = self.digest_function;
        super::super::for_each_digest_chunk(&function, keys, &mut new, |digests, words| {
            let chunk = self.insert_digests(set, digests);
            words.copy_from_slice(chunk.as_words());
        });
        new
    }

    /// Forgets every key of a set; its number stays and can be reused. All other sets keep their
    /// numbers.
    ///
    /// A pass over all rows of the set's panel: [`BloomMatrix::num_bits`] cache lines, in order.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn remove_set(&mut self, set: usize) {
        let place = self.place(set);
        for row in self.panels[place.panel].as_mut() {
            row.0[place.word] &= !(1 << place.shift);
        }
        self.counts_mut()[set] = 0;
    }

    /// Replaces the contents of a set by the keys with these digests.
    ///
    /// The new column is built separately, in `num_bits` bits, and then written in one pass over
    /// the panel's rows. Until that pass the set is unchanged, even if `digests` panics.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], changing nothing.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut caches = mayhap::BloomMatrix::builder()
    ///     .num_sets(10)
    ///     .expected_items(100)
    ///     .target_fpp(1e-4)
    ///     .build()?;
    /// caches.insert(3, "old");
    /// let digest = caches.digest("new");
    /// caches.replace_set(3, [digest])?;
    /// assert!(caches.contains(3, "new") && !caches.contains(3, "old"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn replace_set(
        &mut self,
        set: usize,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<(), Error> {
        self.place(set);
        let mut column = OwnedBlocks::zeroed(self.shape.num_bits().div_ceil(Block::BITS))?;
        let words = block::words_mut(column.as_mut());
        let mut inserted_items = 0u64;
        for digest in digests {
            let mut missing = 0;
            self.shape.for_each_bit(digest, |lane, bit| {
                missing |= !words[lane] & 1 << bit;
                words[lane] |= 1 << bit;
            });
            inserted_items += u64::from(missing != 0);
        }
        self.write_columns(set, &[words]);
        self.counts_mut()[set] = inserted_items;
        Ok(())
    }

    /// Adds `more` empty sets with the next numbers; a new panel for each 512.
    ///
    /// # Errors
    ///
    /// Changing nothing: [`Error::OutOfRange`] above [`BloomMatrix::MAX_SETS`]; [`Error::TooLarge`]
    /// above the builder's `max_bytes`; [`Error::OutOfMemory`].
    pub fn add_sets(&mut self, more: usize) -> Result<(), Error> {
        let num_sets = self.num_sets().saturating_add(more);
        Error::check_range("num_sets", 1..=Self::MAX_SETS as u64, num_sets as u64)?;
        let num_panels = num_sets.div_ceil(PANEL_SETS);
        let bytes = self.shape.panel_bytes().saturating_mul(num_panels as u64);
        Error::check_limit("matrix bytes", self.max_bytes, bytes)?;
        let new_panels = (self.panels.len()..num_panels)
            .map(|_| OwnedBlocks::zeroed(self.shape.num_bits()))
            .collect::<Result<Vec<_>, _>>()?;
        self.panels.extend(new_panels);
        self.counts.resize(num_sets.div_ceil(8), Block::default());
        self.num_sets = num_sets;
        self.names.grow(num_sets);
        Ok(())
    }

    /// Forgets every key of every set.
    pub fn clear(&mut self) {
        for rows in &mut self.panels {
            rows.as_mut().fill(Block::default());
        }
        self.counts.fill(Block::default());
    }
}

/// Rows of a lane, and columns of a word.
const TILE: usize = 64;
/// Lanes that are read from a column at once: 256 bytes. There are many columns, far apart and
/// often allocated with the same alignment, so that corresponding words fall into the same cache
/// sets and evict one another before a neighbour is read.
const STRETCH: usize = 32;

impl BloomMatrix {
    /// Builds a matrix whose sets are these filters, all of the same shape and digest function: set
    /// `i` is `filters[i]`. `expected_items` and `target_fpp` are taken from the first one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for no filters or more than [`BloomMatrix::MAX_SETS`], or if their k
    /// is 4; [`Error::Incompatible`] if they differ in m, k or digest; [`Error::OutOfMemory`].
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

    /// Like [`BloomMatrix::set_columns_from`], for one set.
    ///
    /// # Errors
    ///
    /// Same as [`BloomMatrix::set_columns_from`].
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

    /// Overwrites the columns from `first_set` on with these, one bit per row each. They may be
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
