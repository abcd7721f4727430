//! Writing images: those of small filters together into packs, others into files of their own.

use super::disk::{DiskFile, write_all_at};
use super::image::ImageOf;
use super::store::{FILTERS, image_path, pack_path};
use super::{Error, Snapshot, Store, pack};
use crate::fail_point::fail_point;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes written at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// A pack of this size is closed. Tests get several packs of few images each.
const PACK_BYTES: u64 = if cfg!(test) { 256 } else { 64 << 20 };
/// Packs below this size are small.
const SMALL_PACK_BYTES: u64 = if cfg!(test) { 128 } else { 4 << 20 };
/// Once there are more small packs than this, all of them become one.
const MOST_SMALL_PACKS: usize = if cfg!(test) { 2 } else { 16 };

/// The existing packs, with their sizes in bytes.
pub(super) type Packs = BTreeMap<u64, u64>;

/// The images of one checkpoint.
pub(super) struct Images<'a> {
    store: &'a Store,
    /// The number of the next file.
    pub(super) next: u64,
    /// Larger images have files of their own.
    packed_bytes: usize,
    /// The pack that is being written.
    open: Option<Open>,
    /// The packs that are on the disk.
    pub(super) packs: Packs,
    /// The paths of all files, on the disk or not.
    pub(super) made: Vec<String>,
    image: Vec<u8>,
}

/// A pack that is being written.
struct Open {
    number: u64,
    file: Arc<dyn DiskFile>,
    written: u64,
    buffer: Vec<u8>,
}

impl Open {
    fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn flush(&mut self) -> io::Result<()> {
        write_all_at(&*self.file, &self.buffer, self.written)?;
        self.written = self.end();
        self.buffer.clear();
        Ok(())
    }
}

impl<'a> Images<'a> {
    /// No images yet. Files are numbered from `next` on, and images of more than `packed_bytes`,
    /// which is at most [`pack::IMAGE_BYTES`], have files of their own.
    pub(super) fn new(store: &'a Store, next: u64, packed_bytes: usize) -> Self {
        let packed_bytes = packed_bytes.min(pack::IMAGE_BYTES);
        let (packs, made, image) = (Packs::new(), Vec::new(), Vec::new());
        Self { store, next, packed_bytes, open: None, packs, made, image }
    }

    /// Writes the image of a filter. It survives a crash once [`Images::finish`] has returned and
    /// the folder is synced.
    pub(super) fn save(&mut self, id: u64, from: &dyn Snapshot) -> Result<ImageOf, Error> {
        let mark = from.mark();
        self.image.clear();
        let mut output = Output { images: self, own: None };
        let written = from.write(&mut output).and_then(|()| output.end());
        let Some(Own { number, file, at, checksum, .. }) = output.own.take() else {
            written.map_err(self.store.error("write", FILTERS))?;
            return self.pack(id, mark);
        };
        let path = &image_path(number);
        written.map_err(self.store.error("write", path))?;
        fail_point("image.written");
        self.store.sync(&*file, path)?;
        fail_point("image.synced");
        Ok(ImageOf { number, offset: 0, bytes: at, checksum: checksum.digest(), mark })
    }

    /// Appends the image to the open pack, or to a new one.
    fn pack(&mut self, id: u64, mark: u64) -> Result<ImageOf, Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        let (number, offset, start) = (open.number, open.end(), open.buffer.len());
        pack::encode(id, &self.image, &mut open.buffer);
        let record = &open.buffer[start..];
        let (bytes, checksum) = (record.len() as u64, xxh3_64(record));
        if open.buffer.len() >= CHUNK_BYTES {
            open.flush().map_err(self.store.error("write", &pack_path(number)))?;
        }
        let is_full = open.end() >= PACK_BYTES;
        self.open = Some(open);
        if is_full {
            self.finish()?;
        }
        Ok(ImageOf { number, offset, bytes, checksum, mark })
    }

    fn begin(&mut self) -> Result<Open, Error> {
        let number = self.next_number();
        let path = pack_path(number);
        self.made.push(path.clone());
        let file = self.store.disk.create(&path).map_err(self.store.error("create", &path))?;
        fail_point("image.created");
        Ok(Open { number, file, written: 0, buffer: pack::header().to_vec() })
    }

    /// An error before an image is written.
    pub(super) fn error(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        self.store.error(action, FILTERS)
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Syncs the open pack to the disk.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let path = &pack_path(open.number);
        let end = pack::end(open.end());
        open.buffer.extend_from_slice(&end);
        open.flush().map_err(self.store.error("write", path))?;
        fail_point("image.written");
        self.store.sync(&*open.file, path)?;
        fail_point("image.synced");
        self.packs.insert(open.number, open.end());
        Ok(())
    }
}

/// An image in a file of its own.
struct Own {
    number: u64,
    file: Arc<dyn DiskFile>,
    at: u64,
    checksum: Xxh3,
}

impl Own {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        write_all_at(&*self.file, bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// An image in the memory of `images`, which becomes a file once it is large.
struct Output<'a, 'b> {
    images: &'a mut Images<'b>,
    own: Option<Own>,
}

impl Output<'_, '_> {
    fn begin(&mut self) -> io::Result<Own> {
        let number = self.images.next_number();
        let path = image_path(number);
        self.images.made.push(path.clone());
        let file = self.images.store.disk.create(&path)?;
        fail_point("image.created");
        Ok(Own { number, file, at: 0, checksum: Xxh3::new() })
    }

    /// Writes the rest of a large image.
    fn end(&mut self) -> io::Result<()> {
        let Some(own) = &mut self.own else { return Ok(()) };
        own.put(&self.images.image)?;
        self.images.image = Vec::new();
        Ok(())
    }
}

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = if self.own.is_none() { self.images.packed_bytes } else { CHUNK_BYTES };
        if self.images.image.len() + bytes.len() > room {
            if self.own.is_none() {
                self.own = Some(self.begin()?);
            }
            if let Some(own) = &mut self.own {
                own.put(&self.images.image)?;
                self.images.image.clear();
                if bytes.len() >= CHUNK_BYTES {
                    own.put(bytes)?;
                    return Ok(bytes.len());
                }
            }
        }
        self.images.image.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The packs whose images have to be written again, given the images that stay as they are.
///
/// A pack of which less than half is used is not worth its space: rewriting it costs less than the
/// bytes freed since. And each checkpoint may leave a small pack: once there are many they become
/// one, so that an image is moved once in [`MOST_SMALL_PACKS`] checkpoints until it is in a pack
/// that is not small.
pub(super) fn worn(packs: &Packs, staying: impl Iterator<Item = ImageOf>) -> HashSet<u64> {
    let mut used = Packs::new();
    for of in staying.filter(ImageOf::is_packed) {
        *used.entry(of.number).or_default() += of.bytes;
    }
    let total = |number: &u64| packs.get(number).copied().unwrap_or(0);
    let small: Vec<u64> =
        used.keys().copied().filter(|number| total(number) < SMALL_PACK_BYTES).collect();
    let is_wasteful = |&(number, used): &(&u64, &u64)| used * 2 < total(number);
    let mut worn: HashSet<u64> =
        used.iter().filter(is_wasteful).map(|(number, _)| *number).collect();
    if small.len() > MOST_SMALL_PACKS {
        worn.extend(small);
    }
    worn
}
