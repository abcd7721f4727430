//! Group commit: how what the log has written gets onto the disk, and who is woken.

use super::disk::again;
use super::log::Inner;
use super::recorder::{Batch, Unsafe};
use super::trouble::{Trouble, refusal};
use super::{Log, Refused};
use crate::fail_point::fail_point;
use crate::sync::Ordering;
use std::sync::PoisonError;
use std::time::{Instant, SystemTime};

impl Log {
    /// Makes all that was written survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Refused`] from then on, until the folder is opened again: what the kernel could not write
    /// it may have forgotten.
    pub fn sync(&self) -> Result<(), Refused> {
        let turn = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inner = self.lock();
        if let Some(trouble @ (Trouble::Sync { .. } | Trouble::Displaced { .. })) = &inner.trouble {
            // What is synced now is not what the next start finds.
            return Err(refusal(trouble));
        }
        if inner.dirty_since.is_none() && inner.older.is_empty() {
            return Ok(());
        }
        inner.syncing_since = inner.dirty_since.take();
        self.publish_unsynced(&inner);
        let (older, file, target) = (inner.older.len(), inner.file.clone(), inner.sequence);
        let mut files = inner.older.clone();
        files.push(file);
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
                inner.older.drain(..older);
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
        // ORDERING: AcqRel, with the Acquire of `synced_to`. The maximum, since a sync and a
        // checkpoint may end in either order.
        self.synced.fetch_max(target, Ordering::AcqRel);
        while inner.waiting.front().is_some_and(|(ticket, _)| *ticket <= target) {
            if let Some((_, counts)) = inner.waiting.pop_front() {
                counts.iter().for_each(Unsafe::settle);
            }
        }
        self.publish_unsynced(inner);
    }

    pub(super) fn publish_unsynced(&self, inner: &Inner) {
        let since = inner.syncing_since.or(inner.dirty_since).unwrap_or(u64::MAX);
        // ORDERING: Release, with the Acquire of `unsynced_ms`.
        self.unsynced_since.store(since, Ordering::Release);
    }

    /// Says in an empty frame that all before it is on the disk, unless a frame has said so: then
    /// none of it can be taken for a write that was cut off.
    pub(super) fn vouch(&self) {
        let mut inner = self.lock();
        let synced = self.synced_to();
        let is_all = inner.sequence == synced && inner.deferred.frames.is_empty();
        if inner.trouble.is_none() && is_all && inner.vouched < synced {
            let mut batch = Batch::default();
            batch.begin();
            batch.seal(self.id);
            let dirty_since = inner.dirty_since;
            if self.write(&mut inner, &mut batch).is_ok() {
                // Nobody waits for it, and losing it does no harm.
                inner.dirty_since = dirty_since;
                inner.vouched = inner.sequence;
                self.publish_unsynced(&inner);
            }
        }
    }
}
