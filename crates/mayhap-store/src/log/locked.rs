//! A log's file, locked: one process at a time has it.

use crate::Error;
use crate::file::open_regular;
use crate::temporary::make_private;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// A file that no other process has, until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    /// Opens or creates a log and locks it. A new one gets these permissions or, without, is for
    /// its owner alone if the filter is keyed.
    pub(crate) fn open(
        path: &Path,
        keyed: bool,
        permissions: Option<Permissions>,
    ) -> Result<Self, Error> {
        let file = open_or_create(path, keyed, permissions)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Error::Locked { path: path.into() }),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", path)(source)),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing alone does not free the lock while a child process, made by another thread and
        // not yet a program of its own, has inherited the file.
        let _ = self.0.unlock();
    }
}

fn open_or_create(
    path: &Path,
    keyed: bool,
    permissions: Option<Permissions>,
) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match open_regular(path) {
        Ok(_) => return options.open(path).map_err(Error::io("open", path)),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if keyed {
        make_private(&mut options);
    }
    // Not `create_new`: another process may create it now, and the lock decides.
    let file =
        options.create(true).truncate(false).open(path).map_err(Error::io("create", path))?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions).map_err(Error::io("protect", path))?;
    }
    Ok(file)
}
