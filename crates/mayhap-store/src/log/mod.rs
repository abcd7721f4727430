//! The digest log: digests as they come, each batch a checksummed record chained to the one before.
//!
//! | offset | bytes | header field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `\x89mhplog\n` |
//! | 8 | 2 | `version` | 1 |
//! | 10 | 2 | `digest` | as in the filter's header |
//! | 12 | 4 | reserved | 0 |
//! | 16 | 8 | `digest_parameter` | as in the filter's header |
//! | 24 | 8 | `key_options_hash` | XXH3-64 of the filter's key options |
//! | 32 | 8 | `log_id` | random |
//! | 40 | 8 | `checkpoint` | XXH3-64 of the header of the filter file; 0 for any file |
//! | 48 | 8 | reserved | 0 |
//! | 56 | 8 | `header_checksum` | XXH3-64 of bytes 0–55 |
//!
//! Then records, each:
//!
//! | offset | bytes | record field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `previous` | the checksum of the record, or header, before |
//! | 8 | 8 | `sequence` | 0, 1, 2, … |
//! | 16 | 4 | `count` | 1–65,536 |
//! | 20 | 4 | `magic` | `\x89mhr` |
//! | 24 | 8 · count | digests | |
//! | 24 + 8 · count | 8 | `checksum` | XXH3-64 of all before it in the record |
//!
//! Digests are added to a plain or growing filter again without harm, so their log fits any file of
//! that filter. A counting filter or a window would change: `checkpoint` then names the one file
//! that lacks the records. If it names another, a crash came between a checkpoint and the emptying
//! of the log, and that file has them.
//!
//! All numbers are little-endian. A record tells by itself whether it is sound, and by `previous`
//! and `sequence` whether it is the next one. So a bad record can be told apart: nothing sound
//! after it, and it is a write that was cut off; something sound after it, and it is damage.

mod header;
mod locked;
mod record;
mod replay;

pub(crate) use header::{Header, MAGIC};
pub(crate) use locked::LockedFile;
pub(crate) use replay::{Replay, replay};

use crate::Error;
use crate::file::{open_regular, read_up_to, sync_folder};
use header::HEADER_BYTES;
use mayhap::{Digest, DigestFunction};
use record::MAX_DIGESTS;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What opening a digest log found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogRecovery {
    /// Digests in sound records, all of which were replayed.
    pub replayed_digests: u64,
    /// Digests that were left out, since the checkpoint had been made after them.
    pub stale_digests: u64,
    /// Bytes at the end that were cut off: a record whose write a crash had cut short.
    pub dropped_bytes: u64,
}

/// An append-only, locked file of digests: what was inserted since the last checkpoint.
///
/// After [`DigestLog::append`] returned, the digests survive the death of the process; after
/// [`DigestLog::sync`] returned, a power cut as well. Memory: 8 bytes per digest of the largest
/// append.
///
/// # Examples
///
/// ```
/// use mayhap::{Digest, DigestFunction};
/// use mayhap_store::DigestLog;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.log");
/// let function = DigestFunction::default();
/// let mut log = DigestLog::create(path, &function, "")?;
/// log.append(&[function.digest("a"), function.digest("b")])?;
/// drop(log); // or kill -9
///
/// let mut found: Vec<Digest> = Vec::new();
/// let (_log, recovery) =
///     DigestLog::open(path, &function, "", |digests| found.extend_from_slice(digests))?;
/// assert_eq!(found, [function.digest("a"), function.digest("b")]);
/// assert_eq!(recovery.dropped_bytes, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DigestLog {
    file: LockedFile,
    path: PathBuf,
    header: Header,
    /// The length of the file up to the last sound record: the place of the next one.
    bytes: u64,
    /// The checksum of the last record or, without records, of the header.
    previous: u64,
    sequence: u64,
    poisoned: bool,
    buffer: Vec<u8>,
}

impl DigestLog {
    /// Makes an empty log for digests of this function, of keys cut with these key options.
    ///
    /// # Errors
    ///
    /// [`Error::OrphanLog`] if there is a log with records, [`Error::NotALog`] if there is another
    /// file, [`Error::Locked`], [`Error::Io`], [`Error::NoSpace`].
    pub fn create(
        path: &Path,
        digest_function: &DigestFunction,
        key_options: &str,
    ) -> Result<Self, Error> {
        let file = LockedFile::open(path, is_keyed(digest_function), None)?;
        let found = file.metadata().map_err(Error::io("look at", path))?.len();
        if found > HEADER_BYTES as u64 {
            Header::read(&file, path)?;
            return Err(Error::OrphanLog { path: path.into() });
        }
        Header::check_unfinished(&file, path)?;
        Self::start(file, path, Header::new(digest_function, key_options))
    }

    /// Opens a log, or makes an empty one if there is none, and hands all its digests to `insert`
    /// in the order in which they were appended.
    ///
    /// A record at the end whose write was cut off was never acknowledged; it is removed.
    ///
    /// # Errors
    ///
    /// [`Error::LogMismatch`] if the log's digests are of another function or other key options;
    /// [`Error::LogDamaged`], changing nothing; as [`DigestLog::create`].
    pub fn open(
        path: &Path,
        digest_function: &DigestFunction,
        key_options: &str,
        insert: impl FnMut(&[Digest]),
    ) -> Result<(Self, LogRecovery), Error> {
        let file = LockedFile::open(path, is_keyed(digest_function), None)?;
        Self::recover(file, path, Header::new(digest_function, key_options), insert)
    }

