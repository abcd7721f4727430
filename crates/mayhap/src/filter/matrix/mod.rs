//! Which of many sets may hold a key: the type, its names and its statistics; `builder.rs` builds
//! one, `query.rs` queries, `change.rs` inserts, removes, and moves whole sets in and out,
//! `names.rs` keeps names of sets, `native.rs` saves, `sets.rs` is the answer and `shape.rs` the
//! positions, `transpose.rs` turns rows of bits into columns.

mod builder;
mod change;
mod names;
mod native;
mod query;
mod sets;
mod shape;
#[cfg(test)]
mod tests;
pub(super) mod transpose;

pub use builder::MatrixBuilder;
pub use sets::Sets;

use crate::bits::{Block, OwnedBlocks, block};
use crate::sizing::matrix as sizing;
use crate::{Digest, DigestFunction, Error, Estimate, Health, Key, simd};
use alloc::vec;
use alloc::vec::Vec;
use names::Names;
use shape::Shape;
use transpose::transpose;

/// Sets in a panel: the bits of a cache line.
const PANEL_SETS: usize = 512;

/// Finds which of N sets (caches, shards, days) may hold a key, all in one pass.
///
/// The transpose of N Bloom filters: a row is one cache line and bit `s` of it belongs to set `s`.
/// A key has k rows, the same in every set, and the sets that may hold it are the AND of them: 512
/// sets for k cache lines, while 512 filters would need 512 lines. More sets take further *panels*
/// of 512.
///
/// # Layout
///
/// The rows of a panel are `num_groups` groups of `min(k, 8)` lanes of 64 rows. A key's group is
/// `mulhi(digest, num_groups)`, and in each lane its row is numbered like the bit of
/// [`crate::Blocked`] in that lane of its block (two rows for k = 16). So with k = 8 or 16 a set
/// *is* a [`BlockedBloomFilter`]: [`BloomMatrix::set_columns_from`] loads saved ones and
/// [`BloomMatrix::column`] returns one. But the time of a query depends on its rows, so unless k is
/// given the matrix uses the fewest rows that cost at most a tenth more bits: 5 at 1 %
/// ([`crate::sizing::matrix`]).
///
/// The rows of a key lie within `min(k, 8)` × 4 KiB, in a single 2 MiB page if the system has them.
/// Groups of 64 rows, one 4 KiB page, cost 15 % more bits at 1 % with k = 5 (11.84 per key), and
/// for fewer bits than that (11.07) 4 rows in lanes of 64 took the same time within a tenth, with
/// and without huge pages: the number of rows matters, not the number of pages.
///
/// # Memory, cache lines, threads
///
/// `num_bits` rows × 64 bytes per panel, full or not: a matrix pays off from about a hundred sets
/// on. At 1 % that is 10.3 bits per key and set. [`BloomMatrix::which`] touches k lines per panel,
/// and so do insertions (writing one bit of each); changing a whole column passes over all rows of
/// its panel. Any number of threads may query at once; changes need `&mut`, so no thread sees half
/// of one.
///
/// [`BlockedBloomFilter`]: crate::BlockedBloomFilter
///
/// # Examples
///
/// ```
/// use mayhap::BloomMatrix;
///
/// let builder = BloomMatrix::builder().num_sets(300).expected_items(1000).target_fpp(1e-3);
/// let mut caches = builder.build()?;
/// assert!(caches.insert(7, "https://example.org/logo.png"));
/// assert!(caches.insert(299, "https://example.org/logo.png"));
/// let which = caches.which("https://example.org/logo.png");
/// assert_eq!(which.iter().collect::<Vec<_>>(), [7, 299]);
///
/// caches.remove_set(7); // that server restarted
/// let which = caches.which("https://example.org/logo.png");
/// assert_eq!(which.iter().collect::<Vec<_>>(), [299]);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub struct BloomMatrix {
    shape: Shape,
    digest_function: DigestFunction,
    /// Rows of 512 sets each; all panels have the same number of rows.
    panels: Vec<OwnedBlocks>,
    num_sets: usize,
    /// Insertions that were new, per set, as words of blocks, as in a file.
    counts: Vec<Block>,
    names: Names,
    max_bytes: u64,
}

