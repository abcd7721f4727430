//! The file system as the log sees it, so that tests can lose and fail each operation.

use mayhap_store::Positioned;
pub(super) use mayhap_store::{read_up_to, sync_names, write_all_at};
use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder and everything below it. Paths are made by this module: ASCII, relative, with `/`.
pub(super) trait Disk: Debug + Send + Sync {
    /// Creates or truncates a file, to write and read.
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens an existing file.
    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Makes creations, renames and removals in a folder survive a power cut; `""` is the top.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// The names of the regular files in a folder.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// Creates a folder unless it exists.
    fn create_dir(&self, path: &str) -> io::Result<()>;
    /// The file that a path refers to: equal to the [`DiskFile::id`] of an open file if it is that
    /// one.
    fn id(&self, path: &str) -> io::Result<FileId>;
    /// Bytes that this process may still write there; `None` if unknown.
    fn free_bytes(&self) -> Option<u64>;
    /// Whether the folder is the one that was locked.
    fn is_ours(&self) -> io::Result<bool>;
}

/// Distinguishes a file from all others for as long as it is open: device and inode. Equal for all
/// files if the system has no such numbers, so that nothing is detected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(pub(super) u64, pub(super) u64);

/// An open file. Calls may do less than requested, as `pwrite` does.
pub(super) trait DiskFile: Positioned + Debug + Send + Sync {
    fn bytes(&self) -> io::Result<u64>;
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes all writes so far survive a power cut.
    fn sync(&self) -> io::Result<()>;
    fn id(&self) -> io::Result<FileId>;
}

/// Retries a call that a signal interrupts.
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// A file that is read from its front, up to this offset so far.
pub(super) struct Reader(pub(super) Arc<dyn DiskFile>, pub(super) u64);

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.0.read_at(buffer, self.1)?;
        self.1 += found as u64;
        Ok(found)
    }
}

/// A folder of the file system, locked against other processes.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
}

const LOCK: &str = "lock";

impl Folder {
    /// Opens or creates a folder, for its owner alone, and locks it.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if another process has it, `Unsupported` if the file system has no locks.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let folder = Self::unlocked(path)?;
        match folder.lock.try_lock() {
            Ok(()) => Ok(folder),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            // Nothing else would keep a second server out.
            Err(TryLockError::Error(error)) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, error))
            }
        }
    }

    /// Opens or creates a folder, and the file that locks it, without locking it.
    pub(super) fn unlocked(path: &Path) -> io::Result<Self> {
        make_private(path)?;
        if cfg!(unix) {
            // The contents of a folder are only kept if its own name is.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            sync_names(parent.unwrap_or(Path::new(".")))?;
        }
        let lock = private().create(true).truncate(false).open(path.join(LOCK))?;
        Ok(Self { path: path.into(), lock })
    }
}

/// Creates a folder and its parents for the owner alone, unless they exist.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
fn id_of(metadata: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    FileId(metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn id_of(_: &fs::Metadata) -> FileId {
    FileId(0, 0)
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing alone does not release the lock while a child process has inherited the file.
        let _ = self.lock.unlock();
    }
}

/// How files are opened: for reading and writing, by their owner alone.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    mayhap_store::make_private(&mut options);
    options
}

impl Disk for Folder {
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = private().create(true).truncate(true).open(self.path.join(path))?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(private().open(self.path.join(path))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        sync_names(&self.path.join(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path.join(path))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        match fs::create_dir(self.path.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    fn id(&self, path: &str) -> io::Result<FileId> {
        Ok(id_of(&fs::metadata(self.path.join(path))?))
    }

    #[cfg(unix)]
    fn free_bytes(&self) -> Option<u64> {
        let found = rustix::fs::statvfs(&self.path).ok()?;
        // Some file systems without blocks report this.
        let is_known = found.f_blocks > 0;
        let blocks =
            if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
        is_known.then(|| blocks.saturating_mul(found.f_frsize))
    }

    #[cfg(not(unix))]
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    fn is_ours(&self) -> io::Result<bool> {
        match self.id(LOCK) {
            Ok(found) => Ok(found == self.lock.id()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl DiskFile for File {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(id_of(&self.metadata()?))
    }
}
