//! The unit of storage: one cache line.

use bytemuck::{Pod, Zeroable};

/// 512 bits in one cache line, as 8 lanes of 64 bits.
///
/// Bit `i` of a filter's body is bit `i % 64` of lane `i / 64 % 8` of block `i / 512`; in files
/// lanes are little-endian, so that it is bit `i % 8` (from the least significant) of byte `i / 8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Block(pub [u64; 8]);

impl Block {
    /// Bits in a block.
    pub const BITS: u64 = 512;
    /// Bytes in a block.
    pub const BYTES: usize = 64;

    /// The number of set bits.
    #[inline]
    pub fn count_ones(&self) -> u32 {
        self.0.iter().map(|lane| lane.count_ones()).sum()
    }
}

/// The lanes of blocks as one array of words.
#[inline]
pub(crate) fn words(blocks: &[Block]) -> &[u64] {
    bytemuck::cast_slice(blocks)
}

/// The lanes of blocks as one array of words, to write.
#[inline]
pub(crate) fn words_mut(blocks: &mut [Block]) -> &mut [u64] {
    bytemuck::cast_slice_mut(blocks)
}
