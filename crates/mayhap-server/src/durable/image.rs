//! Images: what was in a filter at a checkpoint, written and read once from front to back.

use super::disk::{DiskFile, again, write_all_at};
use super::manifest::ImageOf;
use super::store::image_path;
use super::{Error, ImageError, Snapshot, Store};
use crate::fail_point::fail_point;
use mayhap::native::{self, Native};
use mayhap::{OwnedBlocks, SecretKey};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are written together.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes that are read together.
const READ_BYTES: usize = 256 << 10;

/// Writes an image that no crash takes away; the folder is not synced.
pub(super) fn write(store: &Store, number: u64, from: &dyn Snapshot) -> Result<ImageOf, Error> {
    let path = &image_path(number);
    let file = store.disk.create(path).map_err(store.error("create", path))?;
    fail_point("image.created");
    let mut out = Output { file: &*file, at: 0, checksum: Xxh3::new(), buffer: Vec::new() };
    from.write(&mut out).and_then(|()| out.flush()).map_err(store.error("write", path))?;
    let (bytes, checksum) = (out.at, out.checksum.digest());
    fail_point("image.written");
    store.sync(&*file, path)?;
    fail_point("image.synced");
    Ok(ImageOf { number, bytes, checksum, mark: from.mark() })
}

struct Output<'a> {
    file: &'a dyn DiskFile,
    at: u64,
    checksum: Xxh3,
    buffer: Vec<u8>,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        write_all_at(self.file, bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > CHUNK_BYTES {
            self.flush()?;
        }
        if bytes.len() >= CHUNK_BYTES {
            self.put(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.put(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }
}

/// An image that is read, from front to back.
pub struct Image {
    file: Arc<dyn DiskFile>,
    of: ImageOf,
    at: u64,
    checksum: Xxh3,
}

impl Image {
    /// Opens an image and checks its length.
    pub(super) fn open(store: &Store, of: ImageOf) -> Result<Self, Error> {
        let path = &image_path(of.number);
        let file = match store.disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = "the manifest says that it was there";
                return Err(Error::Missing { path: store.path(path), why });
            }
            opened => opened.map_err(store.error("open", path))?,
        };
        let found = file.bytes().map_err(store.error("look at", path))?;
        if found != of.bytes {
            let what = format!("the file has {found} bytes instead of {}", of.bytes);
            let offset = found.min(of.bytes);
            return Err(Error::Damaged { path: store.path(path), offset, what });
        }
        Ok(Self { file, of, at: 0, checksum: Xxh3::new() })
    }

    /// Its length.
    pub const fn total_bytes(&self) -> u64 {
        self.of.bytes
    }

    /// Whether all of it is what was written; reads what was not read yet.
    pub(super) fn check(mut self, store: &Store) -> Result<(), Error> {
        let path = &image_path(self.of.number);
        let mut rest = vec![0; CHUNK_BYTES.min((self.of.bytes - self.at) as usize)];
        while self.read(&mut rest).map_err(store.error("read", path))? > 0 {}
        if self.at == self.of.bytes && self.checksum.digest() == self.of.checksum {
            return Ok(());
        }
        let what = "the checksum of the whole file is another".to_owned();
        Err(Error::Damaged { path: store.path(path), offset: 0, what })
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("of", &self.of).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Read for Image {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What is checked should still be in the cache.
        let left = (self.of.bytes - self.at).min(buffer.len().min(READ_BYTES) as u64) as usize;
        let buffer = &mut buffer[..left];
        let found = again(|| self.file.read_at(buffer, self.at))?;
        self.checksum.update(&buffer[..found]);
        self.at += found as u64;
        Ok(found)
    }
}

/// Writes a filter in its file format, front to back, as [`Snapshot::write`] has to.
///
/// # Errors
///
/// Those of `out`.
pub fn write_native<F: Native>(filter: &F, out: &mut dyn Write) -> io::Result<()> {
    let header = native::Header::of(filter, "");
    let segments = filter.segments();
    let mut table = Vec::new();
    table.try_reserve_exact(header.num_pages() as usize * 8)?;
    for blocks in &segments {
        let checksums = native::page_checksums(blocks);
        table.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
    }
    out.write_all(&header.encode(xxh3_64(&table)))?;
    for blocks in segments {
        for chunk in blocks.chunks(CHUNK_BYTES / mayhap::Block::BYTES) {
            out.write_all(&native::body_bytes(chunk))?;
        }
        let bytes = size_of_val(blocks);
        let padding = bytes.next_multiple_of(native::PAGE_BYTES) - bytes;
        out.write_all(&[0; native::PAGE_BYTES][..padding])?;
    }
    out.write_all(&table)
}

/// Reads what [`write_native`] wrote, straight into the memory of the filter.
///
/// Bytes are not compared with the checksums of their pages: the checksum of the whole image is
/// looked at when the filter is there.
///
/// # Errors
///
/// [`ImageError`]: what is wrong with the file, or too little memory.
pub fn read_native<F: Native>(
    image: &mut Image,
    secret_key: Option<SecretKey>,
) -> Result<F, ImageError> {
    let mut header = [0; native::HEADER_BYTES];
    image.read_exact(&mut header)?;
    let header = native::Header::decode(&header)?;
    header.check_kind(F::KIND)?;
    header.check_file_bytes(image.total_bytes())?;
    let digest_function = header.digest_function(secret_key)?;
    let mut segments = Vec::new();
    for &num_blocks in header.segment_blocks() {
        let mut blocks = OwnedBlocks::zeroed(num_blocks)?;
        let memory: &mut [u8] = bytemuck::cast_slice_mut(blocks.as_mut());
        image.read_exact(memory)?;
        let padding = memory.len().next_multiple_of(native::PAGE_BYTES) - memory.len();
        image.read_exact(&mut [0; native::PAGE_BYTES][..padding])?;
        native::body_from_le(blocks.as_mut());
        segments.push(blocks);
    }
    Ok(F::from_segments(header.fields(), digest_function, segments)?)
}

/// Checks an image without keeping it.
pub(super) fn verify(store: &Store, of: ImageOf) -> Result<(), Error> {
    Image::open(store, of)?.check(store)
}
