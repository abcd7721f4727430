//! The kinds of filters that the model is run with.

use mayhap::native::{Header, Native};
use mayhap::set::{Repeats, Set};
use mayhap::{
    AnyFilter, CompactFilter, CountingBloomFilter, Digest, DigestFunction, Layout,
    ScalableBloomFilter, WindowBloomFilter,
};

/// A filter that reports how often a key is in it, and its own generation: each generation has
/// another number of expected items, which is in its header.
pub(super) trait ModelKind: Native + Set + Send + 'static {
    /// Whether keys can be removed.
    const REMOVES: bool = false;

    fn empty(generation: u64) -> Self;
    fn generation(header: &Header) -> u64;
    fn count(&self, digest: Digest) -> u32;
    fn items(&self) -> u64;

    fn insert_one(&mut self, digest: Digest) {
        Set::insert_digest(self, digest, Repeats::Renew).unwrap();
    }
}

/// Room for all keys of a run, at rates without false positives among them.
const FIRST: u64 = 1000;

impl ModelKind for AnyFilter {
    fn empty(generation: u64) -> Self {
        let builder = Self::builder().layout(Layout::Standard).num_bits(16_384);
        builder.expected_items(FIRST + generation).build().unwrap()
    }

    fn generation(header: &Header) -> u64 {
        header.fields().expected_items - FIRST
    }

    fn count(&self, digest: Digest) -> u32 {
        self.contains_digest(digest).into()
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }
}

impl ModelKind for CompactFilter {
    const REMOVES: bool = true;

    fn empty(generation: u64) -> Self {
        let builder = Self::builder().expected_items(FIRST + generation).target_fpp(1e-9);
        builder.build().unwrap()
    }

    fn generation(header: &Header) -> u64 {
        header.fields().expected_items - FIRST
    }

    fn count(&self, digest: Digest) -> u32 {
        self.count_digest(digest)
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }
}

impl ModelKind for CountingBloomFilter {
    const REMOVES: bool = true;

    fn empty(generation: u64) -> Self {
        let builder = Self::builder().expected_items(FIRST + generation).target_fpp(1e-6);
        builder.build().unwrap()
    }

    fn generation(header: &Header) -> u64 {
        header.fields().expected_items - FIRST
    }

    fn count(&self, digest: Digest) -> u32 {
        self.estimated_count_digest(digest)
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }
}

impl ModelKind for ScalableBloomFilter {
    fn empty(generation: u64) -> Self {
        // A layer is full after a few keys.
        Self::new(10 + generation, 1e-9, DigestFunction::default()).unwrap()
    }

    fn generation(header: &Header) -> u64 {
        header.fields().expected_items - 10
    }

    fn count(&self, digest: Digest) -> u32 {
        self.contains_digest(digest).into()
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }
}

impl ModelKind for WindowBloomFilter {
    fn empty(generation: u64) -> Self {
        Self::builder().window_items(FIRST + generation).target_fpp(1e-9).build().unwrap()
    }

    fn generation(header: &Header) -> u64 {
        header.fields().expected_items - FIRST
    }

    fn count(&self, digest: Digest) -> u32 {
        self.contains_digest(digest).into()
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }
}
