//! Changing a state in turns with other processes.

use super::log_file::{Recovery, log_path_of};
use super::memory::Memory;
use super::options::{Finished, SessionOptions};
use super::parts::{Base, LogPlace, Name, Turn, Unsaved};
use super::relation::{LogFound, examine};
use crate::digests::{Keeper, refuse_digests};
use crate::disk::{self, Disk, How};
use crate::log::Log;
use crate::{Error, FilterLock, Image, Operation};
use mayhap::Digest;
use mayhap::native::{Identity, Kind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One or more turns at changing a state whose filter is in memory elsewhere.
///
/// # The contract
///
/// A process that changes the filter holds the lock, from [`Session::ready`] on, and reports its
/// changes with [`Session::note`]. [`Session::record`] appends them to the log. Before anything
/// that may take long, such as waiting for input, [`Session::release`] records and releases the
/// lock; the next `ready` takes it again and applies the changes made by others meanwhile. So any
/// number of processes can change one state together, exactly as if they did so one after the
/// other: a key is new for only one of them.
///
/// | event | survived by the digests noted before |
/// |---|---|
/// | kill -9, crash, panic | every [`Session::record`] and [`Session::release`] |
/// | power cut | every [`Session::sync`], [`Session::checkpoint`] and [`Session::finish`] |
///
/// A session that never releases or records needs no log: [`Session::finish`] replaces the file.
///
/// # Examples
///
/// ```
/// use mayhap::AnyFilter;
/// use mayhap_store::{
///     Error, Image, LockOptions, Memory, Operation, Record, Session, SessionOptions, apply, save,
/// };
/// # use mayhap::{Block, native::{Header, Native}};
///
/// struct Seen(AnyFilter);
///
/// impl Memory for Seen {
///     fn load(&mut self, image: &Image) -> Result<(), Error> {
///         self.0 = image.load(None, |_, _| {})?;
///         Ok(())
///     }
///     fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
///         apply(&mut self.0, record)
///     }
///     // …
/// #   fn header(&mut self, key_options: &str) -> Header { Header::of(&self.0, key_options) }
/// #   fn segments(&self) -> Vec<&[Block]> { self.0.segments() }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let empty = AnyFilter::builder().expected_items(1000).target_fpp(1e-6).build()?;
/// save(path, &empty, "")?;
/// let open = || {
///     let opening = Session::open(path, SessionOptions::new(LockOptions::new("example")))?;
///     let mut seen = Seen(opening.image().load(None, |_, _| {})?);
///     let (session, recovery) = opening.follow(&mut seen)?;
///     Ok::<_, Error>((session, seen, recovery))
/// };
/// let (mut one, mut seen_by_one, _) = open()?;
/// let digest = seen_by_one.0.digest_function().digest("line");
/// seen_by_one.0.insert_digest(digest);
/// one.note(Operation::Insert, 0, [digest]);
/// one.release(&mut seen_by_one)?; // it waits for something
///
/// let (two, mut seen_by_two, recovery) = open()?;
/// assert!(seen_by_two.0.contains("line") && recovery.new_items == 1);
/// two.finish(&mut seen_by_two)?;
/// one.ready(&mut seen_by_one)?; // continues
/// one.finish(&mut seen_by_one)?;
/// assert!(mayhap_store::load(path, None)?.filter.contains("line"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) options: SessionOptions,
    pub(super) key_options: String,
    pub(super) at: Base,
    pub(super) log: LogPlace,
    pub(super) unsaved: Unsaved,
    pub(super) turn: Turn,
}

impl Session {
    /// Takes the lock of a filter and opens it for loading.
    ///
    /// # Errors
    ///
    /// The errors of [`FilterLock::take`] and [`crate::read_header`]; [`Error::DigestsBehind`],
    /// [`Error::DigestsDamaged`] and [`Error::DigestsNotKept`] where the digests of the keys are
    /// kept, which are read once.
    pub fn open(path: &Path, options: SessionOptions) -> Result<Opening, Error> {
        Self::open_on(disk::real(), path, options)
    }

