//! A state's filter in memory, as a session sees it.

use crate::{Error, Image, Operation, Record};
use mayhap::native::{Header, Native};
use mayhap::set::{Repeats, Set};
use mayhap::{Bitmap, Block, SecretKey};

/// A filter in memory that a [`crate::Session`] keeps in sync with its files.
pub trait Memory {
    /// Replaces the filter by that of an image written since by another process, of the same kind
    /// and digest function.
    ///
    /// # Errors
    ///
    /// Same as [`Image::load`].
    fn load(&mut self, image: &Image) -> Result<(), Error>;

    /// Applies a record, exactly as its writer did; returns the number of new keys.
    ///
    /// # Errors
    ///
    /// The errors of growing kinds that cannot grow.
    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error>;

    /// The header for a file of the filter, with these key options.
    fn header(&mut self, key_options: &str) -> Header;

    /// The body of the file, with the length in the header.
    fn segments(&self) -> Vec<&[Block]>;
}

/// Applies a record to a filter of any kind; returns the number of new keys. A record without a
/// time is applied at the latest time passed to the filter; a removal does nothing in kinds without
/// removals.
///
/// # Errors
///
/// The errors of [`Set::insert_into`].
pub fn apply<F: Set + ?Sized>(filter: &mut F, record: &Record<'_>) -> Result<u64, mayhap::Error> {
    if let Some(time) = record.time {
        filter.resume(time);
    }
    let mut bits = Bitmap::new();
    match record.operation {
        Operation::Insert => {
            filter.insert_into(record.digests, Repeats::Renew, &mut bits)?;
            Ok(bits.count_ones() as u64)
        }
        Operation::Remove => {
            if filter.capabilities().removes {
                filter.remove_into(record.digests, &mut bits)?;
            }
            Ok(0)
        }
        Operation::Pass => Ok(0),
    }
}

/// The filter of a [`crate::LiveFilter`].
#[derive(Debug)]
pub(crate) struct Held<F> {
    pub(crate) filter: F,
    pub(crate) secret_key: Option<SecretKey>,
}

impl<F: Native + Set> Memory for Held<F> {
    fn load(&mut self, image: &Image) -> Result<(), Error> {
        self.filter = image.load(self.secret_key, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        apply(&mut self.filter, record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        Header::of(&self.filter, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        Native::segments(&self.filter)
    }
}
