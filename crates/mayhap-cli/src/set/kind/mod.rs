//! Filters of kinds other than the plain one: one trait over them all, one file each.
//!
//! They are read into memory, and saved as a whole; only the plain kind is mapped.

mod counting;
mod create;
pub mod fuse;
pub mod matrix;
mod scalable;
mod window;

use crate::args::layout_name::LayoutName;
use crate::error::Error;
use crate::set::state::State;
use mayhap::native::{Header, Kind};
use mayhap::{
    BinaryFuse, Bitmap, Block, CountingBloomFilter, Digest, DigestFunction, Estimate, SecretKey,
};
use mayhap_keys::KeyOptions;
use mayhap_store::{Image, Record};
use serde_json::Value;
use std::fmt;

pub use create::Create;
pub use scalable::ScalableFile;
pub use window::WindowFile;

/// A filter of any kind but the plain one.
pub trait KindFilter: fmt::Debug {
    /// The name, as `--layout` takes it.
    fn name(&self) -> &'static str;

    /// The kind with its size, as `--layout` takes it.
    fn layout_name(&self) -> LayoutName;

    /// How keys become digests.
    fn digest_function(&self) -> DigestFunction;

    /// Asks for many digests.
    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap);

    /// Inserts many digests; which were new. After an error the digests before the one for which
    /// there was no room are inserted.
    ///
    /// # Errors
    ///
    /// Those of the filter.
    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error>;

    /// [`KindFilter::insert_digests_into`] that leaves alone what is there already, where inserting
    /// it again would count.
    ///
    /// # Errors
    ///
    /// Those of the filter.
    fn insert_absent_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), mayhap::Error> {
        self.insert_digests_into(digests, new)
    }

    /// Whether inserting what is there already changes something, so that a log has to have it.
    fn repeats_change_it(&self) -> bool {
        false
    }

    /// Removes many digests; which were there. Nothing and `false` for kinds that cannot.
    fn remove_digests_into(&mut self, _digests: &[Digest], _removed: &mut Bitmap) -> bool {
        false
    }

    /// Why nothing can be inserted, and what to do instead.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for kinds that never change.
    fn check_insert(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Refuses to grow beyond this many bytes, if it grows.
    fn set_max_bytes(&mut self, _max_bytes: u64) {}

    /// Distinct keys after which it is full; `None` if it never is.
    fn capacity(&self) -> Option<u64>;

    /// The [`KindFilter::items`] at which it is full; those of keys that were absent, if none else
    /// is inserted.
    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        self.capacity()
    }

    /// Distinct keys that it was made for, or starts with.
    fn expected_items(&self) -> u64 {
        self.capacity().unwrap_or(0)
    }

    /// Insertions that it counts now.
    fn items(&self) -> u64;

    /// How many distinct keys came, by those that it counted, of absent keys if none else was
    /// inserted. `None` where they do not say.
    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        None
    }

    /// Keys that were forgotten before their time so far, of a kind that does so rather than answer
    /// wrongly more often.
    fn forgotten_early(&self) -> Option<u64> {
        None
    }

    /// Bytes of memory.
    fn num_bytes(&self) -> u64;

    /// The rate that was asked for.
    fn target_fpp(&self) -> f64;

    /// The predicted rate now, by the keys that came. Reads no bits.
    fn expected_fpp(&self) -> f64;

    /// The numbers of its state. Reads all bits.
    fn state(&self) -> State;

    /// What only this kind has.
    fn details(&self) -> Vec<Detail>;

    /// The latest time that it was given, for windows of time; 0 for all others.
    fn now(&self) -> u64 {
        0
    }

    /// How keys are cut, with what the kind itself says in its file.
    fn key_options(&self, options: KeyOptions) -> KeyOptions {
        options
    }

    /// What its file says of it, with these key options.
    fn header(&mut self, key_options: &str) -> Header;

    /// The body of its file.
    fn segments(&self) -> Vec<&[Block]>;

    /// Takes over the filter of an image that another process has made since.
    ///
    /// # Errors
    ///
    /// Those of [`Image::load`].
    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error>;

    /// Does what a record of its log says; returns how many keys were new. Nothing for kinds that
    /// never change.
    ///
    /// # Errors
    ///
    /// Those of the filter.
    fn apply(&mut self, _record: &Record<'_>) -> Result<u64, mayhap::Error> {
        Ok(0)
    }
}

/// One row of `mayhap info`.
#[derive(Debug, Clone)]
pub struct Detail {
    /// The name in JSON.
    pub key: &'static str,
    /// The name in text.
    pub label: &'static str,
    /// The value in text.
    pub text: String,
    /// The value in JSON.
    pub value: Value,
}

impl Detail {
    fn new(key: &'static str, label: &'static str, text: String, value: impl Into<Value>) -> Self {
        Self { key, label, text, value: value.into() }
    }
}

/// Reads a filter of any kind but the plain one, checking every byte.
///
/// # Errors
///
/// [`Error::Store`]; [`Error::Usage`] for kinds that this program does not know.
pub fn load(image: &Image, key: Option<SecretKey>) -> Result<Box<dyn KindFilter>, Error> {
    let (name, header) = (image.path().display().to_string(), image.header());
    let quietly = |_, _| {};
    Ok(match header.kind() {
        Kind::Window => {
            let options = KeyOptions::from_header(&name, header.key_options())?;
            Box::new(WindowFile::new(image.load(key, quietly)?, options.unix_ms))
        }
        Kind::Counting => Box::new(image.load::<CountingBloomFilter>(key, quietly)?),
        Kind::Fuse => Box::new(image.load::<BinaryFuse>(key, quietly)?),
        Kind::Scalable => Box::new(ScalableFile::new(image.load(key, quietly)?)),
        Kind::Matrix => return Err(matrix::refuse(&name)),
        kind => {
            return Err(Error::usage(
                format!("{name} is a {} filter, unknown here", kind.name()),
                "it was made by a newer mayhap: use that one",
            ));
        }
    })
}
