//! Group commit: syncing the log to the disk, and waking those that wait for it.

use super::{Inner, Journal};
use crate::durable::batch::Unsafe;
use crate::durable::disk::again;
use crate::durable::ticket::{State, Ticket};
use crate::durable::trouble::Trouble;
use crate::durable::{Policy, Refused, Stats};
use crate::fail_point::fail_point;
use crate::sync::{Ordering, unpoisoned};
use std::time::{Duration, Instant, SystemTime};

const TICK: Duration = Duration::from_secs(1);
/// Interval at which waiting threads check again: under `everysec` the passing of time alone can
/// change the answer.
const WAIT: Duration = Duration::from_millis(100);

/// The next task of the sync thread.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// Nothing before this time has passed.
    In(Duration),
    /// Sync the log.
    Sync,
    /// The tasks of each second.
    Tick,
}

impl Journal {
    /// As [`Log::sync`](crate::durable::Log::sync).
    pub(in crate::durable) fn sync(&self) -> Result<(), Refused> {
        let turn = unpoisoned(self.syncing.lock());
        let mut inner = self.lock();
        if let Some(trouble @ (Trouble::Sync { .. } | Trouble::Displaced { .. })) = &inner.trouble {
            // The next start would not find the data synced now.
            return Err(Refused::Unsynced(trouble.clone()));
        }
        if inner.dirty_since.is_none() && inner.tail.older.is_empty() {
            return Ok(());
        }
        inner.syncing_since = inner.dirty_since.take();
        self.publish_unsynced(&inner);
        let mut files = inner.tail.older.clone();
        let (older, target) = (files.len(), inner.tail.next.sequence);
        files.push(inner.tail.current.file.clone());
        drop(inner);
        fail_point("log.syncing");
        let began = Instant::now();
        let done = files.iter().try_for_each(|file| again(|| file.sync()));
        self.sync_times.took(began.elapsed());
        fail_point("log.synced");
        let mut inner = self.lock();
        let since = inner.syncing_since.take();
        let result = match done {
            Ok(()) if matches!(inner.trouble, Some(Trouble::Displaced { .. })) => {
                inner.dirty_since = since.or(inner.dirty_since);
                self.publish_unsynced(&inner);
                self.refuse(&inner)
            }
            Ok(()) => {
                inner.tail.set_synced(older);
                inner.last_sync = Some(SystemTime::now());
                self.set_synced(&mut inner, target);
                Ok(())
            }
            Err(error) => {
                self.set_trouble(&mut inner, Trouble::Sync { why: error.to_string() });
                self.refuse(&inner)
            }
        };
        drop(inner);
        drop(turn);
        self.wake_waiting();
        result
    }

    /// Everything before this frame is safe, by a sync or by images.
    pub(super) fn set_synced(&self, inner: &mut Inner, target: u64) {
        self.safety.set_synced(target);
        while inner.waiting.front().is_some_and(|(ticket, _)| *ticket <= target) {
            if let Some((_, counts)) = inner.waiting.pop_front() {
                counts.iter().for_each(Unsafe::settle);
            }
        }
        self.publish_unsynced(inner);
    }

    pub(super) fn publish_unsynced(&self, inner: &Inner) {
        self.safety.set_unsynced(inner.syncing_since.or(inner.dirty_since));
    }

    /// Declares in an empty frame that all before it is on the disk, unless a frame has done so:
    /// then none of it can be mistaken for a write that was cut off.
    fn vouch(&self) {
        let inner = &mut *self.lock();
        let synced = self.safety.synced_to();
        let is_all = inner.tail.next.sequence == synced && inner.deferred.frames.is_empty();
        if inner.trouble.is_none() && is_all && inner.tail.vouched < synced {
            // It is not synced, as no client waits for it.
            if let Err(trouble) = inner.tail.vouch() {
                self.set_trouble(inner, trouble);
            }
        }
    }

    /// As [`Log::wait`](crate::durable::Log::wait).
    pub(in crate::durable) fn wait(&self, ticket: Ticket) -> Result<(), Refused> {
        let mut inner = self.lock();
        loop {
            match self.safety.state(ticket) {
                State::Safe => return Ok(()),
                State::Refused => return self.refuse(&inner),
                State::Waiting => inner = self.wait_for_progress(inner, WAIT),
            }
        }
    }

    /// As [`Log::is_undone`](crate::durable::Log::is_undone).
    pub(in crate::durable) fn is_undone(&self, number: u64) -> bool {
        self.turns.is_undone(number) || self.is_closed()
    }

