//! Filters that many threads query and fill at once, without locks.
//!
//! An insertion reads first and writes only missing bits, so that keys already present cost no
//! write to a shared cache line. If several threads insert the same new key at once, at least one
//! gets the answer "new"; exactly one thread sees each bit clear, so two may both get that answer
//! if each was the first to set some of the bits.

use super::piece::{place_of, words_of};
use super::{Filter, OnceFilter, for_each_digest_chunk};
use crate::bits::{OwnedBlocks, SharedBlocks, Storage};
use crate::layout::LayoutKind;
use crate::sync::Ordering;
use crate::{Bitmap, Digest, Error, Key};

impl<L: LayoutKind> Filter<L, SharedBlocks> {
    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// Lock-free, from any thread; test and insertion are one step ("add if absent"). If several
    /// threads insert the same new key at once, at least one of them, and sometimes more, gets the
    /// answer "new". A key inserted by another thread is found if that insertion *happened before*
    /// this call (through a join, a channel or a lock).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(self.digest_function.digest(key))
    }

    /// Like [`Filter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.layout.insert_shared(self.blocks.words(), digest)
    }

    /// Inserts many keys, in order, with their cache lines fetched together.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_batch_into(keys, &mut new);
        new
    }

    /// Like [`Filter::insert_batch`], but into a reused bitmap.
    pub fn insert_batch_into<K: Key>(&self, keys: &[K], new: &mut Bitmap) {
        for_each_digest_chunk(&self.digest_function, keys, new, |digests, words| {
            self.insert_each(digests, words);
        });
    }

    /// Like [`Filter::insert_batch`], for keys that are already digests.
    pub fn insert_digests(&self, digests: &[Digest]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_digests_into(digests, &mut new);
        new
    }

    /// Like [`Filter::insert_digests`], but into a reused bitmap.
    pub fn insert_digests_into(&self, digests: &[Digest], new: &mut Bitmap) {
        self.insert_each(digests, new.reset(digests.len()));
    }

    /// Whether the key may have been inserted: `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`Filter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.layout.contains_shared(self.blocks.words(), digest)
    }

    /// Queries many keys, with their cache lines fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_batch_into(keys, &mut found);
        found
    }

    /// Like [`Filter::contains_batch`], but into a reused bitmap.
    pub fn contains_batch_into<K: Key>(&self, keys: &[K], found: &mut Bitmap) {
        for_each_digest_chunk(&self.digest_function, keys, found, |digests, words| {
            self.contains_each(digests, words);
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
        self.contains_each(digests, found.reset(digests.len()));
    }

    /// Ors another filter into this one while both may be in use.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], changing nothing, if the filters differ in layout, m, k or digest.
    pub fn union_with<T: Storage>(&self, other: &Filter<L, T>) -> Result<(), Error> {
        self.check_compatible(other)?;
        for (i, lanes) in self.blocks.words().as_chunks::<8>().0.iter().enumerate() {
            for (lane, bits) in lanes.iter().zip(other.blocks.block(i).0) {
                // ORDERING: Relaxed, as in an insertion: bits are only ever added.
                if bits & !lane.load(Ordering::Relaxed) != 0 {
                    lane.fetch_or(bits, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Ors a piece of bits into it while it is in use: see [`crate::AnyFilter::union_bytes`].
    pub(super) fn union_bytes(&self, offset: u64, bytes: &[u8]) -> Result<u64, Error> {
        let at = place_of(&self.params, offset, bytes)?;
        let words = &self.blocks.words()[at.start * 8..at.end * 8];
        let mut new = 0;
        for (word, bits) in words.iter().zip(words_of(bytes)) {
            // ORDERING: Relaxed, as in an insertion: bits are only ever added.
            if bits & !word.load(Ordering::Relaxed) != 0 {
                new += u64::from((bits & !word.fetch_or(bits, Ordering::Relaxed)).count_ones());
            }
        }
        Ok(new)
    }

    /// The same filter for one owner, without copying its bits; the count of inserted items is then
    /// derived from the fill.
    pub fn into_exclusive(self) -> Filter<L, OwnedBlocks> {
        let inserted_items = self.inserted_by_bits();
        let Self { layout, blocks, params, digest_function, is_settled, .. } = self;
        let blocks = blocks.into_owned();
        Filter { layout, blocks, params, digest_function, inserted_items, is_settled }
    }

    /// A copy of the bits as they are now, while other threads continue: it holds at least every
    /// key whose insertion happened before the call.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn snapshot(&self) -> Result<Filter<L, OwnedBlocks>, Error> {
        let mut blocks = OwnedBlocks::zeroed(self.blocks.num_blocks() as u64)?;
        for (i, block) in blocks.as_mut().iter_mut().enumerate() {
            *block = self.blocks.block(i);
        }
        let &Self { layout, params, digest_function, inserted_items, is_settled, .. } = self;
        let mut copy =
            Filter { layout, blocks, params, digest_function, inserted_items, is_settled };
        copy.settle_inserted_items();
        Ok(copy)
    }

    /// Prefetches the lines of the next few keys for writing: even in small filters, whose lines
    /// are in another core's cache if that core writes too. (1.7 times as fast with 2 threads at 1
    /// M keys.)
    #[inline(always)]
    pub(super) fn insert_each(&self, digests: &[Digest], new: &mut [u64]) {
        const AHEAD: usize = 8;
        let words = self.blocks.words();
        for &digest in digests.iter().take(AHEAD) {
            self.layout.prefetch_shared::<true>(words, digest);
        }
        let mut later = digests.iter().skip(AHEAD);
        for (group, new) in digests.chunks(64).zip(new) {
            for (i, &digest) in group.iter().enumerate() {
                if let Some(&later) = later.next() {
                    self.layout.prefetch_shared::<true>(words, later);
                }
                *new |= u64::from(self.layout.insert_shared(words, digest)) << i;
            }
        }
    }

    #[inline(always)]
    pub(super) fn contains_each(&self, digests: &[Digest], found: &mut [u64]) {
        self.layout.contains_batch_shared(self.blocks.words(), digests, found);
    }

    /// The same filter as one whose answer "new" goes to one caller alone: see [`OnceFilter`].
    pub fn insert_once(self) -> OnceFilter<L> {
        OnceFilter::new(self)
    }
}
