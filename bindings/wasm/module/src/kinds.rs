//! The kinds of ours beside the plain filter.

use crate::Info;
use crate::native::Answers;
use mayhap::{
    BinaryFuse, Bitmap, BloomMatrix, CountingBloomFilter, Digest, ScalableBloomFilter,
    WindowBloomFilter,
};

impl Answers for CountingBloomFilter {
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn describe(&self, info: &mut Info) {
        info.health = self.health().name();
        info.estimated_items = self.estimated_items().items;
        info.estimated_fpp = self.estimated_fpp();
        info.fill_ratio = self.fill_ratio();
    }
}

impl Answers for ScalableBloomFilter {
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn describe(&self, info: &mut Info) {
        info.health = self.health().name();
        info.num_bits = self.num_bits() as f64;
        info.num_parts = self.num_layers() as f64;
        info.inserted_items = self.inserted_items() as f64;
        info.estimated_items = self.estimated_items().items;
        info.estimated_fpp = self.estimated_fpp();
        info.fill_ratio = self.fill_ratio();
    }
}

impl Answers for WindowBloomFilter {
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn describe(&self, info: &mut Info) {
        info.health = self.health().name();
        info.estimated_fpp = self.estimated_fpp();
        info.fill_ratio = self.fill_ratio();
    }
}

impl Answers for BinaryFuse {
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn describe(&self, info: &mut Info) {
        info.inserted_items = self.len() as f64;
        info.estimated_items = self.len() as f64;
        info.estimated_fpp = self.expected_fpp();
    }
}

impl Answers for BloomMatrix {
    /// Whether a key may be in any of the sets.
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        found.clear_to(digests.len());
        self.which_digests(digests, |i, sets| {
            if !sets.is_empty() {
                found.set(i);
            }
        });
    }

    fn describe(&self, info: &mut Info) {
        info.num_parts = self.num_sets() as f64;
        let absent = self.estimated_fpps().iter().map(|fpp| 1.0 - fpp).product::<f64>();
        info.estimated_fpp = 1.0 - absent;
    }
}
