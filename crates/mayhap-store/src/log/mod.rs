//! The write-ahead log of a state: the changes since its image (its last checkpoint), with each
//! batch as a checksummed record chained to the previous one.
//!
//! `STATES.md` is the specification, byte by byte. In short: a header names the image (id and
//! epoch) that the records follow; a record has an operation, a time and digests. The log of each
//! epoch is a separate file, which is removed when the next image includes its records.
//!
//! The checksum of a record shows whether it is sound, and `previous` and `sequence` show whether
//! it is the next one. So a bad record can be classified: if nothing sound follows it, or a missing
//! sector reads as zeros, it is a torn write, the end left by a crash; if something sound follows
//! it, it is damage.
//!
//! | file | contents |
//! |---|---|
//! | `header.rs` | the log's header |
//! | `record.rs` | one record: a batch of digests with its place in the chain |
//! | `replay.rs` | log → digests: up to the end, a torn write or damage |

mod header;
mod record;
mod replay;

pub(crate) use header::{
    Front, HEADER_BYTES, Header, Meaning, Owner, read_front, seal, u64_at, unseal,
};
pub(crate) use record::Position;
pub use record::{Operation, Record};
pub(crate) use replay::{Replayed, first, replay};

use crate::disk::{Disk, DiskFile, Lock, is_at, protect, write_all_at};
use crate::temporary::Temporary;
use crate::{Error, FilterLock};
use mayhap::Digest;
use record::MAX_DIGESTS;
use std::fs::Permissions;
use std::path::{Path, PathBuf};

/// A log open for appending.
///
/// Once [`Log::append`] has returned, the digests survive the death of the process; once
/// [`Log::sync`] has returned, also a power cut. Memory: 8 bytes per digest of the largest append.
#[derive(Debug)]
pub(crate) struct Log {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    header: Header,
    end: Position,
    /// Records with a lower number are on disk.
    safe: u64,
    poisoned: bool,
    buffer: Vec<u8>,
    /// The process whose lock it has.
    process: u32,
}

impl Log {
    /// Creates an empty log for the filter whose lock is held, safe from power cuts, readable only
    /// by its owner if `private`. It gets its name only once its header is on disk, so an empty
    /// file with that name belongs to another program.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::NoSpace`]: then there is no log, or one without records.
    pub(crate) fn create(
        lock: &FilterLock,
        path: &Path,
        header: Header,
        (private, permissions): (bool, Option<Permissions>),
    ) -> Result<Self, Error> {
        let temporary = Temporary::create(lock, private || permissions.is_some())?;
        let file = temporary.file();
        protect(&**lock.disk(), file, permissions, path)?;
        write_all_at(file, &header.encode(), 0).map_err(Error::write(path, HEADER_BYTES as u64))?;
        let file = temporary.commit_to(path)?;
        Ok(Self::at(file, path, header, first(&header)))
    }

    /// Opens a log whose last sound record ends there; the rest is truncated.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(crate) fn open_at(
        disk: &dyn Disk,
        (file, path): (Box<dyn DiskFile>, &Path),
        header: Header,
        replayed: &Replayed,
    ) -> Result<Self, Error> {
        let mut log = Self::at(file, path, header, replayed.end);
        log.go_on_from(disk, replayed)?;
        Ok(log)
    }

    fn at(file: Box<dyn DiskFile>, path: &Path, header: Header, end: Position) -> Self {
        // Shows others that this process uses the log; a process that ends, in any way, releases
        // it. On file systems without locks it is invisible, and the log may be removed when its
        // records are in the image: then the next turn continues with the image.
        let _ = file.try_lock(Lock::Shared);
        let (path, buffer, process) = (path.into(), Vec::new(), std::process::id());
        Self { file, path, header, end, safe: 0, poisoned: false, buffer, process }
    }

    /// Continues after the records appended by others, and truncates a torn write left by a killed
    /// process.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn go_on_from(&mut self, disk: &dyn Disk, replayed: &Replayed) -> Result<(), Error> {
        self.end = replayed.end;
        if replayed.dropped_bytes > 0 {
            let cut = self.file.set_len(self.end.bytes).and_then(|()| self.file.sync_data());
            cut.map_err(Error::io("cut the torn end of", &self.path))?;
            disk.report(replayed.torn(&self.path, true));
        }
        Ok(())
    }

    /// Passes the records appended by others since to `apply`.
    ///
    /// # Errors
    ///
    /// [`Error::LogLost`] if the file became shorter; the errors of [`replay`].
    pub(crate) fn catch_up(
        &mut self,
        disk: &dyn Disk,
        apply: impl FnMut(&Record<'_>, Position) -> Result<(), Error>,
    ) -> Result<Replayed, Error> {
        let found = self.file.look().map_err(Error::io("look at", &self.path))?.bytes;
        if found < self.end.bytes {
            return Err(Error::LogLost { path: self.path.clone() });
        }
        let replayed = replay(&*self.file, &self.path, &self.header, self.end, apply)?;
        self.go_on_from(disk, &replayed)?;
        Ok(replayed)
    }

    /// Appends records of digests: all of them or, after an error, none. It makes one `write` to
    /// the kernel before it returns.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] or [`Error::Io`], after which the log is unchanged and can be used again
    /// once the cause is removed; [`Error::Poisoned`].
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

    /// Makes everything appended so far survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], after which the log is poisoned: the kernel may have dropped the data that it
    /// could not write, so nothing more is acknowledged. [`Error::Poisoned`] from then on.
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

    /// Whether another process uses this log. The caller holds the filter's lock, so that none
    /// starts using it meanwhile.
    pub(crate) fn has_others(&self) -> bool {
        let has_others = matches!(self.file.try_lock(Lock::Exclusive), Ok(false));
        // Changing a lock releases it first, and taking it again can fail.
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
        if self.process == std::process::id() {
            let _ = self.file.unlock();
        }
    }
}
