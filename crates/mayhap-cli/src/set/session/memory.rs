//! Filters of files, as the store keeps them in step with their files.

use crate::set::inserter::Seen;
use crate::set::kind::KindFilter;
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Block, SecretKey};
use mayhap_store::{Error, Image, Memory, Record, apply};

/// A filter of a file, and the key to read that again.
pub(super) struct OfFile<'a> {
    filter: Filter<'a>,
    key: Option<SecretKey>,
}

enum Filter<'a> {
    Fixed(&'a mut AnyFilter),
    Kind(&'a mut dyn KindFilter),
}

impl<'a> OfFile<'a> {
    /// The filter that is seen, if it is one of a file.
    pub(super) fn of(seen: &'a mut Seen, key: Option<SecretKey>) -> Option<Self> {
        let filter = match seen {
            Seen::Fixed(filter) => Filter::Fixed(filter),
            Seen::Kind(filter) => Filter::Kind(&mut **filter),
            Seen::Growing(_) | Seen::Remote(_) => return None,
        };
        Some(Self { filter, key })
    }
}

impl Memory for OfFile<'_> {
    fn load(&mut self, image: &Image) -> Result<(), Error> {
        match &mut self.filter {
            Filter::Fixed(filter) => **filter = image.load(self.key, |_, _| {})?,
            Filter::Kind(filter) => filter.load(image, self.key)?,
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        match &mut self.filter {
            Filter::Fixed(filter) => apply(*filter, record),
            Filter::Kind(filter) => filter.apply(record),
        }
    }

    fn header(&mut self, key_options: &str) -> Header {
        match &mut self.filter {
            Filter::Fixed(filter) => Header::of(*filter, key_options),
            Filter::Kind(filter) => filter.header(key_options),
        }
    }

    fn segments(&self) -> Vec<&[Block]> {
        match &self.filter {
            Filter::Fixed(filter) => filter.segments(),
            Filter::Kind(filter) => filter.segments(),
        }
    }
}
