//! The temporary file that becomes the saved one.

use crate::Error;
use crate::file::{check_regular, is_at, rename_with, sync_folder};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A locked, new, empty file beside its target, removed unless [`Temporary::commit`] is called.
///
/// The name follows from the target, so that a crash leaves one file at most, which the next save
/// removes. The lock tells a leftover from a save that is going on. Whoever removes or renames the
/// file holds its lock and has seen, after locking, that the name still leads to the locked file.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

/// Attempts to get the name, each lost to another process that cleaned up at the same moment.
const MAX_ATTEMPTS: usize = 16;

impl Temporary {
    /// Creates the file, readable for nobody else if `private`.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if the target is being saved by someone else; [`Error::Io`].
    pub(crate) fn create(target: &Path, private: bool) -> Result<Self, Error> {
        let path = rename_with(target, ".", ".mayhap-tmp")?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if private {
            make_private(&mut options);
        }
        for _ in 0..MAX_ATTEMPTS {
            match options.open(&path) {
                Ok(file) => {
                    if lock(&file, &path)?
                        && is_at(&file, &path).map_err(Error::io("open", &path))?
                    {
                        return Ok(Self { file, path, renamed: false });
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    remove_leftover(&path, target)?;
                }
                Err(source) => return Err(Error::Io { action: "create", path, source }),
            }
        }
        Err(Error::Locked { path: target.into() })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the synced file its target's name, in place of the file there if `replace`.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] unless `replace`; [`Error::Io`].
    pub(crate) fn commit(mut self, target: &Path, replace: bool) -> Result<(), Error> {
        self.file.sync_all().map_err(Error::io("sync", &self.path))?;
        if replace {
            self.rename_to(target)?;
        } else {
            self.link_to(target)?;
        }
        sync_folder(target)
    }

    fn rename_to(&mut self, target: &Path) -> Result<(), Error> {
        fs::rename(&self.path, target).map_err(Error::io("replace", target))?;
        self.renamed = true;
        Ok(())
    }

    fn link_to(&mut self, target: &Path) -> Result<(), Error> {
        match fs::hard_link(&self.path, target) {
            Ok(()) => {
                self.renamed = true;
                // A second name of the target does no harm: the next save removes it.
                let _ = fs::remove_file(&self.path);
                Ok(())
            }
            // Some file systems (FAT) have no links: reserve the name, then replace it.
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
            {
                File::create_new(target).map_err(exists_or("create", target))?;
                self.rename_to(target).inspect_err(|_| {
                    let _ = fs::remove_file(target);
                })
            }
            Err(error) => Err(exists_or("create", target)(error)),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Best effort: a leftover is harmless.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn exists_or(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| match source.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
        _ => Error::Io { action, path: path.into(), source },
    }
}

#[cfg(unix)]
pub(crate) fn make_private(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
pub(crate) fn make_private(_: &mut OpenOptions) {}

/// Whether the lock was free; on file systems without locks it always is.
fn lock(file: &File, path: &Path) -> Result<bool, Error> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path)(error)),
    }
}

/// Removes the temporary file of a save that crashed. It is never opened for writing: after a
/// crash of `save_new` it can be a second name of a good file.
fn remove_leftover(path: &Path, target: &Path) -> Result<(), Error> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    match fs::symlink_metadata(path) {
        Ok(metadata) => check_regular(path, metadata.file_type())?,
        Err(error) if gone(&error) => return Ok(()),
        Err(error) => return Err(Error::io("look at", path)(error)),
    }
    let leftover = match File::open(path) {
        Ok(leftover) => leftover,
        Err(error) if gone(&error) => return Ok(()),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    if !lock(&leftover, path)? {
        return Err(Error::Locked { path: target.into() });
    }
    if is_at(&leftover, path).map_err(Error::io("look at", path))? {
        fs::remove_file(path).map_err(Error::io("remove", path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_appears_while_it_is_written_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = &folder.path().join("a");
        let temporary = Temporary::create(target, false).unwrap();
        fs::write(target, "another's").unwrap();
        let error = temporary.commit(target, false).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        assert_eq!(fs::read(target).unwrap(), b"another's");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_not_removed_as_a_leftover() {
        let folder = tempfile::tempdir().unwrap();
        let target = &folder.path().join("a");
        let first = Temporary::create(target, false).unwrap();
        assert!(matches!(Temporary::create(target, false), Err(Error::Locked { .. })));
        assert!(is_at(&first.file, &first.path).unwrap());
        fs::rename(&first.path, target).unwrap();
        assert!(!is_at(&first.file, &first.path).unwrap());
        fs::write(&first.path, "").unwrap();
        assert!(!is_at(&first.file, &first.path).unwrap());
    }
}