    /// Like [`Session::open`], but on a given disk.
    pub(crate) fn open_on(
        disk: Arc<dyn Disk>,
        path: &Path,
        mut options: SessionOptions,
    ) -> Result<Opening, Error> {
        let lock = FilterLock::take_on(Arc::clone(&disk), path, &mut options.lock)?;
        let image = Image::open(&*disk, lock.path())?;
        let log_path = log_path_of(lock.path())?;
        let keeper = Keeper::open(&disk, &image, options.keeps_digests)?;
        let base = Base::new(image, Name::MayBeLost);
        let mut session = Self::of(disk, options, (log_path, base), lock);
        session.unsaved.keeper = keeper;
        Ok(Opening { session })
    }

    /// Takes the lock of a filter that does not exist yet and saves its first image.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::OrphanLog`] or [`Error::NotALog`] if something else has the
    /// log's name; [`Error::DigestsBehind`] if there are digests of a removed filter; the errors of
    /// [`FilterLock::take`] and [`crate::save_new`].
    pub fn create(
        path: &Path,
        options: SessionOptions,
        memory: &mut dyn Memory,
        key_options: &str,
    ) -> Result<Self, Error> {
        Self::create_on(disk::real(), path, options, memory, key_options)
    }

    /// Like [`Session::create`], but on a given disk.
    pub(crate) fn create_on(
        disk: Arc<dyn Disk>,
        path: &Path,
        mut options: SessionOptions,
        memory: &mut dyn Memory,
        key_options: &str,
    ) -> Result<Self, Error> {
        let lock = FilterLock::take_on(Arc::clone(&disk), path, &mut options.lock)?;
        let log_path = log_path_of(lock.path())?;
        if disk::look_for(&*disk, lock.path(), false)?.is_some() {
            return Err(Error::Exists { path: lock.path().into() });
        }
        let header = memory.header(key_options);
        match examine(&*disk, (&log_path, How::Read), &header)?.0 {
            LogFound::None => {}
            LogFound::Empty => {
                disk.remove(&log_path).map_err(Error::io("remove", &log_path))?;
            }
            LogFound::NotALog => return Err(Error::NotALog { path: log_path }),
            _ => return Err(Error::OrphanLog { path: log_path }),
        }
        refuse_digests(&*disk, lock.path())?;
        let identity = Identity { id: disk.random(), epoch: 1, log_begun: false };
        let header = header.with_identity(Some(identity)).map_err(Error::format(lock.path()))?;
        crate::save::save_image(&lock, &header, &memory.segments(), false, None)?;
        let base = Base::new(Image::open(&*disk, lock.path())?, Name::Synced);
        Ok(Self::of(disk, options, (log_path, base), lock))
    }

    fn of(
        disk: Arc<dyn Disk>,
        options: SessionOptions,
        (log_path, base): (PathBuf, Base),
        lock: FilterLock,
    ) -> Self {
        Self {
            disk,
            options,
            key_options: base.image.header().key_options().into(),
            at: base,
            log: LogPlace::new(log_path),
            unsaved: Unsaved::default(),
            turn: Turn { lock: Some(lock), gave_way: None },
        }
    }

    /// The options by which keys are cut from input lines.
    pub fn key_options(&self) -> &str {
        &self.key_options
    }

    /// The open file from which the filter in memory was loaded, or to which it was last saved.
    pub fn image(&self) -> &Image {
        &self.at.image
    }

    /// The path of the filter, with symbolic links followed.
    pub fn path(&self) -> &Path {
        self.at.image.path()
    }

    /// The path of its log, whether it exists or not.
    pub fn log_path(&self) -> &Path {
        &self.log.path
    }

    /// The length of the log; 0 if none was begun. It grows by 8 bytes per digest and shrinks at a
    /// checkpoint: when it is as long as the filter, a checkpoint costs no more than the log did.
    pub fn log_bytes(&self) -> u64 {
        self.log.open.as_ref().map_or(0, Log::bytes)
    }

