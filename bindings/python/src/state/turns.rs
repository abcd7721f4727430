//! The turns of a process at a state: when its lock is taken and released, and the records made
//! meanwhile.
//!
//! A call takes the lock unless it is held, changes the filter, and records that in the log before
//! it returns. The lock is released by a dedicated thread when there was no call for [`PAUSE`], or
//! by a call when others have waited for [`TURN`]. Neither that thread nor a call waits for the
//! interpreter's lock while it holds this one; a call that finds the filter's lock taken by another
//! process returns [`Error::Waiting`] after a while, so that signals are handled between attempts.

use super::kept::Kept;
use crate::error::Error;
use crate::fork;
use crate::held::{is_of_time, now};
use mayhap::set::{Repeats, Set};
use mayhap::{Bitmap, Digest};
use mayhap_store::{Error as StoreError, LockOptions, Operation, Session, SessionOptions};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A process that has added nothing for this time pauses: others may take the lock meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock is not held for longer while others wait.
const TURN: Duration = Duration::from_secs(1);

/// The time between two checks for waiting processes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// An attempt on the lock ends after this, so that signals are handled.
const ATTEMPT: Duration = Duration::from_millis(100);

/// A checkpoint is due when the log is as long as the filter, but not for less than this.
const MIN_LOG_BYTES: u64 = 64 << 20;

/// A state that this process changes.
pub(crate) struct Turns {
    turn: Mutex<Turn>,
    /// The thread that releases the lock in pauses: woken when the lock was taken or the state is
    /// closed.
    pauses: OnceLock<Thread>,
    /// The process that opened it. A child owns neither the lock of the file nor the thread that
    /// releases it.
    process: u32,
}

/// The filter with its files.
pub(crate) struct Turn {
    pub(crate) kept: Kept,
    /// `None` once it is closed.
    session: Option<Session>,
    /// The end of the last change.
    used: Instant,
    looked: Instant,
    /// The time since which a call has waited for the lock, over any number of attempts.
    waiting: Option<Instant>,
    timeout: Duration,
}

/// The options for opening the files; other processes see the holder's name `mayhap_bloom`.
pub(super) fn options() -> SessionOptions {
    let lock = LockOptions::new("mayhap_bloom").timeout(ATTEMPT);
    SessionOptions::new(lock).needs_log().keeps_digests()
}

impl Turns {
    /// A newly opened state, whose lock is held.
    ///
    /// # Errors
    ///
    /// The errors of starting a thread.
    pub(super) fn begin(
        kept: Kept,
        session: Session,
        timeout: Duration,
    ) -> std::io::Result<Arc<Self>> {
        let (session, now) = (Some(session), Instant::now());
        let turn = Turn { kept, session, used: now, looked: now, waiting: None, timeout };
        let (turn, pauses) = (Mutex::new(turn), OnceLock::new());
        let turns = Arc::new(Self { turn, pauses, process: process::id() });
        let of_thread = Arc::clone(&turns);
        let thread = thread::Builder::new().name("mayhap state".into());
        let thread = thread.spawn(move || of_thread.release_in_pauses())?;
        let _ = turns.pauses.set(thread.thread().clone());
        let mut open = open_states();
        open.retain(|state| state.strong_count() > 0);
        open.push(Arc::downgrade(&turns));
        Ok(turns)
    }

