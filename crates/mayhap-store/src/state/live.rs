//! A filter that outlives the process: an image and the digests since.

use super::Recovery;
use super::memory::Held;
use super::options::SessionOptions;
use super::session::Session;
use crate::{Error, LockOptions, Operation};
use mayhap::native::Native;
use mayhap::set::Set;
use mayhap::{AnyFilter, Digest, SecretKey};
use std::path::Path;

/// A filter in memory with its state on disk: `FILE`, the image, is an ordinary filter file;
/// `FILE.log` holds the digests recorded since. It is for one process at a time: the filter's lock
/// is held until this is dropped. For several processes that take turns, use [`Session`].
///
/// # The contract
///
/// The caller inserts digests into the filter, acts on them (prints the lines), and then
/// [records](LiveFilter::record) them. Then after kill -9 no line is lost and at most the last
/// unrecorded chunk is repeated; after an end with [`LiveFilter::checkpoint`] (including Ctrl-C)
/// nothing is repeated, and the file alone is the whole filter. Two rules follow: record after
/// acting, never before; and call `checkpoint` only when everything in the filter has been acted
/// on, since it saves the whole filter.
///
/// | event | survived by the digests of |
/// |---|---|
/// | kill -9, crash, panic | every [`LiveFilter::record`] |
/// | power cut | every [`LiveFilter::sync`] and [`LiveFilter::checkpoint`] |
///
/// A crash at any point of a checkpoint is harmless: the log is removed only after the new image is
/// safe on disk, and belongs only to the image that it names. Records are replayed exactly, even in
/// kinds that count or forget.
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
    memory: Held<F>,
    session: Session,
}

impl LiveFilter {
    /// Like [`LiveFilter::open_as`], for a plain filter.
    ///
    /// # Errors
    ///
    /// Same as [`LiveFilter::open_as`].
    pub fn open(path: &Path, secret_key: Option<SecretKey>) -> Result<(Self, Recovery), Error> {
        Self::open_as(path, secret_key, |_| {})
    }
}

impl<F: Native + Set> LiveFilter<F> {
    /// Starts a live filter: saves `filter` as the first image.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::OrphanLog`] or [`Error::NotALog`] if something else has the
    /// log's name; [`Error::Locked`]; the errors of [`crate::save_new`].
    pub fn create(path: &Path, filter: F, key_options: &str) -> Result<Self, Error> {
        let mut memory = Held { filter, secret_key: None };
        let session = Session::create(path, options(), &mut memory, key_options)?;
        Ok(Self { memory, session })
    }

    /// Opens a live filter, or turns an ordinary filter file into one: loads the image, lets
    /// `prepare` change it, and replays the log.
    ///
    /// A log of version 1, as written by earlier releases, has no times. `prepare` must set the
    /// time of a time window ([`mayhap::WindowBloomFilter::advance`]): replayed keys get that time,
    /// so they are remembered longer than without the crash, and never shorter.
    ///
    /// # Errors
    ///
    /// Same as [`Session::open`]; [`Error::Locked`] while another process changes it.
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
    /// let (seen, _) = LiveFilter::<WindowBloomFilter>::open_as(path, None, |_| {})?;
    /// assert!(seen.filter().contains_at("line", 1_060)); // the log has the time
    /// assert!(!seen.filter().contains_at("line", 1_100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_as(
        path: &Path,
        secret_key: Option<SecretKey>,
        prepare: impl FnOnce(&mut F),
    ) -> Result<(Self, Recovery), Error> {
        let opening = Session::open(path, options())?;
        let mut filter: F = opening.image().load(secret_key, |_, _| {})?;
        prepare(&mut filter);
        let mut memory = Held { filter, secret_key };
        let (session, recovery) = opening.follow(&mut memory)?;
        Ok((Self { memory, session }, recovery))
    }

    /// The filter, for queries.
    pub const fn filter(&self) -> &F {
        &self.memory.filter
    }

    /// The filter, for insertions. It may be replaced by another one, say a larger one, with the
    /// same digest function; follow that with a checkpoint.
    pub const fn filter_mut(&mut self) -> &mut F {
        &mut self.memory.filter
    }

    /// The options by which keys are extracted from input lines.
    pub fn key_options(&self) -> &str {
        self.session.key_options()
    }

    /// The path of the image, with symbolic links followed.
    pub fn path(&self) -> &Path {
        self.session.path()
    }

    /// Records digests that the caller has inserted and acted on: one `write` to the kernel, after
    /// which they survive the death of the process.
    ///
    /// For plain and growing filters the new digests are enough. In a compact or counting filter or
    /// a window every insertion has an effect, so each has to be recorded, in order; in a time
    /// window, insertions of the same time together.
    ///
    /// # Errors
    ///
    /// Same as [`Session::record`]. The filter still has the digests, and a checkpoint saves them.
    pub fn record(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.record_as(Operation::Insert, digests)
    }

    /// Like [`LiveFilter::record`], for digests that were present in a compact or counting filter
    /// and were removed.
    ///
    /// # Errors
    ///
    /// Same as [`LiveFilter::record`].
    pub fn record_removed(&mut self, digests: &[Digest]) -> Result<(), Error> {
        self.record_as(Operation::Remove, digests)
    }

    fn record_as(&mut self, operation: Operation, digests: &[Digest]) -> Result<(), Error> {
        let time = self.memory.filter.moment_of_last(digests.len());
        self.session.note(operation, time, digests.iter().copied());
        self.session.record(&mut self.memory).inspect_err(|_| self.session.forget_pending())
    }

    /// Makes all recorded digests survive a power cut.
    ///
    /// # Errors
    ///
    /// Same as [`Session::sync`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.session.sync()
    }

    /// Same as [`Session::log_bytes`].
    pub fn log_bytes(&self) -> u64 {
        self.session.log_bytes()
    }

    /// Saves the current filter, safe from power cuts, and then removes the log.
    ///
    /// # Errors
    ///
    /// Same as [`crate::save()`], before which nothing has changed; [`Error::LogMismatch`] if the
    /// filter was replaced by one of another digest function. An earlier failure of the log's disk
    /// is not an error here: the image has everything, and the next record begins a new log.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.session.checkpoint(&mut self.memory)
    }
}

fn options() -> SessionOptions {
    SessionOptions::new(LockOptions::new("live filter")).needs_log()
}
