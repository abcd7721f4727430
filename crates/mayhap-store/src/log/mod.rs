//! The write-ahead log of a state: what changed since its image (its last checkpoint), each batch a
//! checksummed record chained to the one before.
//!
//! `docs/native-format.md`, "States", is the specification, byte by byte. In short: a header names
//! the image (id and epoch) that the records follow; a record has an operation, a time and digests.
//! Each epoch's log is a file of its own, which is removed when the next image has its records.
//!
//! A record tells by itself whether it is sound, and by `previous` and `sequence` whether it is the
//! next one. So a bad record can be classified: nothing sound after it, or zeros where a sector was
//! to be, and it is a torn write, the end that a crash left; something sound after it, and it is
//! damage.

mod header;
mod record;
mod replay;

pub(crate) use header::{Front, HEADER_BYTES, Header, MAGIC, Meaning, Owner, read_front};
pub(crate) use record::Position;
pub use record::{Operation, Record};
pub(crate) use replay::{Replayed, first, replay};

use crate::disk::{Disk, DiskFile, Lock, is_at, write_all_at};
use crate::temporary::Temporary;
use crate::{Error, FilterLock};
use mayhap::Digest;
use record::MAX_DIGESTS;
use std::fs::Permissions;
use std::path::{Path, PathBuf};

/// An open log that records are appended to.
///
/// After [`Log::append`] returned, the digests survive the death of the process; after
/// [`Log::sync`] returned, a power cut as well. Memory: 8 bytes per digest of the largest append.
#[derive(Debug)]
pub(crate) struct Log {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    header: Header,
    end: Position,
    /// Records of a lower number are on the disk.
    safe: u64,
    poisoned: bool,
    buffer: Vec<u8>,
}

impl Log {
    /// Makes an empty log of the filter whose lock is held, safe from power cuts, for its owner
    /// alone if `private`. It has its name only once its header is on the disk, so that a file of
    /// that name in which there is nothing is somebody else's.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::NoSpace`]: then there is none, or one without records.
    pub(crate) fn create(
        lock: &FilterLock,
        path: &Path,
        header: Header,
        (private, permissions): (bool, Option<Permissions>),
    ) -> Result<Self, Error> {
        let temporary = Temporary::create(lock, private)?;
        let file = temporary.file();
        if let Some(permissions) = permissions {
            file.set_permissions(permissions).map_err(Error::io("protect", path))?;
        }
        write_all_at(file, &header.encode(), 0).map_err(Error::write(path, HEADER_BYTES as u64))?;
        let file = temporary.commit_to(path)?;
        Ok(Self::at(file, path, header, first(&header)))
    }

    /// A log whose last sound record ends there; what stands after it is cut off.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn open_at(
        file: Box<dyn DiskFile>,
        path: &Path,
        header: Header,
        replayed: &Replayed,
    ) -> Result<Self, Error> {
        let mut log = Self::at(file, path, header, replayed.end);
        log.go_on_from(replayed)?;
        Ok(log)
    }

    fn at(file: Box<dyn DiskFile>, path: &Path, header: Header, end: Position) -> Self {
        // Tells others that this process goes on with the log; a process that ends, however it
        // does, gives it up. On file systems without locks nobody looks.
        let _ = file.try_lock(Lock::Shared);
        Self { file, path: path.into(), header, end, safe: 0, poisoned: false, buffer: Vec::new() }
    }

    /// Goes on after what others have appended, and cuts off what one that was killed has left.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn go_on_from(&mut self, replayed: &Replayed) -> Result<(), Error> {
        self.end = replayed.end;
        if replayed.dropped_bytes > 0 {
            let cut = self.file.set_len(self.end.bytes).and_then(|()| self.file.sync_data());
            cut.map_err(Error::io("cut the torn end of", &self.path))?;
        }
        Ok(())
    }

    /// Hands the records that others appended since to `apply`.
    ///
    /// # Errors
    ///
    /// [`Error::LogLost`] if the file became shorter; as [`replay`].
    pub(crate) fn catch_up(
        &mut self,
        apply: impl FnMut(&Record<'_>, Position) -> Result<(), Error>,
    ) -> Result<Replayed, Error> {
        let found = self.file.look().map_err(Error::io("look at", &self.path))?.bytes;
        if found < self.end.bytes {
            return Err(Error::LogLost { path: self.path.clone() });
        }
        let replayed = replay(&*self.file, &self.path, &self.header, self.end, apply)?;
        self.go_on_from(&replayed)?;
        Ok(replayed)
    }

    /// Appends records of digests: all of them or, after an error, none. One `write` to the kernel,
    /// done before it returns.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] or [`Error::Io`], after which the log is as it was and can be used again
    /// once the cause is gone; [`Error::Poisoned`].
    pub(crate) fn append<'a>(
        &mut self,
        runs: impl Iterator<Item = (Operation, u64, &'a [Digest])>,
    ) -> Result<(), Error> {
        self.check_sound()?;
        self.buffer.clear();
        let Position { mut previous, mut sequence, .. } = self.end;
        for (operation, time, digests) in runs {
            for digests in digests.chunks(MAX_DIGESTS) {
                let place = (previous, sequence, self.safe);
                previous = record::encode(&mut self.buffer, place, (operation, time), digests);
                sequence += 1;
            }
        }
        if let Err(source) = write_all_at(&*self.file, &self.buffer, self.end.bytes) {
            self.poisoned = self.file.set_len(self.end.bytes).is_err();
            return Err(Error::write(&self.path, self.buffer.len() as u64)(source));
        }
        let bytes = self.end.bytes + self.buffer.len() as u64;
        self.end = Position { bytes, previous, sequence };
        Ok(())
    }

    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], after which the log is poisoned: what the kernel could not write it may have
    /// forgotten, so nothing is acknowledged any more. [`Error::Poisoned`] then.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.check_sound()?;
        self.file.sync_data().map_err(|source| {
            self.poisoned = true;
            Error::io("sync", &self.path)(source)
        })?;
        self.safe = self.end.sequence;
        Ok(())
    }

    /// The length of the file: 64 without records.
    pub(crate) const fn bytes(&self) -> u64 {
        self.end.bytes
    }

    /// Whether the file still has its name.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn is_at_its_name(&self, disk: &dyn Disk) -> Result<bool, Error> {
        is_at(disk, &*self.file, &self.path)
    }

    /// Whether another process goes on with this log. Called by one that holds the filter's lock,
    /// so that nobody begins to meanwhile.
    pub(crate) fn has_others(&self) -> bool {
        let has_others = matches!(self.file.try_lock(Lock::Exclusive), Ok(false));
        // A lock that is changed is given up first, and that can fail after it.
        let _ = self.file.try_lock(Lock::Shared);
        has_others
    }

    fn check_sound(&self) -> Result<(), Error> {
        if self.poisoned { Err(Error::Poisoned { path: self.path.clone() }) } else { Ok(()) }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // As for `FilterLock`: a child process may have inherited the file.
        let _ = self.file.unlock();
    }
}
