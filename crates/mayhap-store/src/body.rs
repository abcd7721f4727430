//! Bodies of files: read page by page, with every byte checked.

use crate::Error;
use crate::disk::{DiskFile, read_exact_at};
use mayhap::Block;
use mayhap::native::{self, HEADER_BYTES, Header, Kind, PAGE_BYTES};
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are read and checked together: whole pages, small enough for the cache.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// Checks body and table of an open file by reading them.
pub(crate) fn verify_body(
    file: &dyn DiskFile,
    path: &Path,
    header: &Header,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), Error> {
    let mut body = Body::new(file, path, header);
    let mut buffer = vec![0; header.body_bytes().min(CHUNK_BYTES as u64) as usize];
    let mut last = [0; Block::BYTES];
    for &num_blocks in header.segment_blocks() {
        let mut left = num_blocks as usize * Block::BYTES;
        while left > 0 {
            let used = left.min(CHUNK_BYTES);
            body.read(&mut buffer[..used.next_multiple_of(PAGE_BYTES)], used)?;
            last.copy_from_slice(&buffer[used - Block::BYTES..used]);
            left -= used;
            progress(body.bytes_done(), header.body_bytes());
        }
    }
    body.finish()?;
    if header.kind() == Kind::Bloom {
        let params = header.params().map_err(Error::format(path))?;
        check_bits_past_end(params.num_bits() % Block::BITS, last).map_err(Error::format(path))?;
    }
    Ok(())
}

/// A Bloom filter has no bits past `num_bits` in its last block.
pub(crate) fn check_bits_past_end(
    used_bits: u64,
    last: [u8; Block::BYTES],
) -> Result<(), mayhap::Error> {
    let past_end = |bit: &u64| last[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
    match (used_bits..Block::BITS).filter(past_end).count() as u64 {
        found if used_bits != 0 && found != 0 => {
            Err(mayhap::Error::BadField { field: "bits past num_bits", found })
        }
        _ => Ok(()),
    }
}

/// A body that is read page by page and compared with its checksum table in the process.
pub(crate) struct Body<'a> {
    file: &'a dyn DiskFile,
    path: &'a Path,
    header: &'a Header,
    pages_done: u64,
    table: Xxh3,
    first_damaged: Option<u64>,
    damaged_pages: u64,
    padding: Result<(), mayhap::Error>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(file: &'a dyn DiskFile, path: &'a Path, header: &'a Header) -> Self {
        Self {
            file,
            path,
            header,
            pages_done: 0,
            table: Xxh3::new(),
            first_damaged: None,
            damaged_pages: 0,
            padding: Ok(()),
        }
    }

    fn bytes_done(&self) -> u64 {
        self.pages_done * PAGE_BYTES as u64
    }

    /// Fills the blocks of a segment with the next pages.
    pub(crate) fn read_segment(
        &mut self,
        blocks: &mut [Block],
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<(), Error> {
        let memory: &mut [u8] = bytemuck::cast_slice_mut(blocks);
        let (memory, last_page) = memory.split_at_mut(memory.len() / PAGE_BYTES * PAGE_BYTES);
        for chunk in memory.chunks_mut(CHUNK_BYTES) {
            self.read(chunk, chunk.len())?;
            progress(self.bytes_done(), self.header.body_bytes());
        }
        if !last_page.is_empty() {
            let mut page = [0; PAGE_BYTES];
            self.read(&mut page, last_page.len())?;
            last_page.copy_from_slice(&page[..last_page.len()]);
            progress(self.bytes_done(), self.header.body_bytes());
        }
        Ok(())
    }

    /// Fills `pages`, at most [`CHUNK_BYTES`] of whole pages, with the next blocks; only the first
    /// `used` bytes are not padding.
    pub(crate) fn read(&mut self, pages: &mut [u8], used: usize) -> Result<(), Error> {
        let body_start = HEADER_BYTES as u64;
        read_exact_at(self.file, pages, body_start + self.bytes_done())
            .map_err(Error::io("read", self.path))?;
        let mut table = [0; CHUNK_BYTES / PAGE_BYTES * 8];
        let table = &mut table[..pages.len() / PAGE_BYTES * 8];
        let table_start = body_start + self.header.body_bytes();
        read_exact_at(self.file, table, table_start + self.pages_done * 8)
            .map_err(Error::io("read", self.path))?;
        self.table.update(table);
        for (page, checksum) in pages.chunks(PAGE_BYTES).zip(table.as_chunks::<8>().0) {
            if xxh3_64(page) != u64::from_le_bytes(*checksum) {
                self.first_damaged.get_or_insert(self.pages_done);
                self.damaged_pages += 1;
            }
            self.pages_done += 1;
        }
        if self.padding.is_ok() {
            self.padding = native::check_padding(&pages[used..]);
        }
        Ok(())
    }

    /// The result of the check. A damaged table is reported first, since it makes good pages look
    /// damaged.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let found = self.table.digest();
        let source = if found != self.header.table_checksum() {
            mayhap::Error::BadField { field: "checksum table", found }
        } else if let Some(page) = self.first_damaged {
            let (damaged_pages, num_pages) = (self.damaged_pages, self.header.num_pages());
            mayhap::Error::PageDamaged { page, damaged_pages, num_pages }
        } else if let Err(source) = self.padding {
            source
        } else {
            return Ok(());
        };
        Err(Error::format(self.path)(source))
    }
}
