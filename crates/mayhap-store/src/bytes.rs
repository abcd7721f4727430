//! Files of other systems: bytes, read whole and replaced atomically.

use crate::disk::{How, Real, open_regular, read_exact_at, write_all_at};
use crate::save::{begin, replaced, take_place};
use crate::{Error, FilterLock, LockOptions};
use std::path::Path;

/// Reads a whole regular file of at most `max_bytes`.
///
/// # Errors
///
/// [`Error::Io`]; [`Error::NotRegular`] for folders, pipes and devices; [`Error::Format`] with
/// [`mayhap::Error::TooLarge`] for a longer file, or [`mayhap::Error::OutOfMemory`], before
/// anything is read.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("bitmap");
/// mayhap_store::save_bytes(path, &[0x80, 1], false)?;
/// assert_eq!(mayhap_store::read_bytes(path, 2)?, [0x80, 1]);
/// assert!(mayhap_store::read_bytes(path, 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = open_regular(&Real, path, How::Read)?;
    let found = file.look().map_err(Error::io("open", path))?.bytes;
    if found > max_bytes {
        let (field, limit) = ("file bytes", max_bytes);
        return Err(Error::format(path)(mayhap::Error::TooLarge { field, limit, found }));
    }
    let mut bytes = Vec::new();
    let reserved = usize::try_from(found).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
    if !reserved {
        return Err(Error::format(path)(mayhap::Error::OutOfMemory { bytes: found }));
    }
    bytes.resize(found as usize, 0);
    read_exact_at(&*file, &mut bytes, 0).map_err(Error::io("read", path))?;
    Ok(bytes)
}

/// Saves bytes as [`crate::save()`] saves a filter: at any moment the path holds the old file or
/// the new one. An existing file is replaced only if `replace` is set.
///
/// # Errors
///
/// As [`crate::save()`] and [`crate::save_new`].
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("bitmap");
/// mayhap_store::save_bytes(path, &[1], false)?;
/// assert!(mayhap_store::save_bytes(path, &[2], false).is_err());
/// mayhap_store::save_bytes(path, &[3], true)?;
/// assert_eq!(std::fs::read(path)?, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_bytes(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Error> {
    FilterLock::take(path, &mut LockOptions::new("save"))?.save_bytes(bytes, replace)
}

impl FilterLock {
    /// [`save_bytes`] with a held lock. If the replaced file was a state, its log is removed.
    ///
    /// # Errors
    ///
    /// As [`save_bytes`], except for the lock.
    pub fn save_bytes(&self, bytes: &[u8], replace: bool) -> Result<(), Error> {
        let (path, replaced) = (self.path(), replaced(self, replace)?);
        let temporary = begin(self, false, replace)?;
        write_all_at(temporary.file(), bytes, 0).map_err(Error::write(path, bytes.len() as u64))?;
        take_place(self, temporary, replace, replaced.as_ref())
    }
}
