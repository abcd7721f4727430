//! What this crate needs of a file system.

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
    /// What a name leads to: after symbolic links if `follow`, else the link itself.
    fn look(&self, path: &Path, follow: bool) -> io::Result<Entry>;
    /// The target of a symbolic link; an error for everything else.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
    /// Gives a file another name, in place of what has that.
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
    /// Takes note of what a user should know.
    fn report(&self, notice: Notice);
}

/// An open file. Calls may do less than requested, as `pwrite` does.
pub(crate) trait DiskFile: Debug + Send + Sync {
    /// What the file is, under whatever name.
    fn look(&self) -> io::Result<Entry>;
    /// Reads at a place without moving a cursor that other threads may share.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at a place.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Cuts or lengthens the file.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes contents and length survive a power cut.
    fn sync_data(&self) -> io::Result<()>;
    /// The same for contents, length, permissions and times.
    fn sync_all(&self) -> io::Result<()>;
    /// Takes the lock of the file, which the holder keeps until it is closed; `false` if others
    /// hold one that is in the way. A shared lock becomes exclusive and the other way round.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;
    /// Gives the lock up.
    fn unlock(&self) -> io::Result<()>;
    /// Sets who may do what.
    fn set_permissions(&self, permissions: Permissions) -> io::Result<()>;
    /// The file of this machine that it is.
    fn as_file(&self) -> Option<&File>;
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// To be read.
    Read,
    /// To be read and written where it stands.
    Change,
    /// To be read and written; made if it is not there, for its owner alone if `private`.
    Create {
        /// For its owner alone.
        private: bool,
    },
    /// As [`How::Create`], and an error if it is there.
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
    /// Held by one alone.
    Exclusive,
}

/// What a name, or an open file, leads to.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// What it is, unless a regular file: `a folder`, …
    pub(crate) not_regular: Option<&'static str>,
    /// Device and inode, where the system has them.
    pub(crate) id: Option<(u64, u64)>,
    /// How many names it has.
    pub(crate) links: u64,
    /// Its length.
    pub(crate) bytes: u64,
    /// Who may do what, where the disk knows.
    pub(crate) permissions: Option<Permissions>,
}

impl Entry {
    /// Whether both are one file. Systems without inodes do not let go of the name of an open one.
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
