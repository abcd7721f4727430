//! Many keys at once, their cache lines fetched together.

use super::super::for_each_digest_chunk;
use super::{CountingBloomFilter, Lanes, with_lanes};
use crate::{Bitmap, Digest, Key, Layout, simd};

impl CountingBloomFilter {
    /// Inserts many keys, in order: bit `i` of the result is the answer of
    /// [`CountingBloomFilter::insert`] for `keys[i]`.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        let blocks = self.blocks.as_mut();
        for_each_digest_chunk(&self.digest_function, keys, &mut new, |digests, words| {
            with_lanes!(self, L => simd::for_each_block_mut(blocks, digests, words, L::insert));
        });
        self.inserted_items = self.inserted_items.saturating_add(keys.len() as u64);
        new
    }

    /// Like [`CountingBloomFilter::insert_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        let (blocks, words) = (self.blocks.as_mut(), new.reset(digests.len()));
        with_lanes!(self, L => simd::for_each_block_mut(blocks, digests, words, L::insert));
        self.inserted_items = self.inserted_items.saturating_add(digests.len() as u64);
    }

    /// Inserts, in order, the digests that are surely absent: bit `i` of `new` is set if
    /// `digests[i]` was inserted. So each key counts once, and a single removal removes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Bitmap, CountingBloomFilter};
    ///
    /// let builder = CountingBloomFilter::builder().expected_items(1000).target_fpp(1e-6);
    /// let mut users = builder.build()?;
    /// let (digest, mut new) = (users.digest_function().digest("ann"), Bitmap::new());
    /// users.insert_absent_digests_into(&[digest, digest], &mut new);
    /// assert_eq!(new.iter().collect::<Vec<_>>(), [true, false]);
    /// assert!(users.remove("ann") && !users.contains("ann"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_absent_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        let (blocks, words) = (self.blocks.as_mut(), new.reset(digests.len()));
        with_lanes!(self, L => simd::for_each_block_mut(blocks, digests, words, |block, digest| {
            L::min(block, digest) == 0 && L::insert(block, digest)
        }));
        self.inserted_items = self.inserted_items.saturating_add(new.count_ones() as u64);
    }

    /// Removes many keys, in order: bit `i` of the result is the answer of
    /// [`CountingBloomFilter::remove`] for `keys[i]`.
    #[must_use = "zeros say that keys were absent or stay, and were not removed"]
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let mut removed = Bitmap::new();
        let blocks = self.blocks.as_mut();
        for_each_digest_chunk(&self.digest_function, keys, &mut removed, |digests, words| {
            with_lanes!(self, L => simd::for_each_block_mut(blocks, digests, words, L::remove));
        });
        self.were_removed(&removed);
        removed
    }

    /// Like [`CountingBloomFilter::remove_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        let (blocks, words) = (self.blocks.as_mut(), removed.reset(digests.len()));
        with_lanes!(self, L => simd::for_each_block_mut(blocks, digests, words, L::remove));
        self.were_removed(removed);
    }

    fn were_removed(&mut self, removed: &Bitmap) {
        self.inserted_items = self.inserted_items.saturating_sub(removed.count_ones() as u64);
    }

    /// Queries many keys, as [`CountingBloomFilter::contains`] does for each, but with their cache
    /// lines fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        for_each_digest_chunk(&self.digest_function, keys, &mut found, |digests, words| {
            self.contains_each(digests, words);
        });
        found
    }

    /// Like [`CountingBloomFilter::contains_batch`], for keys that are already digests, into a
    /// reused bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_each(digests, found.reset(digests.len()));
    }

    #[inline(always)]
    fn contains_each(&self, digests: &[Digest], found: &mut [u64]) {
        let blocks = self.blocks.as_ref();
        with_lanes!(self, L => {
            let contains = |block: &_, digest| L::min(block, digest) != 0;
            simd::for_each_block(blocks, digests, found, contains);
        });
    }
}