    /// Waits for [`Journal::is_undone`].
    pub(in crate::durable) fn wait_undone(&self, number: u64) {
        let mut inner = self.lock();
        while !self.is_undone(number) {
            inner = self.wait_for_progress(inner, WAIT);
        }
    }

    /// As [`Log::close`](crate::durable::Log::close).
    pub(in crate::durable) fn close(&self) -> Result<(), Refused> {
        let synced = self.write_deferred().and_then(|()| self.sync());
        if synced.is_ok() {
            self.vouch();
        }
        let mut inner = self.lock();
        if inner.trouble.is_none() {
            if synced.is_ok() {
                // Only to mark a clean end; nothing depends on it.
                let _ = inner.tail.current.file.sync();
            }
            self.set_trouble(&mut inner, Trouble::Closed);
            inner.last_error = None;
        }
        drop(inner);
        // ORDERING: Release, with the Acquire of `is_closed`.
        self.closed.store(true, Ordering::Release);
        self.work.notify_all();
        self.requested.notify_all();
        self.wake_waiting();
        synced
    }

    /// One iteration of the sync thread, once a second, or under `always` whenever there is
    /// something.
    pub(in crate::durable) fn tick(&self) {
        self.retry();
        if self.safety.policy != Policy::No {
            // Waiting clients are woken; there is nothing else to do about an error here.
            let _ = self.sync();
        }
        self.vouch();
    }

    /// Syncs until the log is closed.
    pub(in crate::durable) fn keep_synced(&self) {
        let mut ticked = self.safety.now();
        self.keep_spare();
        while !self.is_closed() {
            let inner = self.lock();
            // Checked and slept with the log locked, so that no write in between goes unnoticed.
            match self.sync_is_due(&inner, ticked) {
                Due::In(left) => drop(unpoisoned(self.work.wait_timeout(inner, left))),
                due => {
                    drop(inner);
                    self.sync_if(due, &mut ticked);
                    self.keep_spare();
                }
            }
        }
    }

    /// Restores the space for deletions, if there is any.
    pub(in crate::durable) fn keep_spare(&self) {
        if self.check_writable().is_ok() {
            self.spare.keep();
        }
    }

    /// The next task of the sync thread. `ticked` is when it last did the tasks of a second.
    fn sync_is_due(&self, inner: &Inner, ticked: u64) -> Due {
        // Deletions are written on a full disk, too.
        let is_written = matches!(inner.trouble, None | Some(Trouble::Write { .. }));
        let writes = inner.dirty_since.is_some() && is_written;
        let since = Duration::from_millis(self.safety.now().saturating_sub(ticked));
        let left = TICK.saturating_sub(since);
        match (self.safety.policy == Policy::Always && writes, left.is_zero()) {
            (_, true) => Due::Tick,
            (true, false) => Due::Sync,
            (false, false) => Due::In(left),
        }
    }

    fn sync_if(&self, due: Due, ticked: &mut u64) {
        match due {
            Due::In(_) => {}
            // Waiting clients are woken; there is nothing else to do about an error here.
            Due::Sync => drop(self.sync()),
            Due::Tick => {
                self.tick();
                *ticked = self.safety.now();
            }
        }
    }

    /// One iteration of that thread without its sleep.
    #[cfg(test)]
    pub(in crate::durable) fn sync_turn(&self, ticked: &mut u64) {
        let due = self.sync_is_due(&self.lock(), *ticked);
        self.sync_if(due, ticked);
    }

    /// The statistics of the records; the rest is left empty.
    pub(in crate::durable) fn stats(&self) -> Stats {
        let inner = self.lock();
        let frames = inner.tail.next.sequence;
        Stats {
            policy: self.safety.policy,
            log_bytes: inner.tail.bytes(),
            segment: inner.tail.current.number,
            frames,
            unsynced_frames: frames.saturating_sub(self.safety.synced_to()),
            unsynced_ms: self.safety.unsynced_ms(),
            last_sync: inner.last_sync,
            writable: inner.trouble.is_none(),
            poisoned: matches!(inner.trouble, Some(Trouble::Sync { .. })),
            displaced: matches!(inner.trouble, Some(Trouble::Displaced { .. })),
            last_error: inner.last_error.clone(),
            changed_filters: inner.changes.filters.len() as u64,
            syncs: self.sync_times.get(),
            ..Stats::default()
        }
    }
}
