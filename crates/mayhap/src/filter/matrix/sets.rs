//! The answer of a matrix: a set of sets.

use alloc::vec::Vec;

/// Which sets of a [`crate::BloomMatrix`] may hold a key: one bit per set.
///
/// # Examples
///
/// ```
/// use mayhap::{BloomMatrix, Sets};
///
/// let builder = BloomMatrix::builder().num_sets(31).expected_items(100).target_fpp(1e-4);
/// let mut days = builder.build()?;
/// days.insert(3, "ada");
/// days.insert(30, "ada");
/// let mut which = Sets::new();
/// days.which_into("ada", &mut which); // no new allocation from the second call on
/// assert!(which.contains(3) && !which.contains(4));
/// assert_eq!((which.count(), which.num_sets()), (2, 31));
/// assert_eq!(which.iter().collect::<Vec<_>>(), [3, 30]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    words: Vec<u64>,
    num_sets: usize,
}

impl Sets {
    /// An empty answer, to be filled by the `…_into` calls without new allocations.
    pub const fn new() -> Self {
        Self { words: Vec::new(), num_sets: 0 }
    }

    /// The number of sets queried.
    pub const fn num_sets(&self) -> usize {
        self.num_sets
    }

    /// Whether set `set` may hold the key.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`Sets::num_sets`].
    #[inline]
    pub fn contains(&self, set: usize) -> bool {
        assert!(set < self.num_sets, "set {set} of {}", self.num_sets);
        self.words[set / 64] >> (set % 64) & 1 == 1
    }

    /// The number of sets that may hold the key.
    pub fn count(&self) -> usize {
        crate::simd::with_popcount(
            #[inline(always)]
            || self.words.iter().map(|word| word.count_ones() as usize).sum(),
        )
    }

    /// Whether surely no set holds the key.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The sets that may hold the key, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        crate::bits::ones(&self.words)
    }

    /// The answer as words: set `s` is bit `s % 64` of word `s / 64`. There are 8 words for every
    /// 512 sets, rounded up; bits past the last set are 0.
    pub fn as_words(&self) -> &[u64] {
        &self.words
    }

    /// Makes room for the answers of `num_sets` sets and returns the words, all of which the caller
    /// must overwrite.
    #[inline(always)]
    pub(super) fn reset(&mut self, num_sets: usize) -> &mut [u64] {
        if num_sets != self.num_sets {
            self.words.resize(num_sets.div_ceil(super::PANEL_SETS) * 8, 0);
            self.num_sets = num_sets;
        }
        &mut self.words
    }
}
