//! The kinds of filters, one file each: an `impl` of [`KeySet`].
//!
//! `plain.rs` has a given size (`mapped.rs` where it is only read); `counting.rs`, `fuse.rs`,
//! `scalable.rs` and `window.rs` are other kinds of files, `growing.rs` is a chain in memory alone.
//! `create.rs` makes empty ones, as `--layout` names them. `matrix.rs` holds many sets.

mod counting;
mod create;
pub mod fuse;
mod growing;
mod mapped;
pub mod matrix;
mod plain;
mod scalable;
mod window;

use crate::error::Error;
use crate::set::key_set::KeySet;
use mayhap::native::Kind;
use mayhap::{AnyFilter, BinaryFuse, CountingBloomFilter, SecretKey};
use mayhap_keys::KeyOptions;
use mayhap_store::Image;

pub use create::Create;
pub use growing::{FIRST_ITEMS, growing};
pub use scalable::ScalableFile;
pub use window::WindowFile;

/// Reads a filter of any kind into memory, checking every byte.
///
/// # Errors
///
/// [`Error::Store`]; [`Error::Usage`] for kinds that this program does not know.
pub fn load(image: &Image, key: Option<SecretKey>) -> Result<Box<dyn KeySet>, Error> {
    let (name, header) = (image.path().display().to_string(), image.header());
    let quietly = |_, _| {};
    Ok(match header.kind() {
        Kind::Bloom => Box::new(image.load::<AnyFilter>(key, quietly)?),
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
