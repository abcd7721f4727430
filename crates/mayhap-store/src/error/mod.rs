//! The errors of this crate: each reports the file, what is wrong and what to do next; `text.rs`
//! has the longer texts.

mod text;

use crate::{Changed, Holder};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

/// The reason why the file of a filter could not be read, written or maintained.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error.
    Io {
        /// What was being done: `open`, `write`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk, a quota or a limit on file sizes is full. The old file is untouched.
    NoSpace {
        /// The file that was being written.
        path: PathBuf,
        /// The bytes that must be free.
        needed_bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a sound filter, or not of the expected kind.
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: mayhap::Error,
    },
    /// The file is of another, recognised kind.
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it looks like: `gzip data`, `an empty file`, …
        looks_like: &'static str,
    },
    /// The path is a folder, a pipe or a device.
    NotRegular {
        /// The path.
        path: PathBuf,
        /// What it is: `a folder`, …
        kind: &'static str,
    },
    /// The file exists and must not be replaced.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The mapped file was changed while it was being read.
    Changed {
        /// The file.
        path: PathBuf,
        /// What happened to it.
        what: Changed,
    },
    /// Another process, or another value in this one, is changing the filter and did not finish in
    /// time.
    Locked {
        /// The filter.
        path: PathBuf,
        /// The file whose lock is held.
        lock_path: PathBuf,
        /// The holder, as it describes itself.
        holder: Option<Holder>,
        /// The time spent waiting.
        waited: Duration,
        /// Whether the lock is one that a killed process leaves behind
        /// ([`crate::LockKind::Folder`]).
        is_left_behind: bool,
    },
    /// The file system has no locks, so other writers could not be kept away.
    NoLocks {
        /// The filter.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program was requested to stop while it waited for a lock.
    WaitStopped {
        /// The filter.
        path: PathBuf,
    },
    /// The file with the name of a filter's lock is not a lock.
    NotALock {
        /// The file.
        path: PathBuf,
    },
    /// `FILE.log` is not a log of digests.
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// A log holds records, but the filter to which they belong is missing.
    OrphanLog {
        /// The log.
        path: PathBuf,
    },
    /// The name of a log is taken by that of another filter.
    ForeignLog {
        /// The log.
        path: PathBuf,
        /// The filter that needs its name.
        filter: PathBuf,
    },
    /// A log was begun after the file was written, but is missing.
    MissingLog {
        /// The filter's file.
        path: PathBuf,
        /// The log that is missing.
        log_path: PathBuf,
        /// The number of the image.
        epoch: u64,
    },
    /// A filter's file is older than its log.
    OlderCopy {
        /// The filter's file.
        path: PathBuf,
        /// The log.
        log_path: PathBuf,
        /// The number of the file.
        image: u64,
        /// The number of the file that the log follows.
        log: u64,
    },
    /// A file was to be read without its log, but it is a state whose log has more.
    UnreadLog {
        /// The filter's file.
        path: PathBuf,
        /// Bytes of records in its log.
        log_bytes: u64,
    },
    /// A filter was replaced by another one, or removed, while it was being changed.
    Replaced {
        /// The filter's file.
        path: PathBuf,
    },
    /// A log was removed or truncated while it was in use.
    LogLost {
        /// The log.
        path: PathBuf,
    },
    /// Files were replaced again and again while they were read.
    Busy {
        /// The filter's file.
        path: PathBuf,
    },
    /// A log belongs to another filter: its digests stand for other keys.
    LogMismatch {
        /// The log.
        path: PathBuf,
        /// The parameter that differs.
        parameter: &'static str,
        /// Its value for the filter.
        filter: u64,
        /// Its value in the log.
        log: u64,
    },
    /// A log is damaged before its end: more than a torn write.
    LogDamaged {
        /// The log.
        path: PathBuf,
        /// The offset of the damaged record (0: the header).
        offset: u64,
        /// The offset of the next sound record.
        next_sound_offset: u64,
    },
    /// The digests beside a filter lack keys of it, or belong to another one.
    DigestsBehind {
        /// The file of digests.
        path: PathBuf,
        /// The filter.
        filter: PathBuf,
    },
    /// A filter has its digests beside it, and this program would not keep them.
    DigestsNotKept {
        /// The file of digests.
        path: PathBuf,
        /// The filter.
        filter: PathBuf,
    },
    /// The digests beside a filter are damaged.
    DigestsDamaged {
        /// The file of digests.
        path: PathBuf,
        /// The offset of the damaged record.
        offset: u64,
    },
    /// After a disk failure the contents of the log on disk are unknown; nothing more is recorded.
    Poisoned {
        /// The log.
        path: PathBuf,
    },
    /// Two filters cannot be merged.
    Unlike {
        /// The file that differs from the first one.
        path: PathBuf,
        /// The first one.
        first: PathBuf,
        /// The parameter in which they differ.
        parameter: &'static str,
        /// Its value in `path`.
        found: String,
        /// Its value in `first`.
        expected: String,
    },
    /// Two segments are not of one filter.
    SegmentsUnlike {
        /// The file that differs from the first one.
        path: PathBuf,
        /// The first one.
        first: PathBuf,
        /// The parameter in which they differ.
        parameter: &'static str,
        /// Its value in `path`.
        found: String,
        /// Its value in `first`.
        expected: String,
    },
    /// Two segments have the same pages.
    SegmentsOverlap {
        /// One of them.
        path: PathBuf,
        /// The other one.
        other: PathBuf,
        /// The pages that both have.
        pages: Range<u64>,
    },
    /// Segments are missing.
    SegmentsMissing {
        /// The file of a segment that is there.
        path: PathBuf,
        /// The pages that no segment has.
        missing: Vec<Range<u64>>,
        /// The pages of the whole filter.
        num_pages: u64,
    },
    /// This machine does not support the operation.
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not supported, and what to do instead.
        what: &'static str,
    },
}

