//! Windows in files of `import/`, read into memory and read only: time goes on, and no key comes.

use super::{Filter, window};
use crate::keyspace::{Info, Measured};
use mayhap::{Age, Bitmap, Charge, Digest, DigestFunction, Health, Window, WindowBloomFilter};

/// A window to which no key comes any more. It is asked for a time and never moved on to it, so no
/// clock takes keys from those who ask later.
#[derive(Debug)]
pub(in crate::keyspace) struct Still {
    pub(in crate::keyspace) filter: WindowBloomFilter,
    pub(in crate::keyspace) charge: Charge,
}

impl Filter for Still {
    fn kind(&self) -> &'static str {
        "window"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.filter.digest_function())
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        self.filter.contains_digest_at(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.filter.contains_digests_at_into(digests, now, found);
    }

    fn window(&self) -> Option<Window> {
        Some(self.filter.window())
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        self.filter.age_of_digest_at(digest, now)
    }

    fn info(&self) -> Info {
        window::info_of(&self.filter, self.num_bytes())
    }

    fn is_over_capacity(&self) -> bool {
        self.filter.health() == Health::OverCapacity
    }

    fn items(&self) -> u64 {
        self.filter.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn num_hashes(&self) -> u32 {
        self.filter.num_hashes()
    }

    fn measure(&self) -> Measured {
        window::measure(&self.filter)
    }
}
