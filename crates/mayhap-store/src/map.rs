//! A file's bytes seen as memory.
#![expect(unsafe_code, reason = "mapping a file is unsafe: others can change it")]

use mayhap::Block;
use memmap2::Mmap;
use std::fs::File;
use std::io;

/// The blocks of a mapped file, read-only.
#[derive(Debug)]
pub struct MappedBlocks {
    map: Mmap,
    start: usize,
    end: usize,
}

impl MappedBlocks {
    /// Maps the first `end` bytes of `file`; the blocks are the bytes from `start` on.
    pub(crate) fn new(file: &File, start: usize, end: usize) -> io::Result<Self> {
        // SAFETY: the map is only read, as `u64`s, for which every bit pattern is a value, and no
        // reference to it is taken for more than a call, so that a change by another process gives
        // old or new bits and no broken invariant. What is assumed and cannot be enforced: nobody
        // writes into or truncates the file while it is mapped. Every writer of this crate replaces
        // files by renaming, which leaves a mapped one as it is. Truncation by others ends the
        // process with SIGBUS when a lost page is touched, as the documentation says.
        let map = unsafe { memmap2::MmapOptions::new().len(end).map(file)? };
        // So that the casts in `as_ref` cannot fail: a map starts at a page, `start` is a whole
        // number of blocks from it, and so is `end`.
        if !start.is_multiple_of(Block::BYTES) || !end.is_multiple_of(Block::BYTES) {
            return Err(io::Error::other("the body does not lie at whole blocks"));
        }
        Ok(Self { map, start, end })
    }
}

impl AsRef<[Block]> for MappedBlocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        bytemuck::cast_slice(&self.map[self.start..self.end])
    }
}
