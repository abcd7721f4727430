//! Images: what was in a filter at a checkpoint, read once from front to back.

use super::disk::{DiskFile, again, read_up_to};
use super::manifest::ImageOf;
use super::store::image_path;
use super::{Error, ImageError, Store, pack};
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

/// An image that is read, from front to back.
pub struct Image {
    source: Source,
    bytes: u64,
    at: u64,
}

/// Where its bytes come from.
enum Source {
    /// A file of its own, whose checksum is known when all of it was read.
    File { file: Arc<dyn DiskFile>, of: ImageOf, checksum: Box<Xxh3> },
    /// A record of a pack, checked and unpacked.
    Memory(Vec<u8>),
}

impl Image {
    /// Opens an image that is a file of its own, and checks its length.
    pub(super) fn open(store: &Store, of: ImageOf) -> Result<Self, Error> {
        let path = &image_path(of.number);
        let file = store.open_image(path)?;
        let found = file.bytes().map_err(store.error("look at", path))?;
        if found != of.bytes {
            let what = format!("the file has {found} bytes instead of {}", of.bytes);
            let offset = found.min(of.bytes);
            return Err(Error::Damaged { path: store.path(path), offset, what });
        }
        let source = Source::File { file, of, checksum: Box::new(Xxh3::new()) };
        Ok(Self { source, bytes: of.bytes, at: 0 })
    }

    /// The image of a record that was read, in the memory of `image`.
    pub(super) fn of_record(
        store: &Store,
        (id, of): (u64, ImageOf),
        record: &[u8],
        mut image: Vec<u8>,
    ) -> Result<Self, Error> {
        let damaged = |what| {
            let path = store.path(&of.path());
            Error::Damaged { path, offset: of.offset, what }
        };
        if record.len() as u64 != of.bytes || xxh3_64(record) != of.checksum {
            return Err(damaged("the checksum of this image does not match".to_owned()));
        }
        pack::decode(id, record, &mut image).map_err(|bad| damaged(bad.to_string()))?;
        let bytes = image.len() as u64;
        Ok(Self { source: Source::Memory(image), bytes, at: 0 })
    }

    /// Its length.
    pub const fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of it is what was written; reads what was not read yet. Returns memory for the
    /// next one.
    pub(super) fn check(mut self, store: &Store) -> Result<Vec<u8>, Error> {
        if let Source::Memory(image) = self.source {
            return Ok(image);
        }
        let mut rest = vec![0; CHUNK_BYTES.min((self.bytes - self.at) as usize)];
        let read = loop {
            match self.read(&mut rest) {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        let Source::File { of, checksum, .. } = self.source else { return Ok(Vec::new()) };
        let path = &of.path();
        read.map_err(store.error("read", path))?;
        if self.at == of.bytes && checksum.digest() == of.checksum {
            return Ok(Vec::new());
        }
        let what = "the checksum of the whole file does not match".to_owned();
        Err(Error::Damaged { path: store.path(path), offset: 0, what })
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, at, .. } = self;
        f.debug_struct("Image").field("bytes", bytes).field("at", at).finish_non_exhaustive()
    }
}

impl Read for Image {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = match &mut self.source {
            Source::File { file, checksum, .. } => {
                // What is checked should still be in the cache.
                let left = (self.bytes - self.at).min(buffer.len().min(READ_BYTES) as u64);
                let buffer = &mut buffer[..left as usize];
                let found = again(|| file.read_at(buffer, self.at))?;
                checksum.update(&buffer[..found]);
                found
            }
            Source::Memory(image) => (&image[self.at as usize..]).read(buffer)?,
        };
        self.at += found as u64;
        Ok(found)
    }
}

/// Writes a filter in its file format, front to back, as
/// [`Snapshot::write`](super::Snapshot::write) has to.
///
/// # Errors
///
/// Those of `out`.
pub fn write_native<F: Native>(filter: &F, out: &mut dyn Write) -> io::Result<()> {
    write_native_with(filter, "", out)
}

/// [`write_native`] with what the file says of its keys and times.
///
/// # Errors
///
/// As [`write_native`].
pub fn write_native_with<F: Native>(
    filter: &F,
    key_options: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let header = native::Header::of(filter, key_options);
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
    let digest_function = header.digest_function(secret_key.filter(|_| header.is_keyed()))?;
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

/// Checks an image of a filter without keeping it.
pub(super) fn verify(store: &Store, id: u64, of: ImageOf) -> Result<(), Error> {
    let image = if of.is_packed() {
        let mut record = Vec::new();
        read_records(store, of, of.offset.saturating_add(of.bytes), &mut record)?;
        Image::of_record(store, (id, of), &record, Vec::new())?
    } else {
        Image::open(store, of)?
    };
    image.check(store).map(drop)
}

/// Reads a pack from a record to a place after it, in place of what `records` had; less if the
/// file is shorter.
pub(super) fn read_records(
    store: &Store,
    first: ImageOf,
    end: u64,
    records: &mut Vec<u8>,
) -> Result<(), Error> {
    let path = &first.path();
    let file = store.open_image(path)?;
    let there = file.bytes().map_err(store.error("look at", path))?;
    let bytes = end.min(there).saturating_sub(first.offset) as usize;
    let room = records.try_reserve_exact(bytes.saturating_sub(records.len()));
    room.map_err(io::Error::from).map_err(store.error("read", path))?;
    records.resize(bytes, 0);
    let found = read_up_to(&*file, records, first.offset);
    records.truncate(found.map_err(store.error("read", path))?);
    Ok(())
}
