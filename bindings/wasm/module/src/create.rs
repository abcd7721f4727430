//! Filters are created, filled, united and written.

use crate::contents::Contents;
use crate::filter::Filter;
use crate::native::Kept;
use crate::{Fault, keys};
use mayhap::{
    AnyFilter, BinaryFuse, Bitmap, BloomMatrix, CountingBloomFilter, Digest, DigestFunction,
    Layout, ScalableBloomFilter, WindowBloomFilter,
};
use wasm_bindgen::prelude::wasm_bindgen;

/// What the kinds can take in.
pub(crate) trait Fill: Sized {
    /// Bit i of `new` is whether `digests[i]` was new.
    fn fill(&mut self, _digests: &[Digest], _new: &mut Bitmap) -> Result<(), Fault> {
        Err(Fault::new("Unsupported", "insert"))
    }

    /// Takes over the keys of another one.
    fn unite(&mut self, _other: &Self) -> Result<(), Fault> {
        Err(Fault::new("Unsupported", "union"))
    }

    /// The positions of a key's bits.
    fn positions(&self, _digest: Digest) -> Vec<f64> {
        Vec::new()
    }

    /// The bits in order.
    fn bits(&self) -> &[u8] {
        &[]
    }
}

impl Fill for AnyFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn unite(&mut self, other: &Self) -> Result<(), Fault> {
        Ok(self.union_with(other)?)
    }

    fn positions(&self, digest: Digest) -> Vec<f64> {
        self.params().positions(digest).map(|position| position as f64).collect()
    }

    fn bits(&self) -> &[u8] {
        bytemuck::cast_slice(self.blocks())
    }
}

impl Fill for CountingBloomFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        self.insert_digests_into(digests, new);
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
    /// An empty filter: `kind` is a layout's name, `counting`, `scalable`, or empty for the default
    /// layout.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for numbers that no filter has, or for more than `max_bytes`.
    pub fn create(
        kind: &str,
        expected_items: f64,
        target_fpp: f64,
        seed: u64,
        max_bytes: f64,
    ) -> Result<Filter, Fault> {
        let (items, max_bytes) = (expected_items as u64, max_bytes as u64);
        let function = DigestFunction::xxh3(seed);
        let layout = match kind {
            "" => None,
            "standard" => Some(Layout::Standard),
            "blocked" => Some(Layout::Blocked),
            "blocked128" => Some(Layout::Blocked128),
            "blocked64" => Some(Layout::Blocked64),
            "counting" => {
                let builder = CountingBloomFilter::builder().digest_function(function);
                let builder = builder.expected_items(items).target_fpp(target_fpp);
                return Ok(filled(builder.max_bytes(max_bytes).build()?));
            }
            "scalable" => {
                let mut filter = ScalableBloomFilter::new(items, target_fpp, function)?;
                filter.set_max_bytes(max_bytes);
                return Ok(filled(filter));
            }
            _ => return Err(Fault::new("WrongKind", "")),
        };
        let builder = AnyFilter::builder().digest_function(function).max_bytes(max_bytes);
        let mut builder = builder.expected_items(items).target_fpp(target_fpp);
        if let Some(layout) = layout {
            builder = builder.layout(layout);
        }
        Ok(filled(builder.build()?))
    }

    /// Inserts the texts in the room; where the answers are, 1 for a key that was new.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for a filter that takes no keys, or has no room for more.
    pub fn insert_texts(&mut self) -> Result<*const u8, Fault> {
        let texts = keys::Texts::new(&self.room.bytes, &self.room.lengths)?;
        self.contents.insert(&keys::Keys::Texts(texts), &mut self.room.answers)?;
        Ok(self.room.answers.as_ptr())
    }

    /// As [`Filter::insert_texts`] for the numbers in the room.
    ///
    /// # Errors
    ///
    /// Likewise.
    pub fn insert_numbers(&mut self) -> Result<*const u8, Fault> {
        let numbers = keys::Keys::Numbers(&self.room.numbers);
        self.contents.insert(&numbers, &mut self.room.answers)?;
        Ok(self.room.answers.as_ptr())
    }

    /// Takes over the keys of another filter.
    ///
    /// # Errors
    ///
    /// A [`Fault`] naming what differs; nothing is changed then.
    pub fn union(&mut self, other: &Filter) -> Result<(), Fault> {
        self.contents.union(other.contents.as_ref())
    }

    /// The file, byte for byte as `mayhap` writes it; empty `key_options` keep those of the file.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for filters of other systems, and for options that do not fit.
    pub fn encode(&self, key_options: &str) -> Result<Vec<u8>, Fault> {
        self.contents.encode(key_options)
    }

    /// The positions of a key's bits; none where they are not known.
    pub fn positions(&self, key: &[u8]) -> Vec<f64> {
        self.contents.positions(key)
    }

    /// `length` bytes of the bits from byte `start` on; fewer at the end.
    pub fn bits(&self, start: usize, length: usize) -> Vec<u8> {
        let bits = self.contents.bits();
        let start = start.min(bits.len());
        bits[start..start.saturating_add(length).min(bits.len())].to_vec()
    }
}

fn filled<F>(filter: F) -> Filter
where
    Kept<F>: Contents + 'static,
{
    Filter::of(Box::new(Kept { filter, key_options: String::new() }))
}
