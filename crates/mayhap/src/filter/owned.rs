//! Filters of one thread: queries of blocks that can be borrowed (owned, mapped or lent), and
//! insertions into those that can be changed; folds, by which a filter shrinks.

use super::piece::{place_of, words_of};
use super::{ClearingFilter, Estimate, Filter, for_each_digest_chunk};
use crate::bits::{Block, OwnedBlocks, SharedBlocks, StorageMut, block};
use crate::layout::{Layout, LayoutKind};
use crate::{Bitmap, Digest, Error, FilterParams, Key, simd};

impl<L: LayoutKind, S: StorageMut> Filter<L, S> {
    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// Test and insertion are one step ("add if absent"). `false` means that all its bits were set:
    /// either it was inserted before, or it is a false positive. Inserting never fails; beyond
    /// `expected_items` the rate rises ([`Filter::health`]).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.digest_function.digest(key);
        self.insert_digest(digest)
    }

    /// Like [`Filter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let new = self.layout.insert(self.blocks.as_mut(), digest);
        match self.inserted_items.checked_add(new.into()) {
            Some(items) => self.inserted_items = items,
            None => stays_at_its_largest_value(),
        }
        new
    }

    /// Inserts many keys, in order: bit `i` of the result is the answer of [`Filter::insert`] for
    /// `keys[i]`.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_batch_into(keys, &mut new);
        new
    }

    /// Like [`Filter::insert_batch`], but into a reused bitmap.
    pub fn insert_batch_into<K: Key>(&mut self, keys: &[K], new: &mut Bitmap) {
        let blocks = self.blocks.as_mut();
        for_each_digest_chunk(&self.digest_function, keys, new, |digests, words| {
            self.layout.insert_batch(blocks, digests, words);
        });
        self.inserted_items = self.inserted_items.saturating_add(new.count_ones() as u64);
    }

    /// Like [`Filter::insert_batch`], for keys that are already digests.
    pub fn insert_digests(&mut self, digests: &[Digest]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_digests_into(digests, &mut new);
        new
    }

    /// Like [`Filter::insert_digests`], but into a reused bitmap.
    pub fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        self.layout.insert_batch(self.blocks.as_mut(), digests, new.reset(digests.len()));
        self.inserted_items = self.inserted_items.saturating_add(new.count_ones() as u64);
    }

    /// Makes this filter the union of both: it then holds the keys of either.
    ///
    /// A bitwise OR of the bits, at the speed of memory. [`Filter::inserted_items`] is then derived
    /// from the fill, since keys in both count only once.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], changing nothing, if the filters differ in layout, m, k or digest.
    pub fn union_with<T: AsRef<[Block]>>(&mut self, other: &Filter<L, T>) -> Result<(), Error> {
        self.check_compatible(other)?;
        for (ours, theirs) in self.blocks.as_mut().iter_mut().zip(other.blocks.as_ref()) {
            for (lane, other_lane) in ours.0.iter_mut().zip(theirs.0) {
                *lane |= other_lane;
            }
        }
        self.settle_inserted_items();
        Ok(())
    }

    /// Ors a piece of bits into it: see [`crate::AnyFilter::union_bytes`].
    pub(super) fn union_bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<u64, Error> {
        let at = place_of(&self.params, offset, bytes)?;
        let words = block::words_mut(&mut self.blocks.as_mut()[at]);
        let mut new = 0;
        for (word, bits) in words.iter_mut().zip(words_of(bytes)) {
            new += u64::from((bits & !*word).count_ones());
            *word |= bits;
        }
        Ok(new)
    }

    /// Derives [`Filter::inserted_items`] from the bits, as a union does. Reads every block.
    ///
    /// Then it depends on the keys alone and not on their order, and two filters with the same keys
    /// are identical as files.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, native};
    /// let bytes_of = |keys: &mut dyn Iterator<Item = u64>| {
    ///     let builder = BlockedBloomFilter::builder().expected_items(1_000).target_fpp(0.1);
    ///     builder.build().map(|mut filter| {
    ///         keys.for_each(|key| { filter.insert(&key); });
    ///         filter.settle_inserted_items();
    ///         native::encode(&filter, "")
    ///     })
    /// };
    /// assert_eq!(bytes_of(&mut (0..1_000))?, bytes_of(&mut (0..1_000).rev())?);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn settle_inserted_items(&mut self) {
        self.inserted_items = self.inserted_by_bits();
        self.is_settled = true;
    }

    /// Adds a limit to the filter: an insertion that finds at least this share of the bits set
    /// clears it first.
    ///
    /// # Errors
    ///
    /// [`Error::FillRatioOutOfRange`] unless `0 < max_fill_ratio <= 1` (NaN included).
    pub fn clear_at_fill_ratio(self, max_fill_ratio: f64) -> Result<ClearingFilter<L, S>, Error> {
        ClearingFilter::new(self, max_fill_ratio)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
        self.inserted_items = 0;
        self.is_settled = false;
    }
}

/// Only a bogus count from a file reaches this value. A branch that is never taken, where the
/// maximum by arithmetic would take a fifth of an insertion.
#[cold]
const fn stays_at_its_largest_value() {}

impl<L: LayoutKind> Filter<L, OwnedBlocks> {
    /// The same filter for many threads, without copying its bits.
    pub fn into_concurrent(self) -> Filter<L, SharedBlocks> {
        let Self { layout, blocks, params, digest_function, inserted_items, .. } = self;
        let blocks = SharedBlocks::new(blocks);
        // Threads that share it do not count insertions.
        Filter { layout, blocks, params, digest_function, inserted_items, is_settled: true }
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { blocks: OwnedBlocks::copy_of(self.blocks.as_ref())?, ..*self })
    }
}

