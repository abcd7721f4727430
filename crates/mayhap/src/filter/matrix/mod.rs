//! Which of many sets may hold a key: the type; `builder.rs` builds one, `query.rs` queries,
//! `change.rs` inserts and removes, `columns.rs` moves whole sets in and out, `stats.rs` counts,
//! `names.rs` are names of sets, `native.rs` saves, `sets.rs` is the answer and `shape.rs` the
//! positions.

mod builder;
mod change;
mod columns;
mod names;
mod native;
mod query;
mod sets;
mod shape;
mod stats;
#[cfg(test)]
mod tests;
pub(super) mod transpose;

pub use builder::MatrixBuilder;
pub use sets::Sets;

use crate::bits::{Block, OwnedBlocks, block};
use crate::{Digest, DigestFunction, Error, Key};
use alloc::vec::Vec;
use names::Names;
use shape::Shape;

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
/// and without huge pages: the number of rows matters, not that of pages.
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
