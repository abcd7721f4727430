//! Chains that grow in memory and are never saved.

use crate::error::Error;
use crate::key_set::KeySet;
use crate::state::{State, whole};
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, ScalableBloomFilter};

impl KeySet for ScalableBloomFilter {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn digest_function(&self) -> DigestFunction {
        *self.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        Ok(self.insert_digests_into(digests, new)?)
    }

    fn set_max_bytes(&mut self, max_bytes: u64) {
        self.set_max_bytes(max_bytes);
    }

    fn clear(&mut self) -> Result<bool, Error> {
        Self::clear(self);
        Ok(true)
    }

    fn capacity(&self) -> Option<u64> {
        None
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }

    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        Some(self.distinct_items())
    }

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    /// By the keys of each layer: what each bit says costs as much as filling it.
    fn estimated_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn rate_step(&self) -> u64 {
        0
    }

    fn state(&self) -> State {
        State {
            layout: KeySet::name(self),
            num_bytes: self.num_bytes(),
            items: self.inserted_items(),
            distinct_items: whole(self.distinct_items()),
            expected_items: None,
            target_fpp: self.target_fpp(),
            estimated_fpp: self.expected_fpp(),
            fill_ratio: self.fill_ratio(),
            health: self.health(),
        }
    }
}