    /// The file that blocks the log's name, if there is one.
    pub fn blocked(&self) -> Option<LogFound> {
        self.log.blocked
    }

    /// Whether the lock is held.
    pub fn is_held(&self) -> bool {
        self.turn.lock.is_some()
    }

    /// Whether another process currently uses the same log.
    pub fn is_shared(&self) -> bool {
        self.log.open.as_ref().is_some_and(Log::has_others)
    }

    /// Whether the filter in memory has keys that its files lack, without a log for them: its log
    /// is lost, or has an earlier version.
    pub fn has_to_be_saved(&self) -> bool {
        self.unsaved.must_save
    }

    /// Digests that were noted and are not yet in the log.
    pub fn num_pending(&self) -> usize {
        self.unsaved.pending.len()
    }

    /// Whether the lock has been held for at least this long while another process waits for it.
    pub fn is_wanted_after(&self, held: Duration) -> bool {
        self.turn.lock.as_ref().is_some_and(|lock| lock.held_for() >= held && lock.is_wanted())
    }

    /// Notes changes to the filter in memory, in order, with a time for windows
    /// ([`mayhap::set::Set::moment_of_last`]); one of [`Operation::Pass`], with any digest, notes
    /// the time alone. For plain and growing filters the new digests are enough, for removals the
    /// digests that were present. In a compact or counting filter or a window every insertion has
    /// an effect; a filter whose digests are kept ([`Session::keeps_digests`]) needs every digest
    /// too, even if it was not new: it may belong to another key than the one inside.
    pub fn note(
        &mut self,
        operation: Operation,
        time: u64,
        digests: impl IntoIterator<Item = Digest>,
    ) {
        self.unsaved.note(operation, time, digests);
        if self.log.open.is_none() {
            self.unsaved.leave_to_save(self.at.image.header().body_bytes());
        }
    }

    /// Records everything noted: one `write` to the kernel, after which it survives the death of
    /// the process. The first record begins the log, or saves the filter if too much was noted.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`] or [`Error::Io`], after which the log is unchanged and can be used again
    /// once the cause is removed; [`Error::Poisoned`]; [`Error::ForeignLog`], [`Error::NotALog`];
    /// the errors of [`Session::checkpoint`]. The filter still has the digests, and a checkpoint
    /// saves them.
    ///
    /// # Panics
    ///
    /// If something was noted and the lock is not held.
    pub fn record(&mut self, memory: &mut dyn Memory) -> Result<(), Error> {
        if self.unsaved.must_save {
            return self.save(memory, true);
        }
        if self.unsaved.pending.len() == 0 {
            return Ok(());
        }
        if self.log.open.is_none() {
            self.begin_log(memory)?;
        }
        if let Some(log) = &mut self.log.open {
            log.append(self.unsaved.pending.runs())?;
            self.unsaved.pending.clear();
            self.at.contributed = true;
        }
        Ok(())
    }

    /// Forgets everything noted that could not be recorded: the caller repeats it, or saves.
    pub(super) fn forget_pending(&mut self) {
        self.unsaved.pending.clear();
    }

