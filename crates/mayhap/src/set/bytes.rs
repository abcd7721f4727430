//! Filters of any kind as bytes of the native format.

use super::{Set, from_segments};
use crate::native::{Header, decode_body, encode_parts, lengthened};
use crate::{Error, SecretKey};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Encodes a whole filter of any kind: [`crate::native::encode`] for a set.
///
/// # Panics
///
/// If `key_options` is longer than [`crate::native::MAX_KEY_OPTIONS_BYTES`].
pub fn encode(set: &dyn Set, key_options: &str) -> Vec<u8> {
    encode_parts(&set.header(key_options), &set.segments())
}

/// Decodes a whole filter of any kind that is one set, and checks every byte of it.
///
/// # Errors
///
/// Same as [`crate::native::decode_as`]; [`Error::NotOfKind`] for a matrix and a segment.
pub fn decode(
    bytes: &[u8],
    secret_key: Option<SecretKey>,
) -> Result<(Box<dyn Set>, Header), Error> {
    let bytes = &*lengthened(bytes)?;
    let header = Header::decode(bytes)?;
    let (function, segments) = decode_body(bytes, &header, secret_key)?;
    Ok((from_segments(&header, function, segments)?, header))
}
