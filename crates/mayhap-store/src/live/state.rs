//! The files of a live filter, without the filter: lock, log and checkpoints.

use super::insert::adds_once;
use super::log_path;
use crate::file::resolve_links;
use crate::load::open_filter;
use crate::log::{self, DigestLog, LockedFile};
use crate::save::{file_id, save_as};
use crate::{Error, LogRecovery};
use mayhap::native::{self, Native};
use mayhap::{Digest, DigestFunction};
use std::io;
use std::path::{Path, PathBuf};

/// What opening a live filter found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Digests that were inserted from the log: 0 after a clean end.
    pub replayed_digests: u64,
    /// Those that the checkpoint did not have.
    pub new_items: u64,
    /// Digests that were left out, since the checkpoint had been made after them; only kinds that
    /// change with every insertion need that.
    pub stale_digests: u64,
    /// Bytes of a record whose write a crash had cut short.
    pub dropped_bytes: u64,
}

impl Recovery {
    pub(super) fn new(log: LogRecovery, new_items: u64) -> Self {
        let LogRecovery { replayed_digests, stale_digests, dropped_bytes } = log;
        Self { replayed_digests, new_items, stale_digests, dropped_bytes }
    }
}

/// The files of a live filter whose memory is elsewhere: [`crate::LiveFilter`] for programs that
/// know the kind at run time only. The contract is the same.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, ScalableBloomFilter};
/// use mayhap_store::{LiveLog, load_as};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let mut seen = ScalableBloomFilter::new(1000, 1e-6, DigestFunction::default())?;
/// let mut log = LiveLog::create(path, seen.digest_function(), "")?;
/// log.checkpoint(&seen)?; // the file is there from here on
/// let digest = seen.digest_function().digest("line");
/// if seen.insert_digest(digest)? {
///     println!("line");
///     log.record(&[digest])?;
/// }
/// drop((log, seen)); // as after kill -9
///
/// let locked = LiveLog::lock(path)?;
/// let loaded = load_as::<ScalableBloomFilter>(path, None)?;
/// let (mut seen, function) = (loaded.filter, DigestFunction::default());
/// let (_log, recovery) = locked.replay(&loaded.header, &function, |digests| {
///     let mut new = 0;
///     for &digest in digests {
///         new += u64::from(seen.insert_digest(digest)?);
///     }
///     Ok(new)
/// })?;
/// assert!(seen.contains("line") && recovery.new_items == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LiveLog {
    path: PathBuf,
    key_options: String,
    log: DigestLog,
    /// There is no checkpoint yet, and none may appear but ours.
    is_new: bool,
}

