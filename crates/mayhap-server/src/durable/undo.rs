//! What is refused has changed nothing: filters are put back to what the folder has of them.
//!
//! A turn changes filters first and writes its records at its end. If they cannot be written its
//! answers are errors, and by then the changes are made: keys are in, others were removed or
//! forgotten. Nothing can take that back bit by bit, since other turns have come between. But the
//! folder has all that was acknowledged and nothing else, so that the filters of a turn that failed
//! are read from there again, as a restart would, and only then its answers go.
//!
//! ```text
//! begin ─► change ─► commit ─► refused ─► spoiled ─► put_back (images, log) ─► answers
//! ```
//!
//! * **Turns that overlap a failure are refused too**: each notes [`Log::failures`] when it begins,
//!   before it looks a filter up, and is refused if there was one since. So none changes a filter
//!   that was put back meanwhile, and none answers by what another one had to take back.
//! * **Nothing is written meanwhile**: there is trouble until all filters are put back.
//! * **An image has nothing that is refused later**: a checkpoint copies filters, then waits until
//!   the turns that were under way have ended, and fails if one of them was refused.

use super::load::load_images;
use super::log::Inner;
use super::previous::Checkpoints;
use super::recorder::Batch;
use super::recover::replay_log;
use super::trouble::Trouble;
use super::turns::UnderWay;
use super::{Answered, Error, Filters, Image, Log, Refused, Replay, ReplayError, Report, Saved};
use crate::sync::{AtomicU64, Ordering, fence};
use mayhap::Digest;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Between two looks at whether a turn has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Log {
    /// How many turns were refused so far.
    pub(super) fn failures(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `fail`: who finds a failure over finds the filters
        // put back.
        self.failures.load(Ordering::Acquire)
    }

    /// The changes of a turn, to these filters, are not in the log and never will be, and neither
    /// are operations that were deferred; the number to wait for. With the log locked.
    pub(super) fn fail(
        &self,
        inner: &mut Inner,
        filters: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        match &inner.trouble {
            Some(Trouble::Write { .. } | Trouble::Sync { .. }) => {}
            // The folder is not there to be read: the next images have what the filters have. Or
            // the process ends.
            Some(Trouble::Displaced { .. } | Trouble::Closed) => return None,
            None => {
                let why = "a write before it failed".to_owned();
                self.set_trouble(inner, Trouble::Write { why, bytes: 0, must_cut: false });
            }
        }
        inner.spoiled.extend(filters);
        // Whoever has created these is refused, as all are that have begun.
        inner.spoiled.extend(inner.deferred_ids.drain(..));
        inner.deferred = Batch::default();
        // ORDERING: Release, with the Acquire of `failures`. Under the lock, as all writes of it.
        let number = self.failures.load(Ordering::Relaxed) + 1;
        self.failures.store(number, Ordering::Release);
        self.requested.notify_all();
        Some(number)
    }

    /// What a turn has changed is given up.
    pub(super) fn abandon(&self, filters: &[u64]) {
        let mut inner = self.lock();
        self.fail(&mut inner, filters.iter().copied());
    }

    /// Whether a filter was changed since its image.
    #[cfg(test)]
    pub(super) fn has_changed(&self, id: u64) -> bool {
        self.lock().filters.contains(&id)
    }

    /// Whether filters have to be put back.
    pub(super) fn has_spoiled(&self) -> bool {
        !self.lock().spoiled.is_empty()
    }

    /// Whether all is put back that a turn had changed which was refused with this number.
    pub fn is_undone(&self, number: u64) -> bool {
        // ORDERING: Acquire, with the Release of `put_back`.
        self.undone.load(Ordering::Acquire) >= number || self.is_closed()
    }

    /// Waits for that.
    pub fn wait_undone(&self, number: u64) {
        let mut inner = self.lock();
        while !self.is_undone(number) {
            let waited = self.progress.wait_timeout(inner, Duration::from_millis(100));
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Puts the filters back that turns have changed which were refused, if there are any. The
    /// thread that makes checkpoints does so as soon as there are.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read: nothing is written, and queries of these filters are errors,
    /// until it can be. The refused answers go nevertheless.
    pub fn put_back(&self, filters: &dyn Filters) -> Result<(), Error> {
        let checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let done = loop {
            let (number, spoiled): (_, Vec<u64>) = {
                let inner = self.lock();
                (self.failures(), inner.spoiled.iter().copied().collect())
            };
            let done = if spoiled.is_empty() {
                Ok(())
            } else {
                filters.put_back(&spoiled, &|listed, replay| {
                    self.read_back(&checkpoints, &spoiled, listed, replay)
                })
            };
            let mut inner = self.lock();
            // A turn that had begun before may have changed what was put back.
            if self.failures() == number || done.is_err() {
                if done.is_ok() {
                    inner.spoiled.clear();
                }
                // ORDERING: Release, with the Acquire of `is_undone`: the filters are there.
                self.undone.store(number, Ordering::Release);
                break done;
            }
        };
        drop(checkpoints);
        self.wake_waiting();
        done
    }

    /// Fills `replay` with what the folder has of these filters, which are `listed` as they are
    /// now.
    fn read_back(
        &self,
        checkpoints: &Checkpoints,
        ids: &[u64],
        listed: Vec<Saved>,
        replay: &dyn Replay,
    ) -> Result<(), Error> {
        let mut manifest = checkpoints.manifest.clone();
        let images = checkpoints.images_of(ids);
        let mut listed = listed.into_iter().peekable();
        manifest.filters = images
            .filter_map(|(id, of)| {
                while listed.next_if(|saved| saved.id < id).is_some() {}
                Some((listed.next_if(|saved| saved.id == id)?, of?))
            })
            .collect();
        let mut report = Report::default();
        load_images(&self.store, &manifest, 1, replay, &|_| {}, &mut report)?;
        let only = Only { ids: ids.iter().copied().collect(), replay };
        replay_log(&self.store, &manifest, &only, &|_| {}, &mut report)?;
        Ok(())
    }

    /// Waits until all turns have ended that are under way, so that what was copied of filters is
    /// in the log or was refused.
    ///
    /// # Errors
    ///
    /// [`Refused`] if one of them was.
    pub(super) fn wait_for_turns(&self, failures: u64) -> Result<(), Refused> {
        let under_way = self.turns.lock().unwrap_or_else(PoisonError::into_inner).under_way();
        let mut inner = self.lock();
        // ORDERING: SeqCst, all three, with those of `end_turn`: a turn that ends finds that it is
        // waited for, or its end is found here.
        self.waits_for_turns.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let has_ended =
            |(turn, number): &(Arc<AtomicU64>, u64)| turn.load(Ordering::Acquire) != *number;
        while !under_way.iter().all(has_ended) {
            let waited = self.progress.wait_timeout(inner, LOOK);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.waits_for_turns.store(false, Ordering::SeqCst);
        if self.failures() != failures || !inner.spoiled.is_empty() {
            return Err(Refused("a write was refused meanwhile".to_owned()));
        }
        Ok(())
    }

    /// A turn has ended.
    pub(super) fn end_turn(&self, turn: &UnderWay) {
        turn.end();
        // ORDERING: SeqCst, with the fence before it: `wait_for_turns`.
        if self.waits_for_turns.load(Ordering::SeqCst) {
            // Who has looked and not yet slept is asleep then.
            drop(self.lock());
            self.progress.notify_all();
        }
    }
}

/// What the log has of some filters alone.
struct Only<'a> {
    ids: HashSet<u64>,
    replay: &'a dyn Replay,
}

impl Only<'_> {
    fn of(&self, id: u64) -> Option<&dyn Replay> {
        self.ids.contains(&id).then_some(self.replay)
    }

    fn of_or_ok(
        &self,
        id: u64,
        f: impl FnOnce(&dyn Replay) -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        self.of(id).map_or(Ok(()), f)
    }
}

impl Replay for Only<'_> {
    fn create(
        &self,
        id: u64,
        name: &[u8],
        spec: &[u8],
        expires_at: u64,
    ) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.create(id, name, spec, expires_at))
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.image(id, mark, image))
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.insert(id, digests, answered))
    }

    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.keys(id, keys))
    }

    fn ordered(
        &self,
        id: u64,
        order: u64,
        what: u64,
        digests: &[Digest],
    ) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.ordered(id, order, what, digests))
    }

    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError> {
        self.of_or_ok(id, |replay| replay.load(id, part, bytes))
    }

    fn remove(&self, id: u64) {
        if let Some(replay) = self.of(id) {
            replay.remove(id);
        }
    }

    fn rename(&self, id: u64, name: &[u8]) {
        if let Some(replay) = self.of(id) {
            replay.rename(id, name);
        }
    }

    fn expire(&self, id: u64, expires_at: u64) {
        if let Some(replay) = self.of(id) {
            replay.expire(id, expires_at);
        }
    }

    fn clear(&self) {
        self.replay.clear();
    }
}