    /// Makes everything recorded survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], after which nothing more is recorded: the kernel may have dropped the data
    /// that it could not write. [`Error::Poisoned`] from then on.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.at.settle(&*self.disk)?;
        self.log.open.as_mut().map_or(Ok(()), Log::sync)
    }

    /// Records, and releases the lock until [`Session::ready`]. Waiters have priority.
    ///
    /// # Errors
    ///
    /// Same as [`Session::record`]; the lock is kept then.
    pub fn release(&mut self, memory: &mut dyn Memory) -> Result<(), Error> {
        self.record(memory)?;
        if let Some(log) = &self.log.open
            && !log.is_at_its_name(&*self.disk)?
        {
            // It was removed by another program. Memory has all of its records while the lock is
            // held.
            self.save(memory, true)?;
        }
        self.turn.gave_way = self.turn.lock.take().map(FilterLock::give_way);
        Ok(())
    }

    /// Saves the current filter, safe from power cuts, and then removes the log.
    ///
    /// # Errors
    ///
    /// Same as [`crate::save()`], before which nothing has changed.
    ///
    /// # Panics
    ///
    /// If the lock is not held.
    pub fn checkpoint(&mut self, memory: &mut dyn Memory) -> Result<(), Error> {
        self.save(memory, self.at.identity.is_some())
    }

    /// Ends the session: saves the filter if there is anything to save, unless other processes
    /// continue with the log, or it is cheaper to keep it ([`SessionOptions::keeps_log_from`]).
    ///
    /// In that case the log is enough: each of them has its records in memory, and the last one to
    /// end saves them. If that one is killed, the log stays, and the next process to open the state
    /// replays it.
    ///
    /// # Errors
    ///
    /// Same as [`Session::ready`], [`Session::record`], [`Session::sync`] and
    /// [`Session::checkpoint`].
    pub fn finish(mut self, memory: &mut dyn Memory) -> Result<Finished, Error> {
        if self.turn.lock.is_none() {
            if self.log.open.is_none() {
                return self.leave(Finished::Unchanged);
            }
            // Everything is recorded. The holder of the lock has it and will save it, unless it is
            // ending too and has noticed this session: so wait for the next turn.
            match self.ready(memory) {
                Err(Error::Locked { .. } | Error::WaitStopped { .. }) => {
                    return self.leave(Finished::LeftToOthers);
                }
                found => found?,
            };
        }
        let has_records = self.log.open.is_some();
        if !has_records && !self.unsaved.must_save && self.unsaved.pending.len() == 0 {
            return self.leave(Finished::Unchanged);
        }
        if self.log.open.as_ref().is_some_and(Log::has_others) {
            self.record(memory)?;
            return self.leave(Finished::LeftToOthers);
        }
        if self.keeps_log() {
            self.record(memory)?;
            if self.log.is_at_its_name(&*self.disk) {
                return self.leave(Finished::Recorded);
            }
        }
        self.checkpoint(memory)?;
        Ok(Finished::Saved)
    }

    /// Whether the log stays at the end ([`SessionOptions::keeps_log_from`]): then only the log,
    /// with the operations not yet recorded, has to be written.
    pub fn keeps_log(&self) -> bool {
        let log_bytes = self.log_bytes() + self.unsaved.pending.len() as u64 * 8;
        !self.unsaved.must_save
            && self.unsaved.keeper.is_none()
            && self.at.image.header().kind() == Kind::Bloom
            && self.log.blocked.is_none()
            && self.options.keeps_log(log_bytes, self.at.image.header().body_bytes())
    }

    /// Leaves the files as they are, safe from power cuts.
    fn leave(&mut self, finished: Finished) -> Result<Finished, Error> {
        self.sync()?;
        Ok(finished)
    }
}

/// A state that is locked and open for loading.
#[derive(Debug)]
#[must_use]
pub struct Opening {
    session: Session,
}

impl Opening {
    /// The open file.
    pub fn image(&self) -> &Image {
        &self.session.at.image
    }

    /// Replays the log into the filter in memory, which was loaded from [`Opening::image`].
    ///
    /// # Errors
    ///
    /// [`Error::MissingLog`], [`Error::OlderCopy`], [`Error::LogDamaged`], [`Error::LogMismatch`];
    /// [`Error::ForeignLog`] and [`Error::NotALog`] only if the session needs a log;
    /// [`Error::Format`] with the error of [`Memory::apply`].
    pub fn follow(self, memory: &mut dyn Memory) -> Result<(Session, Recovery), Error> {
        let mut session = self.session;
        let recovery = session.follow(memory)?;
        if session.options.needs_log {
            session.log.check_free(session.path())?;
        }
        Ok((session, recovery))
    }
}
