//! The operating system.

use super::{Disk, DiskFile, Entry, How, Lock, Positioned};
use crate::notice::{self, Notice};
use std::fs::{self, File, FileType, Metadata, OpenOptions, Permissions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The file system of this machine.
#[derive(Debug)]
pub(crate) struct Real;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Disk for Real {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        let private = match how {
            How::Read => false,
            How::Change => {
                options.write(true);
                false
            }
            How::Create { private } => {
                options.write(true).create(true).truncate(false);
                private
            }
            How::CreateNew { private } => {
                options.write(true).create_new(true);
                private
            }
        };
        if private {
            make_private(&mut options);
        }
        Ok(Box::new(options.open(path)?))
    }

    fn look(&self, path: &Path, follow: bool) -> io::Result<Entry> {
        let metadata = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        Ok(entry(&metadata))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // Other systems cannot open folders.
        if cfg!(unix) { File::open(super::folder_of(path))?.sync_all() } else { Ok(()) }
    }

    fn now(&self) -> Duration {
        START.elapsed()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn random(&self) -> u128 {
        // The standard library's hasher keys are the available random numbers: 128 bits from the
        // system, and SipHash of two texts under them.
        let state = RandomState::new();
        (u128::from(state.hash_one(0)) << 64 | u128::from(state.hash_one(1))).max(1)
    }

    fn report(&self, notice: Notice) {
        notice::report(notice);
    }
}

impl Positioned for File {
    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, bytes, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, bytes, offset)
    }
}

impl DiskFile for File {
    fn look(&self) -> io::Result<Entry> {
        self.metadata().map(|metadata| entry(&metadata))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        Self::sync_all(self)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let locked = match lock {
            Lock::Shared => self.try_lock_shared(),
            Lock::Exclusive => Self::try_lock(self),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        Self::unlock(self)
    }

    fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        Self::set_permissions(self, permissions)
    }

    fn as_file(&self) -> Option<&File> {
        Some(self)
    }
}

fn entry(metadata: &Metadata) -> Entry {
    let file_type = metadata.file_type();
    let not_regular = if file_type.is_file() { None } else { Some(name_of(file_type)) };
    let permissions = Some(metadata.permissions());
    #[cfg(unix)]
    let (id, links) = {
        use std::os::unix::fs::MetadataExt;
        (Some((metadata.dev(), metadata.ino())), metadata.nlink())
    };
    #[cfg(not(unix))]
    let (id, links) = (None, 1);
    Entry { not_regular, id, links, bytes: metadata.len(), permissions }
}

fn name_of(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a folder"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        special_name(file_type)
    }
}

#[cfg(unix)]
fn special_name(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        "a pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special_name(_: FileType) -> &'static str {
    "a special file"
}

/// A file that is created is for its owner alone.
pub fn make_private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}
