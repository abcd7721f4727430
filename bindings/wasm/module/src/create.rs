//! Filters are created, filled, united and written.

use crate::Fault;
use crate::filter::Filter;
use mayhap::{Bitmap, Digest, DigestFunction};
use wasm_bindgen::prelude::wasm_bindgen;

/// Kinds that can be filled.
pub(crate) trait Fill: Sized {
    /// Bit i of `new` is whether `digests[i]` was new.
    fn fill(&mut self, _digests: &[Digest], _new: &mut Bitmap) -> Result<(), Fault> {
        Err(Fault::new("Unsupported", "insert"))
    }

    /// Bit i of `removed` is whether `digests[i]` was there.
    #[cfg(feature = "kinds")]
    fn take(&mut self, _digests: &[Digest], _removed: &mut Bitmap) -> Result<(), Fault> {
        Err(Fault::new("Unsupported", "remove"))
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

/// A filter that is to be created.
pub(crate) struct New {
    pub(crate) items: u64,
    pub(crate) target_fpp: f64,
    pub(crate) function: DigestFunction,
    pub(crate) max_bytes: u64,
}

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
        let needs = New {
            items: expected_items as u64,
            target_fpp,
            function: DigestFunction::xxh3(seed),
            max_bytes: max_bytes as u64,
        };
        #[cfg(feature = "plain")]
        if let Some(filter) = crate::plain::create(kind, &needs) {
            return Ok(Self::of(filter?));
        }
        #[cfg(feature = "kinds")]
        if let Some(filter) = crate::kinds::create(kind, &needs) {
            return Ok(Self::of(filter?));
        }
        Err(Fault::new("WrongKind", ""))
    }

    /// Inserts each key in the room; returns the address of the answers, 1 for a key that was new,
    /// or 0 if they were refused: by a filter that takes no keys, or has no room for more.
    ///
    /// # Panics
    ///
    /// If the room is smaller than the keys.
    pub fn insert(&mut self, num_keys: usize, are_numbers: bool) -> *const u8 {
        let (keys, answers) = self.room.keys(num_keys, are_numbers);
        self.refusal = self.contents.insert(&keys, answers).err();
        if self.refusal.is_none() { answers.bytes.as_ptr() } else { core::ptr::null() }
    }

    /// Why the last call refused its keys.
    pub fn refusal(&self) -> Option<Fault> {
        self.refusal
    }

    /// Takes over the keys of another filter.
    ///
    /// # Errors
    ///
    /// A [`Fault`] naming the difference; nothing is changed then.
    pub fn union(&mut self, other: &Filter) -> Result<(), Fault> {
        self.contents.union(other.contents.as_ref())
    }

    /// The file, byte for byte as `mayhap` writes it; empty `key_options` keep the options of the
    /// file.
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
