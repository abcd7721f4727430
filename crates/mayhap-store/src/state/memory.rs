//! A state's filter in memory, as a session sees it.

use crate::{Error, Image, Operation, Record};
use mayhap::native::{Header, Native};
use mayhap::{
    AnyFilter, Bitmap, Block, CountingBloomFilter, Digest, ScalableBloomFilter, SecretKey,
    WindowBloomFilter,
};

/// A filter in memory that a [`crate::Session`] keeps in step with its files.
pub trait Memory {
    /// Replaces the filter by the one of an image that another process has made since, of the same
    /// kind and digest function.
    ///
    /// # Errors
    ///
    /// As [`Image::load`].
    fn load(&mut self, image: &Image) -> Result<(), Error>;

    /// Does what a record says, exactly as whoever wrote it did; returns how many keys were new.
    ///
    /// # Errors
    ///
    /// Those of kinds that grow and cannot.
    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error>;

    /// What a file says of the filter, for keys that are cut in this way.
    fn header(&mut self, key_options: &str) -> Header;

    /// The body of the file, as long as the header says.
    fn segments(&self) -> Vec<&[Block]>;
}

/// A kind that digests can be inserted into one by one, so that a log of them can be kept.
pub trait Insert: Native {
    /// Inserts many digests in order; bit `i` of `new` tells whether `digests[i]` was new.
    ///
    /// # Errors
    ///
    /// Those of kinds that grow and cannot.
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error>;

    /// Removes many digests in order, if the kind can; bit `i` of `removed` tells whether
    /// `digests[i]` was there. Other kinds do nothing.
    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        let _ = (digests, removed);
    }

    /// The latest time that a window of time was given; 0 for all others.
    fn now(&self) -> u64 {
        0
    }

    /// Lets time go on, in a window of time; nothing for all others.
    fn advance(&mut self, time: u64) {
        let _ = time;
    }
}

/// Does what a record says to a filter; returns how many keys were new. One without a time is done
/// at the latest time that the filter was given.
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

/// In a window of time at the latest time that it was given.
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
        self.now()
    }

    fn advance(&mut self, time: u64) {
        self.advance(time);
    }
}
