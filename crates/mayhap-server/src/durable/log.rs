//! The write-ahead log: where frames are put in order and written.

use super::disk::{DiskFile, again, write_all_at};
use super::recorder::{Batch, Unsafe};
use super::ticket::{Logged, Ticket};
use super::trouble::Trouble;
use super::turns::{Turns, Unwritten};
use super::{Operation, Options, Policy, Recorder, Refused, Store};
use crate::fail_point::fail_point;
use crate::metrics::Times;
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, RwLock};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

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
    /// Filters whose names or times were set since they were listed.
    pub(super) listed: HashSet<u64>,
    /// What is settled once the log is synced up to there.
    pub(super) waiting: VecDeque<(u64, Vec<Unsafe>)>,
    /// What could not be written while the folder was gone, and is settled by an image.
    pub(super) unwritten: Vec<Unsafe>,
    /// Filters that a turn has changed which was refused, until they are put back.
    pub(super) spoiled: BTreeSet<u64>,
    /// Operations that are written in front of the next record.
    pub(super) deferred: Batch,
    /// The filters that these create.
    pub(super) deferred_ids: Vec<u64>,
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
    pub(super) progress: Condvar,
    /// Held while contents are written, and by checkpoints while they begin; before `operations`.
    pub(super) contents: Mutex<()>,
    /// Held by operations from their record to their effect, and by checkpoints while they begin.
    pub(super) operations: RwLock<()>,
    /// One sync at a time.
    pub(super) syncing: Mutex<()>,
    /// Frames of a lower sequence are on the disk.
    pub(super) synced: AtomicU64,
    /// Up to where the log has all operations.
    pub(super) operated: AtomicU64,
    /// There are deferred operations.
    has_deferred: AtomicBool,
    /// When the oldest byte was written that is not; `u64::MAX` if all are.
    pub(super) unsynced_since: AtomicU64,
    pub(super) in_trouble: AtomicBool,
    pub(super) poisoned: AtomicBool,
    /// What is written is not where it has to be.
    pub(super) displaced: AtomicBool,
    /// How many turns were refused that may have changed filters, and of how many all is put back.
    pub(super) failures: AtomicU64,
    pub(super) undone: AtomicU64,
    /// A checkpoint waits for the end of some.
    pub(super) waits_for_turns: AtomicBool,
    /// The turns of all threads; before the log's own lock.
    pub(super) turns: Mutex<Turns>,
    on_progress: RwLock<Vec<OnProgress>>,
    pub(super) checkpoints: Mutex<super::previous::Checkpoints>,
    pub(super) checkpoint_requested: AtomicBool,
    /// After `checkpoints`.
    pub(super) leases: Mutex<super::lease::Leases>,
    pub(super) saved: RwLock<super::stats::LastSaved>,
    pub(super) closed: AtomicBool,
    /// Bytes of the file that is kept for deleting, as far as is known.
    pub(super) spare_bytes: AtomicU64,
    pub(super) sync_times: Times,
    pub(super) checkpoint_times: Times,
}

impl Log {
    pub(super) fn new(
        store: Store,
        options: Options,
        id: u64,
        inner: Inner,
        checkpoints: super::previous::Checkpoints,
    ) -> Self {
        let saved = RwLock::default();
        let log = Self {
            store,
            options,
            id,
            synced: AtomicU64::new(inner.sequence),
            operated: AtomicU64::new(0),
            has_deferred: AtomicBool::new(false),
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
            failures: AtomicU64::new(0),
            undone: AtomicU64::new(0),
            waits_for_turns: AtomicBool::new(false),
            turns: Mutex::new(Turns::default()),
            on_progress: RwLock::new(Vec::new()),
            checkpoints: Mutex::new(checkpoints),
            checkpoint_requested: AtomicBool::new(false),
            leases: Mutex::new(super::lease::Leases::default()),
            saved,
            closed: AtomicBool::new(false),
            spare_bytes: AtomicU64::new(0),
            sync_times: Times::default(),
            checkpoint_times: Times::default(),
        };
        let checkpoints = log.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        log.publish_saved(&checkpoints, None);
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
        batch.add(operation)?;
        if let Operation::Load { id, .. } = *operation {
            batch.filters.push(id);
        }
        let operations = self.operations.read().unwrap_or_else(PoisonError::into_inner);
        let ticket = self.append_for(&mut batch, Some(operation)).map_err(|error| error.why)?;
        self.set_operated(ticket.0);
        Ok(Logged { ticket: Some(ticket), _operations: operations })
    }