impl BloomMatrix {
    /// The largest number of sets: 2^20.
    pub const MAX_SETS: usize = 1 << 20;

    /// Returns a builder for a matrix.
    pub fn builder() -> MatrixBuilder {
        MatrixBuilder::new()
    }

    fn empty(
        shape: Shape,
        digest_function: DigestFunction,
        num_sets: usize,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let (panels, counts, names) = (Vec::new(), Vec::new(), Names::default());
        let mut matrix =
            Self { shape, digest_function, panels, num_sets: 0, counts, names, max_bytes };
        matrix.add_sets(num_sets)?;
        Ok(matrix)
    }

    /// The number of sets.
    pub const fn num_sets(&self) -> usize {
        self.num_sets
    }

    /// The bits of one set, which is also the number of rows of a panel.
    pub const fn num_bits(&self) -> u64 {
        self.shape.num_bits()
    }

    /// k, the number of rows of a key.
    pub const fn num_hashes(&self) -> u32 {
        self.shape.num_hashes
    }

    /// The groups of rows; for k = 8 and 16 the blocks of a [`crate::BlockedBloomFilter`] of this
    /// shape.
    pub const fn num_groups(&self) -> u64 {
        self.shape.num_groups
    }

    /// n, the number of distinct keys that each set was sized for.
    pub const fn expected_items(&self) -> u64 {
        self.shape.expected_items
    }

    /// p, the promised false-positive probability of each set at `expected_items`.
    pub const fn target_fpp(&self) -> f64 {
        self.shape.target_fpp
    }

    /// Bytes of memory that the rows take.
    pub fn num_bytes(&self) -> u64 {
        self.panels.len() as u64 * self.shape.panel_bytes()
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The digest of a key, for querying several matrices and filters with the same digest function
    /// at the cost of one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// The rows of the panels, first that of sets 0 to 511: bit `s % 512` of a row of panel `s /
    /// 512` belongs to set `s`.
    pub fn panels(&self) -> impl ExactSizeIterator<Item = &[Block]> {
        self.panels.iter().map(AsRef::as_ref)
    }

    /// Sets a limit on growth by [`BloomMatrix::add_sets`]. It is not stored in files.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    fn counts(&self) -> &[u64] {
        &block::words(&self.counts)[..self.num_sets]
    }

    #[inline]
    fn counts_mut(&mut self) -> &mut [u64] {
        &mut block::words_mut(&mut self.counts)[..self.num_sets]
    }

    /// The panel of a set, and the word of its rows and the bit of that word that belong to the
    /// set.
    ///
    /// # Panics
    ///
    /// If `set` is not below `num_sets`.
    #[inline]
    fn place(&self, set: usize) -> Place {
        assert!(set < self.num_sets(), "set {set} of a matrix of {}", self.num_sets());
        let (panel, column) = (set / PANEL_SETS, set % PANEL_SETS);
        Place { panel, word: column / 64, shift: (column % 64) as u32 }
    }

    /// The most bytes that the name of a set may have: 4,096.
    pub const MAX_NAME_BYTES: usize = 4096;

    /// The name of a set; `None` if the sets have none ([`BloomMatrix::set_names`]).
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn name(&self, set: usize) -> Option<&str> {
        self.place(set);
        self.names.get(set)
    }

