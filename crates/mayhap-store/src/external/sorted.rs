//! Distinct digests in order.

use super::{Checksum, changed, unnamed};
use crate::Error;
use crate::disk::{read_exact_at, write_all_at};
use mayhap::{Digest, SortedDigests};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Digests that are written at once: 1 MiB.
const WRITE: usize = 1 << 17;

/// A sorted file that is being written.
#[derive(Debug)]
pub(super) struct SortedFileWriter {
    file: File,
    folder: PathBuf,
    unwritten: Vec<Digest>,
    written: u64,
    last: Option<Digest>,
    bytes: Checksum,
}

impl SortedFileWriter {
    /// A new, empty file in a folder.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn new(folder: &Path) -> Result<Self, Error> {
        Ok(Self {
            file: unnamed(folder)?,
            folder: folder.into(),
            unwritten: Vec::with_capacity(WRITE),
            written: 0,
            last: None,
            bytes: Checksum::default(),
        })
    }

    /// Appends digests, in order and larger than all before.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`], [`Error::Io`].
    ///
    /// # Panics
    ///
    /// If they are not.
    pub(super) fn extend(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for &digest in digests {
            assert!(self.last < Some(digest), "digests in order");
            self.last = Some(digest);
            self.unwritten.push(digest);
            if self.unwritten.len() == WRITE {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.unwritten);
        let (start, len) = (self.written * 8, bytes.len() as u64);
        let written = write_all_at(&self.file, bytes, start);
        written.map_err(Error::write(&self.folder, start + len))?;
        self.bytes.add(bytes);
        self.written += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    /// The file, to be read.
    ///
    /// # Errors
    ///
    /// Same as [`SortedFileWriter::extend`].
    pub(super) fn finish(mut self) -> Result<SortedFile, Error> {
        self.write()?;
        let checksum = self.bytes.get();
        let Self { file, folder, written: count, .. } = self;
        Ok(SortedFile { file, folder, count, checksum, read: 0, bytes_read: Checksum::default() })
    }
}

/// Distinct digests in order, in a file without a name, for
/// [`mayhap::RibbonFilter::build_external`]; checked as they are read.
#[derive(Debug)]
pub struct SortedFile {
    pub(super) file: File,
    folder: PathBuf,
    count: u64,
    checksum: u64,
    read: u64,
    bytes_read: Checksum,
}

impl SortedFile {
    /// The number of digests.
    pub const fn count(&self) -> u64 {
        self.count
    }

    fn read_at(&self, digests: &mut [u64], from: u64) -> Result<(), Error> {
        read_exact_at(&self.file, bytemuck::cast_slice_mut(digests), from * 8)
            .map_err(Error::io("read a temporary file in", &self.folder))
    }

    pub(super) fn find(&self, limit: u64) -> Result<u64, Error> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let (middle, mut digest) = (low.midpoint(high), [0]);
            self.read_at(&mut digest, middle)?;
            if digest[0] < limit { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn read_next(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), Error> {
        let known = digests.len();
        let next = (self.count - self.read).min(at_most as u64);
        let bytes = (known as u64 + next) * 8;
        let no_memory = |_| Error::format(&self.folder)(mayhap::Error::OutOfMemory { bytes });
        digests.try_reserve(next as usize).map_err(no_memory)?;
        digests.resize(known + next as usize, 0);
        self.read_at(&mut digests[known..], self.read)?;
        self.bytes_read.add(bytemuck::cast_slice(&digests[known..]));
        self.read += next;
        let is_damaged = self.read == self.count && self.bytes_read.get() != self.checksum;
        if is_damaged { Err(changed(&self.folder)) } else { Ok(()) }
    }
}

impl<E: From<Error>> SortedDigests<E> for SortedFile {
    fn count(&self) -> u64 {
        self.count
    }

    fn count_below(&mut self, limit: u64) -> Result<u64, E> {
        Ok(self.find(limit)?)
    }

    fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), E> {
        Ok(self.read_next(digests, at_most)?)
    }
}