    /// [`DigestLog::open`] on a file that [`LockedFile::open`] opened.
    pub(crate) fn recover(
        file: LockedFile,
        path: &Path,
        wanted: Header,
        mut insert: impl FnMut(&[Digest]),
    ) -> Result<(Self, LogRecovery), Error> {
        let found = file.metadata().map_err(Error::io("look at", path))?.len();
        // A log without room for a record in which no whole header stands: its creation was cut
        // short, and nothing was ever recorded in it.
        if found <= HEADER_BYTES as u64 && Header::check_unfinished(&file, path)? {
            let log = Self::start(file, path, wanted)?;
            return Ok((log, LogRecovery::default()));
        }
        let header = Header::read(&file, path)?;
        wanted.check_same(&header, path)?;
        let stale = wanted.has_all_of(&header);
        let insert = |digests: &[Digest]| {
            if !stale {
                insert(digests);
            }
        };
        let Replay { sound_bytes, previous, sequence, recovery } =
            replay(&file, path, &header, insert)?;
        if stale {
            let stale_digests = recovery.replayed_digests;
            let recovery = LogRecovery { replayed_digests: 0, stale_digests, ..recovery };
            return Ok((Self::start(file, path, wanted)?, recovery));
        }
        let mut log = Self {
            file,
            path: path.into(),
            header,
            bytes: sound_bytes,
            previous,
            sequence,
            poisoned: false,
            buffer: Vec::new(),
        };
        log.cut_back().map_err(Error::io("cut the torn end of", path))?;
        if recovery.dropped_bytes > 0 {
            log.sync()?;
        }
        Ok((log, recovery))
    }

    fn start(mut file: LockedFile, path: &Path, header: Header) -> Result<Self, Error> {
        begin(&mut file, &header).map_err(Error::write(path, HEADER_BYTES as u64))?;
        file.sync_all().map_err(Error::io("sync", path))?;
        sync_folder(path)?;
        Ok(Self {
            file,
            path: path.into(),
            header,
            bytes: HEADER_BYTES as u64,
            previous: header.checksum(),
            sequence: 0,
            poisoned: false,
            buffer: Vec::new(),
        })
    }

    /// Appends digests: all of them or, after an error, none. One `write` to the kernel, done
    /// before it returns.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] or [`Error::Io`], after which the log is as it was and can be used again
    /// once the cause is gone; [`Error::Poisoned`].
    pub fn append(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.check_sound()?;
        self.buffer.clear();
        let (mut previous, mut sequence) = (self.previous, self.sequence);
        for digests in digests.chunks(MAX_DIGESTS) {
            previous = record::encode(&mut self.buffer, previous, sequence, digests);
            sequence += 1;
        }
        if let Err(source) = self.file.write_all(&self.buffer) {
            self.poisoned = self.cut_back().is_err();
            return Err(Error::write(&self.path, self.buffer.len() as u64)(source));
        }
        self.bytes += self.buffer.len() as u64;
        (self.previous, self.sequence) = (previous, sequence);
        Ok(())
    }

    /// Makes all that was appended survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], after which the log is poisoned: what the kernel could not write it may have
    /// forgotten, so nothing is acknowledged any more. [`Error::Poisoned`] then.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.check_sound()?;
        self.file.sync_data().map_err(|source| {
            self.poisoned = true;
            Error::io("sync", &self.path)(source)
        })
    }

    /// Forgets every record, once a checkpoint that holds them is safe on the disk.
    ///
    /// # Errors
    ///
    /// As [`DigestLog::sync`].
    pub fn clear(&mut self) -> Result<(), Error> {
        self.check_sound()?;
        self.bytes = HEADER_BYTES as u64;
        (self.previous, self.sequence) = (self.header.checksum(), 0);
        if let Err(source) = self.cut_back() {
            self.poisoned = true;
            return Err(Error::io("empty", &self.path)(source));
        }
        self.sync()
    }

    /// [`DigestLog::clear`], from where on records follow the checkpoint of this id.
    pub(crate) fn restart(&mut self, checkpoint: u64) -> Result<(), Error> {
        self.check_sound()?;
        self.header = self.header.after(checkpoint);
        self.bytes = HEADER_BYTES as u64;
        (self.previous, self.sequence) = (self.header.checksum(), 0);
        if let Err(source) = begin(&mut self.file, &self.header) {
            self.poisoned = true;
            return Err(Error::io("empty", &self.path)(source));
        }
        self.sync()
    }

    /// The length of the file: 64 without records.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn header(&self) -> &Header {
        &self.header
    }

    fn check_sound(&self) -> Result<(), Error> {
        if self.poisoned { Err(Error::Poisoned { path: self.path.clone() }) } else { Ok(()) }
    }

    /// Ends the file after the last sound record.
    fn cut_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.file.seek(SeekFrom::Start(self.bytes)).map(|_| ())
    }
}

/// Makes a file an empty log. Cut short, it leaves what [`Header::check_unfinished`] knows.
fn begin(file: &mut File, header: &Header) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&header.encode())
}

fn is_keyed(digest_function: &DigestFunction) -> bool {
    matches!(digest_function, DigestFunction::Sip13 { .. })
}

/// Opens a log to read it while another process may write it; with it, the bytes of its records.
/// `None` if there is none: a file of that name that is no log is nothing to do with the filter.
pub(crate) fn open_for_reading(path: &Path) -> Result<Option<(File, u64)>, Error> {
    let (file, file_bytes) = match open_regular(path) {
        Ok(opened) => opened,
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(Error::NotRegular { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut start = [0; MAGIC.len()];
    let found = read_up_to(&file, &mut start, 0).map_err(Error::io("read", path))?;
    let is_log = start[..found] == *MAGIC;
    Ok(is_log.then(|| (file, file_bytes.saturating_sub(HEADER_BYTES as u64))))
}
