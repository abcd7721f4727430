//! The temporary file that becomes the saved one.

use crate::disk::{Disk, DiskFile, How, look_for, sync_folder};
use crate::file::rename_with;
use crate::{Error, FilterLock};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A new, empty file beside its target, removed unless [`Temporary::commit`] is called.
///
/// The name is derived from the target, so that a crash leaves at most one file, which the next
/// save removes. The lock of the target is held meanwhile, so no other process uses the name.
#[derive(Debug)]
pub(crate) struct Temporary {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    path: PathBuf,
    target: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// Creates the file for the target of the lock, readable only by its owner if `private`.
    ///
    /// # Errors
    ///
    /// [`Error::NotRegular`] if the name leads to a folder, pipe or device; [`Error::Io`].
    pub(crate) fn create(lock: &FilterLock, private: bool) -> Result<Self, Error> {
        let (disk, target) = (Arc::clone(lock.disk()), lock.path().to_path_buf());
        let path = rename_with(&target, ".", ".mayhap-tmp")?;
        // The leftover of a crashed save. It is never opened for writing: after a crash of
        // `save_new` it can be a second name of a good file.
        if let Some(leftover) = look_for(&*disk, &path, false)? {
            leftover.check_regular(&path)?;
            disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        let file = disk.open(&path, How::CreateNew { private });
        let file = file.map_err(Error::io("create", &path))?;
        Ok(Self { disk, file, path, target, renamed: false })
    }

    pub(crate) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Gives the synced file its target's name, in place of the file there if `replace`.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] unless `replace`; [`Error::Io`].
    pub(crate) fn commit(mut self, replace: bool) -> Result<(), Error> {
        self.file.sync_all().map_err(Error::io("sync", &self.path))?;
        if replace {
            self.rename()?;
            return sync_folder(&*self.disk, &self.target);
        }
        self.link()?;
        sync_folder(&*self.disk, &self.target).inspect_err(|_| {
            // It was not there before.
            let _ = self.disk.remove(&self.target);
        })
    }

    /// Gives the synced file another name in the same folder, replacing any file that has it, and
    /// opens it there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn commit_to(mut self, path: &Path) -> Result<Box<dyn DiskFile>, Error> {
        self.target = path.into();
        self.file.sync_all().map_err(Error::io("sync", &self.path))?;
        self.rename()?;
        sync_folder(&*self.disk, path)?;
        self.disk.open(path, How::Change).map_err(Error::io("open", path))
    }

    fn rename(&mut self) -> Result<(), Error> {
        self.disk.rename(&self.path, &self.target).map_err(Error::io("replace", &self.target))?;
        self.renamed = true;
        Ok(())
    }

    fn link(&mut self) -> Result<(), Error> {
        let target = self.target.clone();
        match self.disk.hard_link(&self.path, &target) {
            Ok(()) => {
                self.renamed = true;
                // A second name of the target does no harm: the next save removes it.
                let _ = self.disk.remove(&self.path);
                Ok(())
            }
            // Some file systems (FAT) have no links: reserve the name, then replace it.
            Err(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
            {
                self.disk
                    .open(&target, How::CreateNew { private: false })
                    .map_err(exists_or("create", &target))?;
                self.rename().inspect_err(|_| {
                    let _ = self.disk.remove(&target);
                })
            }
            Err(error) => Err(exists_or("create", &target)(error)),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Best effort: a leftover is harmless.
            let _ = self.disk.remove(&self.path);
        }
    }
}

fn exists_or(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| match source.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path: path.into() },
        _ => Error::Io { action, path: path.into(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockOptions;
    use std::fs;

    #[test]
    fn a_target_that_appears_while_it_is_written_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = &folder.path().join("a");
        let lock = FilterLock::take(target, &mut LockOptions::new("test")).unwrap();
        let temporary = Temporary::create(&lock, false).unwrap();
        fs::write(target, "another's").unwrap();
        let error = temporary.commit(false).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        assert_eq!(fs::read(target).unwrap(), b"another's");
        drop(lock);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_crash_has_left_is_removed_and_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = &folder.path().join("a");
        fs::write(target, "good").unwrap();
        // The state that `save_new` leaves between the second name and the removal of the first.
        fs::hard_link(target, folder.path().join(".a.mayhap-tmp")).unwrap();
        let lock = FilterLock::take(target, &mut LockOptions::new("test")).unwrap();
        let temporary = Temporary::create(&lock, false).unwrap();
        temporary.file().write_at(b"new!", 0).unwrap();
        assert_eq!(fs::read(target).unwrap(), b"good");
        temporary.commit(true).unwrap();
        assert_eq!(fs::read(target).unwrap(), b"new!");
    }
}
