//! A file's bytes seen as memory.
#![expect(unsafe_code, reason = "mapping a file is unsafe: others can change it")]

#[cfg(target_os = "linux")]
use crate::guard::Guard;
use mayhap::Block;
use memmap2::Mmap;
use std::fs::File;
use std::io;

/// The blocks of a mapped file, read-only.
///
/// On Linux a lost page, because the file was truncated or the disk fails, reads as zeros:
/// [`crate::MappedFilter::check`] reports it.
#[derive(Debug)]
pub struct MappedBlocks {
    /// Dropped before the map, so that no other map takes its place while the range is guarded.
    #[cfg(target_os = "linux")]
    guard: Guard,
    map: Mmap,
    start: usize,
    end: usize,
}

impl MappedBlocks {
    /// Maps the first `end` bytes of `file`; the blocks are the bytes from `start` on.
    pub(crate) fn new(file: &File, start: usize, end: usize) -> io::Result<Self> {
        // SAFETY: the map is only read, as `u64`s, for which every bit pattern is a value, and no
        // reference to it is taken for more than a call, so that a change by another process gives
        // old or new bits and no broken invariant. Pages that are lost become zeros (`guard.rs`);
        // where there is no guard, touching one ends the process. Results computed from changed or
        // lost bytes are discarded: `MappedFilter::check` reports when.
        let map = unsafe { memmap2::MmapOptions::new().len(end).map(file)? };
        // So that the casts in `as_ref` cannot fail: a map starts at a page, `start` is a whole
        // number of blocks from it, and so is `end`.
        if !start.is_multiple_of(Block::BYTES) || !end.is_multiple_of(Block::BYTES) {
            return Err(io::Error::other("the body does not lie at whole blocks"));
        }
        #[cfg(target_os = "linux")]
        let guard = Guard::new(map.as_ptr().addr(), map.len())?;
        Ok(Self {
            #[cfg(target_os = "linux")]
            guard,
            map,
            start,
            end,
        })
    }

    /// Whether a page was lost, so that zeros were read in its place.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// Never: where there is no guard, the process has ended.
    #[cfg(not(target_os = "linux"))]
    pub(crate) const fn is_lost(&self) -> bool {
        false
    }
}

impl AsRef<[Block]> for MappedBlocks {
    #[inline]
    fn as_ref(&self) -> &[Block] {
        bytemuck::cast_slice(&self.map[self.start..self.end])
    }
}
