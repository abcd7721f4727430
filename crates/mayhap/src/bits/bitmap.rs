//! The answers of a batch: one bit per key.

use alloc::vec::Vec;
use core::iter;
use core::ops::Range;

/// One bit per key of a batch, in the order of the keys.
///
/// # Examples
///
/// ```
/// use mayhap::BlockedBloomFilter;
/// let mut filter = BlockedBloomFilter::builder().expected_items(100).target_fpp(1e-6).build()?;
/// filter.insert_batch(&[10u64, 30]);
/// let found = filter.contains_batch(&[10u64, 20, 30]);
/// assert_eq!(found.iter().collect::<Vec<_>>(), [true, false, true]);
/// assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// An empty bitmap, to be filled by the `…_into` batch calls without new allocations.
    pub const fn new() -> Self {
        Self { words: Vec::new(), len: 0 }
    }

    /// The number of keys in the batch.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the batch was empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The answer for key `index`.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`Bitmap::len`].
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.len, "index {index} of a bitmap of {}", self.len);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// The number of keys answered "yes".
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The answers in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|i| self.words[i / 64] >> (i % 64) & 1 == 1)
    }

    /// The indices of the keys answered "yes", in order.
    pub fn iter_ones(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.words)
    }

    /// The runs of adjacent keys answered "yes", in order: for slices of keys.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bitmap = mayhap::Bitmap::new();
    /// bitmap.clear_to(130);
    /// bitmap.set_word(0, u64::MAX << 2);
    /// bitmap.set_word(1, 1);
    /// bitmap.set(129);
    /// assert_eq!(bitmap.runs().collect::<Vec<_>>(), [2..65, 129..130]);
    /// ```
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        iter::from_fn(move || {
            let start = self.next_after(at, 0)?;
            at = self.next_after(start, u64::MAX).unwrap_or(self.len);
            Some(start..at)
        })
    }

    /// The first key at or after `from` whose bit, xored with `flip`, is 1.
    fn next_after(&self, from: usize, flip: u64) -> Option<usize> {
        let mut index = from / 64;
        let mut word = (self.words.get(index)? ^ flip) & u64::MAX << (from % 64);
        while word == 0 {
            index += 1;
            word = self.words.get(index)? ^ flip;
        }
        let found = index * 64 + word.trailing_zeros() as usize;
        (found < self.len).then_some(found)
    }

    /// The answers as words: key `i` is bit `i % 64` of word `i / 64`; bits past the end are 0.
    pub fn as_words(&self) -> &[u64] {
        &self.words
    }

    /// Resets it to `len` answers of "no".
    ///
    /// For filters of other crates; the batch calls of this crate do it themselves.
    pub fn clear_to(&mut self, len: usize) {
        self.reset(len);
    }

    /// Sets the answer for key `index` to "yes".
    ///
    /// # Panics
    ///
    /// If `index` is not below [`Bitmap::len`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bitmap = mayhap::Bitmap::new();
    /// bitmap.clear_to(70);
    /// bitmap.set(69);
    /// assert_eq!(bitmap.iter_ones().collect::<Vec<_>>(), [69]);
    /// ```
    #[inline]
    pub fn set(&mut self, index: usize) {
        assert!(index < self.len, "index {index} of a bitmap of {}", self.len);
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Sets the answers for keys 64 `index` to 64 `index` + 63 to the bits of `word`; bits past the
    /// end are dropped.
    ///
    /// # Panics
    ///
    /// If 64 `index` is not below [`Bitmap::len`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut bitmap = mayhap::Bitmap::new();
    /// bitmap.clear_to(67);
    /// bitmap.set_word(1, 0b1101);
    /// assert_eq!(bitmap.iter_ones().collect::<Vec<_>>(), [64, 66]);
    /// ```
    #[inline]
    pub fn set_word(&mut self, index: usize, word: u64) {
        assert!(index < self.words.len(), "word {index} of a bitmap of {}", self.len);
        let keys = (self.len - index * 64).min(64);
        self.words[index] = word & u64::MAX >> (64 - keys);
    }

    /// Forgets the answers from `len` on, which are "no".
    pub(crate) fn truncate(&mut self, len: usize) {
        debug_assert!(self.iter_ones().all(|one| one < len), "what is not done has no answer");
        self.len = self.len.min(len);
        self.words.truncate(self.len.div_ceil(64));
    }

    /// Resets it to `len` zero bits and returns the words to fill.
    pub(crate) fn reset(&mut self, len: usize) -> &mut [u64] {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
        &mut self.words
    }
}

/// The indices of the set bits, in order.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(i, &word)| {
        iter::successors((word != 0).then_some(word), |w| {
            let rest = w & (w - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |w| i * 64 + w.trailing_zeros() as usize)
    })
}