impl Error {
    /// For `map_err`: the action and its path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }

    /// As [`Error::io`] for writes, for which a full disk is a separate error.
    pub(crate) fn write(path: &Path, needed_bytes: u64) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                Self::NoSpace { path: path.into(), needed_bytes, source }
            }
            _ => Self::Io { action: "write", path: path.into(), source },
        }
    }

    /// For `map_err`: an error in the contents of `path`.
    pub(crate) fn format(path: &Path) -> impl FnOnce(mayhap::Error) -> Self {
        move |source| Self::Format { path: path.into(), source }
    }

    /// Whether the file to be opened does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether this user may not do that.
    pub(crate) fn is_denied(&self) -> bool {
        let kind = io::ErrorKind::PermissionDenied;
        matches!(self, Self::Io { source, .. } if source.kind() == kind)
    }

    /// The file, folder or log that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NoSpace { path, .. }
            | Self::Format { path, .. }
            | Self::Foreign { path, .. }
            | Self::NotRegular { path, .. }
            | Self::Exists { path }
            | Self::Changed { path, .. }
            | Self::Locked { path, .. }
            | Self::NoLocks { path, .. }
            | Self::WaitStopped { path }
            | Self::NotALock { path }
            | Self::NotALog { path }
            | Self::OrphanLog { path }
            | Self::ForeignLog { path, .. }
            | Self::MissingLog { path, .. }
            | Self::OlderCopy { path, .. }
            | Self::UnreadLog { path, .. }
            | Self::Replaced { path }
            | Self::LogLost { path }
            | Self::Busy { path }
            | Self::LogMismatch { path, .. }
            | Self::LogDamaged { path, .. }
            | Self::DigestsBehind { path, .. }
            | Self::DigestsNotKept { path, .. }
            | Self::DigestsDamaged { path, .. }
            | Self::Poisoned { path }
            | Self::Unlike { path, .. }
            | Self::SegmentsUnlike { path, .. }
            | Self::SegmentsOverlap { path, .. }
            | Self::SegmentsMissing { path, .. }
            | Self::Unsupported { path, .. } => path,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Io { action, source, .. } => write!(f, "cannot {action} {path}: {source}"),
            Self::NoSpace { needed_bytes, source, .. } => write!(
                f,
                "cannot write {path}: {source}; it needs {needed_bytes} bytes free \
                 (nothing was lost: what was there before is still there)"
            ),
            Self::Format { source, .. } => write!(f, "{path}: {source}"),
            Self::Foreign { looks_like, .. } => {
                write!(f, "{path}: this looks like {looks_like}, not a mayhap filter")
            }
            Self::NotRegular { kind, .. } => {
                write!(f, "{path}: is {kind}; a filter has to be a regular file")
            }
            Self::Exists { .. } => {
                write!(f, "{path}: exists already; choose another name, or remove it first")
            }
            Self::Changed { what, .. } => write!(
                f,
                "{path}: {what}, and what was read from it may be wrong; check the file, and \
                 replace filters by renaming a complete file over them"
            ),
            Self::Unlike { first, parameter, found, expected, .. } => write!(
                f,
                "{path} and {} cannot be merged: they differ in {parameter}: {found} against \
                 {expected}; nothing was written",
                first.display()
            ),
            Self::SegmentsUnlike { .. }
            | Self::SegmentsOverlap { .. }
            | Self::SegmentsMissing { .. } => self.fmt_of_segments(f),
            Self::Unsupported { what, .. } => write!(f, "{path}: {what}"),
            Self::Locked { .. }
            | Self::NoLocks { .. }
            | Self::WaitStopped { .. }
            | Self::NotALock { .. } => self.fmt_of_lock(f),
            Self::MissingLog { .. }
            | Self::OlderCopy { .. }
            | Self::UnreadLog { .. }
            | Self::Replaced { .. }
            | Self::LogLost { .. }
            | Self::Busy { .. } => self.fmt_of_state(f),
            Self::DigestsBehind { .. }
            | Self::DigestsNotKept { .. }
            | Self::DigestsDamaged { .. } => self.fmt_of_digests(f),
            Self::NotALog { .. }
            | Self::OrphanLog { .. }
            | Self::ForeignLog { .. }
            | Self::LogMismatch { .. }
            | Self::LogDamaged { .. }
            | Self::Poisoned { .. } => self.fmt_of_log(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. }
            | Self::NoSpace { source, .. }
            | Self::NoLocks { source, .. } => Some(source),
            Self::Format { source, .. } => Some(source),
            _ => None,
        }
    }
}
