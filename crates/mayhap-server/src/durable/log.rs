//! The write-ahead log: where frames are put in order, written and synced.

use super::disk::{DiskFile, again, write_all_at};
use super::recorder::{Batch, Unsafe, check_size};
use super::store::segment_path;
use super::{Displaced, Operation, Options, Policy, Recorder, Refused, Store, item};
use crate::fail_point::fail_point;
use crate::metrics::Times;
use crate::sync::{
    AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, RwLock, RwLockReadGuard,
};
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

/// Answers wait if what was acknowledged first and is not on the disk is older than this.
const MAX_UNSYNCED_MS: u64 = 2000;

/// A place in the log: the number of frames up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Whether what was written up to a place may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is as safe as the policy promises.
    Safe,
    /// It is not yet.
    Waiting,
    /// It never will be: [`Log::check_writable`] says why.
    Refused,
}

/// An operation that is in the log; to be kept until its effect can be seen, so that no checkpoint
/// comes between the two.
#[derive(Debug)]
#[must_use = "to be kept until the effect of the operation can be seen"]
pub struct Logged<'a> {
    /// Where it is.
    pub ticket: Ticket,
    _operations: RwLockReadGuard<'a, ()>,
}

/// The contents of a filter that is created with some: they go into the log part by part, and
/// belong to nobody until [`Operation::Create`] names the filter, which is to be written while this
/// lives. A restart that finds parts without that has no such filter.
///
/// No checkpoint begins meanwhile: it would let go of the parts that it finds without a filter.
/// Insertions and other operations go on, other contents wait.
#[derive(Debug)]
pub struct Contents<'a> {
    log: &'a Log,
    id: u64,
    pub(super) parts: u64,
    _turn: MutexGuard<'a, ()>,
}

impl Contents<'_> {
    /// The next part, of at most 64 MiB.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the filter must not be created.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let (id, part) = (self.id, self.parts);
        drop(self.log.now(&Operation::Load { id, part, bytes })?);
        self.parts += 1;
        Ok(())
    }
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A write failed. The file ends where it did; it is tried again.
    Write { why: String, bytes: u64, must_cut: bool },
    /// What was written may be lost, and nobody can know what.
    Sync { why: String },
    /// What was written is not where the next start looks for it.
    Displaced { what: Displaced },
    /// The log was closed.
    Closed,
}

/// What changes with every write.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) segment: u64,
    /// The segment that the manifest begins with.
    pub(super) first_segment: u64,
    pub(super) file: Arc<dyn DiskFile>,
    /// The length of the segment up to the last whole frame.
    pub(super) end: u64,
    pub(super) previous: u64,
    pub(super) sequence: u64,
    /// Up to where the last frame said that all is safe.
    pub(super) vouched: u64,
    /// Bytes in segments before this one that are still needed.
    pub(super) older_bytes: u64,
    /// Segments before this one that are not synced.
    pub(super) older: Vec<Arc<dyn DiskFile>>,
    /// When the first byte was written that no sync has begun to cover.
    pub(super) dirty_since: Option<u64>,
    /// The same of the sync that is going on.
    pub(super) syncing_since: Option<u64>,
    pub(super) trouble: Option<Trouble>,
    /// Filters whose contents were changed since their images.
    pub(super) filters: HashSet<u64>,
    /// What is settled once the log is synced up to there.
    pub(super) waiting: VecDeque<(u64, Vec<Unsafe>)>,
    /// What could not be written, and is settled by an image.
    pub(super) unwritten: Vec<Unsafe>,
    pub(super) next_id: u64,
    pub(super) last_sync: Option<SystemTime>,
    pub(super) last_error: Option<String>,
}

type OnProgress = Box<dyn Fn() + Send + Sync>;