impl<L: LayoutKind, S: AsRef<[Block]>> Filter<L, S> {
    /// Whether the key may have been inserted: `false` is certain, `true` is wrong with the
    /// filter's false-positive probability.
    ///
    /// Cache lines: 1 for `blocked`; up to k, 2 on average for an absent key, for `standard`.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`Filter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.layout.contains(self.blocks.as_ref(), digest)
    }

    /// Queries many keys, as [`Filter::contains`] does for each, but with their cache lines fetched
    /// together, which is several times faster once the filter is larger than the cache.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_batch_into(keys, &mut found);
        found
    }

    /// Like [`Filter::contains_batch`], but into a reused bitmap.
    pub fn contains_batch_into<K: Key>(&self, keys: &[K], found: &mut Bitmap) {
        let blocks = self.blocks.as_ref();
        for_each_digest_chunk(&self.digest_function, keys, found, |digests, words| {
            self.layout.contains_batch(blocks, digests, words);
        });
    }

    /// Like [`Filter::contains_batch`], for keys that are already digests.
    pub fn contains_digests(&self, digests: &[Digest]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_digests_into(digests, &mut found);
        found
    }

    /// Like [`Filter::contains_digests`], but into a reused bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.layout.contains_batch(self.blocks.as_ref(), digests, found.reset(digests.len()));
    }

    /// The insertions answered "new" so far: fewer than the distinct keys inserted, since a false
    /// positive counts as old ([`Filter::distinct_items`]). Stored in files; after a union or a
    /// concurrent phase it is the count expected for the number of keys estimated from the fill.
    pub const fn inserted_items(&self) -> u64 {
        self.inserted_items
    }
}

impl<L: LayoutKind, S: AsRef<[Block]>> Filter<L, S> {
    /// This filter at 1/`factor` of its size: bit for bit the one into which the same keys were
    /// inserted at that size, without knowing them.
    ///
    /// A position is a share of the size, ⌊h·B / 2^64⌋ of B blocks, so that the OR of `factor`
    /// adjacent blocks (of `standard`: bits) is the block of the smaller filter: ⌊⌊f·y⌋ / f⌋ = ⌊y⌋
    /// for every whole f ([`crate::sizing::fold`]). k stays, and the promise becomes `target_fpp`
    /// for the largest n that keeps it there ([`FilterParams::folded`]). [`Filter::inserted_items`]
    /// becomes the count that a filter of the smaller size is expected to have for the keys counted
    /// here, or, if the bits contradict that, the one for the keys estimated from them.
    ///
    /// Reads every block once. Memory: the smaller filter, in addition to this one.
    ///
    /// # Errors
    ///
    /// Same as [`FilterParams::folded`]; [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::BlockedBloomFilter;
    /// let of_size = |num_bytes| {
    ///     let builder = BlockedBloomFilter::builder().num_bytes(num_bytes).target_fpp(0.01);
    ///     builder.build().map(|mut filter| {
    ///         filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    ///         filter
    ///     })
    /// };
    /// let (large, small) = (of_size(30 * 64)?, of_size(6 * 64)?);
    /// let folded = large.fold(5, 0.01)?;
    /// assert_eq!(folded.storage().as_ref(), small.storage().as_ref());
    /// assert_eq!(folded.params(), small.params());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fold(&self, factor: u64, target_fpp: f64) -> Result<Filter<L, OwnedBlocks>, Error> {
        let params = self.params.folded(factor, target_fpp)?;
        let mut blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        let (from, to) = (block::words(self.blocks.as_ref()), block::words_mut(blocks.as_mut()));
        match L::LAYOUT {
            Layout::Standard => simd::fold_bits(from, factor, to),
            Layout::Blocked => simd::fold_groups::<8>(from, factor, to),
            Layout::Blocked128 => simd::fold_groups::<2>(from, factor, to),
            Layout::Blocked64 => simd::fold_groups::<1>(from, factor, to),
        }
        let (function, items) = (self.digest_function, self.inserted_items);
        let mut folded = Filter::<L, _>::from_parts(params, function, blocks, items)?;
        folded.is_settled = self.is_settled;
        if factor > 1 {
            folded.inserted_items = self.items_folded(&folded);
        }
        Ok(folded)
    }

    /// The count of the smaller filter, which is expected to have swallowed more keys: from this
    /// one's, or from the bits if they contradict it.
    fn items_folded(&self, folded: &Filter<L, OwnedBlocks>) -> u64 {
        let counted = Estimate::from_inserted(&self.params, self.inserted_items);
        if counted.items.is_finite() && counted.overlaps(&folded.estimated_items()) {
            libm::round(folded.params.expected_inserted(counted.rounded())) as u64
        } else {
            folded.inserted_by_bits()
        }
    }

    /// The same filter with another promise: `target_fpp` at `expected_items`. n and p determine no
    /// bit, so its answers stay as they are; [`Filter::health`] compares with the new numbers.
    ///
    /// # Errors
    ///
    /// [`Error::ZeroItems`]; [`Error::FppOutOfRange`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, Health};
    /// let builder = BlockedBloomFilter::builder().expected_items(1_000).target_fpp(1e-4);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..1_200u64).collect::<Vec<_>>());
    /// assert_eq!(filter.health(), Health::OverCapacity);
    /// let filter = filter.promising(2_000, 0.01)?;
    /// assert_eq!(filter.health(), Health::Ok);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn promising(self, expected_items: u64, target_fpp: f64) -> Result<Self, Error> {
        let (layout, m, k) = (L::LAYOUT, self.params.num_bits(), self.params.num_hashes());
        Ok(Self { params: FilterParams::new(layout, m, k, expected_items, target_fpp)?, ..self })
    }
}
