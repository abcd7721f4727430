//! A file's bytes seen as memory.
#![expect(unsafe_code, reason = "mapping a file is unsafe: others can change it")]

#[cfg(target_os = "linux")]
use crate::guard::Guard;
use mayhap::Block;
use mayhap::native::PAGE_BYTES;
use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io;
use std::ops::Range;

/// The blocks of a mapped file, read-only, with the checksums of their pages.
///
/// On Linux a lost page, because the file was truncated or the disk fails, reads as zeros:
/// [`crate::MappedFilter::check`] reports it.
#[derive(Debug)]
pub struct MappedBlocks {
    /// Dropped before the map, so that no other map takes its place while the range is guarded.
    #[cfg(target_os = "linux")]
    guard: Guard,
    map: Mmap,
    /// Where the blocks begin and end, and the table of checksums begins.
    start: usize,
    end: usize,
    table: usize,
}

impl MappedBlocks {
    /// Maps the first `len` bytes of `file`: the blocks are `body`, in whole pages, and the table
    /// follows these.
    pub(crate) fn new(file: &File, body: Range<usize>, len: usize) -> io::Result<Self> {
        // SAFETY: the map is only read, as `u64`s, for which every bit pattern is a value, and no
        // reference to it is taken for more than a call, so that a change by another process gives
        // old or new bits and no broken invariant. Pages that are lost become zeros (`guard.rs`);
        // where there is no guard, touching one ends the process. Results computed from changed or
        // lost bytes are discarded: `MappedFilter::check` reports when.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(file)? };
        Self::of(map, body)
    }

    /// The same of the bytes of a file, in memory of their own.
    pub(crate) fn of_bytes(bytes: &[u8], body: Range<usize>) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(bytes.len())?;
        map.copy_from_slice(bytes);
        Self::of(map.make_read_only()?, body)
    }

    fn of(map: Mmap, body: Range<usize>) -> io::Result<Self> {
        let Range { start, end } = body;
        let table = end.next_multiple_of(PAGE_BYTES);
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
            table,
        })
    }

    /// The pages of the blocks, the last with its padding.
    pub(crate) fn pages(&self) -> &[u8] {
        &self.map[self.start..self.table]
    }

    /// The table of their checksums.
    pub(crate) fn table(&self) -> &[u8] {
        &self.map[self.table..]
    }

    /// The bit at a position.
    #[inline]
    pub(crate) fn bit(&self, position: u64) -> bool {
        let Block(lanes) = &self.as_ref()[(position / Block::BITS) as usize];
        lanes[(position / 64 % 8) as usize] >> (position % 64) & 1 == 1
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
