//! Operations of more than one call of the file system, with their errors.

use super::{Disk, DiskFile, Entry, How, Positioned, folder_of};
use crate::Error;
use crate::notice::Notice;
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The entry that a name refers to, or `None` if there is none.
pub(crate) fn look_for(disk: &dyn Disk, path: &Path, follow: bool) -> Result<Option<Entry>, Error> {
    match disk.look(path, follow) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("look at", path)(error)),
    }
}

/// Whether `path` is still a name of `file`.
pub(crate) fn is_at(disk: &dyn Disk, file: &dyn DiskFile, path: &Path) -> Result<bool, Error> {
    let ours = file.look().map_err(Error::io("look at", path))?;
    Ok(look_for(disk, path, false)?.is_some_and(|there| there.is_same_file(&ours)))
}

/// Opens a regular file.
pub(crate) fn open_regular(
    disk: &dyn Disk,
    path: &Path,
    how: How,
) -> Result<Box<dyn DiskFile>, Error> {
    // Before the open, which would wait for the other end of a pipe.
    disk.look(path, true).map_err(Error::io("open", path))?.check_regular(path)?;
    let file = disk.open(path, how).map_err(Error::io("open", path))?;
    file.look().map_err(Error::io("open", path))?.check_regular(path)?;
    Ok(file)
}

/// Makes creations, renames and removals in the folder of `path` survive a power cut, where the
/// file system can do that: see [`Notice::FolderNotSynced`].
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    let folder = folder_of(path);
    synced_if_possible(folder, disk.sync_folder(path), |notice| disk.report(notice))
        .map_err(Error::io("sync", folder))
}

/// The result of syncing a folder, an error only where the file system supports it.
fn synced_if_possible(
    folder: &Path,
    synced: io::Result<()>,
    report: impl FnOnce(Notice),
) -> io::Result<()> {
    match synced {
        Err(source) if cannot_sync_folders(&source) => {
            report(Notice::FolderNotSynced { folder: folder.into(), source });
            Ok(())
        }
        synced => synced,
    }
}

/// Makes creations, renames and removals in a folder survive a power cut. Where the file system
/// cannot do that, it is noted for [`crate::notices`] and no error, as for all files of this crate.
///
/// # Errors
///
/// The errors of the system.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("name"), "contents")?;
/// mayhap_store::sync_names(folder.path())?;
/// assert!(mayhap_store::sync_names(&folder.path().join("none")).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn sync_names(folder: &Path) -> io::Result<()> {
    // Other systems cannot open folders.
    if !cfg!(unix) {
        return Ok(());
    }
    let opened = std::fs::File::open(folder)?;
    synced_if_possible(folder, opened.sync_all(), crate::notice::report)
}

/// Whether it is the error of a file system that does not sync folders (CIFS and some of FUSE
/// return `EINVAL` or `EBADF`), or of a folder that may not be read.
fn cannot_sync_folders(error: &io::Error) -> bool {
    /// On every Unix.
    const EBADF: i32 = 9;
    let kinds = [
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
        ErrorKind::PermissionDenied,
        ErrorKind::IsADirectory,
    ];
    kinds.contains(&error.kind()) || cfg!(unix) && error.raw_os_error() == Some(EBADF)
}

/// Sets the permissions of a new file, if those are given and the file system supports that: see
/// [`Notice::PermissionsNotSet`].
pub(crate) fn protect(
    disk: &dyn Disk,
    file: &dyn DiskFile,
    permissions: Option<Permissions>,
    path: &Path,
) -> Result<(), Error> {
    let Some(permissions) = permissions else { return Ok(()) };
    let has_them = |entry: &Entry| entry.permissions.as_ref() == Some(&permissions);
    if file.look().as_ref().is_ok_and(has_them) {
        return Ok(());
    }
    match file.set_permissions(permissions) {
        Err(source)
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            disk.report(Notice::PermissionsNotSet { path: path.into(), source });
            Ok(())
        }
        set => set.map_err(Error::io("protect", path)),
    }
}

/// Fills `bytes` from `offset` on, up to the end of the file; returns their number.
///
/// # Errors
///
/// The errors of the system.
pub fn read_up_to(
    file: &(impl Positioned + ?Sized),
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Fills `bytes` from `offset` on.
pub(crate) fn read_exact_at(file: &dyn DiskFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    if read_up_to(file, bytes, offset)? < bytes.len() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "it became shorter meanwhile"));
    }
    Ok(())
}

/// Writes all of `bytes` at `offset`.
///
/// # Errors
///
/// The errors of the system.
pub fn write_all_at(
    file: &(impl Positioned + ?Sized),
    mut bytes: &[u8],
    offset: u64,
) -> io::Result<()> {
    let mut at = offset;
    while !bytes.is_empty() {
        match file.write_at(bytes, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(done) => {
                bytes = &bytes[done..];
                at += done as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
