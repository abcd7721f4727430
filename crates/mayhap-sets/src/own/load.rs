//! Filters of any kind, read from their files.

use crate::error::{Error, Refusal};
use crate::own_set::OwnSet;
use mayhap::SecretKey;
use mayhap::native::Kind;
use mayhap_keys::KeyOptions;
use mayhap_store::Image;

/// Reads a filter of any kind into memory, checking every byte.
///
/// # Errors
///
/// [`Error::Store`], [`Error::Keys`]; [`Error::Refused`] for a matrix and a segment.
pub fn load(image: &Image, key: Option<SecretKey>) -> Result<OwnSet, Error> {
    let (name, header) = (image.path().display().to_string(), image.header());
    match header.kind() {
        Kind::Matrix => return Err(Error::Refused { name, why: Refusal::ManySets }),
        Kind::Segment => return Err(Error::Refused { name, why: Refusal::OneSegment }),
        _ => {}
    }
    let set = image.load_set(key)?;
    let has_times = set.capabilities().forgets;
    let unix_ms = has_times && KeyOptions::from_header(&name, header.key_options())?.unix_ms;
    Ok(OwnSet::new(set, unix_ms))
}
