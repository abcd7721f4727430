//! The options of a session, and the results of its calls.

use crate::LockOptions;

/// The log of a large filter stays when a session ends, up to this share of the image.
const KEPT_SHARE: u64 = 16;

/// The options with which a session opens its files.
#[derive(Debug)]
pub struct SessionOptions {
    pub(super) lock: LockOptions,
    pub(super) needs_log: bool,
    pub(super) without_log: bool,
    pub(super) keeps_digests: bool,
    keeps_log_from: Option<u64>,
    kept_share: u64,
}

impl SessionOptions {
    /// Options with this lock; the other methods set the rest.
    pub fn new(lock: LockOptions) -> Self {
        Self {
            lock,
            needs_log: false,
            without_log: false,
            keeps_digests: false,
            keeps_log_from: None,
            kept_share: KEPT_SHARE,
        }
    }

    /// Immediately rejects a state whose log cannot be begun because another file has its name.
    #[must_use]
    pub fn needs_log(self) -> Self {
        Self { needs_log: true, ..self }
    }

    /// Promises to note every digest of a filter whose digests are kept beside it, not only the new
    /// ones. Without this promise such a filter is not opened.
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

    /// Leaves the log of a plain filter of at least this many bytes as it is when the session ends,
    /// as long as it has at most a sixteenth of them: reading it again costs less than a new image.
    /// Other kinds are loaded whole by any reader if they have a log.
    #[must_use]
    pub fn keeps_log_from(self, filter_bytes: u64) -> Self {
        Self { keeps_log_from: Some(filter_bytes), ..self }
    }

    /// A larger share for the log, so that a small filter of a test keeps several records.
    #[cfg(test)]
    pub(crate) fn kept_share(self, kept_share: u64) -> Self {
        Self { kept_share, ..self }
    }

    /// Whether a log of this length stays at the end, for a filter of this size.
    pub(super) fn keeps_log(&self, log_bytes: u64, filter_bytes: u64) -> bool {
        self.keeps_log_from.is_some_and(|from| filter_bytes >= from)
            && log_bytes <= filter_bytes / self.kept_share
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

/// The result of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The file is the whole filter, and there is no log.
    Saved,
    /// There was nothing to save.
    Unchanged,
    /// Everything is in the log, on disk: other processes continue with it, and the last one will
    /// save.
    LeftToOthers,
    /// Everything is in the log, on disk, and an image would cost more than reading it again
    /// ([`SessionOptions::keeps_log_from`]).
    Recorded,
}
