//! Words that are put away and taken back.

use super::{changed, unnamed};
use crate::Error;
use crate::disk::{read_exact_at, write_all_at};
use mayhap::Scratch;
use std::fs::File;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Words in a file without a name, for [`mayhap::RibbonFilter::build_external`]: put away at its
/// end and taken back from there, with a checksum of each piece in memory.
#[derive(Debug)]
pub struct ScratchFile {
    pub(super) file: File,
    folder: PathBuf,
    end: u64,
    checksums: Vec<u64>,
}

impl ScratchFile {
    /// A new, empty file in a folder.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let file = unnamed(folder)?;
        Ok(Self { file, folder: folder.into(), end: 0, checksums: Vec::new() })
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len() as u64;
        let written = write_all_at(&self.file, bytes, self.end);
        written.map_err(Error::write(&self.folder, self.end + len))?;
        self.end += len;
        self.checksums.push(xxh3_64(bytes));
        Ok(())
    }

    fn take_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let start = self.end.checked_sub(bytes.len() as u64);
        let Some((checksum, start)) = self.checksums.pop().zip(start) else {
            return Err(changed(&self.folder));
        };
        let read = read_exact_at(&self.file, bytes, start);
        read.map_err(Error::io("read a temporary file in", &self.folder))?;
        self.end = start;
        if xxh3_64(bytes) == checksum { Ok(()) } else { Err(changed(&self.folder)) }
    }
}

impl<E: From<Error>> Scratch<E> for ScratchFile {
    fn put(&mut self, words: &[u64]) -> Result<(), E> {
        Ok(self.put_bytes(bytemuck::cast_slice(words))?)
    }

    fn take(&mut self, words: &mut [u64]) -> Result<(), E> {
        Ok(self.take_bytes(bytemuck::cast_slice_mut(words))?)
    }
}
