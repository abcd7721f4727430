//! The class that JavaScript sees.

use crate::contents::Contents;
use crate::keys::{Keys, Room, Texts};
use crate::{Fault, open};
use wasm_bindgen::prelude::wasm_bindgen;

/// A filter, and the room for the keys of a batch.
///
/// JavaScript gets room by [`Filter::text_room`] or [`Filter::number_room`], writes the keys where
/// [`Filter::texts`], [`Filter::lengths`] or [`Filter::numbers`] says, and reads a byte a key where
/// [`Filter::contains_texts`] and its like say. Addresses are good until room is requested again.
#[wasm_bindgen]
pub struct Filter {
    pub(crate) contents: Box<dyn Contents>,
    pub(crate) room: Room,
    texts: String,
}

#[wasm_bindgen]
impl Filter {
    /// Opens the bytes of a file; `key` are the 16 bytes of the secret key of a `sip13` filter.
    ///
    /// # Errors
    ///
    /// A [`Fault`] for bytes that are no whole and undamaged filter.
    #[expect(clippy::needless_pass_by_value, reason = "optional slices cross as owned ones only")]
    pub fn open(bytes: &[u8], key: Option<Vec<u8>>) -> Result<Filter, Fault> {
        Ok(Self::of(open::open(bytes, key.as_deref())?))
    }

    /// What it is and how full it is: the numbers of its info, kept beside the texts until
    /// [`Filter::info_texts`]. Reads all bits.
    pub fn info(&mut self) -> Vec<f64> {
        let info = self.contents.info();
        self.texts = info.texts();
        info.numbers().into()
    }

    /// The texts of the last [`Filter::info`], a line each.
    pub fn info_texts(&mut self) -> String {
        core::mem::take(&mut self.texts)
    }

    /// Room for this many texts of this many bytes in all.
    pub fn text_room(&mut self, num_bytes: usize, num_keys: usize) {
        self.room.bytes.resize(num_bytes, 0);
        self.room.lengths.resize(num_keys, 0);
        self.room.answers.resize(num_keys, 0);
    }

    /// Room for this many numbers.
    pub fn number_room(&mut self, num_keys: usize) {
        self.room.numbers.resize(num_keys, 0);
        self.room.answers.resize(num_keys, 0);
    }

    /// Where the bytes of the texts go.
    pub fn texts(&mut self) -> *mut u8 {
        self.room.bytes.as_mut_ptr()
    }

    /// Where the length of each text goes.
    pub fn lengths(&mut self) -> *mut u32 {
        self.room.lengths.as_mut_ptr()
    }

    /// Where the numbers go.
    pub fn numbers(&mut self) -> *mut u64 {
        self.room.numbers.as_mut_ptr()
    }

    /// Whether each text may be in it; where the answers are.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the lengths are not those of the bytes.
    pub fn contains_texts(&mut self) -> Result<*const u8, Fault> {
        let keys = Keys::Texts(Texts::new(&self.room.bytes, &self.room.lengths)?);
        self.contents.answer(&keys, &mut self.room.answers);
        Ok(self.room.answers.as_ptr())
    }

    /// Whether each number may be in it; where the answers are.
    pub fn contains_numbers(&mut self) -> *const u8 {
        self.contents.answer(&Keys::Numbers(&self.room.numbers), &mut self.room.answers);
        self.room.answers.as_ptr()
    }
}

impl Filter {
    pub(crate) fn of(contents: Box<dyn Contents>) -> Self {
        Self { contents, room: Room::default(), texts: String::new() }
    }
}
