//! Positions in the log, and a guard to keep until an effect is visible.

use crate::sync::RwLockReadGuard;

/// A position in the log: the number of frames up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Whether records up to a position may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// They are as safe as the policy promises.
    Safe,
    /// Not yet.
    Waiting,
    /// They never will be: [`Log::check_writable`](super::Log::check_writable) returns the reason.
    Refused,
}

/// An operation that is in the log; to be kept until its effect is visible, so that no checkpoint
/// begins between the two.
#[derive(Debug)]
#[must_use = "to be kept until the effect of the operation can be seen"]
pub struct Logged<'a> {
    /// Its position; `None` for one that was deferred.
    pub ticket: Option<Ticket>,
    pub(super) _operations: RwLockReadGuard<'a, ()>,
}
