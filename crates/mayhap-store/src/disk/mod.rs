//! The file system as this crate uses it, so that tests can stop, kill and cut it at each call.
//!
//! [`Real`] is the operating system. The model of `crate::model` is a file system in memory with
//! several processes.

mod real;

pub(crate) use real::Real;

use crate::Error;
use std::fmt::Debug;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
}

/// An open file. Calls may do less than they are asked, as `pwrite` does.
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
    /// Takes the lock of the file, which the holder keeps until it is closed; `false` if others hold
    /// one that is in the way. A shared lock becomes exclusive and the other way round.
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

/// The operating system.
pub(crate) fn real() -> Arc<dyn Disk> {
    Arc::new(Real)
}

/// What a name leads to, or `None` if it leads nowhere.
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

/// Makes creations, renames and removals in the folder of `path` survive a power cut.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    disk.sync_folder(path).map_err(Error::io("sync", crate::file::folder_of(path)))
}

/// Fills `bytes` from `offset` on, up to the end of the file; returns how many there were.
pub(crate) fn read_up_to(file: &dyn DiskFile, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
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
pub(crate) fn write_all_at(file: &dyn DiskFile, mut bytes: &[u8], offset: u64) -> io::Result<()> {
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

/// A file that is written from the front, for code that wants `Write` and `Seek`.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    file: &'a dyn DiskFile,
    at: u64,
}

impl<'a> Writer<'a> {
    /// At the front of a file.
    pub(crate) fn new(file: &'a dyn DiskFile) -> Self {
        Self { file, at: 0 }
    }
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write_at(bytes, self.at)?;
        self.at += done as u64;
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Writer<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, offset) = match to {
            SeekFrom::Start(at) => (0, i64::try_from(at).map_err(|_| ErrorKind::InvalidInput)?),
            SeekFrom::Current(offset) => (self.at, offset),
            SeekFrom::End(offset) => (self.file.look()?.bytes, offset),
        };
        self.at = from.checked_add_signed(offset).ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
