//! The operating system, with the errors and events of a test before its calls. Nothing is really
//! synced.

use super::{Disk, DiskFile, Entry, How, Lock, Positioned, Real};
use crate::notice::Notice;
use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A call that may fail, or be preceded by an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Rename,
    Link,
    Remove,
    SyncFolder,
    Write,
    SetLen,
    Sync,
    Lock,
    Protect,
}

/// Called before each call, with the path of its file.
type Before = dyn Fn(Call, &Path) -> io::Result<()> + Send + Sync;

/// The file system of this machine with the faults of one test.
pub(crate) struct Double {
    before: Arc<Before>,
    /// The notices reported.
    pub(crate) notices: Mutex<Vec<Notice>>,
}

impl Double {
    /// With this before each call.
    pub(crate) fn new(
        before: impl Fn(Call, &Path) -> io::Result<()> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { before: Arc::new(before), notices: Mutex::default() })
    }
}

/// The file system of this machine, without syncs.
pub(crate) fn plain() -> Arc<Double> {
    Double::new(|_, _| Ok(()))
}

impl std::fmt::Debug for Double {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Double").finish_non_exhaustive()
    }
}

impl Disk for Double {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        (self.before)(Call::Open, path)?;
        let (file, before) = (Real.open(path, how)?, Arc::clone(&self.before));
        Ok(Box::new(DoubleFile { file, path: path.into(), before }))
    }

    fn look(&self, path: &Path, follow: bool) -> io::Result<Entry> {
        Real.look(path, follow)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        Real.read_link(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.before)(Call::Rename, to)?;
        Real.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.before)(Call::Link, to)?;
        Real.hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        (self.before)(Call::Remove, path)?;
        Real.remove(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        (self.before)(Call::SyncFolder, path)
    }

    fn now(&self) -> Duration {
        Real.now()
    }

    fn pause(&self, time: Duration) {
        Real.pause(time);
    }

    fn random(&self) -> u128 {
        Real.random()
    }

    fn report(&self, notice: Notice) {
        self.notices.lock().unwrap().push(notice);
    }
}

struct DoubleFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    before: Arc<Before>,
}

impl std::fmt::Debug for DoubleFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.file.fmt(f)
    }
}

impl Positioned for DoubleFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        (self.before)(Call::Write, &self.path)?;
        self.file.write_at(bytes, offset)
    }
}

impl DiskFile for DoubleFile {
    fn look(&self) -> io::Result<Entry> {
        self.file.look()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        (self.before)(Call::SetLen, &self.path)?;
        self.file.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        (self.before)(Call::Sync, &self.path)
    }

    fn sync_all(&self) -> io::Result<()> {
        (self.before)(Call::Sync, &self.path)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        (self.before)(Call::Lock, &self.path)?;
        self.file.try_lock(lock)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        (self.before)(Call::Protect, &self.path)?;
        self.file.set_permissions(permissions)
    }

    fn as_file(&self) -> Option<&File> {
        self.file.as_file()
    }
}
