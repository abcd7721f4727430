//! A filter of a file, as the store keeps it in step with that file.

use super::waiting::not_of_a_file;
use mayhap::native::Header;
use mayhap::{Block, SecretKey};
use mayhap_sets::{Contents, KeySet};
use mayhap_store::{Error, Image, Memory, Record};

/// A filter of a file, and the key to read that again.
pub(super) struct OfFile<'a> {
    contents: &'a mut dyn Contents,
    key: Option<SecretKey>,
}

impl<'a> OfFile<'a> {
    /// The set.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Usage`] if it cannot be the contents of a file.
    pub(super) fn of(
        set: &'a mut dyn KeySet,
        key: Option<SecretKey>,
    ) -> Result<Self, crate::error::Error> {
        Ok(Self { contents: set.contents().ok_or_else(not_of_a_file)?, key })
    }
}

impl Memory for OfFile<'_> {
    fn load(&mut self, image: &Image) -> Result<(), Error> {
        self.contents.load(image, self.key)
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        self.contents.apply(record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        self.contents.header(key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.contents.segments()
    }
}
