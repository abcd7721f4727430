//! The class that JavaScript sees.

use crate::contents::Contents;
use crate::keys::{Keys, Room, Texts};
use crate::{Fault, open};
use wasm_bindgen::prelude::wasm_bindgen;

/// A filter, and the room for the keys of a batch.
///
/// JavaScript allocates room by [`Filter::text_room`] or [`Filter::number_room`], writes the keys
/// to [`Filter::texts`], [`Filter::lengths`] or [`Filter::numbers`], and reads one byte per key
/// from the result of [`Filter::contains_texts`] and similar calls. Addresses are valid until room
/// is requested again.
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

    /// The parameters and fill of the filter: the numbers of its info, kept with the texts until
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

    /// The address for the bytes of the texts.
    pub fn texts(&mut self) -> *mut u8 {
        self.room.bytes.as_mut_ptr()
    }

    /// The address for the length of each text.
    pub fn lengths(&mut self) -> *mut u32 {
        self.room.lengths.as_mut_ptr()
    }

    /// The address for the numbers.
    pub fn numbers(&mut self) -> *mut u64 {
        self.room.numbers.as_mut_ptr()
    }

    /// Queries each text; returns the place of the answers.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the lengths do not match the bytes.
    pub fn contains_texts(&mut self) -> Result<*const u8, Fault> {
        let keys = Keys::Texts(Texts::new(&self.room.bytes, &self.room.lengths)?);
        self.contents.answer(&keys, &mut self.room.answers);
        Ok(self.room.answers.as_ptr())
    }

    /// Queries each number; returns the place of the answers.
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
