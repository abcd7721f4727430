//! Plain filters of a given size.

use crate::error::Error;
use crate::fullness::RATE_STEPS;
use crate::key_set::{Contents, KeySet};
use crate::room::near_full;
use crate::state::State;
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Bitmap, Block, Digest, DigestFunction, Estimate, FilterParams, SecretKey};
use mayhap_store::{Image, Record};

impl KeySet for AnyFilter {
    fn name(&self) -> &'static str {
        self.params().layout().name()
    }

    fn digest_function(&self) -> DigestFunction {
        *self.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn clear(&mut self) -> Result<bool, Error> {
        Self::clear(self);
        Ok(true)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.params().expected_items())
    }

    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        Some(self.params().inserted_when_full())
    }

    fn warn_at(&self) -> Option<u64> {
        let items = near_full(self.params().expected_items());
        Some(self.params().expected_inserted(items).ceil() as u64)
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }

    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        Some(Estimate::from_inserted(self.params(), self.inserted_items()))
    }

    fn distinct_items_by_all(&self, _absent_only: bool) -> Option<Estimate> {
        Some(self.distinct_items())
    }

    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        Some((self.estimated_items(), *self.params()))
    }

    fn num_bytes(&self) -> u64 {
        self.params().num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.params().target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp(self.params().distinct_items(self.inserted_items()))
    }

    fn estimated_fpp(&self) -> f64 {
        self.estimated_fpp()
    }

    fn rate_step(&self) -> u64 {
        self.params().expected_items() / RATE_STEPS
    }

    fn state(&self) -> State {
        State::of(self)
    }

    fn settle_items(&mut self) {
        self.settle_inserted_items();
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }

    fn as_plain(&mut self) -> Option<&mut AnyFilter> {
        Some(self)
    }
}

impl Contents for AnyFilter {
    fn header(&mut self, key_options: &str) -> Header {
        Header::of(self, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        Native::segments(self)
    }

    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error> {
        *self = image.load(key, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        mayhap_store::apply(self, record)
    }
}
