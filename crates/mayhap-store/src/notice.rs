//! Warnings about work that succeeded.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Something that is not an error, but without which a promise is weaker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// The file system cannot sync a folder. The data survives the death of the process, and is
    /// itself synced; but after a power cut its name may be missing, or refer to the previous file.
    #[error(
        "{}: this file system cannot sync a folder ({source}): everything is saved and survives \
         a crash of the program, but a power cut in the next seconds may bring back the files as \
         they were before",
        .folder.display()
    )]
    FolderNotSynced {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system cannot set the permissions of a new file. It keeps the permissions with
    /// which it was created: readable only by its owner, where there are permissions at all.
    #[error(
        "{}: its permissions cannot be set on this file system ({source}); the file is saved \
         with those of a new file",
        .path.display()
    )]
    PermissionsNotSet {
        /// The file that has, or will get, its place.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The end of a log is not a sound record.
    #[error(
        "{}: {} a torn write, {bytes} bytes from offset {offset} on; an interrupted run leaves \
         such an end, but if the file was cut short, its last keys are missing",
        .path.display(),
        if *.is_removed { "removed" } else { "ignored" }
    )]
    TornLog {
        /// The log.
        path: PathBuf,
        /// Where that begins.
        offset: u64,
        /// Its bytes.
        bytes: u64,
        /// Whether it was cut off; otherwise it was ignored.
        is_removed: bool,
    },
}

impl Notice {
    /// Whether an earlier notice says the same: file systems are named once, logs each.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::FolderNotSynced { .. }, Self::FolderNotSynced { .. })
            | (Self::PermissionsNotSet { .. }, Self::PermissionsNotSet { .. }) => true,
            (Self::TornLog { path, .. }, Self::TornLog { path: other, .. }) => path == other,
            _ => false,
        }
    }
}

/// All notices of this process, and the number already returned by [`notices`]. A process opens a
/// limited number of logs that end in a torn write.
static FOUND: Mutex<Vec<(Notice, bool)>> = Mutex::new(Vec::new());

/// Takes note of something, unless it was noted before.
pub(crate) fn report(notice: Notice) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if !found.iter().any(|(before, _)| before.is_like(&notice)) {
        found.push((notice, false));
    }
}

/// Calls `each` with the notices of this process so far, each once.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// let mut seen = mayhap_store::LiveFilter::create(path, filter, "")?;
/// let digest = seen.filter().digest_function().digest("line");
/// seen.record(&[digest])?;
/// drop(seen);
/// let log = mayhap_store::log_path(path)?;
/// std::fs::OpenOptions::new().write(true).open(log)?.set_len(100)?; // a copy that broke off
/// mayhap_store::Snapshot::open(path)?.load::<mayhap::AnyFilter>(None, |_| {})?;
/// let mut said = Vec::new();
/// mayhap_store::notices(|notice| said.push(notice.to_string()));
/// assert!(said[0].contains("ignored a torn write, 36 bytes from offset 64 on"), "{said:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn notices(mut each: impl FnMut(&Notice)) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    for (notice, is_passed) in found.iter_mut() {
        if !std::mem::replace(is_passed, true) {
            each(notice);
        }
    }
}