/// The log of a data folder, which this process alone has.
pub struct Log {
    pub(super) store: Store,
    pub(super) options: Options,
    pub(super) id: u64,
    inner: Mutex<Inner>,
    /// There is something to sync, or it is time to end.
    pub(super) work: Condvar,
    /// It is time to end.
    pub(super) ended: Condvar,
    /// A checkpoint is requested, or it is time to end.
    pub(super) requested: Condvar,
    /// [`Log::state`] may say something else.
    progress: Condvar,
    /// Held while contents are written, and by checkpoints while they begin; before `operations`.
    pub(super) contents: Mutex<()>,
    /// Held by operations from their record to their effect, and by checkpoints while they begin.
    pub(super) operations: RwLock<()>,
    /// One sync at a time.
    pub(super) syncing: Mutex<()>,
    /// Frames of a lower sequence are on the disk.
    pub(super) synced: AtomicU64,
    /// Up to where the log has all operations.
    operated: AtomicU64,
    /// When the oldest byte was written that is not; `u64::MAX` if all are.
    pub(super) unsynced_since: AtomicU64,
    in_trouble: AtomicBool,
    poisoned: AtomicBool,
    /// What is written is not where it has to be.
    pub(super) displaced: AtomicBool,
    on_progress: RwLock<Vec<OnProgress>>,
    pub(super) checkpoints: Mutex<super::checkpoint::Checkpoints>,
    pub(super) checkpoint_requested: AtomicBool,
    pub(super) saved: RwLock<super::stats::LastSaved>,
    pub(super) closed: AtomicBool,
    pub(super) sync_times: Times,
    pub(super) checkpoint_times: Times,
}

impl Log {
    pub(super) fn new(
        store: Store,
        options: Options,
        id: u64,
        inner: Inner,
        checkpoints: super::checkpoint::Checkpoints,
    ) -> Self {
        let saved = RwLock::default();
        let log = Self {
            store,
            options,
            id,
            synced: AtomicU64::new(inner.sequence),
            operated: AtomicU64::new(0),
            inner: Mutex::new(inner),
            work: Condvar::new(),
            ended: Condvar::new(),
            requested: Condvar::new(),
            progress: Condvar::new(),
            contents: Mutex::new(()),
            operations: RwLock::new(()),
            syncing: Mutex::new(()),
            unsynced_since: AtomicU64::new(u64::MAX),
            in_trouble: AtomicBool::new(false),
            poisoned: AtomicBool::new(false),
            displaced: AtomicBool::new(false),
            on_progress: RwLock::new(Vec::new()),
            checkpoints: Mutex::new(checkpoints),
            checkpoint_requested: AtomicBool::new(false),
            saved,
            closed: AtomicBool::new(false),
            sync_times: Times::default(),
            checkpoint_times: Times::default(),
        };
        let checkpoints = log.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        log.publish_saved(&checkpoints.manifest, None);
        drop(checkpoints);
        log
    }

    /// When insertions are acknowledged.
    pub const fn policy(&self) -> Policy {
        self.options.policy
    }

    /// A recorder for a thread.
    pub fn recorder(self: &Arc<Self>) -> Recorder {
        Recorder::new(self.clone())
    }

    /// To be called whenever [`Log::state`] may say something else: wakes those who wait.
    pub fn on_progress(&self, wake: OnProgress) {
        self.on_progress.write().unwrap_or_else(PoisonError::into_inner).push(wake);
    }

    /// Whether anything can be written; to be called before a filter is changed. Takes no lock
    /// while all is well.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to do.
    pub fn check_writable(&self) -> Result<(), Refused> {
        // ORDERING: Acquire, with the Release of `set_trouble`. Who misses a trouble by a moment
        // finds it in `append`, under the lock.
        if self.in_trouble.load(Ordering::Acquire) {
            return self.refuse(&self.lock());
        }
        Ok(())
    }

    /// Writes an operation to the log, before it is carried out.
    ///
    /// The kernel has it when this returns. What it returns is to be kept until the effect can be
    /// seen. One at a time: a thread that keeps one and asks for another can wait for ever.
    ///
    /// # Errors
    ///
    /// [`Refused`]: it is not in the log and must not be carried out.
    pub fn now(&self, operation: &Operation<'_>) -> Result<Logged<'_>, Refused> {
        let mut batch = Batch::default();
        batch.begin();
        check_size(operation.bytes())?;
        item::encode_operation(&mut batch.bytes, operation);
        if let Operation::Load { id, .. } = *operation {
            batch.filters.push(id);
        }
        let operations = self.operations.read().unwrap_or_else(PoisonError::into_inner);
        let ticket = self.append_for(&mut batch, operation.next_id())?;
        // ORDERING: AcqRel. The number stands for a record that the file has; who reads it in
        // `last_operation` waits for it, and for all before it.
        self.operated.fetch_max(ticket.0, Ordering::AcqRel);
        Ok(Logged { ticket, _operations: operations })
    }

    /// Begins to write the contents of a filter that is to be created with this id, which no filter
    /// had before. Waits for other contents to be written, and for a checkpoint to begin.
    pub fn begin_contents(&self, id: u64) -> Contents<'_> {
        let turn = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        Contents { log: self, id, parts: 0, _turn: turn }
    }

