//! What can be wrong with a data folder.

use super::shown::format_bytes;
use std::path::PathBuf;
use std::{fmt, io};

/// Why a data folder could not be opened, or a checkpoint not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused something.
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has the folder.
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A copy into the folder was cut short.
    Incomplete {
        /// The folder.
        folder: PathBuf,
    },
    /// Bytes are not what was written.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// A file that has to be there is not.
    Missing {
        /// The file.
        path: PathBuf,
        /// How that is known.
        why: &'static str,
    },
    /// The folder has filters, and not the secret key that they were filled with.
    NoKey {
        /// The file of the key.
        path: PathBuf,
        /// The id of the key, which `BF.INFO key DIGEST` shows in hexadecimal.
        id: u64,
    },
    /// The folder was written by a later version.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The latest that is understood.
        supported: u16,
    },
    /// The folder's digests are of another function or another secret key.
    OtherDigests {
        /// The file that says so.
        path: PathBuf,
        /// Which parameter differs: `digest function` or `key id`.
        parameter: &'static str,
        /// That of the folder.
        folder: u64,
        /// That which was given.
        given: u64,
    },
    /// A sound record or image could not be taken in.
    Replay {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// Why not.
        why: ReplayError,
    },
    /// The folder is not the one that was opened, and nothing is written into the one that stands
    /// there.
    Displaced {
        /// The folder.
        folder: PathBuf,
        /// What is known of the one that stands there.
        what: &'static str,
    },
    /// A checkpoint was not begun, as its images do not fit onto the disk.
    NoRoom {
        /// The folder.
        folder: PathBuf,
        /// Bytes of the images, about.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of them that are left to the log.
        log: u64,
    },
    /// Nothing can be saved, as the log said before.
    Refused(Refused),
}

/// Why a sound record or image could not be taken in.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplayError {
    /// A record has fewer bytes than it announces.
    Short {
        /// Bytes that are announced.
        announced: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// An item of a kind that a later version may know.
    UnknownItem {
        /// Its kind.
        kind: u32,
    },
    /// Bytes follow the end.
    Long {
        /// Bytes that are left.
        left: usize,
    },
    /// The filters do not take it.
    Filters(Box<dyn std::error::Error + Send + Sync>),
}

/// Why an image is no filter.
#[derive(Debug)]
pub enum ImageError {
    /// It cannot be read.
    Io(io::Error),
    /// It is no sound filter, or there is too little memory for it.
    Filter(mayhap::Error),
}

impl From<io::Error> for ImageError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<mayhap::Error> for ImageError {
    fn from(error: mayhap::Error) -> Self {
        Self::Filter(error)
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { announced, left } => {
                write!(f, "{announced} bytes are announced but {left} are left")
            }
            Self::Long { left } => write!(f, "{left} bytes too many"),
            Self::UnknownItem { kind } => {
                write!(f, "an item of kind {kind}, which a later version may read")
            }
            Self::Filters(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Filter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}
impl std::error::Error for ImageError {}

impl Error {
    pub(super) fn io(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
            Self::Locked { folder } => {
                write!(f, "{}: another process is serving this folder", folder.display())
            }
            Self::Incomplete { folder } => write!(
                f,
                "{}: this copy is not complete: mayhap backup or mayhap restore was ended before \
                 its last file was there; run it again, or remove the folder to go on without it",
                folder.display()
            ),
            Self::Damaged { path, offset, what } => write!(
                f,
                "{}: damaged at byte {offset}: {what}; nothing was changed. Restore the folder \
                 from a backup, or repair it, which drops what cannot be read and keeps a copy",
                path.display()
            ),
            Self::Missing { path, why } => {
                write!(f, "{}: missing: {why}; restore it from a backup", path.display())
            }
            Self::NoKey { path, id } => write!(
                f,
                "{}: missing: the filters here need the secret key {id:016x}, and no other can \
                 tell which keys they have; put it back, or give its file with --key-file; nothing \
                 was changed",
                path.display()
            ),
            Self::Newer { path, found, supported } => write!(
                f,
                "{}: written by a later version (format {found}, this one reads {supported})",
                path.display()
            ),
            Self::OtherDigests { path, parameter, folder, given } => write!(
                f,
                "{}: the filters here were written with another secret key: the {parameter} is \
                 {folder:016x} in the folder, and {given:016x} of the key at hand",
                path.display()
            ),
            Self::Replay { path, offset, why } => {
                write!(f, "{}: cannot replay the record at byte {offset}: {why}", path.display())
            }
            Self::Displaced { folder, what } => write!(
                f,
                "{}: this is not the server's own folder ({what}): put that one back, or move this \
                 one away, and all filters are saved there again",
                folder.display()
            ),
            Self::NoRoom { folder, needed, free, log } => write!(
                f,
                "{}: the images of a checkpoint take {}, and {} are free, {} of which are left to \
                 the log: free at least {}, or delete filters; until then the log grows, and \
                 nothing is lost",
                folder.display(),
                format_bytes(*needed),
                format_bytes(*free),
                format_bytes(*log),
                format_bytes((needed + log).saturating_sub(*free)),
            ),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why nothing can be written now: a sentence with what to do, without a code. Redis clients are
/// answered `MISCONF` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
