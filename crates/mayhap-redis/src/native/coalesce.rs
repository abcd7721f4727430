//! Coalescing: single calls of many tasks are sent in one pipeline.
//!
//! A call with one key costs the client about as much as one with ten, mostly for waking tasks and
//! system calls. So keys that arrive while others are in flight wait, not for a timer but for one
//! of a few pipelines to complete, and are then sent together. A key that arrives alone is sent at
//! once.

use super::round::{Act, Answer};
use crate::Error;
use mayhap::Digest;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The largest number of pipelines of single calls in flight, and of keys in one.
///
/// An insertion is more work for the server than for the client: while the server executes one
/// part, the client prepares the next. With 200 callers this gave 1.7 times the throughput of
/// pipelines of up to 1,000 keys. A query is less work: the fewer pipelines, the better.
pub(super) fn most(act: Act) -> (usize, usize) {
    match act {
        Act::Insert => (4, 100),
        Act::Query => (2, 1000),
    }
}

/// Keys that wait for the next pipeline of a handle.
#[derive(Debug, Default)]
pub(super) struct Coalescer {
    insert: Mutex<Queue>,
    query: Mutex<Queue>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Waiting>,
    /// Pipelines in flight.
    pub(super) drivers: usize,
}

/// A key, and the waiter for its outcome.
pub(super) type Waiting = (Digest, oneshot::Sender<Result<Answer, Error>>);

impl Coalescer {
    /// The keys that wait to be inserted, or to be queried.
    pub(super) fn queue(&self, act: Act) -> MutexGuard<'_, Queue> {
        let queue = match act {
            Act::Insert => &self.insert,
            Act::Query => &self.query,
        };
        queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
