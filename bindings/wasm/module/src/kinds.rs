//! Our kinds other than the plain filter.

use crate::contents::Contents;
use crate::create::{Fill, New};
use crate::filter::Filter;
use crate::native::{Answers, Kept};
use crate::{Fault, Info};
use mayhap::{
    BinaryFuse, Bitmap, BloomMatrix, CountingBloomFilter, Digest, ScalableBloomFilter,
    WindowBloomFilter,
};
use wasm_bindgen::prelude::wasm_bindgen;

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

impl Fill for CountingBloomFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn take(&mut self, digests: &[Digest], removed: &mut Bitmap) -> Result<(), Fault> {
        self.remove_digests_into(digests, removed);
        Ok(())
    }

    fn unite(&mut self, other: &Self) -> Result<(), Fault> {
        Ok(self.union_with(other)?)
    }
}

impl Fill for ScalableBloomFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        Ok(self.insert_digests_into(digests, new)?)
    }
}

impl Fill for WindowBloomFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        self.insert_digests_into(digests, new);
        Ok(())
    }
}

impl Fill for BinaryFuse {}

impl Fill for BloomMatrix {}

#[wasm_bindgen]
impl Filter {
    /// Removes each key in the room; returns the address of the answers, 1 for a key that was
    /// there, or 0 if they were refused: by a filter from which no key is removed.
    ///
    /// # Panics
    ///
    /// If the room is smaller than the keys.
    pub fn remove(&mut self, num_keys: usize, are_numbers: bool) -> *const u8 {
        let (keys, answers) = self.room.keys(num_keys, are_numbers);
        self.refusal = self.contents.remove(&keys, answers).err();
        if self.refusal.is_none() { answers.bytes.as_ptr() } else { core::ptr::null() }
    }
}

/// An empty filter of the kind, if it can be created here.
pub(crate) fn create(kind: &str, new: &New) -> Option<Result<Box<dyn Contents>, Fault>> {
    let function = new.function;
    match kind {
        "counting" => {
            let builder = CountingBloomFilter::builder().digest_function(function);
            let builder = builder.expected_items(new.items).target_fpp(new.target_fpp);
            let built = builder.max_bytes(new.max_bytes).build();
            Some(built.map(|filter| Kept::boxed(filter, "")).map_err(Fault::from))
        }
        "scalable" => {
            let built = ScalableBloomFilter::new(new.items, new.target_fpp, function);
            let limited = built.map(|mut filter| {
                filter.set_max_bytes(new.max_bytes);
                Kept::boxed(filter, "")
            });
            Some(limited.map_err(Fault::from))
        }
        _ => None,
    }
}
