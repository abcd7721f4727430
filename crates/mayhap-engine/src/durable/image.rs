//! Images: the contents of a filter at a checkpoint, read once from front to back.

use super::disk::{DiskFile, again, read_up_to};
use super::store::{image_path, pack_path};
use super::{Error, ImageError, Store, pack};
use mayhap::native::{self, Native};
use mayhap::set::{self, Set};
use mayhap::{Block, DigestFunction, Error as CoreError, OwnedBlocks, SecretKey};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes written at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// An image, as recorded in lists. Number 0: there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ImageOf {
    pub(super) number: u64,
    /// Its offset in the pack; 0 if it is a file of its own.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u64,
    pub(super) mark: u64,
}

impl ImageOf {
    /// Whether it is in a pack.
    pub(super) const fn is_packed(&self) -> bool {
        self.offset != 0
    }

    /// The path of its file.
    pub(super) fn path(&self) -> String {
        if self.is_packed() { pack_path(self.number) } else { image_path(self.number) }
    }
}

/// An image being read, from front to back.
pub struct Image {
    source: Source,
    bytes: u64,
    at: u64,
}

/// The source of its bytes.
enum Source {
    /// A file of its own, whose checksum is known once all of it was read.
    File { file: Arc<dyn DiskFile>, of: ImageOf, checksum: Box<Xxh3> },
    /// A record of a pack, checked and unpacked.
    Memory(Vec<u8>),
}

impl Image {
    /// Opens an image that is a file of its own, and checks its length.
    pub(super) fn open(store: &Store, of: ImageOf) -> Result<Self, Error> {
        let file = store.open_whole(&image_path(of.number), of.bytes)?;
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
        let damaged = |what: &str| store.damaged(&of.path(), of.offset, what);
        if record.len() as u64 != of.bytes || xxh3_64(record) != of.checksum {
            return Err(damaged("the checksum of this image does not match"));
        }
        pack::decode(id, record, &mut image).map_err(|bad| damaged(&bad.to_string()))?;
        let bytes = image.len() as u64;
        Ok(Self { source: Source::Memory(image), bytes, at: 0 })
    }

    /// Its length.
    pub const fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of it is as written; reads the part that was not read yet. Returns memory for
    /// the next one.
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
        Err(store.damaged(path, 0, "the checksum of the whole file does not match"))
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
                // Bytes that are checked should still be in the cache.
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

/// Writes a filter with this header and body in its file format, front to back, as
/// [`Snapshot::write`](super::Snapshot::write) requires.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_segments(
    header: &native::Header,
    segments: &[&[Block]],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Vec::new();
    table.try_reserve_exact(header.num_pages() as usize * 8)?;
    for blocks in segments {
        let checksums = native::page_checksums(blocks);
        table.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
    }
    out.write_all(&header.encode(xxh3_64(&table)))?;
    for blocks in segments {
        for chunk in blocks.chunks(CHUNK_BYTES / Block::BYTES) {
            out.write_all(&native::body_bytes(chunk))?;
        }
        let bytes = size_of_val(*blocks);
        let padding = bytes.next_multiple_of(native::PAGE_BYTES) - bytes;
        out.write_all(&[0; native::PAGE_BYTES][..padding])?;
    }
    out.write_all(&table)
}

/// Reads the output of [`write_segments`] straight into the memory of the filter.
///
/// Bytes are not compared with the checksums of their pages: the checksum of the whole image is
/// checked once the filter has been read.
///
/// # Errors
///
/// [`ImageError`] if the file is not a sound filter, or memory is too small.
pub fn read_native<F: Native>(
    image: &mut Image,
    secret_key: Option<SecretKey>,
) -> Result<F, ImageError> {
    let of_kind = |header: &native::Header| header.check_kind(F::KIND);
    let (header, digest_function, segments) = read_segments(image, secret_key, of_kind)?;
    Ok(F::from_segments(header.fields(), digest_function, segments)?)
}

/// [`read_native`] for a filter of one of several kinds.
///
/// # Errors
///
/// As [`read_native`]; [`mayhap::Error::NotOfKind`] for a kind that is not `wanted`.
pub fn read_set(
    image: &mut Image,
    secret_key: Option<SecretKey>,
    wanted: impl Fn(native::Kind) -> bool,
) -> Result<Box<dyn Set>, ImageError> {
    let of_kind = |header: &native::Header| match header.kind() {
        kind if wanted(kind) => Ok(()),
        kind => Err(CoreError::NotOfKind { operation: "image", kind: kind.name() }),
    };
    let (header, digest_function, segments) = read_segments(image, secret_key, of_kind)?;
    Ok(set::from_segments(&header, digest_function, segments)?)
}

/// The parts of a filter: its header, which is checked before its body is allocated.
fn read_segments(
    image: &mut Image,
    secret_key: Option<SecretKey>,
    check: impl Fn(&native::Header) -> Result<(), CoreError>,
) -> Result<(native::Header, DigestFunction, Vec<OwnedBlocks>), ImageError> {
    let mut header = [0; native::HEADER_BYTES];
    image.read_exact(&mut header)?;
    let header = native::Header::decode(&header)?;
    check(&header)?;
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
    Ok((header, digest_function, segments))
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

/// Reads a pack from a record to a later offset, replacing the contents of `records`; less if the
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
