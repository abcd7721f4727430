//! The turns of a process at a state: when its lock is taken, what is recorded, and when others
//! may go on.
//!
//! A call takes the lock unless it is held, changes the filter, and records that in the log before
//! it returns. The lock is given up when no call has come for [`PAUSE`], by a thread of its own, or
//! when others have waited for [`TURN`]. Neither that thread nor a call waits for the interpreter's
//! lock while it holds this one; a call that finds the filter's lock taken by another process
//! returns [`Error::Waiting`] after a while, so that signals are handled between attempts.

use super::kept::Kept;
use crate::error::Error;
use crate::fork;
use mayhap::{Bitmap, Digest};
use mayhap_store::{Error as StoreError, LockOptions, Operation, Session, SessionOptions};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A process that has added nothing for so long pauses: others may have the lock meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock is not held for longer while others wait.
const TURN: Duration = Duration::from_secs(1);

/// Between two looks whether others wait.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// An attempt on the lock ends after this, so that signals are handled.
const ATTEMPT: Duration = Duration::from_millis(100);

/// A checkpoint is due when the log is as long as the filter, but not for less than this.
const MIN_LOG_BYTES: u64 = 64 << 20;

/// A state that this process changes.
pub(super) struct Turns {
    turn: Mutex<Turn>,
    /// Who gives the lock up in pauses: woken when the lock was taken, or the state is closed.
    pauses: OnceLock<Thread>,
    /// Who opened it. The lock of a file and the thread that gives it up are not those of a child.
    process: u32,
}

/// The filter with its files.
pub(super) struct Turn {
    pub(super) kept: Box<dyn Kept>,
    /// `None` once it is closed.
    session: Option<Session>,
    /// The end of the last change.
    used: Instant,
    looked: Instant,
    /// Since when a call has waited for the lock, in how many attempts ever.
    waiting: Option<Instant>,
    timeout: Duration,
}

/// How the files are opened; what others read of the holder is `mayhap_bloom`.
pub(super) fn options() -> SessionOptions {
    let lock = LockOptions::new("mayhap_bloom").timeout(ATTEMPT);
    SessionOptions::new(lock).needs_log().keeps_digests()
}

impl Turns {
    /// A state that was opened just now, whose lock is held.
    ///
    /// # Errors
    ///
    /// Those of starting a thread.
    pub(super) fn begin(
        kept: Box<dyn Kept>,
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

    /// The filter, for whoever reads.
    pub(super) fn lock(&self) -> MutexGuard<'_, Turn> {
        // A panic of another thread left whole words: bits are only set.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `change` while the lock of the filter is held, up to date with the changes by others.
    ///
    /// # Errors
    ///
    /// [`Error::Waiting`], to be called again; [`Error::ReadOnly`] if the state is closed or was
    /// opened by another process; those of the session and of `change`.
    pub(super) fn change<R>(
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

    /// Ends it: the file is the whole filter, unless others go on with it.
    ///
    /// # Errors
    ///
    /// Those of [`Session::finish`]; it is closed nevertheless, and its log has all keys.
    pub(super) fn close(&self) -> Result<(), Error> {
        if self.process != process::id() {
            return Ok(());
        }
        let mut turn = self.lock();
        let session = turn.session.take();
        self.wake();
        match session {
            Some(session) => Ok(session.finish(&mut *turn.kept).map(|_| ())?),
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

    /// Gives the lock up whenever there is nothing to do, until the state is closed.
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

/// In the child of a fork: closes the files of all states, whose locks stay those of the parent.
/// What the states had at the fork is still there to be read.
pub(crate) fn leave_to_parent() {
    for turns in open_states().drain(..).filter_map(|turns| turns.upgrade()) {
        turns.lock().session = None;
    }
}

impl Turn {
    /// Takes the lock unless it is held, and brings the filter to where others left it; whether it
    /// was taken.
    fn ready(&mut self) -> Result<bool, Error> {
        let session = self.session.as_mut().ok_or(Error::ReadOnly { reason: CLOSED })?;
        if session.is_held() {
            return Ok(false);
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let (found, waited) = (session.ready(&mut *self.kept), since.elapsed());
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
    fn session(&mut self) -> Result<(&mut Session, &mut dyn Kept), Error> {
        let session = self.session.as_mut().ok_or(Error::ReadOnly { reason: CLOSED })?;
        Ok((session, &mut *self.kept))
    }

    /// Inserts keys, and records those that have to be.
    ///
    /// # Errors
    ///
    /// Those of the filter, and of [`Session::record`]: the keys are in memory then, and are
    /// recorded by the next call that succeeds.
    pub(super) fn insert(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        // After an error it says which keys were new before that.
        new.clear_to(0);
        let inserted = kept.set_mut().insert_digests_into(digests, new);
        let time = kept.time();
        if session.keeps_digests() || kept.repeats_change_it() {
            session.note(Operation::Insert, time, digests.iter().copied());
        } else {
            session.note(Operation::Insert, time, new.iter_ones().map(|i| digests[i]));
        }
        self.record()?;
        inserted
    }

    /// Removes a key; whether it was there.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`], and as [`Turn::insert`].
    pub(super) fn remove(&mut self, digest: Digest) -> Result<bool, Error> {
        let (session, kept) = self.session()?;
        let kind = kept.set().stats().kind;
        if kind != "counting" {
            return Err(Error::NotOfKind { operation: "counters", kind });
        }
        let mut removed = Bitmap::new();
        kept.remove_digests_into(&[digest], &mut removed);
        let was_there = removed.get(0);
        if was_there {
            session.note(Operation::Remove, kept.time(), [digest]);
        }
        self.record()?;
        Ok(was_there)
    }

    /// Makes a change that no log can record, and saves the filter with it.
    ///
    /// # Errors
    ///
    /// Those of `change`, after which nothing has changed, and of [`Session::checkpoint`], after
    /// which the state is closed and the file is as it was.
    pub(super) fn replace(
        &mut self,
        change: impl FnOnce(&mut dyn crate::set::Set) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        if session.keeps_digests() {
            return Err(Error::ReadOnly {
                reason: "the digests of its keys are kept beside the state, and this change is \
                         not one of single keys",
            });
        }
        change(kept.set_mut())?;
        let saved = session.checkpoint(kept);
        if saved.is_err() {
            self.session = None;
        }
        Ok(saved?)
    }

    /// Saves the filter, safe from power cuts, in the place of its log.
    ///
    /// # Errors
    ///
    /// As [`Session::checkpoint`].
    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        Ok(session.checkpoint(kept)?)
    }

    /// Makes what was recorded survive a power cut.
    ///
    /// # Errors
    ///
    /// As [`Session::sync`].
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        Ok(self.session()?.0.sync()?)
    }

    /// Records what was noted; saves the filter when its log has become long.
    fn record(&mut self) -> Result<(), Error> {
        let (session, kept) = self.session()?;
        session.record(kept)?;
        session.spill_digests()?;
        let log_bytes = session.log_bytes();
        if log_bytes > MIN_LOG_BYTES && log_bytes > kept.set().stats().num_bytes {
            session.checkpoint(kept)?;
        }
        Ok(())
    }

    /// After a change: lets others go on if they have waited for long.
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

    /// Gives the lock up, unless what was noted could not be recorded: then again in a while.
    fn release(&mut self) {
        let Some(session) = &mut self.session else { return };
        if session.release(&mut *self.kept).is_err() {
            self.used = Instant::now() + TURN;
        }
    }
}

/// Why a closed state is not changed.
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
