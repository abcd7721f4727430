//! What some file systems cannot do, without which a promise is weaker.

use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

/// Something that a file system cannot do. It is not an error: the work is done, with the promise
/// that is left.
#[derive(Debug)]
#[non_exhaustive]
pub enum Weakness {
    /// A folder cannot be synced. What was written survives the death of the process, and is synced
    /// itself; but after a power cut its name may be missing, or lead to the file before.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The permissions of a new file cannot be set. It keeps those with which it was created, which
    /// let only its owner read it where the file system has permissions at all.
    Permissions {
        /// The file that has, or will get, its place.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { folder, source } => write!(
                f,
                "{}: this file system cannot sync a folder ({source}): everything is saved and \
                 survives a crash of the program, but a power cut in the next seconds may bring \
                 back the files as they were before",
                folder.display()
            ),
            Self::Permissions { path, source } => write!(
                f,
                "{}: its permissions cannot be set on this file system ({source}); the file is \
                 saved with those of a new file",
                path.display()
            ),
        }
    }
}

/// All of this process: those not yet passed on, and after them which kinds ever came.
static FOUND: Mutex<(Vec<Weakness>, Vec<std::mem::Discriminant<Weakness>>)> =
    Mutex::new((Vec::new(), Vec::new()));

/// Takes note of one, the first of its kind.
pub(super) fn report(weakness: Weakness) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = discriminant(&weakness);
    if !found.1.contains(&kind) {
        found.1.push(kind);
        found.0.push(weakness);
    }
}

/// What the file systems used by this process could not do so far, each kind once: a later call
/// returns only what came since.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// mayhap_store::save(path, &filter, "")?;
/// for weakness in mayhap_store::weaknesses() {
///     eprintln!("warning: {weakness}");
/// }
/// assert!(mayhap_store::weaknesses().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn weaknesses() -> Vec<Weakness> {
    std::mem::take(&mut FOUND.lock().unwrap_or_else(PoisonError::into_inner).0)
}
