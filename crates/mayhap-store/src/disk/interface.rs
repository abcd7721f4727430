//! The interface of this crate to a file system.

use crate::Error;
use crate::notice::Notice;
use std::fmt::Debug;
use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file system, a clock and random numbers.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>>;
    /// The entry that a name refers to: after symbolic links if `follow`, else the link itself.
    fn look(&self, path: &Path, follow: bool) -> io::Result<Entry>;
    /// The target of a symbolic link; an error for everything else.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Gives a file another name, replacing any file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name that must be free.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in the folder of `path` survive a power cut.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Time since some moment, of a clock that is never set back.
    fn now(&self) -> Duration;
    /// Lets time pass.
    fn pause(&self, time: Duration);
    /// A random number, never 0.
    fn random(&self) -> u128;
    /// Records a notice for the user.
    fn report(&self, notice: Notice);
}

/// A file that is read and written at places, without a cursor that other threads may share. Calls
/// may do less than requested, as `pwrite` does.
pub trait Positioned {
    /// Reads at a place.
    ///
    /// # Errors
    ///
    /// The errors of the system.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at a place.
    ///
    /// # Errors
    ///
    /// The errors of the system.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
}

/// An open file.
pub(crate) trait DiskFile: Positioned + Debug + Send + Sync {
    /// The entry of the open file, whatever its name.
    fn look(&self) -> io::Result<Entry>;
    /// Cuts or lengthens the file.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes contents and length survive a power cut.
    fn sync_data(&self) -> io::Result<()>;
    /// The same for contents, length, permissions and times.
    fn sync_all(&self) -> io::Result<()>;
    /// Takes the lock of the file, which the holder keeps until it is closed; `false` if others
    /// hold a conflicting one. A shared lock becomes exclusive and the other way round.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;
    /// Gives the lock up.
    fn unlock(&self) -> io::Result<()>;
    /// Sets the permissions.
    fn set_permissions(&self, permissions: Permissions) -> io::Result<()>;
    /// The underlying file of this machine.
    fn as_file(&self) -> Option<&File>;
}

/// The mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// For reading.
    Read,
    /// For reading and writing in place.
    Change,
    /// For reading and writing; created if it does not exist, for its owner alone if `private`.
    Create {
        /// For its owner alone.
        private: bool,
    },
    /// Same as [`How::Create`], but an error if it exists.
    CreateNew {
        /// For its owner alone.
        private: bool,
    },
}

/// A lock on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Held by any number at once.
    Shared,
    /// Held by one process.
    Exclusive,
}

/// The file that a name or an open file refers to.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its type, unless it is a regular file: `a folder`, …
    pub(crate) not_regular: Option<&'static str>,
    /// Device and inode, where the system has them.
    pub(crate) id: Option<(u64, u64)>,
    /// The number of its names.
    pub(crate) links: u64,
    /// Its length.
    pub(crate) bytes: u64,
    /// Its permissions, where the disk has them.
    pub(crate) permissions: Option<Permissions>,
}

impl Entry {
    /// Whether both are one file. Systems without inodes do not allow the name of an open file to
    /// be reused.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.id.is_none() || other.id.is_none() || self.id == other.id
    }

    /// [`Error::NotRegular`] unless it is a regular file.
    pub(crate) fn check_regular(&self, path: &Path) -> Result<(), Error> {
        match self.not_regular {
            None => Ok(()),
            Some(kind) => Err(Error::NotRegular { path: path.into(), kind }),
        }
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
