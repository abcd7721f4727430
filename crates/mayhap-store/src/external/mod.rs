//! Temporary files for building a filter of more digests than fit into memory: they have no names,
//! and vanish when they are closed, even by kill -9.
//!
//! | file | contents |
//! |---|---|
//! | `sorter.rs` | digests in any order → a sorted file |
//! | `sorted.rs` | distinct digests in order |
//! | `scratch.rs` | words that are put away and taken back |

mod scratch;
mod sorted;
mod sorter;
#[cfg(test)]
mod tests;

pub use scratch::ScratchFile;
pub use sorted::SortedFile;
pub use sorter::DigestSorter;

use crate::Error;
use std::fs::File;
use std::path::Path;
use std::{fmt, io};
use xxhash_rust::xxh3::Xxh3;

/// A checksum of bytes that come in pieces of any size.
#[derive(Default)]
struct Checksum(Xxh3);

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn get(&self) -> u64 {
        self.0.digest()
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Checksum").field(&self.get()).finish()
    }
}

/// A new file without a name, in this folder.
fn unnamed(folder: &Path) -> Result<File, Error> {
    tempfile::tempfile_in(folder).map_err(Error::io("create a temporary file in", folder))
}

/// For a file that no longer has what was written to it.
fn changed(folder: &Path) -> Error {
    let source = io::Error::other("it no longer has what was written to it");
    Error::Io { action: "use a temporary file in", path: folder.into(), source }
}
