//! Filters of kinds other than the plain one: one trait over them all, one file each.
//!
//! They are read into memory, and saved as a whole; only the plain kind is mapped and has a log.

mod counting;
pub mod fuse;
mod make;
pub mod matrix;
mod scalable;
mod window;

use crate::error::Error;
use crate::fill::State;
use crate::keys::KeyOptions;
use mayhap::native::{Header, Kind, Native};
use mayhap::{BinaryFuse, Bitmap, CountingBloomFilter, Digest, DigestFunction, SecretKey};
use serde_json::Value;
use std::fmt;
use std::path::Path;

pub use make::Make;
pub use scalable::ScalableFile;
pub use window::WindowFile;

/// A filter of any kind but the plain one.
pub trait KindFilter: fmt::Debug {
    /// The name, as `--layout` takes it.
    fn name(&self) -> &'static str;

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

    /// Keys after which it is full; `None` if it never is.
    fn capacity(&self) -> Option<u64>;

    /// Insertions that it counts now.
    fn items(&self) -> u64;

    /// Bytes of memory.
    fn num_bytes(&self) -> u64;

    /// The rate that was asked for.
    fn target_fpp(&self) -> f64;

    /// The predicted rate with `items` keys; where that is no question, the rate now.
    fn fpp_at(&self, items: u64) -> f64;

    /// The numbers of its state. Reads all bits.
    fn state(&self) -> State;

    /// What only this kind has.
    fn details(&self) -> Vec<Detail>;

    /// Saves it; replaces a file only if `force` is set.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    fn save(&mut self, path: &Path, options: &KeyOptions, force: bool) -> Result<(), Error>;
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
pub fn load(
    path: &Path,
    header: &Header,
    key: Option<SecretKey>,
) -> Result<Box<dyn KindFilter>, Error> {
    let name = path.display().to_string();
    Ok(match header.kind() {
        Kind::Window => {
            let options = KeyOptions::from_header(&name, header.key_options())?;
            Box::new(WindowFile::new(load_as(path, key)?, options.unix_ms))
        }
        Kind::Counting => Box::new(load_as::<CountingBloomFilter>(path, key)?),
        Kind::Fuse => Box::new(load_as::<BinaryFuse>(path, key)?),
        Kind::Scalable => Box::new(ScalableFile::new(load_as(path, key)?)),
        Kind::Matrix => return Err(matrix::refuse(&name)),
        kind => {
            return Err(Error::usage(
                format!("{name} is a {} filter, unknown here", kind.name()),
                "it was made by a newer mayhap: use that one",
            ));
        }
    })
}

/// The filter in a file.
///
/// # Errors
///
/// [`Error::Store`].
pub fn load_as<F: Native>(path: &Path, key: Option<SecretKey>) -> Result<F, Error> {
    Ok(mayhap_store::load_as(path, key)?.filter)
}
