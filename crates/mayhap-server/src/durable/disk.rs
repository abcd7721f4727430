//! The file system as the log sees it, so that tests can lose and fail each operation.

#[cfg(not(any(loom, shuttle)))]
pub(super) use mayhap_store::sync_names;
use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder and what is below it. Paths are of this module's making: ASCII, relative, with `/`.
pub(super) trait Disk: Debug + Send + Sync {
    /// A file to write and read, new or emptied.
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// A file that is there.
    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Makes creations, renames and removals in a folder survive a power cut; `""` is the top.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// The names of the regular files in a folder.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// A folder, if it is not there yet.
    fn create_dir(&self, path: &str) -> io::Result<()>;
    /// Which file a path leads to: the [`DiskFile::id`] of one that is open, if it is that one.
    fn id(&self, path: &str) -> io::Result<FileId>;
    /// Bytes that this process may still write there; `None` if nobody can tell.
    fn free_bytes(&self) -> Option<u64>;
    /// Whether the folder is the one that was locked.
    fn is_ours(&self) -> io::Result<bool>;
    /// Makes and locks the folder if it is not ours any more. What stands in its place is left
    /// alone unless it `is_known` to be what was there before.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if another folder with filters stands there, `CrossesDevices` if its disk is
    /// not there, `WouldBlock` if another process serves it.
    fn reclaim(&self, is_known: bool) -> io::Result<()>;
}

/// What distinguishes a file from all others for as long as it is open: device and inode. The same
/// for all files where the system has no such numbers, so that nothing is noticed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(pub(super) u64, pub(super) u64);

/// An open file. Calls may do less than requested, as `pwrite` does.
pub(super) trait DiskFile: Debug + Send + Sync {
    fn bytes(&self) -> io::Result<u64>;
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes what was written survive a power cut.
    fn sync(&self) -> io::Result<()>;
    fn id(&self) -> io::Result<FileId>;
}

/// Again for as long as a signal interrupts it.
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Writes all of it.
pub(super) fn write_all_at(file: &dyn DiskFile, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match again(|| file.write_at(bytes, at))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                bytes = &bytes[written..];
                at += written as u64;
            }
        }
    }
    Ok(())
}

/// Fills the buffer, or as much of it as the file has.
pub(super) fn read_up_to(file: &dyn DiskFile, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut found = 0;
    while found < buffer.len() {
        match again(|| file.read_at(&mut buffer[found..], at + found as u64))? {
            0 => break,
            more => found += more,
        }
    }
    Ok(found)
}

/// For the model checkers, which build nothing of other crates here; their disk is a double.
#[cfg(any(loom, shuttle))]
pub(super) fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder of the file system, which no other process has meanwhile.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Another one once the folder had to be made anew.
    lock: Mutex<File>,
}

const LOCK: &str = "lock";

impl Folder {
    /// Opens or makes a folder, for its owner alone, and locks it.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if another process has it, `Unsupported` if the file system has no locks.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.into(), lock: take(path)?.into() })
    }

    /// Opens or makes a folder and does not lock it.
    pub(super) fn unlocked(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.into(), lock: prepare(path)?.into() })
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a folder for its owner alone, if it is not there, and those that it is in.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a folder, if it is not there, and the file that locks it.
fn prepare(path: &Path) -> io::Result<File> {
    make_private(path)?;
    if cfg!(unix) {
        // What is kept in a folder is not kept if its name is not.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_names(parent.unwrap_or(Path::new(".")))?;
    }
    private().create(true).truncate(false).open(path.join(LOCK))
}

/// Makes a folder, if it is not there, and locks it.
fn take(path: &Path) -> io::Result<File> {
    let lock = prepare(path)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        // Nothing else keeps a second server out.
        Err(TryLockError::Error(error)) => Err(io::Error::new(io::ErrorKind::Unsupported, error)),
    }
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
        // Closing alone does not free the lock while a child process has inherited the file.
        let _ = self.lock().unlock();
    }
}

/// How files are opened: to be read and written, by their owner alone.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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
        // Some file systems that have no blocks say so.
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
            Ok(found) => Ok(found == self.lock().id()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn reclaim(&self, is_known: bool) -> io::Result<()> {
        if self.is_ours()? {
            return Ok(());
        }
        if !is_known {
            // Somebody's filters, put there by mistake or to be restored, perhaps not yet all.
            let has = |name| self.path.join(name).exists();
            if has(super::store::MANIFEST) || has(super::store::INCOMPLETE) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // The folder that a disk is mounted on, without the disk: it would hide what is
            // written there when it comes back.
            let there = self.path.ancestors().find_map(|path| fs::metadata(path).ok());
            let there = there.map_or_else(|| fs::metadata("."), Ok)?;
            if id_of(&there).0 != self.lock().id()?.0 {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
        }
        *self.lock() = take(&self.path)?;
        Ok(())
    }
}

impl DiskFile for File {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, bytes, offset)
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
