//! Packs: images of small filters, many in one file, so that one sync keeps them all.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `\x89mhppck\n` |
//! | 8 | 2 | `version` | 2; 1 is read too |
//! | 10 | 6 | reserved | 0 |
//! | 16 | 8 | `checksum` | XXH3-64 of bytes 0–15 |
//! | 24 | … | records | |
//! | end − 16 | 8 | `bytes` | of the file; not in version 1 |
//! | end − 8 | 8 | `checksum` | XXH3-64 of `magic` and `bytes`; not in version 1 |
//!
//! The manifest has the offset, length and checksum of each record. A record that it does not name
//! belongs to a filter that was saved again or removed since; the trailer shows that the file was
//! neither extended nor cut off. A record:
//!
//! | bytes | field | allowed |
//! |---|---|---|
//! | 8 | `id` of the filter | |
//! | 4 | bytes of its image | at most [`IMAGE_BYTES`] |
//! | … | runs: words of zeros (2), other words (2), the other words (8 each) | the whole image |
//!
//! A word has 8 bytes; the last one of an image is filled up with zeros. A filter with few keys is
//! nearly all zeros, and so are the reserved bytes of its header: an image of 8 KiB with one key
//! takes some 300 bytes.

use super::disk::{DiskFile, read_up_to, write_all_at};
use super::store::pack_path;
use super::{Error, Store};
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes of an image that goes into a pack.
pub(super) const IMAGE_BYTES: usize = 256 << 10;
pub(super) const HEADER_BYTES: usize = 24;
const CHECKSUM: usize = HEADER_BYTES - 8;
const MAGIC: &[u8; 8] = b"\x89mhppck\n";
const VERSION: u16 = 2;
/// The version without a trailer.
const ENDLESS: u16 = 1;
const END_BYTES: usize = 16;
const WORD_BYTES: usize = 8;

pub(super) fn header() -> [u8; HEADER_BYTES] {
    header_of(VERSION)
}

fn header_of(version: u16) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    let checksum = xxh3_64(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The trailer after `before` bytes of header and records.
pub(super) fn end(before: u64) -> [u8; END_BYTES] {
    let bytes = (before + END_BYTES as u64).to_le_bytes();
    let mut end = [0; END_BYTES];
    end[..8].copy_from_slice(&bytes);
    let checksum = xxh3_64(&[*MAGIC, bytes].concat());
    end[8..].copy_from_slice(&checksum.to_le_bytes());
    end
}

/// Why the bytes of a record are not an image.
#[derive(Debug, thiserror::Error, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadRecord {
    /// The record ends in the middle of a field.
    #[error("the record ends before its image is whole")]
    Short,
    /// Bytes follow the complete image.
    #[error("the record continues after the end of its image")]
    Long,
    /// It announces a larger image than a pack may have, or its runs are longer than its image.
    #[error("the record has an image of {found} bytes; at most {limit} are allowed")]
    Large { found: usize, limit: usize },
    /// It is the image of another filter.
    #[error("the record is of filter {found}, not of {expected}")]
    Other { found: u64, expected: u64 },
}

/// Appends the record of an image of at most [`IMAGE_BYTES`].
pub(super) fn encode(id: u64, image: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&(image.len() as u32).to_le_bytes());
    let (whole, rest) = image.as_chunks::<WORD_BYTES>();
    let mut last = [0; WORD_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let words = whole.len() + usize::from(!rest.is_empty());
    let word = |i: usize| whole.get(i).unwrap_or(&last);
    let mut at = 0;
    while at < words {
        let is_zero = |i: &usize| *word(*i) == [0; WORD_BYTES];
        let zeros = (at..words).take_while(is_zero).count();
        let from = at + zeros;
        let literal = (from..words).take_while(|i| !is_zero(i)).count();
        // Both fit: an image has fewer than 2^16 words.
        out.extend_from_slice(&(zeros as u16).to_le_bytes());
        out.extend_from_slice(&(literal as u16).to_le_bytes());
        (from..from + literal).for_each(|i| out.extend_from_slice(word(i)));
        at = from + literal;
    }
}

/// The image of a record, replacing the contents of `image`.
///
/// # Errors
///
/// [`BadRecord`]. Nothing is allocated beyond [`IMAGE_BYTES`].
pub(super) fn decode(id: u64, record: &[u8], image: &mut Vec<u8>) -> Result<(), BadRecord> {
    let (head, record) = record.split_first_chunk::<8>().ok_or(BadRecord::Short)?;
    let (bytes, mut record) = record.split_first_chunk::<4>().ok_or(BadRecord::Short)?;
    let (found, bytes) = (u64::from_le_bytes(*head), u32::from_le_bytes(*bytes) as usize);
    if found != id {
        return Err(BadRecord::Other { found, expected: id });
    }
    if bytes > IMAGE_BYTES {
        return Err(BadRecord::Large { found: bytes, limit: IMAGE_BYTES });
    }
    image.clear();
    let end = bytes.next_multiple_of(WORD_BYTES);
    while image.len() < end {
        let ([a, b, c, d], rest) = record.split_first_chunk::<4>().ok_or(BadRecord::Short)?;
        let zeros = usize::from(u16::from_le_bytes([*a, *b])) * WORD_BYTES;
        let literal = usize::from(u16::from_le_bytes([*c, *d])) * WORD_BYTES;
        let found = image.len() + zeros + literal;
        if found > end {
            return Err(BadRecord::Large { found, limit: end });
        }
        let (words, rest) = rest.split_at_checked(literal).ok_or(BadRecord::Short)?;
        image.resize(image.len() + zeros, 0);
        image.extend_from_slice(words);
        record = rest;
    }
    image.truncate(bytes);
    if record.is_empty() { Ok(()) } else { Err(BadRecord::Long) }
}