    /// What answers about an operation have to wait for: the last one, of any thread, if it
    /// is not as safe as the policy promises. [`Recorder::commit`] says so too.
    pub fn last_operation(&self) -> Option<Ticket> {
        // ORDERING: Acquire, with the AcqRel of `now`.
        let ticket = Ticket(self.operated.load(Ordering::Acquire));
        (!self.is_safe(ticket)).then_some(ticket)
    }

    /// Whether what was written up to there may be acknowledged.
    pub fn state(&self, ticket: Ticket) -> State {
        if self.is_safe(ticket) {
            State::Safe
        } else if self.is_poisoned() {
            State::Refused
        } else {
            State::Waiting
        }
    }

    pub(super) fn is_safe(&self, ticket: Ticket) -> bool {
        if self.synced_to() >= ticket.0 {
            return true;
        }
        if self.is_poisoned() || self.is_displaced() {
            return false;
        }
        match self.policy() {
            Policy::Always => false,
            Policy::EverySecond => self.unsynced_ms() <= MAX_UNSYNCED_MS,
            Policy::No => true,
        }
    }

    /// Frames of a lower sequence are on the disk.
    pub(super) fn synced_to(&self) -> u64 {
        // ORDERING: Acquire, with the AcqRel of `set_synced`: who finds a place safe finds done
        // what made it so.
        self.synced.load(Ordering::Acquire)
    }

    fn is_poisoned(&self) -> bool {
        // ORDERING: Acquire, with the Release of `set_trouble`. Who finds trouble here finds what
        // it is under the lock.
        self.poisoned.load(Ordering::Acquire)
    }

    /// Milliseconds since the oldest byte was written that is not on the disk.
    pub(super) fn unsynced_ms(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `publish_unsynced`. The time stands for itself;
        // who reads it late believes for that long that a place is safe as it was.
        match self.unsynced_since.load(Ordering::Acquire) {
            u64::MAX => 0,
            since => self.options.clock.now().saturating_sub(since),
        }
    }

