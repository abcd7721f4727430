//! What the log reports of itself.

use super::previous::Checkpoints;
use super::trouble::Trouble;
use super::{Log, Policy};
use crate::metrics::Took;
use std::path::PathBuf;
use std::sync::{PoisonError, TryLockError};
use std::time::SystemTime;

/// What the log reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that holds with any other")]
pub struct Stats {
    /// When insertions are acknowledged.
    pub policy: Policy,
    /// Bytes that a start would replay.
    pub log_bytes: u64,
    /// The number of the segment that is written.
    pub segment: u64,
    /// Frames since the folder was made.
    pub frames: u64,
    /// Of them, those that are not on the disk.
    pub unsynced_frames: u64,
    /// Milliseconds since the oldest of them was written.
    pub unsynced_ms: u64,
    /// When the log was last synced.
    pub last_sync: Option<SystemTime>,
    /// Whether anything can be written now.
    pub writable: bool,
    /// Whether a sync failed: nothing is acknowledged until the folder is opened again.
    pub poisoned: bool,
    /// Whether files of the log were removed, moved or replaced: nothing is acknowledged until
    /// all filters are saved anew.
    pub displaced: bool,
    /// The last trouble, also if it is over.
    pub last_error: Option<String>,
    /// Filters that were changed since they were saved.
    pub changed_filters: u64,
    /// When the last checkpoint was made, in milliseconds since 1970.
    pub checkpoint_at: u64,
    /// Why the last attempt at one failed, if it did.
    pub checkpoint_error: Option<String>,
    /// Whether one is being made now.
    pub checkpoint_running: bool,
    /// Bytes of all images.
    pub image_bytes: u64,
    /// How long syncs of the log took.
    pub syncs: Took,
    /// How long checkpoints took.
    pub checkpoints: Took,
}

impl Log {
    /// What the log reports of itself; waits for nothing but a write that is going on.
    pub fn stats(&self) -> Stats {
        let saved = self.saved.read().unwrap_or_else(PoisonError::into_inner).clone();
        let running = matches!(self.checkpoints.try_lock(), Err(TryLockError::WouldBlock));
        let inner = self.lock();
        let synced = self.synced_to();
        Stats {
            policy: self.policy(),
            log_bytes: inner.older_bytes + inner.end,
            segment: inner.segment,
            frames: inner.sequence,
            unsynced_frames: inner.sequence.saturating_sub(synced),
            unsynced_ms: self.unsynced_ms(),
            last_sync: inner.last_sync,
            writable: inner.trouble.is_none(),
            poisoned: matches!(inner.trouble, Some(Trouble::Sync { .. })),
            displaced: matches!(inner.trouble, Some(Trouble::Displaced { .. })),
            last_error: inner.last_error.clone(),
            changed_filters: inner.filters.len() as u64,
            checkpoint_at: saved.at,
            checkpoint_error: saved.error,
            checkpoint_running: running,
            image_bytes: saved.image_bytes,
            syncs: self.sync_times.get(),
            checkpoints: self.checkpoint_times.get(),
        }
    }

    pub(super) fn publish_saved(&self, checkpoints: &Checkpoints, error: Option<String>) {
        let (at, image_bytes) = (checkpoints.manifest.made_at, checkpoints.image_bytes());
        let saved = LastSaved { at, image_bytes, error };
        *self.saved.write().unwrap_or_else(PoisonError::into_inner) = saved;
    }

    /// The data folder, without the name of a file.
    pub fn folder(&self) -> PathBuf {
        self.store.path("")
    }
}

/// What is known of the last checkpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct LastSaved {
    pub(super) at: u64,
    pub(super) image_bytes: u64,
    pub(super) error: Option<String>,
}
