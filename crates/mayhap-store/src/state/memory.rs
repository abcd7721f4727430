//! A state's filter in memory, as a session sees it.

use crate::{Error, Image, Operation, Record};
use mayhap::native::{Header, Native};
use mayhap::{
    AnyFilter, Bitmap, Block, CountingBloomFilter, Digest, ScalableBloomFilter, SecretKey, Window,
    WindowBloomFilter,
};

/// A filter in memory that a [`crate::Session`] keeps in sync with its files.
pub trait Memory {
    /// Replaces the filter by that of an image written since by another process, of the same kind
    /// and digest function.
    ///
    /// # Errors
    ///
    /// As [`Image::load`].
    fn load(&mut self, image: &Image) -> Result<(), Error>;

    /// Applies a record, exactly as its writer did; returns the number of new keys.
    ///
    /// # Errors
    ///
    /// Those of growing kinds that cannot grow.
    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error>;

    /// The header for a file of the filter, with these key options.
    fn header(&mut self, key_options: &str) -> Header;

    /// The body of the file, with the length in the header.
    fn segments(&self) -> Vec<&[Block]>;
}

/// A kind into which digests can be inserted one by one, so that a log of them can be kept.
pub trait Insert: Native {
    /// Inserts many digests in order; bit `i` of `new` is set if `digests[i]` was new.
    ///
    /// # Errors
    ///
    /// Those of growing kinds that cannot grow.
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error>;

    /// Removes many digests in order, if the kind supports it; bit `i` of `removed` is set if
    /// `digests[i]` was present. Other kinds do nothing.
    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        let _ = (digests, removed);
    }

    /// The last time passed to a time window; 0 for all other kinds.
    fn now(&self) -> u64 {
        0
    }

    /// The time to record with the last so many insertions: [`Insert::now`], or the number of keys
    /// that had come to a count window before these.
    fn time_of_last(&self, digests: usize) -> u64 {
        let _ = digests;
        self.now()
    }

    /// Moves a window on to such a time; does nothing for other kinds.
    fn advance(&mut self, time: u64) {
        let _ = time;
    }
}

/// Applies a record to a filter; returns the number of new keys. A record without a time is applied
/// at the latest time passed to the filter.
///
/// # Errors
///
/// Those of [`Insert::insert_digests_into`].
pub fn apply<F: Insert>(filter: &mut F, record: &Record<'_>) -> Result<u64, mayhap::Error> {
    if let Some(time) = record.time {
        filter.advance(time);
    }
    let mut bits = Bitmap::new();
    match record.operation {
        Operation::Insert => {
            filter.insert_digests_into(record.digests, &mut bits)?;
            Ok(bits.count_ones() as u64)
        }
        Operation::Remove => {
            filter.remove_digests_into(record.digests, &mut bits);
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

impl<F: Insert> Memory for Held<F> {
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
        self.filter.segments()
    }
}

impl Insert for AnyFilter {
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }
}

impl Insert for CountingBloomFilter {
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        self.remove_digests_into(digests, removed);
    }
}

impl Insert for ScalableBloomFilter {
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error> {
        self.insert_digests_into(digests, new)
    }
}

/// In a time window at the last time passed to it.
impl Insert for WindowBloomFilter {
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn now(&self) -> u64 {
        match self.window() {
            Window::Time { .. } => self.moment(),
            _ => 0,
        }
    }

    fn time_of_last(&self, digests: usize) -> u64 {
        match self.window() {
            Window::Items(_) => self.moment().saturating_sub(digests as u64),
            _ => self.moment(),
        }
    }

    fn advance(&mut self, time: u64) {
        self.resume(time);
    }
}
