//! The options of a session, and the results of its calls.

use crate::LockOptions;

/// The options with which a session opens its files.
#[derive(Debug)]
pub struct SessionOptions {
    pub(super) lock: LockOptions,
    pub(super) needs_log: bool,
    pub(super) without_log: bool,
    pub(super) keeps_digests: bool,
}

impl SessionOptions {
    /// Options with this lock; the other methods set the rest.
    pub fn new(lock: LockOptions) -> Self {
        Self { lock, needs_log: false, without_log: false, keeps_digests: false }
    }

    /// Immediately rejects a state whose log cannot be begun because another file has its name.
    #[must_use]
    pub fn needs_log(self) -> Self {
        Self { needs_log: true, ..self }
    }

    /// Promises to note every digest of a filter whose digests are kept beside it, not only those
    /// that were new. Without this promise such a filter is not opened.
    #[must_use]
    pub fn keeps_digests(self) -> Self {
        Self { keeps_digests: true, ..self }
    }

    /// Continues without a log that was begun and is missing. Its records are lost; the filter
    /// becomes a new state, so that the log is not replayed into it should it reappear.
    #[must_use]
    pub fn without_log(self, without_log: bool) -> Self {
        Self { without_log, ..self }
    }
}

/// Whether a filter in memory is unchanged when the lock is taken again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// No other process has changed anything.
    AsLeft,
    /// It includes the changes by others.
    Changed,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The file is the whole filter, and there is no log.
    Saved,
    /// There was nothing to save.
    Unchanged,
    /// Everything is in the log, on disk: other processes continue with it, and the last one will
    /// save.
    LeftToOthers,
}
