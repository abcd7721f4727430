//! Writes short files.

use super::checksum::checksum_of;
use super::header::Header;
use super::kind::{Kind, Native};
use super::pages::body_bytes;
use super::short::{CHECKSUM_BYTES, FIELDS_BYTES, MAX_SHORT_BYTES, short_bytes};
use super::version::SHORT_VERSION;
use crate::Error;
use crate::bits::Block;
use alloc::vec::Vec;

/// Encodes a small plain filter as a short file, with key options as in [`Header::key_options`].
///
/// # Errors
///
/// Same as [`Header::encode_short`].
///
/// # Panics
///
/// If `key_options` is longer than [`super::MAX_KEY_OPTIONS_BYTES`].
///
/// # Examples
///
/// ```
/// use mayhap::{AnyFilter, Layout, native};
///
/// let builder = AnyFilter::builder().layout(Layout::Standard);
/// let mut filter = builder.expected_items(100).target_fpp(0.01).build()?;
/// filter.insert("key");
/// let short = native::encode_short(&filter, "")?;
/// assert!(short.len() <= 200 && native::encode(&filter, "").len() == 8200);
/// let (copy, _header) = native::decode(&short, None)?;
/// assert!(copy.contains("key") && !copy.contains("other"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn encode_short<F: Native>(filter: &F, key_options: &str) -> Result<Vec<u8>, Error> {
    Header::of(filter, key_options).encode_short(&filter.segments())
}

impl Header {
    /// The short file of a filter with this header and this body.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if it would have more than [`MAX_SHORT_BYTES`]; [`Error::NotOfKind`] for
    /// kinds other than plain filters; [`Error::BadField`] for a header with an identity, since a
    /// state is never short. [`Error::WrongLength`] if the body is not that of the header.
    pub fn encode_short(&self, segments: &[&[Block]]) -> Result<Vec<u8>, Error> {
        let (kind, key_options) = (self.kind(), self.key_options().as_bytes());
        if kind != Kind::Bloom {
            return Err(Error::NotOfKind { operation: "short file", kind: kind.name() });
        }
        if let Some(identity) = self.identity() {
            return Error::bad_field("identity", identity.epoch);
        }
        let short_bytes = short_bytes(key_options.len(), self.fields().num_bits);
        Error::check_limit("short file bytes", MAX_SHORT_BYTES as u64, short_bytes)?;
        let blocks = segments.first().copied().unwrap_or_default();
        Error::check_length("blocks", self.segment_blocks()[0], blocks.len() as u64)?;
        let mut short = Vec::with_capacity(short_bytes as usize);
        short.extend(&self.encode(0)[..FIELDS_BYTES]);
        short[8..10].copy_from_slice(&SHORT_VERSION.to_le_bytes());
        short.extend(key_options);
        let bits = short_bytes as usize - CHECKSUM_BYTES - short.len();
        short.extend(&body_bytes(blocks)[..bits]);
        short.extend(checksum_of(&short).to_le_bytes());
        Ok(short)
    }
}
