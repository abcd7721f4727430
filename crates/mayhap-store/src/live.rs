//! A filter that outlives the process: a checkpoint and the digests since.

use crate::file::resolve_links;
use crate::load::{Loaded, load, open_filter};
use crate::log::{self, DigestLog, Replay, open_locked, replay};
use crate::{Error, save, save_new};
use mayhap::{AnyFilter, Bitmap, Digest, SecretKey};
use std::io;
use std::path::{Path, PathBuf};

/// What opening a live filter found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Digests in the log: 0 after a clean end.
    pub replayed_digests: u64,
    /// Those that the checkpoint did not have.
    pub new_items: u64,
    /// Bytes of a record whose write a crash had cut short.
    pub dropped_bytes: u64,
}

/// A filter in memory with its state on disk: `FILE`, the checkpoint, is an ordinary filter file;
/// `FILE.log` holds the digests recorded since.
///
/// # The contract
///
/// The caller inserts digests into the filter, does what they stand for (prints the lines), and
/// then [records](LiveFilter::record) them. Then after kill -9 no line is lost and at most the last
/// unrecorded chunk comes again; after an end with [`LiveFilter::checkpoint`] (Ctrl-C included)
/// nothing comes again. Two rules follow: record after acting, never before; and call `checkpoint`
/// only when everything in the filter has been acted on, since it saves all that is in there.
///
/// | event | what was recorded is there again after |
/// |---|---|
/// | kill -9, crash, panic | every [`LiveFilter::record`] |
/// | power cut | every [`LiveFilter::sync`] and [`LiveFilter::checkpoint`] |
///
/// A crash at any point of a checkpoint is harmless: the log is emptied only after the new
/// checkpoint is safe on disk, and replaying digests into a filter that has them changes nothing.
/// The log is locked, so that only one process has the state open. If `FILE` is a symbolic link,
/// the log lies beside the file it points to.
///
/// # Examples
///
/// ```
/// use mayhap::AnyFilter;
/// use mayhap_store::LiveFilter;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let empty = AnyFilter::builder().expected_items(1000).target_fpp(1e-6).build()?;
/// let mut seen = LiveFilter::create(path, empty, "")?;
/// let digest = seen.filter().digest_function().digest("line");
/// if seen.filter_mut().insert_digest(digest) {
///     println!("line");
///     seen.record(&[digest])?;
/// }
/// drop(seen); // no checkpoint: as after kill -9
///
/// let (seen, recovery) = LiveFilter::open(path, None)?;
/// assert!(seen.filter().contains("line"));
/// assert_eq!(recovery.replayed_digests, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LiveFilter {
    path: PathBuf,
    filter: AnyFilter,
    key_options: String,
    log: DigestLog,
}

impl LiveFilter {
    /// Starts a live filter: saves `filter` as the first checkpoint, with an empty log.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::OrphanLog`] or [`Error::NotALog`] if something else has the
    /// log's name; [`Error::Locked`]; as [`save_new`].
    pub fn create(path: &Path, filter: AnyFilter, key_options: &str) -> Result<Self, Error> {
        let path = resolve_links(path)?;
        match path.symlink_metadata() {
            Ok(_) => return Err(Error::Exists { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("look at", &path)(error)),
        }
        // The log first: holding its lock, we alone can create the checkpoint.
        let log = DigestLog::create(&log_path(&path)?, filter.digest_function(), key_options)?;
        save_new(&path, &filter, key_options)?;
        Ok(Self { path, filter, key_options: key_options.into(), log })
    }

    /// Opens a live filter, or makes an ordinary filter file one: loads the checkpoint and replays
    /// the log.
    ///
    /// # Errors
    ///
    /// As [`load()`]; [`Error::Locked`] while another process has it open; [`Error::LogDamaged`],
    /// [`Error::LogMismatch`], [`Error::NotALog`], changing nothing.
    pub fn open(path: &Path, secret_key: Option<SecretKey>) -> Result<(Self, Recovery), Error> {
        let path = resolve_links(path)?;
        let log_path = log_path(&path)?;
        let (file, header) = open_filter(&path)?;
        let keyed = header.digest_id() != 1;
        let permissions = file.metadata().map_err(Error::io("look at", &path))?.permissions();
        let log_file = open_locked(&log_path, keyed, Some(permissions))?;
        // Only now: until the lock was ours, another process could make a new checkpoint.
        let Loaded { mut filter, header } = load(&path, secret_key)?;
        let key_options = header.key_options().to_owned();
        let wanted = log::Header::new(filter.digest_function(), &key_options);
        let mut inserter = Inserter::new(&mut filter);
        let (log, recovery) = DigestLog::recover(log_file, &log_path, wanted, |digests| {
            inserter.insert(digests);
        })?;
        let recovery = Recovery {
            replayed_digests: recovery.replayed_digests,
            new_items: inserter.new_items,
            dropped_bytes: recovery.dropped_bytes,
        };
        Ok((Self { path, filter, key_options, log }, recovery))
    }

    /// The filter, to be asked.
    pub const fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// The filter, to be inserted into. It may be replaced by another one, say a larger one, if
    /// that has the same digest function; follow that with a checkpoint.
    pub const fn filter_mut(&mut self) -> &mut AnyFilter {
        &mut self.filter
    }

    /// How keys are cut from input lines.
    pub fn key_options(&self) -> &str {
        &self.key_options
    }

    /// The path of the checkpoint, with symbolic links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records digests that the caller has inserted and acted on: one `write` to the kernel, which
    /// keeps them whatever happens to the process.
    ///
    /// # Errors
    ///
    /// As [`DigestLog::append`]. The filter still has the digests, and a checkpoint saves them.
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

    /// The length of the log, which grows by 8 bytes a digest and shrinks at a checkpoint: when it
    /// is as long as the filter, a checkpoint costs no more than the log did.
    pub const fn log_bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// Saves the filter as it is, safe from power cuts, and then empties the log.
    ///
    /// # Errors
    ///
    /// As [`save()`], before which nothing has changed; [`Error::LogMismatch`] if the filter was
    /// replaced by one of another digest function; as [`DigestLog::clear`]. A log that was
    /// poisoned before stays so and is no error here: the checkpoint has everything.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        let now = log::Header::new(self.filter.digest_function(), &self.key_options);
        now.check_same(self.log.header(), self.log.path())?;
        save(&self.path, &self.filter, &self.key_options)?;
        match self.log.clear() {
            Err(Error::Poisoned { .. }) => Ok(()),
            result => result,
        }
    }
}

