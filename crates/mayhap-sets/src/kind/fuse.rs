//! Sets that never change.

use crate::error::{Error, Refusal};
use crate::key_set::{Contents, Detail, KeySet};
use crate::layout_name::LayoutName;
use crate::state::State;
use mayhap::native::{Header, Native};
use mayhap::{BinaryFuse, Bitmap, Block, Digest, DigestFunction, Health, SecretKey};
use mayhap_store::Image;

/// The error of an insertion into what takes no more keys than it has.
pub(super) fn full(limit: u64) -> Error {
    let found = limit.saturating_add(1);
    mayhap::Error::TooLarge { field: "keys", limit, found }.into()
}

impl KeySet for BinaryFuse {
    fn name(&self) -> &'static str {
        "fuse"
    }

    fn layout_name(&self) -> Option<LayoutName> {
        Some(LayoutName::Fuse)
    }

    fn digest_function(&self) -> DigestFunction {
        *self.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, _digests: &[Digest], _new: &mut Bitmap) -> Result<(), Error> {
        // `refuses_insert` has said so.
        Err(full(self.len()))
    }

    fn refuses_insert(&self) -> Option<Refusal> {
        Some(Refusal::NeverChanges)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.len())
    }

    fn items(&self) -> u64 {
        self.len()
    }

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.width().fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn state(&self) -> State {
        let bits = u64::from(self.width().bits());
        State {
            layout: KeySet::name(self),
            num_bytes: self.num_bytes(),
            items: self.len(),
            distinct_items: Some(self.len()),
            expected_items: self.capacity(),
            target_fpp: self.width().fpp(),
            estimated_fpp: self.expected_fpp(),
            // The share of slots that a key chose.
            fill_ratio: (self.len() * bits) as f64 / self.num_bits() as f64,
            health: Health::Ok,
        }
    }

    fn details(&self) -> Vec<Detail> {
        let bits = self.width().bits();
        let text = format!("{bits} bits in each of 3 slots; immutable");
        vec![Detail::new("fingerprint_bits", "fingerprint", text, bits)]
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }
}

impl Contents for BinaryFuse {
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
}
