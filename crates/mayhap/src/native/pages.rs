//! The body: blocks as little-endian bytes in pages, each with a checksum.

use super::Header;
use super::checksum::checksum_of;
use super::kind::PAGE_BYTES;
use crate::Error;
use crate::bits::Block;
use alloc::borrow::Cow;
use alloc::vec::Vec;

const PAGE_BLOCKS: usize = PAGE_BYTES / Block::BYTES;

/// The blocks as stored in files; borrowed on little-endian machines.
pub fn body_bytes(blocks: &[Block]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(blocks))
    } else {
        Cow::Owned(blocks.iter().flat_map(|b| b.0).flat_map(u64::to_le_bytes).collect())
    }
}

/// Converts blocks whose memory was filled with file bytes to this machine's byte order; does
/// nothing on little-endian ones.
pub fn body_from_le(blocks: &mut [Block]) {
    if cfg!(target_endian = "big") {
        blocks.iter_mut().flat_map(|b| &mut b.0).for_each(|lane| *lane = u64::from_le(*lane));
    }
}

/// The checksum of each body page: XXH3-64, seed 0, of its 4096 bytes (the last page including its
/// padding).
pub fn page_checksums(blocks: &[Block]) -> Vec<u64> {
    let checksum = |page: &[Block]| {
        let bytes = body_bytes(page);
        if page.len() == PAGE_BLOCKS {
            return checksum_of(&bytes);
        }
        let mut full = [0; PAGE_BYTES];
        full[..bytes.len()].copy_from_slice(&bytes);
        checksum_of(&full)
    };
    blocks.chunks(PAGE_BLOCKS).map(checksum).collect()
}

/// The checksum of the checksum table, which the header holds: XXH3-64, seed 0, of its bytes.
pub fn table_checksum(page_checksums: &[u64]) -> u64 {
    if cfg!(target_endian = "little") {
        return checksum_of(bytemuck::cast_slice(page_checksums));
    }
    let bytes: Vec<u8> =
        page_checksums.iter().flat_map(|checksum| checksum.to_le_bytes()).collect();
    checksum_of(&bytes)
}

/// Compares every page of `body` with `table`, both as stored in the file.
///
/// # Errors
///
/// [`Error::WrongLength`] if either does not have the length in the header; [`Error::BadField`] if
/// the table itself is damaged or the padding of the last page is not zero; [`Error::PageDamaged`]
/// with the number of damaged pages and the first.
pub fn verify_pages(header: &Header, body: &[u8], table: &[u8]) -> Result<(), Error> {
    Error::check_length("body", header.body_bytes(), body.len() as u64)?;
    Error::check_length("checksum table", header.num_pages() * 8, table.len() as u64)?;
    let found = checksum_of(table);
    Error::check_field(found == header.table_checksum(), "checksum table", found)?;
    let mut damaged = body.chunks(PAGE_BYTES).zip(table.as_chunks::<8>().0).enumerate().filter_map(
        |(i, (page, checksum))| {
            (checksum_of(page) != u64::from_le_bytes(*checksum)).then_some(i as u64)
        },
    );
    match damaged.next() {
        None => check_segments_padding(header, body),
        Some(page) => {
            let damaged_pages = 1 + damaged.count() as u64;
            Err(Error::PageDamaged { page, damaged_pages, num_pages: header.num_pages() })
        }
    }
}

/// Like [`check_padding`], for each segment.
fn check_segments_padding(header: &Header, mut body: &[u8]) -> Result<(), Error> {
    for &blocks in header.segment_blocks() {
        let used_bytes = blocks as usize * Block::BYTES;
        let (pages, rest) = body.split_at(used_bytes.next_multiple_of(PAGE_BYTES));
        check_padding(&pages[used_bytes..])?;
        body = rest;
    }
    Ok(())
}

/// Checks that the padding of the last page is zero, even under correct checksums: every filter has
/// exactly one encoding.
///
/// # Errors
///
/// [`Error::BadField`].
pub fn check_padding(padding: &[u8]) -> Result<(), Error> {
    match padding.iter().find(|&&byte| byte != 0) {
        None => Ok(()),
        Some(&byte) => Error::bad_field("padding", byte.into()),
    }
}
