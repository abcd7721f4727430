//! A filter that starts over when it is full.

use super::{Filter, for_each_digest_chunk};
use crate::bits::{OwnedBlocks, Storage, StorageMut};
use crate::layout::LayoutKind;
use crate::{Bitmap, Digest, Error, Estimate, Key};

/// A filter that forgets everything when its fill reaches a limit: for endless streams in constant
/// memory.
///
/// Once the share of set bits ([`Filter::fill_ratio`]) is at or above the limit after an insertion,
/// the filter is cleared *before the next insertion*; queries in between still see its keys. A key
/// is found until that next insertion, and may count as "new" again after it: right after a
/// clearing every key is new. A window, which forgets a part at a time, needs more memory and loses
/// less at once.
///
/// The number of set bits is updated by every insertion and never recounted. Memory and cache lines
/// per call are the same as for the inner filter. The rate grows within a round and never exceeds
/// [`ClearingFilter::fpp_at_limit`] by more than chance. One thread writes or many read.
///
/// (The use rate of other implementations is `k · insertions / m`, which counts repeated bits and
/// keys; a use rate of 0.8 is a fill of 0.55.)
///
/// # Examples
///
/// ```
/// use mayhap::BlockedBloomFilter;
///
/// let filter = BlockedBloomFilter::builder().expected_items(1_000).target_fpp(0.01).build()?;
/// let mut recent = filter.clear_at_fill_ratio(0.5)?;
/// for key in 0..10_000u64 {
///     recent.insert(&key);
///     assert!(recent.contains(&key) && recent.filter().fill_ratio() < 0.51);
/// }
/// assert_eq!(recent.num_clears(), 11); // about 870 keys a round
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct ClearingFilter<L, S = OwnedBlocks> {
    filter: Filter<L, S>,
    ones: u64,
    /// Set bits at which the filter is full.
    max_ones: u64,
    num_clears: u64,
}

impl<L: LayoutKind, S: StorageMut> ClearingFilter<L, S> {
    /// See [`Filter::clear_at_fill_ratio`].
    pub(super) fn new(filter: Filter<L, S>, max_fill_ratio: f64) -> Result<Self, Error> {
        // `contains` is false for NaN.
        if !(f64::MIN_POSITIVE..=1.0).contains(&max_fill_ratio) {
            return Err(Error::FillRatioOutOfRange { found: max_fill_ratio });
        }
        let num_bits = filter.params.num_bits();
        let max_ones = libm::ceil(max_fill_ratio * num_bits as f64) as u64;
        let ones = filter.blocks.count_ones();
        Ok(Self { filter, ones, max_ones: max_ones.min(num_bits), num_clears: 0 })
    }

    /// Inserts a key, after clearing the filter if it is full; `true` if the key is new since then.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.filter.digest(key))
    }

    /// Like [`ClearingFilter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        if self.ones >= self.max_ones {
            self.clear();
            self.num_clears += 1;
        }
        let filter = &mut self.filter;
        let set = filter.layout.insert_counted(filter.blocks.as_mut(), digest);
        self.ones += u64::from(set);
        filter.inserted_items = filter.inserted_items.saturating_add(u64::from(set != 0));
        set != 0
    }

    /// Inserts many keys, in order: bit `i` of the result is the answer of
    /// [`ClearingFilter::insert`] for `keys[i]`.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        let digest_function = self.filter.digest_function;
        for_each_digest_chunk(&digest_function, keys, &mut new, |digests, words| {
            self.insert_each(digests, words);
        });
        new
    }

    /// Like [`ClearingFilter::insert_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        self.insert_each(digests, new.reset(digests.len()));
    }

    fn insert_each(&mut self, digests: &[Digest], new: &mut [u64]) {
        let prefetch = !crate::simd::fits_cache(self.filter.blocks.num_blocks());
        for (group, new) in digests.chunks(64).zip(new) {
            if prefetch {
                for &digest in group {
                    self.filter.layout.prefetch(self.filter.blocks.as_ref(), digest);
                }
            }
            for (i, &digest) in group.iter().enumerate() {
                *new |= u64::from(self.insert_digest(digest)) << i;
            }
        }
    }

    /// Whether the key may have been inserted since the last clearing: `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// Like [`ClearingFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    /// Queries many digests, as [`Filter::contains_digests_into`].
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.filter.contains_digests_into(digests, found);
    }

    /// Forgets every key now; not counted in [`ClearingFilter::num_clears`].
    pub fn clear(&mut self) {
        self.filter.clear();
        self.ones = 0;
    }

    /// The number of times that the filter was full and cleared itself.
    pub const fn num_clears(&self) -> u64 {
        self.num_clears
    }

    /// The mean number of distinct keys that fill the filter to its limit: the length of a round.
    pub fn items_at_limit(&self) -> Estimate {
        Estimate::from_ones(&self.filter.params, self.max_ones)
    }

    /// The predicted false-positive probability at the limit, the highest of a round.
    pub fn fpp_at_limit(&self) -> f64 {
        self.filter.expected_fpp(self.items_at_limit().rounded())
    }

    /// The inner filter, for other queries or to save it.
    pub const fn filter(&self) -> &Filter<L, S> {
        &self.filter
    }

    /// The filter without its limit.
    pub fn into_filter(self) -> Filter<L, S> {
        self.filter
    }
}

impl<L: LayoutKind> ClearingFilter<L> {
    /// Copies the filter with its limit and its number of clearings.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { filter: self.filter.try_clone()?, ..*self })
    }
}