    /// As [`Log::now`] for an operation of a turn that commits before it answers: the record is in
    /// its place in the log at once, and is written with the next one of any thread, or by
    /// [`Recorder::commit`]. A turn that creates a thousand filters writes once.
    ///
    /// If that fails the operation is undone, and every turn that is under way is refused: the one
    /// that deferred it has to have begun ([`Recorder::begin`]) before.
    ///
    /// # Errors
    ///
    /// As [`Log::now`].
    pub fn defer(&self, operation: &Operation<'_>) -> Result<Logged<'_>, Refused> {
        let operations = self.operations.read().unwrap_or_else(PoisonError::into_inner);
        let mut inner = self.lock();
        self.refuse(&inner)?;
        inner.deferred.add(operation)?;
        inner.deferred_ids.extend(operation.listed());
        inner.next_id = inner.next_id.max(operation.next_id());
        inner.listed.extend(operation.listed());
        // ORDERING: Relaxed. It is for the turn of this thread; others write with their records
        // what they find under the lock.
        self.has_deferred.store(true, Ordering::Relaxed);
        drop(inner);
        Ok(Logged { ticket: None, _operations: operations })
    }

    /// Writes the operations that wait for a record.
    pub(super) fn write_deferred(&self) -> Result<(), Refused> {
        // ORDERING: Relaxed, as in `defer`.
        if !self.has_deferred.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut inner = self.lock();
        if inner.deferred.frames.is_empty() {
            return Ok(());
        }
        self.refuse(&inner)?;
        self.write(&mut inner, &mut Batch::default())?;
        if !self.is_safe(Ticket(inner.sequence)) {
            self.work.notify_one();
        }
        Ok(())
    }

    fn set_operated(&self, sequence: u64) {
        // ORDERING: AcqRel. The number stands for a record that the file has; who reads it in
        // `last_operation` waits for it, and for all before it.
        self.operated.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Writes what a turn has recorded that began after so many failures.
    pub(super) fn append(&self, batch: &mut Batch, failures: u64) -> Result<Ticket, Unwritten> {
        batch.seal(self.id);
        let mut inner = self.lock();
        if self.failures() != failures {
            let why = self.refuse(&inner).err();
            return Err(self.refuse_batch(&mut inner, batch, why.unwrap_or_else(overlapped)));
        }
        self.append_locked(&mut inner, batch, None)
    }

    fn append_for(
        &self,
        batch: &mut Batch,
        operation: Option<&Operation<'_>>,
    ) -> Result<Ticket, Unwritten> {
        batch.seal(self.id);
        self.append_locked(&mut self.lock(), batch, operation)
    }

    fn append_locked(
        &self,
        inner: &mut Inner,
        batch: &mut Batch,
        operation: Option<&Operation<'_>>,
    ) -> Result<Ticket, Unwritten> {
        let mut written = match self.refuse(inner) {
            Ok(()) => self.write(inner, batch),
            refused => refused,
        };
        if written.is_err() && operation.is_some_and(Operation::frees) {
            written = self.write_from_spare(inner, batch);
        }
        match (written, operation) {
            (Ok(()), operation) => {
                batch.counts.iter().for_each(|of| of.count(inner.segment));
                if let Some(operation) = operation {
                    inner.next_id = inner.next_id.max(operation.next_id());
                    inner.listed.extend(operation.listed());
                }
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
            // It is not carried out.
            (Err(why), Some(_)) => Err(why.into()),
            (Err(why), None) => Err(self.refuse_batch(inner, batch, why)),
        }
    }

    /// The changes of a batch are in the filters, and not in the log.
    fn refuse_batch(&self, inner: &mut Inner, batch: &mut Batch, why: Refused) -> Unwritten {
        if batch.filters.is_empty() && inner.deferred_ids.is_empty() {
            // It may have seen what others have to take back.
            return Unwritten { why, until: Some(self.failures()) };
        }
        let until = self.fail(inner, batch.filters.iter().copied());
        if until.is_none() {
            // The filters have these bits: an image is to have them.
            batch.counts.iter().for_each(|of| of.count(inner.segment));
            inner.filters.extend(batch.filters.drain(..));
            inner.unwritten.append(&mut batch.counts);
        }
        Unwritten { why, until }
    }

    /// Writes frames behind the last one and what was deferred, or ends the file where it did.
    pub(super) fn write(&self, inner: &mut Inner, batch: &mut Batch) -> Result<(), Refused> {
        let safe = self.synced_to();
        let mut first = std::mem::take(&mut inner.deferred);
        first.seal(self.id);
        let (sequence, previous) = first.chain(inner.sequence, inner.previous, safe, self.id);
        let operated = sequence;
        let (sequence, previous) = batch.chain(sequence, previous, safe, self.id);
        let deferred = first.bytes.len();
        let bytes = if deferred == 0 {
            &batch.bytes
        } else {
            first.bytes.extend_from_slice(&batch.bytes);
            &first.bytes
        };
        let length = bytes.len() as u64;
        fail_point("log.writing");
        if let Err(error) = write_all_at(&*inner.file, bytes, inner.end) {
            let must_cut = again(|| inner.file.set_len(inner.end)).is_err();
            let why = error.to_string();
            self.set_trouble(inner, Trouble::Write { why, bytes: length, must_cut });
            if !inner.deferred_ids.is_empty() {
                self.fail(inner, std::iter::empty());
            }
            return self.refuse(inner);
        }
        fail_point("log.written");
        if deferred != 0 {
            inner.deferred_ids.clear();
            self.set_operated(operated);
            // ORDERING: Relaxed, as in `defer`.
            self.has_deferred.store(false, Ordering::Relaxed);
        }
        inner.end += length;
        (inner.sequence, inner.previous, inner.vouched) = (sequence, previous, safe);
        if inner.dirty_since.is_none() {
            inner.dirty_since = Some(self.options.clock.now());
            self.publish_unsynced(inner);
        }
        Ok(())
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

/// Why a turn is refused that had begun before one that failed, and ends after it.
#[cold]
fn overlapped() -> Refused {
    Refused(
        "a write of the same moment could not be written, and this one may rest on it: nothing of \
         it is done; send it again"
            .to_owned(),
    )
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("store", &self.store).finish_non_exhaustive()
    }
}
