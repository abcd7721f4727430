//! The next layers of filters that grow, allocated before they are needed.
//!
//! A layer of some MiB costs the thread that allocates it milliseconds, and the threads that fill
//! it first wait for the system to find each page. So a thread of its own does both. If it is late,
//! the thread that needs the layer allocates it, or takes it as far as it is.

use super::lock::locked;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The filters that need a layer soon, by their ids.
#[derive(Debug, Default)]
pub(super) struct Growth {
    due: Mutex<BTreeSet<u64>>,
    /// A filter is due, or the thread is to end.
    changed: Condvar,
    /// Whether there is a thread that serves the queue.
    runs: AtomicBool,
}

impl Growth {
    /// Queues a filter; does nothing without a thread.
    pub(super) fn request(&self, id: u64) {
        if self.runs() {
            locked(&self.due).insert(id);
            self.changed.notify_one();
        }
    }

    /// The next filter; `None` when the thread is to end.
    fn next(&self) -> Option<u64> {
        let mut due = locked(&self.due);
        while self.runs() {
            if let Some(id) = due.pop_first() {
                return Some(id);
            }
            due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Whether there is a thread that serves the queue.
    pub(super) fn runs(&self) -> bool {
        // ORDERING: Acquire, with the Release of `start` and `stop`. The queue itself is behind its
        // lock; a request that misses a start or a stop changes nothing but who allocates.
        self.runs.load(Ordering::Acquire)
    }

    fn stop(&self) {
        // Under the lock, or the thread could miss it between its look and its sleep.
        let mut due = locked(&self.due);
        // ORDERING: Release, with the Acquire of `runs`.
        self.runs.store(false, Ordering::Release);
        due.clear();
        self.changed.notify_all();
    }
}

/// The thread that allocates layers before they are needed, for all filters of a keyspace.
///
/// Dropping it ends the thread, and waits for as long as one allocation and 2 MiB of it take.
#[derive(Debug)]
pub struct Growing {
    growth: Arc<Growth>,
    thread: Option<JoinHandle<()>>,
}

impl Growing {
    /// Starts the thread, which calls `grow` for each filter that is due.
    pub(super) fn start(
        growth: Arc<Growth>,
        grow: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        // ORDERING: Release, with the Acquire of `runs`.
        growth.runs.store(true, Ordering::Release);
        let mut growing = Self { growth: growth.clone(), thread: None };
        let thread = thread::Builder::new().name("growth".to_owned());
        growing.thread = Some(thread.spawn(move || {
            while let Some(id) = growth.next() {
                grow(id);
            }
        })?);
        Ok(growing)
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        self.growth.stop();
        // A panic was reported by the thread itself; layers are then allocated when they are
        // needed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
