//! Errors of a data folder.

use super::trouble::Trouble;
use mayhap_units::number::format_bytes;
use std::io;
use std::path::PathBuf;

/// Why a data folder could not be opened, or a checkpoint could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system reported an error.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has the folder.
    #[error("{folder}: another process is serving this folder")]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A copy into the folder was cut short.
    #[error("{folder}: this copy is not complete")]
    Incomplete {
        /// The folder.
        folder: PathBuf,
    },
    /// The bytes are not those that were written.
    #[error(
        "{path}: damaged at byte {offset}: {what}; nothing was changed. Restore the folder from a \
         backup, or repair it, which drops what cannot be read and keeps a copy"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset in it.
        offset: u64,
        /// The damage.
        what: String,
    },
    /// A required file does not exist.
    #[error("{path}: missing: {why}; restore it from a backup")]
    Missing {
        /// The file.
        path: PathBuf,
        /// Why it is required.
        why: &'static str,
    },
    /// The folder has filters, but not the secret key that they were filled with.
    #[error(
        "{path}: missing: the filters here need the secret key {id:016x}, and no other can tell \
         which keys they have"
    )]
    NoKey {
        /// The file of the key.
        path: PathBuf,
        /// The id of the key, shown by `BF.INFO key DIGEST` in hexadecimal.
        id: u64,
    },
    /// The folder was written by a later version.
    #[error("{path}: written by a later version (format {found}, this one reads {supported})")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The latest supported version.
        supported: u16,
    },
    /// The folder's digests are of another function or another secret key.
    #[error(
        "{path}: the filters here were written with another secret key: the {parameter} is \
         {folder:016x} in the folder, and {given:016x} of the key at hand"
    )]
    OtherDigests {
        /// The file that states it.
        path: PathBuf,
        /// Which parameter differs: `digest function` or `key id`.
        parameter: &'static str,
        /// Its value in the folder.
        folder: u64,
        /// The given value.
        given: u64,
    },
    /// A sound record or image could not be applied.
    #[error("{path}: cannot replay the record at byte {offset}: {why}")]
    Replay {
        /// The file.
        path: PathBuf,
        /// The offset in it.
        offset: u64,
        /// The reason.
        why: ReplayError,
    },
    /// A checkpoint was not begun, as its images would not fit onto the disk.
    #[error(
        "{folder}: the images of a checkpoint take {}, and {} are free, {} of which are left to \
         the log: free at least {}, or delete filters; until then the log grows, and nothing is \
         lost",
        format_bytes(*.needed),
        format_bytes(*.free),
        format_bytes(*.log),
        format_bytes((.needed + .log).saturating_sub(*.free))
    )]
    NoRoom {
        /// The folder.
        folder: PathBuf,
        /// Approximate bytes of the images.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// Free bytes that are reserved for the log.
        log: u64,
    },
    /// Nothing can be saved, for a reason that the log has reported before.
    #[error("{0}")]
    Refused(Refused),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path, source }
    }
}

/// Why a sound record or image could not be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A record has fewer bytes than it announces.
    #[error("{announced} bytes are announced but {left} are left")]
    Short {
        /// Announced bytes.
        announced: usize,
        /// Bytes left.
        left: usize,
    },
    /// An item of an unknown kind, perhaps of a later version.
    #[error("an item of kind {kind}, which a later version may read")]
    UnknownItem {
        /// Its kind.
        kind: u32,
    },
    /// Bytes follow the end.
    #[error("{left} bytes too many")]
    Long {
        /// Bytes left.
        left: usize,
    },
    /// The filters refused it.
    #[error("{0}")]
    Filters(Box<dyn std::error::Error + Send + Sync>),
}

/// Why an image is not a filter.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a sound filter, or memory is too small for it.
    #[error(transparent)]
    Filter(#[from] mayhap::Error),
}

/// Why nothing can be written now: a sentence with the next step, without a code. Redis clients
/// receive it after `MISCONF`.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// A record would be too large.
    #[error("{bytes} bytes are more than the {limit} of a log record")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// The log cannot be written to.
    #[error("{}: {trouble}", path.display())]
    At {
        /// The segment that is written.
        path: PathBuf,
        /// The trouble.
        trouble: Trouble,
    },
    /// Written records cannot be synced.
    #[error(transparent)]
    Unsynced(Trouble),
    /// The filters do not match the log yet.
    #[error("the log is in trouble")]
    InTrouble,
    /// Another write was refused while this operation waited for it.
    #[error("a write was refused meanwhile")]
    Meanwhile,
    /// The turn began before one that failed, and ends after it.
    #[error(
        "a write of the same moment could not be written, and this one may rest on it: nothing of \
         it is done; send it again"
    )]
    Overlapped,
}
