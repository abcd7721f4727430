//! The places of fields in a header, and the numbers there.

use super::kind::MAX_LAYERS;

/// Bytes in a header.
pub const HEADER_BYTES: usize = 4096;
/// The first eight bytes: not ASCII, so no text; with a line feed, so damage by text tools shows.
pub const MAGIC: [u8; 8] = *b"\x89mayhap\n";
/// The longest text of key options.
pub const MAX_KEY_OPTIONS_BYTES: usize = 2048;

pub(super) const TABLE_CHECKSUM: usize = 64;
pub(super) const EXTRA: usize = 72;
pub(super) const KEY_OPTIONS: usize = 128;
pub(super) const LAYERS: usize = KEY_OPTIONS + MAX_KEY_OPTIONS_BYTES;
pub(super) const NUM_LAYERS: usize = LAYERS + 32 * MAX_LAYERS;
pub(super) const CHECKSUM: usize = HEADER_BYTES - 8;

pub(super) fn array_at<const N: usize, const M: usize>(bytes: &[u8; M], offset: usize) -> [u8; N] {
    core::array::from_fn(|i| bytes[offset + i])
}

pub(super) fn u16_at<const M: usize>(bytes: &[u8; M], offset: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, offset))
}

pub(super) fn u64_at<const M: usize>(bytes: &[u8; M], offset: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, offset))
}
