//! The log of a filter as a file: its path, whether it has to be read, and its removal.

use super::relation::{LogFound, examine};
use crate::Error;
use crate::disk::{Disk, How, sync_folder};
use crate::file::resolve_links;
use std::path::{Path, PathBuf};

/// The additions of a log to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Digests in the records applied: 0 after a clean shutdown.
    pub replayed_digests: u64,
    /// The number of them that were new.
    pub new_items: u64,
    /// Bytes of a torn write: a record cut short by a crash.
    pub dropped_bytes: u64,
}

/// The log of the filter at `path`: its name with `.log` appended, beside the file to which
/// symbolic links lead.
///
/// # Errors
///
/// [`Error::NotRegular`] if `path` does not name a file, as `..`; [`Error::Io`] for too many links.
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// let log = mayhap_store::log_path(Path::new("day/seen.mayhap"))?;
/// assert_eq!(log, Path::new("day/seen.mayhap.log"));
/// # Ok::<(), mayhap_store::Error>(())
/// ```
pub fn log_path(path: &Path) -> Result<PathBuf, Error> {
    log_path_of(&resolve_links(&crate::disk::Real, path)?)
}

/// Like [`log_path`], for a path with its links already followed.
pub(super) fn log_path_of(path: &Path) -> Result<PathBuf, Error> {
    crate::file::rename_with(path, "", ".log")
}

/// Checks that an image and its log as found are the whole filter.
pub(super) fn check_log(found: LogFound, path: &Path, log_path: &Path) -> Result<(), Error> {
    match found {
        LogFound::Missing { epoch } => {
            Err(Error::MissingLog { path: path.into(), log_path: log_path.into(), epoch })
        }
        LogFound::Newer { image, log } => {
            Err(Error::OlderCopy { path: path.into(), log_path: log_path.into(), image, log })
        }
        _ => Ok(()),
    }
}

/// Removes the log of a filter that has just been replaced, if it belonged to that filter.
pub(crate) fn remove_log_of(
    disk: &dyn Disk,
    path: &Path,
    replaced: Option<&mayhap::native::Header>,
) -> Result<(), Error> {
    let Some(header) = replaced else { return Ok(()) };
    let log_path = log_path_of(path)?;
    let is_its = match examine(disk, (&log_path, How::Read), header) {
        Ok((found, _)) => {
            matches!(found, LogFound::Records { .. } | LogFound::Stale | LogFound::Empty)
        }
        // A damaged log, or one of other keys: its filter is unknown, so it stays.
        Err(_) => false,
    };
    if !is_its {
        return Ok(());
    }
    disk.remove(&log_path).map_err(Error::io("remove", &log_path))?;
    // A log that reappeared would block the next one.
    sync_folder(disk, path)
}