/// The log of the live filter at `path`: its name with `.log` after it.
///
/// # Errors
///
/// [`Error::NotRegular`] if `path` names no file, as `..` does.
pub fn log_path(path: &Path) -> Result<PathBuf, Error> {
    crate::file::rename_with(path, "", ".log")
}

/// Bytes of records in the log of the filter at `path`: 0 if it is complete without its log.
///
/// Above 0, [`load()`] and [`open_mapped`](crate::open_mapped()) would show a filter that lacks
/// what was recorded since the last checkpoint; [`load_live`] has it.
///
/// # Errors
///
/// [`Error::Io`].
pub fn pending_log_bytes(path: &Path) -> Result<u64, Error> {
    let log_path = log_path(&resolve_links(path)?)?;
    match log::open_for_reading(&log_path)? {
        Some((_, records_bytes)) => Ok(records_bytes),
        None => Ok(0),
    }
}

/// Loads the filter at `path` with what its log adds, without locking or changing either: for
/// asking a live filter, in use or after a crash. Without a log it is [`load()`].
///
/// # Errors
///
/// As [`LiveFilter::open`], but for the lock.
pub fn load_live(path: &Path, secret_key: Option<SecretKey>) -> Result<(Loaded, Recovery), Error> {
    let path = resolve_links(path)?;
    let log_path = log_path(&path)?;
    // The log first: if a checkpoint is made in between, what left the log is in that.
    let pending = read_pending(&log_path)?;
    let mut loaded = load(&path, secret_key)?;
    let Some(Pending { header, digests, dropped_bytes }) = pending else {
        return Ok((loaded, Recovery::default()));
    };
    let key_options = loaded.header.key_options();
    log::Header::new(loaded.filter.digest_function(), key_options)
        .check_same(&header, &log_path)?;
    let mut inserter = Inserter::new(&mut loaded.filter);
    inserter.insert(&digests);
    let (replayed_digests, new_items) = (digests.len() as u64, inserter.new_items);
    Ok((loaded, Recovery { replayed_digests, new_items, dropped_bytes }))
}

/// What a log holds that no checkpoint may have.
struct Pending {
    header: log::Header,
    digests: Vec<Digest>,
    dropped_bytes: u64,
}

/// Reads a log that its owner may write meanwhile.
fn read_pending(log_path: &Path) -> Result<Option<Pending>, Error> {
    // A log that is emptied and filled while it is read looks damaged: look again.
    const MAX_ATTEMPTS: usize = 4;
    for attempt in 1.. {
        let Some((file, 1..)) = log::open_for_reading(log_path)? else { return Ok(None) };
        let header = log::Header::read(&file, log_path)?;
        let mut digests = Vec::new();
        match replay(&file, log_path, &header, |more| digests.extend_from_slice(more)) {
            Err(Error::LogDamaged { .. }) if attempt < MAX_ATTEMPTS => {}
            Err(error) => return Err(error),
            Ok(Replay { recovery, .. }) => {
                let dropped_bytes = recovery.dropped_bytes;
                return Ok(Some(Pending { header, digests, dropped_bytes }));
            }
        }
    }
    unreachable!("the last attempt returns")
}

/// Inserts digests in batches and counts the new ones.
struct Inserter<'a> {
    filter: &'a mut AnyFilter,
    new: Bitmap,
    new_items: u64,
}

impl<'a> Inserter<'a> {
    fn new(filter: &'a mut AnyFilter) -> Self {
        Self { filter, new: Bitmap::new(), new_items: 0 }
    }

    fn insert(&mut self, digests: &[Digest]) {
        self.filter.insert_digests_into(digests, &mut self.new);
        self.new_items += self.new.count_ones() as u64;
    }
}
