//! How a session is opened, and what its calls return.

use crate::LockOptions;

/// How a session opens its files.
#[derive(Debug)]
pub struct SessionOptions {
    pub(super) lock: LockOptions,
    pub(super) needs_log: bool,
    pub(super) without_log: bool,
}

impl SessionOptions {
    /// With this lock; the other methods set the rest.
    pub fn new(lock: LockOptions) -> Self {
        Self { lock, needs_log: false, without_log: false }
    }

    /// Refuses, at once, a state whose log cannot be begun since another file has its name.
    #[must_use]
    pub fn needs_log(self) -> Self {
        Self { needs_log: true, ..self }
    }

    /// Goes on without a log that was begun and is not there. What it had is lost; the filter
    /// becomes another state, so that the log is not replayed into it should it come back.
    #[must_use]
    pub fn without_log(self, without_log: bool) -> Self {
        Self { without_log, ..self }
    }
}

/// Whether a filter in memory is as it was left, when the lock is taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nobody else has changed anything.
    AsLeft,
    /// It has what others did meanwhile.
    Changed,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The file is the whole filter, and there is no log.
    Saved,
    /// There was nothing to save.
    Unchanged,
    /// All is in the log, on the disk: other processes go on with it, and the last one will save.
    LeftToOthers,
}
