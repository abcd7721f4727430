//! The kinds of mayhap as [`Kind`]s.

use crate::contestants::{DIGEST, Kind, digest};
use mayhap::{
    BinaryFuse, Bitmap, BlockedBloomFilter, ConcurrentScalableBloomFilter, CountingBloomFilter,
    Digest, FuseWidth, ScalableBloomFilter, WindowBloomFilter,
};

macro_rules! contains {
    () => {
        fn contains(&self, key: u64) -> bool {
            self.contains_digest(digest(key))
        }

        fn contains_batch(&self, digests: &[Digest], found: &mut Bitmap) {
            self.contains_digests_into(digests, found);
        }
    };
}

macro_rules! insert {
    ($($enough_memory:tt)*) => {
        fn insert(&mut self, key: u64) -> bool {
            self.insert_digest(digest(key))$($enough_memory)*
        }

        fn insert_batch(&mut self, digests: &[Digest], new: &mut Bitmap) {
            let () = self.insert_digests_into(digests, new)$($enough_memory)*;
        }
    };
}

impl Kind for BlockedBloomFilter {
    insert!();
    contains!();

    fn num_bytes(&self) -> Option<u64> {
        Some(self.params().num_bytes())
    }
}

impl Kind for WindowBloomFilter {
    insert!();
    contains!();

    fn num_bytes(&self) -> Option<u64> {
        Some(WindowBloomFilter::num_bytes(self))
    }
}

impl Kind for ScalableBloomFilter {
    insert!(.expect("enough memory"));
    contains!();

    fn num_bytes(&self) -> Option<u64> {
        Some(ScalableBloomFilter::num_bytes(self))
    }
}

impl Kind for ConcurrentScalableBloomFilter {
    insert!(.expect("enough memory"));
    contains!();

    fn num_bytes(&self) -> Option<u64> {
        Some(ConcurrentScalableBloomFilter::num_bytes(self))
    }
}

impl Kind for CountingBloomFilter {
    insert!();
    contains!();

    fn num_bytes(&self) -> Option<u64> {
        Some(CountingBloomFilter::num_bytes(self))
    }

    fn remove(&mut self, key: u64) -> bool {
        self.remove_digest(digest(key))
    }

    fn remove_batch(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        self.remove_digests_into(digests, removed);
    }
}

/// Static: insertion collects digests, `finish` builds.
pub(crate) struct Fuse {
    pub(crate) width: FuseWidth,
    pub(crate) digests: Vec<Digest>,
    pub(crate) filter: Option<BinaryFuse>,
}

impl Fuse {
    pub(crate) fn new(width: FuseWidth, n: u64) -> Self {
        Self { width, digests: Vec::with_capacity(n as usize), filter: None }
    }

    fn filter(&self) -> &BinaryFuse {
        self.filter.as_ref().expect("built before it is asked")
    }
}

impl Kind for Fuse {
    fn insert(&mut self, key: u64) -> bool {
        self.digests.push(digest(key));
        true
    }

    fn insert_batch(&mut self, digests: &[Digest], _new: &mut Bitmap) {
        self.digests.extend_from_slice(digests);
    }

    fn finish(&mut self) {
        let digests = std::mem::take(&mut self.digests);
        let filter = BinaryFuse::build(self.width, DIGEST, digests);
        self.filter = Some(filter.expect("distinct digests and enough memory"));
    }

    fn contains(&self, key: u64) -> bool {
        self.filter().contains_digest(digest(key))
    }

    fn contains_batch(&self, digests: &[Digest], found: &mut Bitmap) {
        self.filter().contains_digests_into(digests, found);
    }
    fn num_bytes(&self) -> Option<u64> {
        Some(self.filter().num_bytes())
    }
}