    /// Calls `read` with the filter.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&dyn Set) -> R) -> R {
        read(&*self.lock().kept.set)
    }

    /// Same as [`Kept::limit`].
    pub(crate) fn limit(&self) -> u64 {
        self.lock().kept.limit
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        // A panic of another thread left whole words: bits are only set.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` while the lock of the filter is held, up to date with the changes by others.
    ///
    /// # Errors
    ///
    /// [`Error::Waiting`], after which the call is to be repeated; [`Error::ReadOnly`] if the state
    /// is closed or was opened by another process; the errors of the session and of `change`.
    pub(crate) fn change<R>(
        &self,
        change: impl FnOnce(&mut Turn) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.process != process::id() {
            return Err(Error::ReadOnly {
                reason: "the state belongs to the process that opened it; open it again after \
                         fork()",
            });
        }
        let mut turn = self.lock();
        if turn.ready()? {
            self.wake();
        }
        let changed = change(&mut turn);
        turn.rest();
        changed
    }

    /// Closes it: the file is then the whole filter, unless other processes continue with it.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::finish`]; it is closed nevertheless, and its log has all keys.
    pub(super) fn close(&self) -> Result<(), Error> {
        if self.process != process::id() {
            return Ok(());
        }
        let mut turn = self.lock();
        let session = turn.session.take();
        self.wake();
        match session {
            Some(session) => Ok(session.finish(&mut turn.kept).map(|_| ())?),
            None => Ok(()),
        }
    }

    /// Ends it without a checkpoint, as a crash would: the log has all keys.
    pub(super) fn leave(&self) {
        if self.process == process::id() {
            self.lock().session = None;
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(thread) = self.pauses.get() {
            thread.unpark();
        }
    }

    /// Releases the lock whenever there is nothing to do, until the state is closed.
    fn release_in_pauses(&self) {
        loop {
            let working = fork::work();
            let mut turn = self.lock();
            let Some(session) = &turn.session else { return };
            let is_held = session.is_held();
            let is_pause = turn.used.elapsed() >= PAUSE;
            if is_held && is_pause {
                turn.release();
            }
            drop((turn, working));
            if is_held && !is_pause {
                thread::park_timeout(PAUSE);
            } else if !is_held {
                thread::park();
            }
        }
    }
}

/// The states that are open in this process.
fn open_states() -> MutexGuard<'static, Vec<Weak<Turns>>> {
    static OPEN: Mutex<Vec<Weak<Turns>>> = Mutex::new(Vec::new());
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In the child of a fork: closes the files of all states, whose locks stay with the parent. The
/// contents of the states at the fork can still be read.
pub(crate) fn leave_to_parent() {
    for turns in open_states().drain(..).filter_map(|turns| turns.upgrade()) {
        turns.lock().session = None;
    }
}

impl Turn {
    /// Takes the lock unless it is held, and brings the filter up to date; returns whether it was
    /// taken.
    fn ready(&mut self) -> Result<bool, Error> {
        let session = self.session.as_mut().ok_or(Error::ReadOnly { reason: CLOSED })?;
        if session.is_held() {
            return Ok(false);
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let (found, waited) = (session.ready(&mut self.kept), since.elapsed());
        if matches!(found, Err(StoreError::Locked { .. })) && waited < self.timeout {
            return Err(Error::Waiting);
        }
        self.waiting = None;
        match found {
            Ok(_) => Ok(true),
            Err(error) => Err(after(error, waited).into()),
        }
    }

    /// The session, whose lock is held.
    fn session(&mut self) -> Result<(&mut Session, &mut Kept), Error> {
        let session = self.session.as_mut().ok_or(Error::ReadOnly { reason: CLOSED })?;
        Ok((session, &mut self.kept))
    }

    /// Inserts keys, into a time window at the present time, and records the ones that the log
    /// needs.
    ///
    /// # Errors
    ///
    /// The errors of the filter and of [`Session::record`]: the keys are in memory then, and are
    /// recorded by the next call that succeeds.
    pub(crate) fn insert(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        let set = &mut *kept.set;
        if is_of_time(set) {
            set.advance(now());
        }
        // After an error it marks the keys that were new before it.
        new.clear_to(0);
        let inserted = set.insert_into(digests, Repeats::Renew, new);
        let moment = set.moment_of_last(digests.len());
        if session.keeps_digests() || set.capabilities().renews {
            session.note(Operation::Insert, moment, digests.iter().copied());
        } else {
            session.note(Operation::Insert, moment, new.iter_ones().map(|i| digests[i]));
        }
        self.record()?;
        Ok(inserted?)
    }

    /// Removes a key; returns whether it was present.
    ///
    /// # Errors
    ///
    /// [`mayhap::Error::NotOfKind`], and the errors of [`Turn::insert`].
    pub(super) fn remove(&mut self, digest: Digest) -> Result<bool, Error> {
        let (session, kept) = self.session()?;
        if !kept.set.capabilities().removes {
            let kind = kept.set.kind().name();
            return Err(mayhap::Error::NotOfKind { operation: "counters", kind }.into());
        }
        let mut removed = Bitmap::new();
        kept.set.remove_into(&[digest], &mut removed)?;
        let was_there = removed.get(0);
        if was_there {
            session.note(Operation::Remove, kept.set.moment_of_last(0), [digest]);
        }
        self.record()?;
        Ok(was_there)
    }

    /// Makes a change that no log can record, and saves the filter with it.
    ///
    /// # Errors
    ///
    /// The errors of `change`, after which nothing has changed, and of [`Session::checkpoint`],
    /// after which the state is closed and the file is as it was.
    pub(crate) fn replace<R>(
        &mut self,
        change: impl FnOnce(&mut dyn Set) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (session, kept) = self.session()?;
        if session.keeps_digests() {
            return Err(Error::ReadOnly {
                reason: "the digests of its keys are kept beside the state, and this change is \
                         not one of single keys",
            });
        }
        let changed = change(&mut *kept.set)?;
        let saved = session.checkpoint(kept);
        if saved.is_err() {
            self.session = None;
        }
        Ok(saved.map(|()| changed)?)
    }

    /// Saves the filter, safe from power cuts, in place of its log.
    ///
    /// # Errors
    ///
    /// Same as [`Session::checkpoint`].
    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        Ok(session.checkpoint(kept)?)
    }

    /// Makes the records survive a power cut.
    ///
    /// # Errors
    ///
    /// Same as [`Session::sync`].
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        Ok(self.session()?.0.sync()?)
    }

    /// Writes the noted keys to the log; saves the filter when its log has become long.
    fn record(&mut self) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        session.record(kept)?;
        session.spill_digests()?;
        let log_bytes = session.log_bytes();
        if log_bytes > MIN_LOG_BYTES && log_bytes > kept.set.numbers().num_bytes {
            session.checkpoint(kept)?;
        }
        Ok(())
    }

    /// After a change: releases the lock if others have waited long.
    fn rest(&mut self) {
        self.used = Instant::now();
        if self.used.duration_since(self.looked) < BETWEEN_LOOKS {
            return;
        }
        self.looked = self.used;
        if self.session.as_ref().is_some_and(|session| session.is_wanted_after(TURN)) {
            self.release();
        }
    }

    /// Releases the lock, unless the noted keys could not be recorded: then it is tried again
    /// later.
    fn release(&mut self) {
        let Some(session) = &mut self.session else { return };
        if session.release(&mut self.kept).is_err() {
            self.used = Instant::now() + TURN;
        }
    }
}

/// The reason why a closed state is not changed.
const CLOSED: &str = "the state is closed; open it again to change it";

/// An error of the lock, with the time of all attempts.
pub(super) fn after(error: StoreError, waited: Duration) -> StoreError {
    match error {
        StoreError::Locked { path, lock_path, holder, is_left_behind, .. } => {
            StoreError::Locked { path, lock_path, holder, waited, is_left_behind }
        }
        error => error,
    }
}
