//! The records of the log in their order: written by turns and operations, dropped by checkpoints.
//!
//! `sync.rs` gets them onto the disk and lets answers wait for that, `refuse.rs` handles those that
//! cannot be written.

mod refuse;
mod sync;

use super::batch::{Batch, Unsafe};
use super::disk::DiskFile;
use super::frame::Link;
use super::safety::Safety;
use super::spare::Spare;
use super::tail::{Current, Tail};
use super::ticket::{Logged, Ticket};
use super::trouble::Trouble;
use super::turns::{Turns, UnderWay, Unwritten};
use super::{Operation, Options, Refused, Store, Tally};
use crate::sync::{
    AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, RwLock, RwLockWriteGuard,
    unpoisoned,
};
use crate::times::Times;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The changes since the last checkpoint.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Filters whose contents changed since their images were made.
    pub(super) filters: HashSet<u64>,
    /// Filters whose names or expiries were set since they were listed.
    pub(super) listed: HashSet<u64>,
}

/// The state that changes with every write.
#[derive(Debug)]
struct Inner {
    tail: Tail,
    changes: Changes,
    next_id: u64,
    /// When the first byte was written that no sync covers yet.
    dirty_since: Option<u64>,
    /// The same for the running sync.
    syncing_since: Option<u64>,
    last_sync: Option<SystemTime>,
    /// Insertions to settle once the log is synced up to this position.
    waiting: VecDeque<(u64, Vec<Unsafe>)>,
    trouble: Option<Trouble>,
    last_error: Option<String>,
    /// Filters changed by a refused turn, until they are put back.
    spoiled: BTreeSet<u64>,
    /// Operations that are written in front of the next record.
    deferred: Batch,
    /// The filters that these operations create.
    deferred_ids: Vec<u64>,
}

pub(super) type OnProgress = Box<dyn Fn() + Send + Sync>;

/// The records of the log.
pub(super) struct Journal {
    store: Store,
    log_id: u64,
    safety: Safety,
    turns: Turns,
    spare: Spare,
    inner: Mutex<Inner>,
    /// Signals a sync to do, or the end.
    work: Condvar,
    /// Signals a requested checkpoint, or the end.
    requested: Condvar,
    /// Signals that the state of a position may have changed.
    progress: Condvar,
    on_progress: RwLock<Vec<OnProgress>>,
    /// Held while contents are written, and by checkpoints while they begin; before `operations`.
    contents: Mutex<()>,
    /// Held by operations from their record to their effect, and by checkpoints while they begin.
    operations: RwLock<()>,
    /// One sync at a time.
    syncing: Mutex<()>,
    /// The position up to which the log has all operations.
    operated: AtomicU64,
    /// Whether there are deferred operations.
    has_deferred: AtomicBool,
    checkpoint_requested: AtomicBool,
    closed: AtomicBool,
    sync_times: Times,
}

/// The log that a checkpoint lets go of, and what it had changed.
pub(super) struct Rotated {
    /// The segment after it.
    pub(super) first_segment: u64,
    pub(super) first: Link,
    pub(super) next_id: u64,
    /// How many turns had been refused.
    pub(super) refused: u64,
    /// The filters that have changed.
    pub(super) filters: HashSet<u64>,
    pub(super) bytes: u64,
}