    /// Names all sets, in order, for example after files, servers or days. Files keep them; answers
    /// do not depend on them. Sets that are added later are named "". An empty list removes the
    /// names.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] unless there is a name for each set, of at most
    /// [`BloomMatrix::MAX_NAME_BYTES`]; [`Error::BadField`] for one with a zero byte. The names are
    /// as before.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::BloomMatrix;
    ///
    /// let builder = BloomMatrix::builder().num_sets(2).expected_items(100).target_fpp(0.01);
    /// let mut caches = builder.build()?;
    /// assert_eq!(caches.name(1), None);
    /// caches.set_names(&["east", "west"])?;
    /// caches.insert(1, "https://example.org/logo.png");
    /// let which = caches.which("https://example.org/logo.png");
    /// assert_eq!(which.iter().filter_map(|set| caches.name(set)).collect::<Vec<_>>(), ["west"]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn set_names<T: AsRef<str>>(&mut self, names: &[T]) -> Result<(), Error> {
        self.names = Names::new(self.num_sets(), names)?;
        Ok(())
    }
    /// Checks that the bits and counts of sets beyond the last are 0.
    fn check_unused(&self) -> Result<(), Error> {
        let counts = crate::bits::block::words(&self.counts);
        if let Some(&found) = counts[self.num_sets..].iter().find(|&&count| count != 0) {
            return Err(Error::BadField { field: "counts past num_sets", found });
        }
        let used = self.num_sets % PANEL_SETS;
        if used == 0 {
            return Ok(());
        }
        let unused: [u64; 8] = core::array::from_fn(|word| match used.saturating_sub(word * 64) {
            0 => u64::MAX,
            used @ 1..64 => u64::MAX << used,
            _ => 0,
        });
        let mut any = [0; 8];
        for row in self.panels.last().map_or(&[][..], AsRef::as_ref) {
            for (any, word) in any.iter_mut().zip(row.0) {
                *any |= word;
            }
        }
        match any.iter().zip(unused).find(|(any, unused)| *any & unused != 0) {
            None => Ok(()),
            Some((any, unused)) => {
                Err(Error::BadField { field: "bits past num_sets", found: any & unused })
            }
        }
    }
}

impl core::fmt::Debug for BloomMatrix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BloomMatrix")
            .field("shape", &self.shape)
            .field("digest_function", &self.digest_function)
            .field("num_sets", &self.num_sets)
            .finish_non_exhaustive()
    }
}

/// The position of a set's bits.
#[derive(Clone, Copy)]
struct Place {
    panel: usize,
    /// The word of each row.
    word: usize,
    /// The bit of that word.
    shift: u32,
}

impl BloomMatrix {
    /// The insertions into a set answered "new": fewer than its distinct keys, since false
    /// positives are not counted.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`]; this holds for all methods that take a set.
    pub fn inserted_items(&self, set: usize) -> u64 {
        self.counts()[set]
    }

    /// The mean number of distinct keys inserted into a set, as
    /// [`crate::FilterParams::distinct_items`]. Reads no rows.
    pub fn distinct_items(&self, set: usize) -> u64 {
        self.distinct_of(self.inserted_items(set))
    }

    fn distinct_of(&self, inserted: u64) -> u64 {
        libm::round(self.shape.intake().distinct(inserted as f64)) as u64
    }

    /// The share of a set's bits that are set. Reads all rows of its panel.
    pub fn fill_ratio(&self, set: usize) -> f64 {
        self.ones(set) as f64 / self.num_bits() as f64
    }

    /// The number of distinct keys estimated from a set's bits, with a 99 % interval. Reads all
    /// rows of its panel.
    pub fn estimated_items(&self, set: usize) -> Estimate {
        let (groups, lanes) = (self.num_groups(), self.shape.lanes() as u32);
        Estimate::from_lane_ones(groups, lanes, self.num_hashes(), self.ones(set))
    }

    /// The predicted false-positive probability of a set with `items` distinct keys
    /// ([`crate::sizing::matrix::expected_fpp`]).
    pub fn expected_fpp(&self, items: u64) -> f64 {
        sizing::expected_fpp(self.num_groups(), self.num_hashes(), items)
    }

    /// Whether a set still keeps its promise, by its count, as [`Health::of_inserted`]. Reads no
    /// rows.
    pub fn health_by_count(&self, set: usize) -> Health {
        let inserted = self.inserted_items(set);
        Health::of_intake(&self.shape.intake(), inserted, self.expected_items())
    }

