//! Findings in a folder that is opened.

use std::path::PathBuf;

/// The progress of opening a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Bytes of images that were read.
    Images {
        /// So far.
        done: u64,
        /// In total.
        total: u64,
    },
    /// Bytes of the log that were replayed.
    Log {
        /// So far.
        done: u64,
        /// In total.
        total: u64,
    },
}

/// The end of a log that a crash had cut short, and that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The segment.
    pub path: PathBuf,
    /// The end of its last whole record.
    pub offset: u64,
    /// How many bytes were removed, including later segments.
    pub bytes: u64,
}

/// The findings in a data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Images that were read.
    pub images: u64,
    /// Their bytes.
    pub image_bytes: u64,
    /// Bytes of the log that were replayed.
    pub log_bytes: u64,
    /// Digests in them.
    pub digests: u64,
    /// Keys in them.
    pub keys: u64,
    /// Operations in them.
    pub operations: u64,
    /// The unfinished end left by a power cut or a kill. It has nothing that was acknowledged,
    /// except for the last two seconds before a power cut under `everysec`.
    pub dropped: Option<Dropped>,
    /// The id of the next filter: higher than all before, including removed ones.
    pub next_id: u64,
    /// The folder for users' own files, which are served under their names without extension.
    pub import: PathBuf,
}
