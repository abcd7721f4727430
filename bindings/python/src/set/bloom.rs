//! Plain filters: `blocked` and `standard`.

use super::{Set, Stats, same_kind};
use crate::error::Error;
use crate::state::{Kept, keep};
use mayhap::{AnyFilter, Bitmap, Digest, Health};

impl Set for AnyFilter {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        self.contains_digest(digest)
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Box<Error>> {
        Ok(self.insert_digest(digest))
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    #[inline]
    fn inserted_items(&self) -> u64 {
        self.inserted_items()
    }

    fn inserted_when_full(&self) -> Option<u64> {
        Some(self.params().inserted_when_full())
    }

    fn stats(&self) -> Stats {
        let params = self.params();
        Stats {
            kind: "bloom",
            layout: Some(params.layout().name()),
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
            num_bits: params.num_bits(),
            num_hashes: params.num_hashes(),
            num_bytes: params.num_bytes(),
            inserted_items: self.inserted_items(),
        }
    }

    fn fill_ratio(&self) -> f64 {
        self.fill_ratio()
    }

    fn estimated_fpp(&self) -> f64 {
        self.estimated_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp(self.params().distinct_items(self.inserted_items()))
    }

    fn distinct_items(&self) -> f64 {
        self.distinct_items().items
    }

    fn health(&self) -> Health {
        self.health()
    }

    fn union_with(&mut self, other: &dyn Set) -> Result<(), Error> {
        Ok(self.union_with(same_kind(self, other)?)?)
    }

    fn clear(&mut self) -> Result<(), Error> {
        self.clear();
        Ok(())
    }

    fn into_kept(self: Box<Self>) -> Result<Box<dyn Kept>, Error> {
        Ok(keep(*self))
    }
}