    /// Waits until what was written up to there may be acknowledged.
    ///
    /// # Errors
    ///
    /// [`Refused`] if it never will be.
    pub fn wait(&self, ticket: Ticket) -> Result<(), Refused> {
        let mut inner = self.lock();
        loop {
            match self.state(ticket) {
                State::Safe => return Ok(()),
                State::Refused => return self.refuse(&inner),
                State::Waiting => {}
            }
            // With a limit, since under `everysec` time alone can change the answer.
            let waited = self.progress.wait_timeout(inner, Duration::from_millis(100));
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn append(&self, batch: &mut Batch) -> Result<Ticket, Refused> {
        self.append_for(batch, 0)
    }

    fn append_for(&self, batch: &mut Batch, next_id: u64) -> Result<Ticket, Refused> {
        batch.seal(self.id);
        let mut inner = self.lock();
        let written = match self.refuse(&inner) {
            Ok(()) => self.write(&mut inner, batch),
            refused => refused,
        };
        // Also what is refused: the filters have it, and the next image of them.
        batch.counts.iter().for_each(|of| of.count(inner.segment));
        match written {
            Ok(()) => {
                inner.next_id = inner.next_id.max(next_id);
                inner.filters.extend(batch.filters.drain(..));
                let ticket = Ticket(inner.sequence);
                if self.is_safe(ticket) {
                    batch.counts.iter().for_each(Unsafe::settle);
                } else {
                    let counts = std::mem::take(&mut batch.counts);
                    inner.waiting.push_back((ticket.0, counts));
                    self.work.notify_one();
                }
                Ok(ticket)
            }
            Err(refused) => {
                // The filters have these bits: an image is to have them.
                inner.filters.extend(batch.filters.drain(..));
                inner.unwritten.append(&mut batch.counts);
                Err(refused)
            }
        }
    }

    /// Writes frames behind the last one, or ends the file where it did.
    pub(super) fn write(&self, inner: &mut Inner, batch: &mut Batch) -> Result<(), Refused> {
        let safe = self.synced_to();
        let (sequence, previous) = batch.chain(inner.sequence, inner.previous, safe, self.id);
        let bytes = batch.bytes.len() as u64;
        fail_point("log.writing");
        if let Err(error) = write_all_at(&*inner.file, &batch.bytes, inner.end) {
            let must_cut = again(|| inner.file.set_len(inner.end)).is_err();
            let why = error.to_string();
            self.set_trouble(inner, Trouble::Write { why, bytes, must_cut });
            return self.refuse(inner);
        }
        fail_point("log.written");
        inner.end += bytes;
        (inner.sequence, inner.previous, inner.vouched) = (sequence, previous, safe);
        if inner.dirty_since.is_none() {
            inner.dirty_since = Some(self.options.clock.now());
            self.publish_unsynced(inner);
        }
        Ok(())
    }

    /// After a write that failed: tries whether the disk takes writes again.
    pub(super) fn retry(&self) {
        let mut inner = self.lock();
        if let Some(Trouble::Write { must_cut, bytes, .. }) = inner.trouble.clone() {
            if must_cut && again(|| inner.file.set_len(inner.end)).is_err() {
                return;
            }
            // As much as failed, so that "it works again" is not said at the last free byte.
            let mut probe = Batch::default();
            probe.begin();
            let room = (bytes as usize).clamp(frame_bytes(), 1 << 20);
            probe.bytes.resize(room, 0);
            let fits = write_all_at(&*inner.file, &probe.bytes, inner.end).is_ok();
            let cut = again(|| inner.file.set_len(inner.end)).is_ok();
            let trouble = match inner.trouble.take() {
                Some(Trouble::Write { why, bytes, .. }) if !(fits && cut) => {
                    Some(Trouble::Write { why, bytes, must_cut: !cut })
                }
                _ => None,
            };
            // ORDERING: Release, as in `set_trouble`.
            self.in_trouble.store(trouble.is_some(), Ordering::Release);
            inner.trouble = trouble;
        }
        drop(inner);
        self.wake_waiting();
    }

    pub(super) fn set_trouble(&self, inner: &mut Inner, trouble: Trouble) {
        inner.last_error = Some(refusal(&trouble).0);
        // ORDERING: Release, with the Acquire of those who look without the lock.
        self.poisoned.store(matches!(trouble, Trouble::Sync { .. }), Ordering::Release);
        self.displaced.store(matches!(trouble, Trouble::Displaced { .. }), Ordering::Release);
        inner.trouble = Some(trouble);
        self.in_trouble.store(true, Ordering::Release);
    }

    /// The log is where it has to be again.
    pub(super) fn end_displaced(&self, inner: &mut Inner) {
        if matches!(inner.trouble, Some(Trouble::Displaced { .. })) {
            inner.trouble = None;
            // ORDERING: Release, as in `set_trouble`.
            self.displaced.store(false, Ordering::Release);
            self.in_trouble.store(false, Ordering::Release);
        }
    }

    /// # Errors
    ///
    /// [`Refused`] if the log is in trouble.
    pub(super) fn refuse(&self, inner: &Inner) -> Result<(), Refused> {
        inner.trouble.as_ref().map_or(Ok(()), |trouble| {
            let Refused(why) = refusal(trouble);
            let path = self.store.path(&segment_path(inner.segment));
            Err(Refused(format!("{}: {why}", path.display())))
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake_waiting(&self) {
        self.progress.notify_all();
        let all = self.on_progress.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|wake| wake());
    }
}

const fn frame_bytes() -> usize {
    super::frame::HEADER_BYTES
}

pub(super) fn refusal(trouble: &Trouble) -> Refused {
    Refused(match trouble {
        Trouble::Write { why, bytes, .. } => format!(
            "nothing can be written ({why}): free at least {bytes} bytes there, and writing goes \
             on by itself; queries go on"
        ),
        Trouble::Sync { why } => format!(
            "the disk failed to keep what was written ({why}): nothing is accepted until the disk \
             is checked and the server started again; queries go on"
        ),
        Trouble::Displaced { what } => format!(
            "{what} while the server was writing: nothing is accepted until all filters are saved \
             there anew, which it tries by itself; queries go on"
        ),
        Trouble::Closed => "the server is ending".to_owned(),
    })
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("store", &self.store).finish_non_exhaustive()
    }
}
