//! Why nothing is written.

use super::store::LOG;

/// Why nothing is written.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// A write failed. The file ends where it did; the write is tried again.
    #[error(
        "nothing can be written ({why}): free at least {bytes} bytes there, and writing resumes by \
         itself; queries continue"
    )]
    Write {
        /// The error of the system.
        why: String,
        /// The bytes that have to fit.
        bytes: u64,
        /// Whether the file is longer than what was accepted.
        must_cut: bool,
    },
    /// Written records may be lost, and it is unknown which.
    #[error(
        "the disk failed to store what was written ({why}): nothing is accepted until the disk is \
         checked and the server is restarted; queries continue"
    )]
    Sync {
        /// The error of the system.
        why: String,
    },
    /// The written records are not where the next start looks for them.
    #[error(
        "{what} while the server was writing: nothing is accepted until it is back in its place, \
         and then writing resumes by itself; queries continue"
    )]
    Displaced {
        /// The file or folder.
        what: Displaced,
    },
    /// The log was closed.
    #[error("the server is shutting down")]
    Closed,
}

/// The file or folder that is not where it was.
#[derive(Debug, thiserror::Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Displaced {
    /// The folder of all files.
    #[error("the data folder was removed, moved or replaced")]
    Folder,
    /// The current segment.
    #[error("this file was removed, moved or replaced")]
    Segment,
    /// The current segment has fewer bytes than were written.
    #[error("this file was truncated")]
    Shortened,
    /// An earlier segment.
    #[error("{LOG}/{0}.log was removed or moved")]
    Older(u64),
    /// A file of this name.
    #[error("{0} was removed or moved")]
    File(&'static str),
}

impl Trouble {
    /// Whether a write failed, and nothing else is wrong: its file ends where it should.
    pub(super) const fn is_full(&self) -> bool {
        matches!(self, Self::Write { must_cut: false, .. })
    }
}
