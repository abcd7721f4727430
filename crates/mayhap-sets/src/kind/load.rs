//! Filters of any kind, read from their files.

use super::{ScalableFile, WindowFile};
use crate::error::{Error, Refusal};
use crate::key_set::KeySet;
use mayhap::native::Kind;
use mayhap::{AnyFilter, BinaryFuse, CountingBloomFilter, SecretKey};
use mayhap_keys::KeyOptions;
use mayhap_store::Image;

/// Reads a filter of any kind into memory, checking every byte.
///
/// # Errors
///
/// [`Error::Store`], [`Error::Keys`]; [`Error::Refused`] for a matrix, a segment, and for kinds
/// that are unknown here.
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
        Kind::Matrix => return Err(Error::Refused { name, why: Refusal::ManySets }),
        Kind::Segment => return Err(Error::Refused { name, why: Refusal::OneSegment }),
        kind => return Err(Error::Refused { name, why: Refusal::UnknownKind(kind) }),
    })
}