impl LiveLog {
    /// Locks the log of a filter that is to have its first [`LiveLog::checkpoint`].
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::OrphanLog`] or [`Error::NotALog`] if something else has the
    /// log's name; [`Error::Locked`].
    pub fn create(
        path: &Path,
        digest_function: &DigestFunction,
        key_options: &str,
    ) -> Result<Self, Error> {
        let path = resolve_links(path)?;
        match path.symlink_metadata() {
            Ok(_) => return Err(Error::Exists { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("look at", &path)(error)),
        }
        // The log first: holding its lock, we alone can create the checkpoint.
        let log = DigestLog::create(&log_path(&path)?, digest_function, key_options)?;
        Ok(Self { path, key_options: key_options.into(), log, is_new: true })
    }

    /// Locks the log of the filter at `path`, making one if there is none. Load the filter after
    /// that, never before: until the lock is ours, another process can make a new checkpoint.
    ///
    /// # Errors
    ///
    /// As [`crate::read_header`]; [`Error::Locked`] while another process has it open.
    pub fn lock(path: &Path) -> Result<LockedLog, Error> {
        let path = resolve_links(path)?;
        let log_path = log_path(&path)?;
        let (file, header) = open_filter(&path)?;
        let keyed = header.digest_id() != 1;
        let permissions = file.metadata().map_err(Error::io("look at", &path))?.permissions();
        let file = LockedFile::open(&log_path, keyed, Some(permissions))?;
        Ok(LockedLog { path, log_path, file })
    }

    /// How keys are cut from input lines.
    pub fn key_options(&self) -> &str {
        &self.key_options
    }

    /// The path of the checkpoint, with symbolic links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As [`crate::LiveFilter::record`].
    ///
    /// # Errors
    ///
    /// As [`DigestLog::append`].
    pub fn record(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.log.append(digests)
    }

    /// Makes all that was recorded survive a power cut.
    ///
    /// # Errors
    ///
    /// As [`DigestLog::sync`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()
    }

    /// The length of the log; see [`crate::LiveFilter::log_bytes`].
    pub const fn log_bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// As [`crate::LiveFilter::checkpoint`].
    ///
    /// # Errors
    ///
    /// As [`crate::LiveFilter::checkpoint`]; [`Error::Exists`] for the first one.
    pub fn checkpoint<F: Native>(&mut self, filter: &F) -> Result<(), Error> {
        let now = log::Header::new(filter.digest_function(), &self.key_options);
        now.check_same(self.log.header(), self.log.path())?;
        let id = save_as(&self.path, filter, &self.key_options, !self.is_new)?;
        let emptied = if adds_once(F::KIND) {
            self.log.restart(id)
        } else if self.is_new {
            Ok(())
        } else {
            self.log.clear()
        };
        self.is_new = false;
        match emptied {
            Err(Error::Poisoned { .. }) => Ok(()),
            result => result,
        }
    }
}

/// A log that is locked and not yet read.
#[derive(Debug)]
#[must_use]
pub struct LockedLog {
    pub(super) path: PathBuf,
    log_path: PathBuf,
    file: LockedFile,
}

impl LockedLog {
    /// Hands what was recorded since the checkpoint to `insert`, which returns how many digests
    /// were new. `header` and `digest_function` are those of the filter loaded from the file.
    ///
    /// # Errors
    ///
    /// [`Error::LogDamaged`], [`Error::LogMismatch`], [`Error::NotALog`]; [`Error::Format`] with
    /// the first error of `insert`, after which nothing more is inserted. No digest is lost.
    pub fn replay(
        self,
        header: &native::Header,
        digest_function: &DigestFunction,
        insert: impl FnMut(&[Digest]) -> Result<u64, mayhap::Error>,
    ) -> Result<(LiveLog, Recovery), Error> {
        let Self { path, log_path, file } = self;
        let mut inserter = Inserter::new(insert);
        let wanted = wanted(header, digest_function);
        let (log, recovery) =
            DigestLog::recover(file, &log_path, wanted, |digests| inserter.insert(digests))?;
        let new_items = inserter.finish(&path)?;
        let key_options = header.key_options().into();
        let live = LiveLog { path, key_options, log, is_new: false };
        Ok((live, Recovery::new(recovery, new_items)))
    }
}

/// The header that the log of this filter file has, but for its random id.
pub(super) fn wanted(header: &native::Header, digest_function: &DigestFunction) -> log::Header {
    let wanted = log::Header::new(digest_function, header.key_options());
    if adds_once(header.kind()) { wanted.after(file_id(header)) } else { wanted }
}

/// Counts new digests, and stops at the first error.
pub(super) struct Inserter<I> {
    insert: I,
    new_items: Result<u64, mayhap::Error>,
}

impl<I: FnMut(&[Digest]) -> Result<u64, mayhap::Error>> Inserter<I> {
    pub(super) fn new(insert: I) -> Self {
        Self { insert, new_items: Ok(0) }
    }

    pub(super) fn insert(&mut self, digests: &[Digest]) {
        if let Ok(before) = self.new_items {
            self.new_items = (self.insert)(digests).map(|new| before + new);
        }
    }

    pub(super) fn finish(self, path: &Path) -> Result<u64, Error> {
        self.new_items.map_err(Error::format(path))
    }
}
