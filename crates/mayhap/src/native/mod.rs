//! The native format: a filter as bytes. `crates/mayhap/NATIVE-FORMAT.md` is its specification.
//!
//! ```text
//! offset            bytes             what
//! 0                 4096              header (see `Header`)
//! 4096              P · 4096          body: each segment's blocks, then zeros up to a whole page
//! 4096 + P · 4096   P · 8             XXH3-64 (seed 0) of each body page, little-endian
//! ```
//!
//! The body's bytes are the filter's memory: opening by `mmap` needs no decoding. All numbers are
//! little-endian. No I/O happens here; `mayhap-store` reads and writes files. A small filter may be
//! in a short file instead ([`encode_short`]): every decoder reads both.
//!
//! ```
//! use mayhap::{AnyFilter, native};
//!
//! let mut filter = AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
//! filter.insert("key");
//! let bytes = native::encode(&filter, "");
//! let (copy, _header) = native::decode(&bytes, None)?;
//! assert!(copy.contains("key") && !copy.contains("other"));
//! assert_eq!(native::encode(&copy, ""), bytes);
//! # Ok::<(), mayhap::Error>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `checksum.rs` | the checksum of everything in a file |
//! | `header.rs` | the 4 KiB header: the description of the filter, with its own checksum |
//! | `identity.rs` | the state of which a file is an image |
//! | `kind.rs` | how every kind of filter is represented in a file and restored from one |
//! | `kinds.rs` | the table of kinds |
//! | `packed.rs` | a small file without its zeros |
//! | `pages.rs` | the body: blocks as little-endian bytes in pages, each with a checksum |
//! | `place.rs` | the places of fields in a header, and the numbers there |
//! | `short.rs` | the short form: a small plain filter in a file smaller than a page |
//! | `shorten.rs` | writes short files |
//! | `sniff.rs` | the kind of a file that is not one of our filters |
//! | `version.rs` | the version of the format that a file has |

mod checksum;
mod header;
mod identity;
mod kind;
mod kinds;
mod packed;
mod pages;
mod place;
mod short;
mod shorten;
mod sniff;
#[cfg(test)]
mod tests;
mod version;

pub use header::Header;
pub use identity::{IDENTITY_BYTES, IDENTITY_OFFSET, Identity};
pub(crate) use kind::only_segment;
pub use kind::{Fields, Kind, MAX_LAYERS, Native, PAGE_BYTES};
pub use packed::{MAX_PACKED_BYTES, PACKED_MAGIC, pack, packed_file_bytes, unpack};
pub use pages::{
    body_bytes, body_from_le, check_padding, page_checksums, table_checksum, verify_pages,
};
pub use place::{HEADER_BYTES, MAGIC, MAX_KEY_OPTIONS_BYTES};
pub(crate) use short::lengthened;
pub use short::{MAX_SHORT_BYTES, is_short, lengthen, paged};
pub use shorten::encode_short;
pub use sniff::looks_like;
pub use version::{NEWEST_VERSION, SHORT_VERSION, VERSION};

use crate::bits::{Block, OwnedBlocks};
use crate::{AnyFilter, DigestFunction, Error, SecretKey};
use alloc::vec::Vec;
use checksum::checksum_of;

/// Encodes a whole filter, with key options as in [`Header::key_options`].
///
/// # Panics
///
/// If `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`].
pub fn encode<F: Native>(filter: &F, key_options: &str) -> Vec<u8> {
    encode_parts(&Header::of(filter, key_options), &filter.segments())
}

pub(crate) fn encode_parts(header: &Header, segments: &[&[Block]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(header.file_bytes() as usize);
    bytes.resize(HEADER_BYTES, 0);
    for blocks in segments {
        bytes.extend_from_slice(&body_bytes(blocks));
        bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES), 0);
    }
    let table = bytes.len();
    for page in (HEADER_BYTES..table).step_by(PAGE_BYTES) {
        let checksum = checksum_of(&bytes[page..page + PAGE_BYTES]);
        bytes.extend_from_slice(&checksum.to_le_bytes());
    }
    let header = header.encode(checksum_of(&bytes[table..]));
    bytes[..HEADER_BYTES].copy_from_slice(&header);
    bytes
}

/// Decodes a whole Bloom filter and checks every byte of it: [`decode_as`] for [`AnyFilter`].
///
/// # Errors
///
/// Same as [`decode_as`].
pub fn decode(bytes: &[u8], secret_key: Option<SecretKey>) -> Result<(AnyFilter, Header), Error> {
    decode_as(bytes, secret_key)
}

/// Decodes a whole filter of a kind and checks every byte of it.
///
/// `secret_key` is needed for filters of the `sip13` digest.
///
/// # Errors
///
/// [`Error::NotAFilter`], [`Error::NewerVersion`], [`Error::HeaderDamaged`], [`Error::BadField`],
/// [`Error::WrongKind`], [`Error::WrongLength`], [`Error::PageDamaged`], [`Error::WrongKey`],
/// [`Error::OutOfMemory`], and for short files the errors of [`lengthen`]. Nothing is allocated
/// before the length of `bytes` has been found to agree with the header.
pub fn decode_as<F: Native>(
    bytes: &[u8],
    secret_key: Option<SecretKey>,
) -> Result<(F, Header), Error> {
    let bytes = &*lengthened(bytes)?;
    let header = Header::decode_as::<F>(bytes)?;
    let (function, segments) = decode_body(bytes, &header, secret_key)?;
    Ok((F::from_segments(header.fields(), function, segments)?, header))
}

/// The digest function and the segments of the body.
pub(crate) fn decode_body(
    bytes: &[u8],
    header: &Header,
    secret_key: Option<SecretKey>,
) -> Result<(DigestFunction, Vec<OwnedBlocks>), Error> {
    header.check_file_bytes(bytes.len() as u64)?;
    let digest_function = header.digest_function(secret_key)?;
    let (mut body, table) = bytes[HEADER_BYTES..].split_at(header.body_bytes() as usize);
    verify_pages(header, body, table)?;
    let mut segments = Vec::new();
    for &num_blocks in header.segment_blocks() {
        let mut blocks = OwnedBlocks::zeroed(num_blocks)?;
        let memory: &mut [u8] = bytemuck::cast_slice_mut(blocks.as_mut());
        memory.copy_from_slice(&body[..memory.len()]);
        body = &body[memory.len().next_multiple_of(PAGE_BYTES)..];
        body_from_le(blocks.as_mut());
        segments.push(blocks);
    }
    Ok((digest_function, segments))
}
