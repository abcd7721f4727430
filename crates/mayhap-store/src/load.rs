//! File → filter, every byte checked.

use crate::file::{open_regular, read_exact_at, read_up_to};
use crate::{Error, sniff};
use mayhap::native::{self, HEADER_BYTES, Header, MAGIC, PAGE_BYTES};
use mayhap::{AnyFilter, Block, OwnedBlocks, SecretKey};
use std::fs::File;
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are read and checked together: whole pages, small enough for the cache.
const CHUNK_BYTES: usize = 256 << 10;

/// A filter and what its file says of it.
#[derive(Debug)]
pub struct Loaded {
    /// The filter, in memory of its own.
    pub filter: AnyFilter,
    /// The header, with the key options.
    pub header: Header,
}

/// Reads a filter into memory (in huge pages if it is large) and checks every byte of it.
///
/// `secret_key` is needed for filters of the `sip13` digest. The file is read straight into the
/// filter's memory, which is never there twice.
///
/// # Errors
///
/// [`Error::Io`], [`Error::NotRegular`], [`Error::Foreign`], and [`Error::Format`] for truncated,
/// damaged and newer files, a missing key and too little memory.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// # let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// mayhap_store::save(path, &filter, "")?;
/// let loaded = mayhap_store::load(path, None)?;
/// assert_eq!(loaded.filter.params().expected_items(), 1000);
///
/// std::fs::write(path, "keep\nthese\nwords\n")?;
/// let error = mayhap_store::load(path, None).unwrap_err().to_string();
/// assert!(error.ends_with("seen.mayhap: this looks like text, not a mayhap filter"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(path: &Path, secret_key: Option<SecretKey>) -> Result<Loaded, Error> {
    load_with(path, secret_key, |_, _| {})
}

/// [`load`] that reports the bytes done and the bytes in all, several times a millisecond.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(
    path: &Path,
    secret_key: Option<SecretKey>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Loaded, Error> {
    let (file, header) = open_filter(path)?;
    let digest_function = header.digest_function(secret_key).map_err(Error::format(path))?;
    let num_blocks = header.params().num_blocks();
    let mut blocks = OwnedBlocks::zeroed(num_blocks).map_err(Error::format(path))?;
    let mut body = Body::new(&file, path, &header);
    let memory: &mut [u8] = bytemuck::cast_slice_mut(blocks.as_mut());
    let whole_pages = memory.len() / PAGE_BYTES * PAGE_BYTES;
    let (memory, last_page) = memory.split_at_mut(whole_pages);
    for chunk in memory.chunks_mut(CHUNK_BYTES) {
        body.read(chunk)?;
        progress(body.bytes_done(), header.body_bytes());
    }
    if !last_page.is_empty() {
        let mut page = [0; PAGE_BYTES];
        body.read(&mut page)?;
        last_page.copy_from_slice(&page[..last_page.len()]);
        progress(body.bytes_done(), header.body_bytes());
    }
    body.finish()?;
    native::body_from_le(blocks.as_mut());
    let (params, inserted_items) = (*header.params(), header.inserted_items());
    let filter = AnyFilter::from_parts(params, digest_function, blocks, inserted_items)
        .map_err(Error::format(path))?;
    Ok(Loaded { filter, header })
}

/// Reads and checks the header alone, and that the file is as long as it says.
///
/// # Errors
///
/// As [`load`], except for what only the body can show.
pub fn read_header(path: &Path) -> Result<Header, Error> {
    open_filter(path).map(|(_, header)| header)
}

/// Checks a whole file without keeping it, in constant memory, and returns its header. No secret
/// key is needed.
///
/// # Errors
///
/// As [`load`].
pub fn verify(path: &Path) -> Result<Header, Error> {
    let (file, header) = open_filter(path)?;
    verify_body(&file, path, &header)?;
    Ok(header)
}

/// Opens a file, checks its header and its length.
pub(crate) fn open_filter(path: &Path) -> Result<(File, Header), Error> {
    let (file, file_bytes) = open_regular(path)?;
    let mut start = [0; HEADER_BYTES];
    let found = read_up_to(&file, &mut start, 0).map_err(Error::io("read", path))?;
    let start = &start[..found];
    let header = Header::decode(start).map_err(|source| match source {
        // Too short to have a whole magic, but what there is of it is right.
        mayhap::Error::NotAFilter if found > 0 && MAGIC.starts_with(start) => {
            let (field, expected) = ("header", HEADER_BYTES as u64);
            Error::format(path)(mayhap::Error::WrongLength { field, expected, found: found as u64 })
        }
        mayhap::Error::NotAFilter => match sniff::looks_like(start) {
            Some(looks_like) => Error::Foreign { path: path.into(), looks_like },
            None => Error::format(path)(source),
        },
        _ => Error::format(path)(source),
    })?;
    header.check_file_bytes(file_bytes).map_err(Error::format(path))?;
    Ok((file, header))
}

/// Checks body and table of an open file by reading them.
pub(crate) fn verify_body(file: &File, path: &Path, header: &Header) -> Result<(), Error> {
    let mut body = Body::new(file, path, header);
    let mut buffer = vec![0; header.body_bytes().min(CHUNK_BYTES as u64) as usize];
    while body.bytes_done() < header.body_bytes() {
        let left = header.body_bytes() - body.bytes_done();
        let chunk_bytes = left.min(CHUNK_BYTES as u64) as usize;
        body.read(&mut buffer[..chunk_bytes])?;
    }
    body.finish()?;
    let mut last = [0; Block::BYTES];
    let last_offset = HEADER_BYTES as u64 + header.params().num_bytes() - Block::BYTES as u64;
    read_exact_at(file, &mut last, last_offset).map_err(Error::io("read", path))?;
    let used_bits = header.params().num_bits() % Block::BITS;
    let past_end = |bit: &u64| last[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
    match (used_bits..Block::BITS).filter(past_end).count() as u64 {
        found if used_bits != 0 && found != 0 => {
            let field = "bits past num_bits";
            Err(Error::format(path)(mayhap::Error::BadField { field, found }))
        }
        _ => Ok(()),
    }
}

/// A body that is read page by page and compared with its checksum table on the way.
struct Body<'a> {
    file: &'a File,
    path: &'a Path,
    header: &'a Header,
    pages_done: u64,
    table: Xxh3,
    first_damaged: Option<u64>,
    damaged_pages: u64,
    padding: Result<(), mayhap::Error>,
}

impl<'a> Body<'a> {
    fn new(file: &'a File, path: &'a Path, header: &'a Header) -> Self {
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

    /// Fills `pages`, at most [`CHUNK_BYTES`] of whole pages, with the next ones.
    fn read(&mut self, pages: &mut [u8]) -> Result<(), Error> {
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
        if self.pages_done == self.header.num_pages() {
            let padding = self.header.body_bytes() - self.header.params().num_bytes();
            self.padding = native::check_padding(&pages[pages.len() - padding as usize..]);
        }
        Ok(())
    }

    /// What was found. A damaged table comes first, since it makes good pages look damaged.
    fn finish(self) -> Result<(), Error> {
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
