//! Records that cannot be written, and how writing resumes.
//!
//! Refused changes have no effect: a turn changes filters first and writes its records at its end.
//! If they cannot be written its answers are errors, and by then the changes are made: keys are
//! inserted, others were removed or forgotten. Nothing can undo that bit by bit, since other turns
//! have come between. But the folder has every acknowledged change and nothing else, so the filters
//! of a failed turn are read from there again, as at a restart, and only then its answers are sent.
//!
//! ```text
//! begin ─► change ─► commit ─► refused ─► spoiled ─► put back (images, log) ─► answers
//! ```
//!
//! * **Turns that overlap a failure are refused too**: each notes [`Journal::refused`] when it
//!   begins, before it looks a filter up, and is refused if there was one since. So none changes a
//!   filter that was put back meanwhile, and none answers based on changes that another one had to
//!   undo.
//! * **Nothing is written meanwhile**: the log is in trouble until all filters are put back.
//! * **An image has nothing that is refused later**: a checkpoint copies filters, then waits until
//!   the turns in progress have ended, and fails if one of them was refused.

use super::{Inner, Journal};
use crate::durable::Refused;
use crate::durable::batch::Batch;
use crate::durable::store::segment_path;
use crate::durable::trouble::{Displaced, Trouble};
use crate::durable::turns::Unwritten;
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Interval of the checks whether a turn has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Journal {
    /// As [`Log::check_writable`](crate::durable::Log::check_writable).
    pub(in crate::durable) fn check_writable(&self) -> Result<(), Refused> {
        if self.safety.is_in_trouble() { self.refuse(&self.lock()) } else { Ok(()) }
    }

    /// As [`Log::check_deletable`](crate::durable::Log::check_deletable).
    pub(in crate::durable) fn check_deletable(&self) -> Result<(), Refused> {
        if self.check_writable().is_ok() || self.is_full() { Ok(()) } else { self.check_writable() }
    }

    /// # Errors
    ///
    /// [`Refused`] if files are known to be in another place.
    pub(in crate::durable) fn check_displaced(&self) -> Result<(), Refused> {
        if self.safety.is_displaced() { self.refuse(&self.lock()) } else { Ok(()) }
    }

    /// # Errors
    ///
    /// [`Refused`] if the log is in trouble.
    pub(super) fn refuse(&self, inner: &Inner) -> Result<(), Refused> {
        inner.trouble.as_ref().map_or(Ok(()), |trouble| {
            let path = self.store.path(&segment_path(inner.tail.current.number));
            Err(Refused::At { path, trouble: trouble.clone() })
        })
    }

    pub(super) fn set_trouble(&self, inner: &mut Inner, trouble: Trouble) {
        inner.last_error = Some(trouble.to_string());
        self.safety.set_trouble(Some(&trouble));
        inner.trouble = Some(trouble);
    }

    /// After a write that failed: checks whether the disk accepts writes again.
    pub(in crate::durable) fn retry(&self) {
        let mut inner = self.lock();
        if !inner.spoiled.is_empty() {
            // Not before the filters match the log.
            return;
        }
        if let Some(Trouble::Write { why, bytes, must_cut }) = inner.trouble.clone() {
            // As much as failed, so that writing does not resume at the last free byte.
            inner.trouble = match inner.tail.probe(bytes, must_cut) {
                Ok(true) => None,
                Ok(false) => Some(Trouble::Write { why, bytes, must_cut: false }),
                Err(_) => Some(Trouble::Write { why, bytes, must_cut: true }),
            };
            self.safety.set_trouble(inner.trouble.as_ref());
        }
        drop(inner);
        self.wake_waiting();
    }

    /// Files are not where they were: nothing is accepted until they are. Returns the error if it
    /// is news.
    pub(in crate::durable) fn displace(&self, what: Displaced) -> Option<Refused> {
        let mut inner = self.lock();
        match &inner.trouble {
            Some(Trouble::Sync { .. } | Trouble::Closed) => return None,
            Some(Trouble::Displaced { what: before }) if *before == what => return None,
            _ => self.set_trouble(&mut inner, Trouble::Displaced { what }),
        }
        self.refuse(&inner).err()
    }

    /// Files are where they were again: writes are tried again, once refused turns are undone.
    /// Returns whether they were not.
    pub(in crate::durable) fn be_back(&self) -> bool {
        let mut inner = self.lock();
        let was_displaced = matches!(inner.trouble, Some(Trouble::Displaced { .. }));
        if was_displaced {
            // A write that was refused meanwhile, or before, may have left a part of itself.
            let why = "its files were moved, and are back".to_owned();
            self.set_trouble(&mut inner, Trouble::Write { why, bytes: 0, must_cut: true });
            drop(inner);
            self.retry();
        }
        was_displaced
    }

    /// Whether a lack of space is the only trouble.
    pub(in crate::durable) fn is_full(&self) -> bool {
        is_full(&self.lock())
    }

    /// On a full disk, frees this many blocks of the space for deletions.
    pub(in crate::durable) fn give_blocks(&self, blocks: usize) {
        if self.is_full() {
            for _ in 0..blocks {
                self.spare.give_block();
            }
        }
    }

    /// Writes a record that the disk had no space for, in the space for deletions.
    pub(super) fn write_from_spare(
        &self,
        inner: &mut Inner,
        batch: &mut Batch,
    ) -> Result<(), Refused> {
        while is_full(inner) {
            if self.write(inner, batch).is_ok() {
                // The deleted filters still have their images.
                self.request_checkpoint();
                return Ok(());
            }
            if !self.spare.give_block() {
                break;
            }
        }
        self.refuse(inner)
    }

    /// Handles a batch whose changes are in the filters and not in the log.
    pub(super) fn refuse_batch(&self, inner: &mut Inner, batch: &Batch, why: Refused) -> Unwritten {
        let until = if batch.filters.is_empty() && inner.deferred_ids.is_empty() {
            // The turn may have seen changes that other turns have to take back.
            Some(self.refused())
        } else {
            self.fail(inner, batch.filters.iter().copied())
        };
        Unwritten { why, until }
    }

    /// Marks these filters, changed by a turn, as spoiled: its changes and the deferred operations
    /// are not in the log and never will be. Returns the number to wait for.
    pub(super) fn fail(
        &self,
        inner: &mut Inner,
        filters: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        match &inner.trouble {
            Some(Trouble::Write { .. } | Trouble::Sync { .. } | Trouble::Displaced { .. }) => {}
            // The process ends.
            Some(Trouble::Closed) => return None,
            None => {
                let why = "a write before it failed".to_owned();
                self.set_trouble(inner, Trouble::Write { why, bytes: 0, must_cut: false });
            }
        }
        inner.spoiled.extend(filters);
        // The turns that created these are refused, like all that have begun.
        inner.spoiled.extend(inner.deferred_ids.drain(..));
        inner.deferred = Batch::default();
        let number = self.turns.refuse();
        self.requested.notify_all();
        Some(number)
    }

    /// Gives up the changes of a turn.
    pub(in crate::durable) fn abandon(&self, filters: &[u64]) {
        self.fail(&mut self.lock(), filters.iter().copied());
    }

    /// Whether a filter has changed since its image.
    #[cfg(test)]
    pub(in crate::durable) fn has_changed(&self, id: u64) -> bool {
        self.lock().changes.filters.contains(&id)
    }

    /// The filters that have to be put back, in order, and the number of the last refused turn that
    /// may have changed them.
    pub(in crate::durable) fn spoiled(&self) -> (Vec<u64>, u64) {
        let inner = self.lock();
        (inner.spoiled.iter().copied().collect(), self.refused())
    }

    /// The filters spoiled up to this refused turn are put back, unless that failed; its answers
    /// may be sent. Returns `false` if there was another one: it may have changed a filter that was
    /// put back.
    pub(in crate::durable) fn end_putting_back(&self, number: u64, is_done: bool) -> bool {
        let mut inner = self.lock();
        if is_done && self.refused() != number {
            return false;
        }
        if is_done {
            inner.spoiled.clear();
        }
        self.turns.set_undone(number);
        drop(inner);
        self.wake_waiting();
        true
    }

    /// Waits until all turns in progress have ended, so that the copied changes are in the log or
    /// were refused.
    ///
    /// # Errors
    ///
    /// [`Refused`] if one of them was.
    pub(in crate::durable) fn wait_for_turns(&self, refused: u64) -> Result<(), Refused> {
        let under_way = self.turns.under_way();
        let mut inner = self.lock();
        self.turns.await_ends(true);
        // ORDERING: Acquire, with the Release of `UnderWay::end`: the result of the turn is seen.
        let has_ended =
            |(turn, number): &(Arc<AtomicU64>, u64)| turn.load(Ordering::Acquire) != *number;
        while !under_way.iter().all(has_ended) {
            inner = self.wait_for_progress(inner, LOOK);
        }
        self.turns.await_ends(false);
        if self.refused() != refused || !inner.spoiled.is_empty() {
            return Err(Refused::Meanwhile);
        }
        Ok(())
    }
}

fn is_full(inner: &Inner) -> bool {
    inner.trouble.as_ref().is_some_and(Trouble::is_full)
}
