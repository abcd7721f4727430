//! The filters of mayhap.

use crate::contestants::{DIGEST, Kind};
use mayhap::{
    BinaryFuse, Bitmap, Build, CompactFilter, ConcurrentScalableBloomFilter, CountingBloomFilter,
    Digest, Filter, FuseWidth, LayoutKind, OwnedBlocks, RibbonFilter, ScalableBloomFilter,
    SharedBlocks, WindowBloomFilter,
};
use mayhap_bench::keys::BenchKey;

/// The batches of a plain filter.
macro_rules! batches {
    () => {
        fn insert_batch(&mut self, keys: &[K], new: &mut Bitmap) {
            self.insert_batch_into(keys, new);
        }

        fn contains_batch(&self, keys: &[K], found: &mut Bitmap) {
            self.contains_batch_into(keys, found);
        }

        fn insert_digests(&mut self, digests: &[Digest], new: &mut Bitmap) {
            self.insert_digests_into(digests, new);
        }

        fn contains_digests(&self, digests: &[Digest], found: &mut Bitmap) {
            self.contains_digests_into(digests, found);
        }

        fn num_bytes(&self) -> Option<u64> {
            Some(self.params().num_bytes())
        }
    };
}

impl<K: BenchKey, L: LayoutKind> Kind<K> for Filter<L, OwnedBlocks> {
    batches!();

    fn insert(&mut self, key: &K) -> bool {
        self.insert(key)
    }

    fn contains(&self, key: &K) -> bool {
        self.contains(key)
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<K: BenchKey, L: LayoutKind> Kind<K> for Filter<L, SharedBlocks> {
    batches!();

    fn insert(&mut self, key: &K) -> bool {
        Self::insert(self, key)
    }

    fn insert_shared(&self, key: &K) -> bool {
        Self::insert(self, key)
    }

    fn insert_batch_shared(&self, keys: &[K], new: &mut Bitmap) {
        self.insert_batch_into(keys, new);
    }

    fn contains(&self, key: &K) -> bool {
        self.contains(key)
    }

    /// A shared filter is cleared by its owner: a new, empty one takes its place.
    fn clear(&mut self) {
        let empty = <Self as Build>::empty(*self.params(), *self.digest_function());
        *self = empty.expect("enough memory");
    }
}

/// The digests of the other kinds, and how an insertion that may fail is unwrapped.
macro_rules! digests {
    ($($enough_memory:tt)*) => {
        fn insert(&mut self, key: &K) -> bool {
            self.insert_digest(DIGEST.digest(key))$($enough_memory)*
        }

        fn contains(&self, key: &K) -> bool {
            self.contains_digest(DIGEST.digest(key))
        }

        fn insert_digests(&mut self, digests: &[Digest], new: &mut Bitmap) {
            let () = self.insert_digests_into(digests, new)$($enough_memory)*;
        }

        fn contains_digests(&self, digests: &[Digest], found: &mut Bitmap) {
            self.contains_digests_into(digests, found);
        }

        fn num_bytes(&self) -> Option<u64> {
            Some(Self::num_bytes(self))
        }
    };
}

impl<K: BenchKey> Kind<K> for WindowBloomFilter {
    digests!();
}

impl<K: BenchKey> Kind<K> for ScalableBloomFilter {
    digests!(.expect("enough memory"));
}

impl<K: BenchKey> Kind<K> for ConcurrentScalableBloomFilter {
    digests!(.expect("enough memory"));
}

impl<K: BenchKey> Kind<K> for CompactFilter {
    digests!(.expect("room for n keys"));

    fn remove(&mut self, key: &K) -> bool {
        self.remove_digest(DIGEST.digest(key))
    }

    fn remove_digests(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        self.remove_digests_into(digests, removed);
    }
}

impl<K: BenchKey> Kind<K> for CountingBloomFilter {
    digests!();

    fn remove(&mut self, key: &K) -> bool {
        self.remove_digest(DIGEST.digest(key))
    }

    fn remove_digests(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        self.remove_digests_into(digests, removed);
    }
}

/// A static filter: insertion collects digests, `finish` builds.
pub(crate) struct Frozen<F> {
    width: FuseWidth,
    digests: Vec<Digest>,
    filter: Option<F>,
}

impl<F> Frozen<F> {
    pub(crate) fn new(width: FuseWidth, n: u64) -> Self {
        Self { width, digests: Vec::with_capacity(n as usize), filter: None }
    }

    fn filter(&self) -> &F {
        self.filter.as_ref().expect("built before it is queried")
    }
}

macro_rules! frozen {
    ($filter:ty) => {
        impl<K: BenchKey> Kind<K> for Frozen<$filter> {
            fn insert(&mut self, key: &K) -> bool {
                self.digests.push(DIGEST.digest(key));
                true
            }

            fn contains(&self, key: &K) -> bool {
                self.filter().contains_digest(DIGEST.digest(key))
            }

            fn insert_digests(&mut self, digests: &[Digest], _new: &mut Bitmap) {
                self.digests.extend_from_slice(digests);
            }

            fn contains_digests(&self, digests: &[Digest], found: &mut Bitmap) {
                self.filter().contains_digests_into(digests, found);
            }

            fn finish(&mut self) {
                let digests = std::mem::take(&mut self.digests);
                let filter = <$filter>::build(self.width, DIGEST, digests);
                self.filter = Some(filter.expect("distinct digests and enough memory"));
            }

            fn num_bytes(&self) -> Option<u64> {
                Some(self.filter().num_bytes())
            }
        }
    };
}
frozen!(BinaryFuse);
frozen!(RibbonFilter);
