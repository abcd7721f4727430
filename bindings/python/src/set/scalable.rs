//! Filters that grow.

use super::{Set, Stats, same_kind};
use crate::error::Error;
use crate::state::{Kept, keep};
use mayhap::{Bitmap, Digest, Health, ScalableBloomFilter};

impl Set for ScalableBloomFilter {
    fn contains_digest(&self, digest: Digest) -> bool {
        self.contains_digest(digest)
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Box<Error>> {
        Ok(self.insert_digest(digest).map_err(Error::from)?)
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        Ok(self.insert_digests_into(digests, new)?)
    }

    fn inserted_items(&self) -> u64 {
        self.inserted_items()
    }

    fn inserted_when_full(&self) -> Option<u64> {
        None
    }

    fn stats(&self) -> Stats {
        let num_hashes = self.layers().map(|(layer, _)| layer.part().num_hashes()).max();
        Stats {
            kind: "scalable",
            layout: None,
            expected_items: self.first_items(),
            target_fpp: self.target_fpp(),
            num_bits: self.num_bits(),
            num_hashes: num_hashes.unwrap_or(0),
            num_bytes: self.num_bytes(),
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
        self.expected_fpp()
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
