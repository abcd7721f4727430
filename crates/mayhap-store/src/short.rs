//! Short files: read whole when they are opened, and seen as the file with pages that has the same
//! filter.

use crate::disk::{DiskFile, Entry, Lock, Positioned};
use std::fs::{File, Permissions};
use std::io;

/// A short file, whose bytes are those of the file with pages; all else is its own.
#[derive(Debug)]
pub(crate) struct ShortFile {
    file: Box<dyn DiskFile>,
    pages: Vec<u8>,
}

impl ShortFile {
    /// The file, and the bytes that it stands for ([`mayhap::native::lengthen`]).
    pub(crate) fn new(file: Box<dyn DiskFile>, pages: Vec<u8>) -> Self {
        Self { file, pages }
    }
}

/// A short file is only ever replaced.
fn never_in_place<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Positioned for ShortFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.pages.get(offset..));
        let rest = rest.unwrap_or_default();
        let read = rest.len().min(bytes.len());
        bytes[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        never_in_place()
    }
}

impl DiskFile for ShortFile {
    fn look(&self) -> io::Result<Entry> {
        self.file.look()
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        never_in_place()
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    fn as_file(&self) -> Option<&File> {
        self.file.as_file()
    }
}
