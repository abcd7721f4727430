//! The source of a backup: a folder, or a remote server.

use super::store::{MANIFEST, segment_path};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The source of a backup. A file that is gone is an error of kind `NotFound`.
pub trait Source {
    /// The current manifest. It is called again if a file that it names is gone.
    ///
    /// # Errors
    ///
    /// The errors of the folder or the connection.
    fn manifest(&mut self) -> io::Result<Vec<u8>>;

    /// How many bytes of each segment of the log to copy, from `first` on: a prefix of the log, at
    /// least as long as the log was when this was called.
    ///
    /// # Errors
    ///
    /// The errors of the folder or the connection.
    fn segments(&mut self, first: u64) -> io::Result<Vec<(u64, u64)>>;

    /// A file, to be read once.
    ///
    /// # Errors
    ///
    /// The errors of the folder or the connection.
    fn open(&mut self, path: &str) -> io::Result<Box<dyn Read + '_>>;

    /// A file as messages name it; the folder for `""`.
    fn path(&self, path: &str) -> PathBuf;
}

/// A folder, which a server may be using.
pub(super) struct InFolder<'a>(pub(super) &'a Path);

impl Source for InFolder<'_> {
    fn manifest(&mut self) -> io::Result<Vec<u8>> {
        fs::read(self.path(MANIFEST))
    }

    /// From the last segment to the first: once a segment has records, the one before it does not
    /// grow, so that its length is final.
    fn segments(&mut self, first: u64) -> io::Result<Vec<(u64, u64)>> {
        let path = |number| self.path(&segment_path(number));
        let mut last = first;
        while path(last + 1).exists() {
            last += 1;
        }
        let length = |number: u64| path(number).metadata().map(|found| (number, found.len()));
        let mut lengths = (first..=last).rev().map(length).collect::<io::Result<Vec<_>>>()?;
        lengths.reverse();
        Ok(lengths)
    }

    fn open(&mut self, path: &str) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(File::open(self.path(path))?))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}
