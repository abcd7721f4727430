//! Filters of the native format that are read where they lie: files of `import/`, mapped. Each page
//! is checked before it is first read.

use super::Filter;
use crate::keyspace::{Info, Measured, Unreadable};
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_store::MappedFilter;

/// A filter of a file that is mapped.
#[derive(Debug)]
pub(in crate::keyspace) struct Mapped(pub(in crate::keyspace) MappedFilter);

impl Filter for Mapped {
    fn kind(&self) -> &'static str {
        "mapped"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.0.digest_function())
    }

    fn contains(&self, digest: Digest, _now: u64) -> bool {
        self.0.contains_digest(digest)
    }

    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        self.0.contains_digests_into(digests, found);
    }

    fn info(&self) -> Info {
        let base = Info::plain(self.kind(), self.0.params(), self.items(), self.num_bytes());
        Info { over_capacity: self.is_over_capacity(), ..base }
    }

    fn is_over_capacity(&self) -> bool {
        self.items() > self.0.params().inserted_when_full()
    }

    fn items(&self) -> u64 {
        self.0.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.0.params().num_bytes()
    }

    fn num_hashes(&self) -> u32 {
        self.0.params().num_hashes()
    }

    fn measure(&self) -> Measured {
        let filter = self.0.whole();
        let (fill_ratio, estimated_fpp) = (filter.fill_ratio(), filter.estimated_fpp());
        Measured { fill_ratio, estimated_fpp, fill_alarm: None }
    }

    fn changed(&self) -> Option<Unreadable> {
        self.0.changed().map(Unreadable::from)
    }

    fn changed_at(&self, now: u64) -> Option<Unreadable> {
        self.0.changed_at(now).map(Unreadable::from)
    }

    fn check_ahead(&self, most_pages: u64) -> bool {
        self.0.check_ahead(most_pages)
    }

    fn verify(&self) -> Result<(), mayhap_store::Error> {
        self.0.verify().and_then(|()| self.0.check())
    }
}
