//! The class that JavaScript sees.

use crate::contents::Contents;
use crate::keys::Room;
use crate::{Fault, open};
use wasm_bindgen::prelude::wasm_bindgen;

/// A filter, and the room for the keys of a batch.
///
/// JavaScript requests [`Filter::make_room`] and writes the keys there: numbers of eight bytes; or
/// the number of bytes of each text, four bytes each, and all texts behind them. Then it reads one
/// byte per key from the result of [`Filter::contains`] and similar calls, which is valid until the
/// next one.
#[wasm_bindgen]
pub struct Filter {
    pub(crate) contents: Box<dyn Contents>,
    pub(crate) room: Room,
    texts: String,
    /// Why the last call refused its keys.
    #[cfg(feature = "write")]
    pub(crate) refusal: Option<Fault>,
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

    /// Room for this many words of eight bytes: its address, until room is requested again.
    pub fn make_room(&mut self, num_words: usize) -> *mut u64 {
        self.room.make(num_words)
    }

    /// Queries each key in the room; returns the address of the answers.
    ///
    /// # Panics
    ///
    /// If the room is smaller than the keys.
    pub fn contains(&mut self, num_keys: usize, are_numbers: bool) -> *const u8 {
        let (keys, answers) = self.room.keys(num_keys, are_numbers);
        self.contents.answer(&keys, answers);
        answers.bytes.as_ptr()
    }
}

impl Filter {
    pub(crate) fn of(contents: Box<dyn Contents>) -> Self {
        Self {
            contents,
            room: Room::default(),
            texts: String::new(),
            #[cfg(feature = "write")]
            refusal: None,
        }
    }
}
