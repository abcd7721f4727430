//! Statistics of the log.

use super::Policy;
use super::previous::Checkpoints;
use crate::times::Took;
use std::time::SystemTime;

/// Statistics of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that holds with any other")]
pub struct Stats {
    /// When insertions are acknowledged.
    pub policy: Policy,
    /// Bytes that a start would replay.
    pub log_bytes: u64,
    /// The number of the current segment.
    pub segment: u64,
    /// Frames since the folder was created.
    pub frames: u64,
    /// Frames among them that are not on the disk.
    pub unsynced_frames: u64,
    /// Milliseconds since the oldest unsynced frame was written.
    pub unsynced_ms: u64,
    /// When the log was last synced.
    pub last_sync: Option<SystemTime>,
    /// Whether anything can be written now.
    pub writable: bool,
    /// Whether a sync failed: nothing is acknowledged until the folder is opened again.
    pub poisoned: bool,
    /// Whether files of the log were removed, moved or replaced: nothing is acknowledged until
    /// they are back.
    pub displaced: bool,
    /// The last trouble, even if it is over.
    pub last_error: Option<String>,
    /// Filters that have changed since they were saved.
    pub changed_filters: u64,
    /// When the last checkpoint was made, in milliseconds since 1970.
    pub checkpoint_at: u64,
    /// Why the last attempt at a checkpoint failed, if it did.
    pub checkpoint_error: Option<String>,
    /// Whether a checkpoint is being made now.
    pub checkpoint_running: bool,
    /// Bytes of all images.
    pub image_bytes: u64,
    /// How long syncs of the log took.
    pub syncs: Took,
    /// How long checkpoints took.
    pub checkpoints: Took,
}

/// Data on the last checkpoint.
#[derive(Debug, Clone)]
pub(super) struct LastSaved {
    pub(super) at: u64,
    pub(super) image_bytes: u64,
    pub(super) error: Option<String>,
}

impl LastSaved {
    pub(super) fn of(state: &Checkpoints, error: Option<String>) -> Self {
        Self { at: state.manifest.made_at, image_bytes: state.image_bytes(), error }
    }
}
