//! Queries of filters whose blocks can be borrowed: owned, mapped or lent.

use super::{Filter, for_each_digest_chunk};
use crate::bits::Block;
use crate::layout::LayoutKind;
use crate::{Bitmap, Digest, Key};

impl<L: LayoutKind, S: AsRef<[Block]>> Filter<L, S> {
    /// Whether the key may have been inserted: `false` is certain, `true` is wrong with the
    /// filter's false-positive probability.
    ///
    /// Cache lines: 1 for `blocked`; up to k, 2 on average for an absent key, for `standard`.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// [`Filter::contains`] for a key that is already a digest.
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

    /// [`Filter::contains_batch`] into a bitmap that is used again.
    pub fn contains_batch_into<K: Key>(&self, keys: &[K], found: &mut Bitmap) {
        let blocks = self.blocks.as_ref();
        for_each_digest_chunk(&self.digest_function, keys, found, |digests, words| {
            self.layout.contains_batch(blocks, digests, words);
        });
    }

    /// [`Filter::contains_batch`] for keys that are already digests.
    pub fn contains_digests(&self, digests: &[Digest]) -> Bitmap {
        let mut found = Bitmap::new();
        self.contains_digests_into(digests, &mut found);
        found
    }

    /// [`Filter::contains_digests`] into a bitmap that is used again.
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
