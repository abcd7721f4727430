//! Whether what was written may be acknowledged, and what is kept until its effect can be seen.

use super::{Log, Operation, Policy, Refused};
use crate::sync::{MutexGuard, Ordering, RwLockReadGuard};
use std::sync::PoisonError;
use std::time::Duration;

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
    /// Where it is; `None` for one that was deferred.
    pub ticket: Option<Ticket>,
    pub(super) _operations: RwLockReadGuard<'a, ()>,
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

impl Log {
    /// Begins to write the contents of a filter that is to be created with this id, which no filter
    /// had before. Waits for other contents to be written, and for a checkpoint to begin.
    pub fn begin_contents(&self, id: u64) -> Contents<'_> {
        let turn = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        Contents { log: self, id, parts: 0, _turn: turn }
    }

    /// What answers about an operation have to wait for: the last one, of any thread, if it
    /// is not as safe as the policy promises.
    /// [`Recorder::commit`](super::Recorder::commit) says so too.
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
}