impl Journal {
    /// Continues the log at this end, after these changes since the last checkpoint.
    pub(super) fn new(
        store: &Store,
        options: &Options,
        tail: Tail,
        changes: Changes,
        next_id: u64,
    ) -> Self {
        Self {
            store: store.clone(),
            log_id: tail.log_id,
            safety: Safety::new(options, tail.next.sequence),
            turns: Turns::new(),
            spare: Spare::new(store),
            inner: Mutex::new(Inner {
                tail,
                changes,
                next_id,
                dirty_since: None,
                syncing_since: None,
                last_sync: None,
                waiting: VecDeque::new(),
                trouble: None,
                last_error: None,
                spoiled: BTreeSet::new(),
                deferred: Batch::default(),
                deferred_ids: Vec::new(),
            }),
            work: Condvar::new(),
            requested: Condvar::new(),
            progress: Condvar::new(),
            on_progress: RwLock::new(Vec::new()),
            contents: Mutex::new(()),
            operations: RwLock::new(()),
            syncing: Mutex::new(()),
            operated: AtomicU64::new(0),
            has_deferred: AtomicBool::new(false),
            checkpoint_requested: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            sync_times: Times::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        unpoisoned(self.inner.lock())
    }

    /// Up to where it is safe.
    pub(super) const fn safety(&self) -> &Safety {
        &self.safety
    }

    /// Adds a thread whose turns checkpoints wait for.
    pub(super) fn add(&self, turn: &UnderWay) {
        self.turns.add(turn);
    }

    /// How many turns were refused so far.
    pub(super) fn refused(&self) -> u64 {
        self.turns.refused()
    }

    /// A turn has ended.
    pub(super) fn end_turn(&self, turn: &UnderWay) {
        if self.turns.end(turn) {
            // A thread that has checked but not yet slept is asleep by then.
            drop(self.lock());
            self.progress.notify_all();
        }
    }

    /// Calls `wake` whenever waiting threads are woken.
    pub(super) fn on_progress(&self, wake: OnProgress) {
        unpoisoned(self.on_progress.write()).push(wake);
    }

    /// Wakes those that wait for a position to be safe.
    pub(super) fn wake_waiting(&self) {
        self.progress.notify_all();
        unpoisoned(self.on_progress.read()).iter().for_each(|wake| wake());
    }

    fn wait_for_progress<'a>(
        &self,
        inner: MutexGuard<'a, Inner>,
        most: Duration,
    ) -> MutexGuard<'a, Inner> {
        unpoisoned(self.progress.wait_timeout(inner, most)).0
    }

    /// Keeps contents from being written, and waits for those that are.
    pub(super) fn contents(&self) -> MutexGuard<'_, ()> {
        unpoisoned(self.contents.lock())
    }

    /// Keeps operations from beginning, and waits for the effects of those that have.
    pub(super) fn operations(&self) -> RwLockWriteGuard<'_, ()> {
        unpoisoned(self.operations.write())
    }

    /// As [`Log::now`](super::Log::now), and [`Log::now_counting`](super::Log::now_counting).
    pub(super) fn now(
        &self,
        operation: &Operation<'_>,
        counts: Option<(&Arc<Tally>, u64)>,
    ) -> Result<Logged<'_>, Refused> {
        let mut batch = Batch::default();
        batch.add(operation)?;
        batch.filters.extend(operation.filled());
        let of =
            |(tally, new): (&Arc<Tally>, u64)| Unsafe { tally: tally.clone(), inserted: 0, new };
        batch.counts.extend(counts.map(of));
        let operations = unpoisoned(self.operations.read());
        batch.seal(self.log_id);
        let written = self.append_locked(&mut self.lock(), &mut batch, Some(operation));
        let ticket = written.map_err(|error| error.why)?;
        self.set_operated(ticket.0);
        Ok(Logged { ticket: Some(ticket), _operations: operations })
    }

    /// As [`Log::defer`](super::Log::defer).
    pub(super) fn defer(&self, operation: &Operation<'_>) -> Result<Logged<'_>, Refused> {
        let operations = unpoisoned(self.operations.read());
        let mut inner = self.lock();
        self.refuse(&inner)?;
        inner.deferred.add(operation)?;
        inner.deferred_ids.extend(operation.listed());
        inner.sets(operation);
        // ORDERING: Relaxed. The turn of this thread reads it; other threads find deferred
        // operations under the lock when they write their records.
        self.has_deferred.store(true, Ordering::Relaxed);
        drop(inner);
        Ok(Logged { ticket: None, _operations: operations })
    }

    /// Writes the deferred operations.
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
        if !self.safety.is_safe(Ticket(inner.tail.next.sequence)) {
            self.work.notify_one();
        }
        Ok(())
    }

    fn set_operated(&self, sequence: u64) {
        // ORDERING: AcqRel. The number stands for a record that is in the file; a thread that reads
        // it in `last_operation` waits for it, and for all before it.
        self.operated.fetch_max(sequence, Ordering::AcqRel);
    }

    /// As [`Log::last_operation`](super::Log::last_operation).
    pub(super) fn last_operation(&self) -> Option<Ticket> {
        // ORDERING: Acquire, with the AcqRel of `set_operated`.
        let ticket = Ticket(self.operated.load(Ordering::Acquire));
        (!self.safety.is_safe(ticket)).then_some(ticket)
    }

    /// Writes the records of a turn that began after `refused` refusals.
    pub(super) fn append(&self, batch: &mut Batch, refused: u64) -> Result<Ticket, Unwritten> {
        batch.seal(self.log_id);
        let mut inner = self.lock();
        if self.refused() != refused {
            let why = self.refuse(&inner).err();
            return Err(self.refuse_batch(&mut inner, batch, why.unwrap_or(Refused::Overlapped)));
        }
        self.append_locked(&mut inner, batch, None)
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
                let segment = inner.tail.current.number;
                batch.counts.iter().for_each(|of| of.count(segment));
                if let Some(operation) = operation {
                    inner.sets(operation);
                }
                inner.changes.filters.extend(batch.filters.drain(..));
                let ticket = Ticket(inner.tail.next.sequence);
                if self.safety.is_safe(ticket) {
                    batch.counts.iter().for_each(Unsafe::settle);
                } else {
                    let counts = std::mem::take(&mut batch.counts);
                    inner.waiting.push_back((ticket.0, counts));
                    self.work.notify_one();
                }
                Ok(ticket)
            }
            // The operation is not applied.
            (Err(why), Some(_)) => Err(Unwritten { why, until: None }),
            (Err(why), None) => Err(self.refuse_batch(inner, batch, why)),
        }
    }

    /// Appends the deferred operations and a batch, or leaves the file as it was.
    fn write(&self, inner: &mut Inner, batch: &mut Batch) -> Result<(), Refused> {
        let mut deferred = std::mem::take(&mut inner.deferred);
        let operated = match inner.tail.append(&mut deferred, batch, self.safety.synced_to()) {
            Ok(operated) => operated,
            Err(trouble) => {
                self.set_trouble(inner, trouble);
                if !inner.deferred_ids.is_empty() {
                    self.fail(inner, std::iter::empty());
                }
                return self.refuse(inner);
            }
        };
        if !deferred.frames.is_empty() {
            inner.deferred_ids.clear();
            self.set_operated(operated);
            // ORDERING: Relaxed, as in `defer`.
            self.has_deferred.store(false, Ordering::Relaxed);
        }
        if inner.dirty_since.is_none() {
            inner.dirty_since = Some(self.safety.now());
            self.publish_unsynced(inner);
        }
        Ok(())
    }

    /// The segments that are needed: the number of the first one, and the last one.
    pub(super) fn segments(&self) -> (u64, Current) {
        let inner = self.lock();
        (inner.tail.first_segment, inner.tail.current.clone())
    }

    /// How many filters have changed since the last checkpoint, and the filters whose names or
    /// expiries were set. Those do not grow in number while no operation is running.
    pub(super) fn take_listed(&self) -> (usize, HashSet<u64>) {
        let mut inner = self.lock();
        (inner.changes.filters.len(), std::mem::take(&mut inner.changes.listed))
    }

    /// The filters whose contents have changed, those whose names or expiries were set, and whether
    /// anything can be written now.
    pub(super) fn changed(&self) -> (HashSet<u64>, HashSet<u64>, bool) {
        let Inner { changes, trouble, .. } = &*self.lock();
        (changes.filters.clone(), changes.listed.clone(), trouble.is_none())
    }

    /// Switches to a new segment. Everything in the old ones is in the filters by now.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the log may not end where it should, or filters are being put back: they have
    /// keys that no image may have.
    pub(super) fn rotate(&self, number: u64, file: &Arc<dyn DiskFile>) -> Result<Rotated, Refused> {
        let mut inner = self.lock();
        let is_sound = inner.trouble.as_ref().is_none_or(Trouble::is_full);
        if !is_sound || !inner.spoiled.is_empty() {
            self.refuse(&inner)?;
            return Err(Refused::InTrouble);
        }
        let bytes = inner.tail.rotate(number, file.clone());
        Ok(Rotated {
            first_segment: number,
            first: inner.tail.next,
            next_id: inner.next_id,
            refused: self.refused(),
            filters: std::mem::take(&mut inner.changes.filters),
            bytes,
        })
    }

    /// A checkpoint has failed: what it had taken is needed as before.
    pub(super) fn give_back(&self, changes: Changes, bytes: u64) {
        let mut inner = self.lock();
        inner.changes.filters.extend(changes.filters);
        inner.changes.listed.extend(changes.listed);
        inner.tail.keep(bytes);
    }

    /// Everything before this frame is in images: segments before this one are not needed.
    pub(super) fn let_go(&self, first_segment: u64, first: Link) {
        let syncing = unpoisoned(self.syncing.lock());
        let mut inner = self.lock();
        inner.tail.let_go(first_segment);
        self.set_synced(&mut inner, first.sequence);
        drop(inner);
        drop(syncing);
    }

    /// Requests a checkpoint from the thread that makes them.
    pub(super) fn request_checkpoint(&self) {
        // ORDERING: Release, with the AcqRel of `takes_request`: changes made before are saved.
        self.checkpoint_requested.store(true, Ordering::Release);
        self.wake_checkpoints();
    }

    /// Whether a checkpoint is requested, which it is no more afterwards.
    pub(super) fn takes_request(&self) -> bool {
        // ORDERING: AcqRel, with the Release of the request: changes made before it are saved.
        self.checkpoint_requested.swap(false, Ordering::AcqRel)
    }

    /// Wakes the thread that makes checkpoints.
    pub(super) fn wake_checkpoints(&self) {
        self.requested.notify_all();
    }

    /// Waits for a request or the end, unless filters are to be put back and can be.
    pub(super) fn wait_for_request(&self, most: Duration, is_unread: bool) {
        let inner = self.lock();
        if !self.is_closed() && (inner.spoiled.is_empty() || is_unread) {
            drop(unpoisoned(self.requested.wait_timeout(inner, most)));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire, with the Release of `close`: the trouble `Closed` is set by then.
        self.closed.load(Ordering::Acquire)
    }
}

impl Inner {
    /// The log has this operation.
    fn sets(&mut self, operation: &Operation<'_>) {
        self.next_id = self.next_id.max(operation.next_id());
        self.changes.listed.extend(operation.listed());
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("store", &self.store).finish_non_exhaustive()
    }
}