/// Checks the header and the trailer of a pack; returns the size of the file in bytes.
///
/// # Errors
///
/// [`Error::Missing`], [`Error::Newer`], [`Error::Damaged`], [`Error::Io`].
pub(super) fn check(store: &Store, number: u64) -> Result<u64, Error> {
    let path = &pack_path(number);
    let file = store.open_image(path)?;
    let mut found = [0; HEADER_BYTES];
    let read = read_up_to(&*file, &mut found, 0).map_err(store.error("read", path))?;
    let version = u16::from_le_bytes([found[8], found[9]]);
    let is_whole = read == HEADER_BYTES
        && found[..8] == *MAGIC
        && found[CHECKSUM..] == xxh3_64(&found[..CHECKSUM]).to_le_bytes();
    if is_whole && version > VERSION {
        let path = store.path(path);
        return Err(Error::Newer { path, found: version, supported: VERSION });
    }
    let damaged = |offset, what: &str| Err(store.damaged(path, offset, what));
    if !is_whole || found != header_of(version) || version == 0 {
        return damaged(0, "this is not the header of a pack");
    }
    let bytes = file.bytes().map_err(store.error("look at", path))?;
    if version > ENDLESS && !has_end(&*file, bytes).map_err(store.error("read", path))? {
        let offset = bytes.saturating_sub(END_BYTES as u64);
        return damaged(offset, "the file was longer or shorter when it was written");
    }
    Ok(bytes)
}

/// Whether a file of this size ends with the trailer of a pack of this size.
fn has_end(file: &dyn DiskFile, bytes: u64) -> io::Result<bool> {
    let Some(before) = bytes.checked_sub(END_BYTES as u64) else { return Ok(false) };
    let mut found = [0; END_BYTES];
    let read = read_up_to(file, &mut found, before)?;
    Ok(read == END_BYTES && found == end(before))
}

/// Writes the header and the trailer of a pack again, which contain no image.
pub(super) fn mend(store: &Store, number: u64) -> Result<(), Error> {
    let path = &pack_path(number);
    let file = store.open_image(path)?;
    let bytes = file.bytes().map_err(store.error("look at", path))?;
    if !has_end(&*file, bytes).map_err(store.error("read", path))? {
        write_all_at(&*file, &end(bytes), bytes).map_err(store.error("write", path))?;
    }
    write_all_at(&*file, &header(), 0).map_err(store.error("write", path))?;
    store.sync(&*file, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(image: &[u8]) -> usize {
        let (mut record, mut found) = (Vec::new(), vec![1; 3]);
        encode(7, image, &mut record);
        decode(7, &record, &mut found).unwrap();
        assert!(found == image, "{} bytes", image.len());
        record.len()
    }

    #[test]
    fn images_are_decoded_again_and_zeros_take_no_room() {
        assert_eq!(round_trip(&[]), 12);
        assert_eq!(round_trip(&[0; 8192]), 12 + 4);
        let mut image = vec![0; 8192];
        image[100] = 1;
        assert_eq!(round_trip(&image), 12 + 4 + 8 + 4);
        assert_eq!(round_trip(&vec![9; IMAGE_BYTES]), 12 + 4 + IMAGE_BYTES);
        for bytes in 0..100 {
            round_trip(&(0..bytes).map(|i| (i % 3 == 0).into()).collect::<Vec<u8>>());
            round_trip(&vec![0; bytes]);
        }
    }

    #[test]
    fn a_record_that_is_cut_longer_large_or_of_another_filter_is_refused() {
        let (mut record, mut image) = (Vec::new(), Vec::new());
        encode(7, &[[0; 40], [3; 40]].concat(), &mut record);
        for cut in 0..record.len() {
            assert_eq!(decode(7, &record[..cut], &mut image), Err(BadRecord::Short), "{cut}");
        }
        let longer = [&record[..], &[0]].concat();
        assert_eq!(decode(7, &longer, &mut image), Err(BadRecord::Long));
        let other = BadRecord::Other { found: 7, expected: 8 };
        assert_eq!(decode(8, &record, &mut image), Err(other));
        let announced = |bytes: u32| {
            [&7_u64.to_le_bytes()[..], &bytes.to_le_bytes(), &[255; 4], &[1; 16]].concat()
        };
        let large = BadRecord::Large { found: 1 << 30, limit: IMAGE_BYTES };
        assert_eq!(decode(7, &announced(1 << 30), &mut image), Err(large));
        let large = BadRecord::Large { found: 2 * 65535 * 8, limit: 80 };
        assert_eq!(decode(7, &announced(80), &mut image), Err(large));
    }
}
