//! A filter that outlives the process: a checkpoint and the digests since.

mod insert;
mod pending;
mod state;

pub use insert::Insert;
pub use pending::{PendingLog, load_live, load_live_as, pending_log_bytes};
pub use state::{LiveLog, LockedLog, Recovery};

use crate::Error;
use crate::load::load_as;
use mayhap::{AnyFilter, Bitmap, Digest, SecretKey};
use std::path::{Path, PathBuf};

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
/// checkpoint is safe on disk. Replaying digests into a plain or growing filter that has them
/// changes nothing; to a counting filter or a window it would, so their logs name the checkpoint
/// that lacks the records, and are not replayed into any other.
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
pub struct LiveFilter<F = AnyFilter> {
    filter: F,
    log: LiveLog,
}

impl LiveFilter {
    /// [`LiveFilter::open_as`] for a plain filter.
    ///
    /// # Errors
    ///
    /// As [`LiveFilter::open_as`].
    pub fn open(path: &Path, secret_key: Option<SecretKey>) -> Result<(Self, Recovery), Error> {
        Self::open_as(path, secret_key, |_| {})
    }
}

impl<F: Insert> LiveFilter<F> {
    /// Starts a live filter: saves `filter` as the first checkpoint, with an empty log.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::OrphanLog`] or [`Error::NotALog`] if something else has the
    /// log's name; [`Error::Locked`]; as [`crate::save_new`].
    pub fn create(path: &Path, filter: F, key_options: &str) -> Result<Self, Error> {
        let mut log = LiveLog::create(path, filter.digest_function(), key_options)?;
        log.checkpoint(&filter)?;
        Ok(Self { filter, log })
    }

    /// Opens a live filter, or makes an ordinary filter file one: loads the checkpoint, lets
    /// `prepare` change it, and replays the log.
    ///
    /// The log has no times. To a window of time `prepare` has to tell what time it is
    /// ([`mayhap::WindowBloomFilter::advance`]): what is replayed is as young as that, so it is
    /// remembered longer than without the crash, and never shorter.
    ///
    /// # Errors
    ///
    /// As [`load_as`]; [`Error::Locked`] while another process has it open; [`Error::LogDamaged`],
    /// [`Error::LogMismatch`], [`Error::NotALog`], changing nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    /// use mayhap_store::LiveFilter;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("minute.mayhap");
    /// let builder = WindowBloomFilter::builder().window_time(60, 1000).target_fpp(1e-6);
    /// let mut seen = LiveFilter::create(path, builder.build()?, "")?;
    /// let digest = seen.filter().digest("line");
    /// seen.filter_mut().insert_digest_at(digest, 1_000);
    /// seen.record(&[digest])?;
    /// drop(seen); // no checkpoint: as after kill -9
    ///
    /// let tell_time = |window: &mut WindowBloomFilter| window.advance(1_050);
    /// let (seen, _) = LiveFilter::open_as(path, None, tell_time)?;
    /// assert!(seen.filter().contains_at("line", 1_110)); // 60 after the replay
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_as(
        path: &Path,
        secret_key: Option<SecretKey>,
        prepare: impl FnOnce(&mut F),
    ) -> Result<(Self, Recovery), Error> {
        let locked = LiveLog::lock(path)?;
        let mut loaded = load_as::<F>(&locked.path, secret_key)?;
        prepare(&mut loaded.filter);
        let (function, mut new) = (*loaded.filter.digest_function(), Bitmap::new());
        let (log, recovery) = locked.replay(&loaded.header, &function, |digests| {
            loaded.filter.insert_digests_into(digests, &mut new)?;
            Ok(new.count_ones() as u64)
        })?;
        Ok((Self { filter: loaded.filter, log }, recovery))
    }

    /// The filter, to be asked.
    pub const fn filter(&self) -> &F {
        &self.filter
    }

    /// The filter, to be inserted into. It may be replaced by another one, say a larger one, if
    /// that has the same digest function; follow that with a checkpoint.
    pub const fn filter_mut(&mut self) -> &mut F {
        &mut self.filter
    }

    /// How keys are cut from input lines.
    pub fn key_options(&self) -> &str {
        self.log.key_options()
    }

    /// The path of the checkpoint, with symbolic links followed.
    pub fn path(&self) -> &Path {
        self.log.path()
    }

    /// Records digests that the caller has inserted and acted on: one `write` to the kernel, which
    /// keeps them whatever happens to the process.
    ///
    /// For plain and growing filters the digests that were new are enough. To a counting filter or
    /// a window every insertion does something, so each has to be recorded, in order.
    ///
    /// # Errors
    ///
    /// As [`crate::DigestLog::append`]. The filter still has the digests, and a checkpoint saves
    /// them.
    pub fn record(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.log.record(digests)
    }

    /// Makes all that was recorded survive a power cut.
    ///
    /// # Errors
    ///
    /// As [`crate::DigestLog::sync`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()
    }

    /// The length of the log, which grows by 8 bytes a digest and shrinks at a checkpoint: when it
    /// is as long as the filter, a checkpoint costs no more than the log did.
    pub const fn log_bytes(&self) -> u64 {
        self.log.log_bytes()
    }

    /// Saves the filter as it is, safe from power cuts, and then empties the log.
    ///
    /// # Errors
    ///
    /// As [`crate::save()`], before which nothing has changed; [`Error::LogMismatch`] if the filter
    /// was replaced by one of another digest function; as [`crate::DigestLog::clear`]. A log that
    /// was poisoned before stays so and is no error here: the checkpoint has everything.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.log.checkpoint(&self.filter)
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