    /// Whether a set still keeps its promise, as [`crate::Filter::health`]. Reads all rows of its
    /// panel; [`BloomMatrix::health_by_count`] reads none.
    pub fn health(&self, set: usize) -> Health {
        let by_bits = self.estimated_items(set).health(self.expected_items());
        by_bits.max(self.health_by_count(set))
    }

    /// The mean number of sets wrongly reported for a key that no set holds: the sum of
    /// [`BloomMatrix::expected_fpp`] over the sets' [`BloomMatrix::distinct_items`]. At most p × N
    /// while every set has at most `expected_items`. Reads no rows.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut matrix = mayhap::BloomMatrix::builder()
    ///     .num_sets(200)
    ///     .expected_items(1000)
    ///     .target_fpp(0.01)
    ///     .build()?;
    /// assert_eq!(matrix.expected_wrong_sets(), 0.0);
    /// for set in 0..100 {
    ///     matrix.insert_batch(set, &(0..1000).map(|i| i * 200 + set).collect::<Vec<_>>());
    /// }
    /// // 100 full sets of the 200, each wrong for at most 1 % of the absent keys.
    /// assert!((0.9..1.0).contains(&matrix.expected_wrong_sets()));
    /// assert!((0.9..1.0).contains(&matrix.estimated_wrong_sets()));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn expected_wrong_sets(&self) -> f64 {
        let mut last = (0, 0.0);
        let fpp = |&items: &u64| {
            // Equal loads are common, and the model is a sum of hundreds of terms.
            if items != last.0 {
                last = (items, self.expected_fpp(self.distinct_of(items)));
            }
            last.1
        };
        self.counts().iter().map(fpp).sum()
    }

    /// The *current* false-positive probability of every set, from the bits themselves: exact for
    /// these contents, the mean over groups of the product over lanes of (ones/64)^(k/lanes). Reads
    /// all rows.
    pub fn estimated_fpps(&self) -> Vec<f64> {
        let mut fpps = vec![0.0; self.panels.len() * PANEL_SETS];
        for (rows, fpps) in self.panels.iter().zip(fpps.chunks_exact_mut(PANEL_SETS)) {
            // Without a branch or a separate iterator function: see `with_popcount`.
            simd::with_popcount(
                #[inline(always)]
                || {
                    for group in rows.as_ref().chunks_exact(self.shape.lanes() * 64) {
                        for word in 0..8 {
                            self.add_group_fpps(group, word, &mut fpps[word * 64..][..64]);
                        }
                    }
                },
            );
        }
        fpps.truncate(self.num_sets());
        for fpp in &mut fpps {
            *fpp /= self.num_groups() as f64;
        }
        fpps
    }

    /// Adds the probabilities that a group answers "maybe" for an absent key, for the 64 sets of a
    /// word.
    #[inline(always)]
    fn add_group_fpps(&self, group: &[crate::Block], word: usize, fpps: &mut [f64]) {
        let mut products = [1.0; 64];
        for rows in group.chunks_exact(64) {
            let mut tile = [0u64; 64];
            for (tile, row) in tile.iter_mut().zip(rows) {
                *tile = row.0[word];
            }
            transpose(&mut tile);
            for (product, column) in products.iter_mut().zip(tile) {
                *product *= f64::from(column.count_ones()) / 64.0;
            }
        }
        for (fpp, product) in fpps.iter_mut().zip(products) {
            *fpp += if self.num_hashes() == 16 { product * product } else { product };
        }
    }

    /// The mean number of sets wrongly reported for a key that no set holds, from the bits
    /// themselves: the sum of [`BloomMatrix::estimated_fpps`]. Reads all rows.
    pub fn estimated_wrong_sets(&self) -> f64 {
        self.estimated_fpps().iter().sum()
    }

    fn ones(&self, set: usize) -> u64 {
        let place = self.place(set);
        let rows = self.panels[place.panel].as_ref();
        rows.iter().map(|row| row.0[place.word] >> place.shift & 1).sum()
    }
}
