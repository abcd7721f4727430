//! Plain filters that are read where they lie, open in an instant.

use super::fuse;
use crate::error::{Error, Refusal};
use crate::key_set::KeySet;
use crate::state::State;
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, FilterParams};
use mayhap_store::MappedFilter;

impl KeySet for MappedFilter {
    fn name(&self) -> &'static str {
        self.params().layout().name()
    }

    fn digest_function(&self) -> DigestFunction {
        *Self::digest_function(self)
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        Self::contains_digests_into(self, digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, _digests: &[Digest], _new: &mut Bitmap) -> Result<(), Error> {
        Err(fuse::full(self.items()))
    }

    fn refuses_insert(&self) -> Option<Refusal> {
        Some(Refusal::ReadOnly)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.params().expected_items())
    }

    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        Some(self.params().inserted_when_full())
    }

    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        Some(Estimate::from_inserted(self.params(), self.items()))
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }

    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        Some((self.whole().estimated_items(), *self.params()))
    }

    fn num_bytes(&self) -> u64 {
        self.params().num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.params().target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        let params = self.params();
        params.expected_fpp(params.distinct_items(self.items()))
    }

    fn estimated_fpp(&self) -> f64 {
        self.whole().estimated_fpp()
    }

    fn state(&self) -> State {
        State::of(self.whole())
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(self.check()?)
    }

    fn as_mapped(&self) -> Option<&MappedFilter> {
        Some(self)
    }
}
