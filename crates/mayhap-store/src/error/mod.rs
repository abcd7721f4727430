//! The errors of this crate: each reports the file, the problem and the next step; `text.rs` has
//! the longer texts.

mod text;

use crate::{Changed, Holder};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The reason why the file of a filter could not be read, written or maintained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The operation: `open`, `write`, …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk, a quota or a limit on file sizes is full. The old file is untouched.
    #[error(
        "cannot write {path}: {source}; it needs {needed_bytes} bytes free (nothing was lost: \
         what was there before is still there)"
    )]
    NoSpace {
        /// The file that was being written.
        path: PathBuf,
        /// The bytes that must be free.
        needed_bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a sound filter, or not of the expected kind.
    #[error("{path}: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The defect found in it.
        source: mayhap::Error,
    },
    /// The file is of another, recognised kind.
    #[error("{path}: this looks like {looks_like}, not a mayhap filter")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its likely contents: `gzip data`, `an empty file`, …
        looks_like: &'static str,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{path}: is {kind}; a filter has to be a regular file")]
    NotRegular {
        /// The path.
        path: PathBuf,
        /// Its type: `a folder`, …
        kind: &'static str,
    },
    /// The file exists and must not be replaced.
    #[error("{path}: exists already; choose another name, or remove it first")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The mapped file was changed while it was being read.
    #[error(
        "{path}: {what}, and what was read from it may be wrong; check the file, and replace \
         filters by renaming a complete file over them"
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The change found.
        what: Changed,
    },
    /// Another process, or another value in this one, is changing the filter and did not finish in
    /// time.
    #[error(
        "{path}: is being changed by {}, which holds the lock {lock_path}; waited {:.1} s for it \
         to end{}",
        text::holder(.holder.as_ref()),
        .waited.as_secs_f64(),
        text::left_behind(*.is_left_behind)
    )]
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
    #[error(
        "{path}: its file system has no locks ({source}), and without one two programs that \
         change a filter at once lose keys of each other; nothing was changed"
    )]
    NoLocks {
        /// The filter.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program was requested to stop while it waited for a lock.
    #[error("{path}: stopped while waiting for another process that is changing it")]
    WaitStopped {
        /// The filter.
        path: PathBuf,
    },
    /// The file with the name of a filter's lock is not a lock.
    #[error(
        "{path}: has the name of the filter's lock but is not one; move it, or give the filter \
         another name"
    )]
    NotALock {
        /// The file.
        path: PathBuf,
    },
    /// `FILE.log` is not a log of digests.
    #[error(
        "{path}: has the name of the filter's log but is not one; move it, or give the filter \
         another name"
    )]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// A log holds records, but the filter to which they belong is missing.
    #[error(
        "{path}: has recorded digests, but its filter is gone; restore the filter, or remove \
         this log to start over"
    )]
    OrphanLog {
        /// The log.
        path: PathBuf,
    },
    /// The name of a log is taken by the log of another filter.
    #[error(
        "{path}: is the log of another filter than {filter}, which needs this name; move it back \
         beside its filter, or remove it"
    )]
    ForeignLog {
        /// The log.
        path: PathBuf,
        /// The filter that needs its name.
        filter: PathBuf,
    },
    /// A log was begun after the file was written, but is missing.
    #[error(
        "{path}: its log of further keys, {log_path}, is missing: the file alone lacks them; copy \
         the log too from where the file came from"
    )]
    MissingLog {
        /// The filter's file.
        path: PathBuf,
        /// The log that is missing.
        log_path: PathBuf,
        /// The number of the image.
        epoch: u64,
    },
    /// A filter's file is older than its log.
    #[error(
        "{path}: is version {image} of this filter, but {log_path} belongs to version {log}: an \
         older copy was restored, which lacks keys; restore the newer file, or move the log away \
         to continue with the older one"
    )]
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
    #[error(
        "{path}: its log has {log_bytes} bytes of records that the file lacks; open it with its \
         log, or save it whole first"
    )]
    UnreadLog {
        /// The filter's file.
        path: PathBuf,
        /// Bytes of records in its log.
        log_bytes: u64,
    },
    /// A filter was replaced by another one, or removed, while it was being changed.
    #[error(
        "{path}: was replaced or removed by another program while it was being changed; the keys \
         recorded before went with it"
    )]
    Replaced {
        /// The filter's file.
        path: PathBuf,
    },
    /// A log was removed or truncated while it was in use.
    #[error(
        "{path}: was removed or truncated by another program while it was in use; what was \
         recorded in it is lost, unless there is a copy"
    )]
    LogLost {
        /// The log.
        path: PathBuf,
    },
    /// Files were repeatedly replaced while they were read.
    #[error("{path}: is being replaced too often to be read; try again")]
    Busy {
        /// The filter's file.
        path: PathBuf,
    },
    /// A log belongs to another filter: its digests belong to other keys.
    #[error(
        "{path}: is the log of another filter: {parameter} is {log:#x} in the log and \
         {filter:#x} in the filter; restore its own filter, or move the log away"
    )]
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
    #[error(
        "{path}: is damaged at byte {offset}, and not by a torn write: an intact record follows \
         at byte {next_sound_offset}. Nothing was changed. Restore it from a backup; or keep a \
         copy and truncate it to {offset} bytes to continue with what is before"
    )]
    LogDamaged {
        /// The log.
        path: PathBuf,
        /// The offset of the damaged record (0: the header).
        offset: u64,
        /// The offset of the next sound record.
        next_sound_offset: u64,
    },
    /// The digests beside a filter lack keys of it, or belong to another one.
    #[error(
        "{path}: lacks keys of {filter}, or belongs to another filter: the filter was changed or \
         replaced without it. Build both again from the keys, or remove {path} to continue \
         without it"
    )]
    DigestsBehind {
        /// The file of digests.
        path: PathBuf,
        /// The filter.
        filter: PathBuf,
    },
    /// A filter has its digests beside it, and this program would not keep them.
    #[error(
        "{path}: has the digests of {filter}, which this program would not keep; change the \
         filter with a program that keeps them, or remove {path} to continue without it"
    )]
    DigestsNotKept {
        /// The file of digests.
        path: PathBuf,
        /// The filter.
        filter: PathBuf,
    },
    /// The digests beside a filter are damaged.
    #[error(
        "{path}: is damaged at byte {offset}; restore it with its filter from a backup, build both \
         again from the keys, or remove {path} to continue without it"
    )]
    DigestsDamaged {
        /// The file of digests.
        path: PathBuf,
        /// The offset of the damaged record (0: the header).
        offset: u64,
    },
    /// After a disk failure the contents of the log on disk are unknown; nothing more is recorded.
    #[error(
        "{path}: an earlier write or sync failed, so nothing more is recorded; check the disk \
         and start again"
    )]
    Poisoned {
        /// The log.
        path: PathBuf,
    },
    /// Two filters cannot be merged.
    #[error(
        "{path} and {first} cannot be merged: they differ in {parameter}: {found} against \
         {expected}; nothing was written"
    )]
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
    #[error(
        "{path} and {first} are not segments of one filter: they differ in {parameter}: {found} \
         against {expected}; nothing was written"
    )]
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
    #[error("{path} and {other} both have {}; nothing was written", text::pages(.pages))]
    SegmentsOverlap {
        /// One of them.
        path: PathBuf,
        /// The other one.
        other: PathBuf,
        /// The pages that both have.
        pages: Range<u64>,
    },
    /// Segments are missing.
    #[error("{}; nothing was written", text::missing(missing, *num_pages, path))]
    SegmentsMissing {
        /// The file of a segment that exists.
        path: PathBuf,
        /// The pages that no segment has.
        missing: Vec<Range<u64>>,
        /// The pages of the whole filter.
        num_pages: u64,
    },
    /// This machine does not support the operation.
    #[error("{path}: {what}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The unsupported operation, and the alternative.
        what: &'static str,
    },
}

impl Error {
    /// For `map_err`: the action and its path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }

    /// Same as [`Error::io`] for writes, for which a full disk is a separate error.
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

    /// Whether the operation was not permitted.
    pub(crate) fn is_denied(&self) -> bool {
        let kind = io::ErrorKind::PermissionDenied;
        matches!(self, Self::Io { source, .. } if source.kind() == kind)
    }
}
