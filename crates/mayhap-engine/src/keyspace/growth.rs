//! The next layers of filters that grow, allocated before they are needed.
//!
//! A layer of some MiB costs the allocating thread milliseconds, and the first threads to fill it
//! take its page faults. So a separate thread does both. If it is late, the thread that needs the
//! layer allocates it, or uses it as far as it is prepared.

use crate::sync::unpoisoned;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

/// The filters that need a layer soon, by id.
#[derive(Debug, Default)]
pub(super) struct Growth {
    due: Mutex<BTreeSet<u64>>,
    /// Signals a filter that is due, or the end of the thread.
    changed: Condvar,
    /// Whether a thread serves the queue.
    runs: AtomicBool,
}

impl Growth {
    /// Queues a filter; no effect without a thread.
    pub(super) fn request(&self, id: u64) {
        if self.runs() {
            unpoisoned(self.due.lock()).insert(id);
            self.changed.notify_one();
        }
    }

    /// The next filter; `None` when the thread has to end.
    fn next(&self) -> Option<u64> {
        let waits = |due: &mut BTreeSet<u64>| self.runs() && due.is_empty();
        let mut due = unpoisoned(self.changed.wait_while(unpoisoned(self.due.lock()), waits));
        if self.runs() { due.pop_first() } else { None }
    }

    /// Whether a thread serves the queue.
    pub(super) fn runs(&self) -> bool {
        // ORDERING: Acquire, with the Release of `start` and `stop`. The queue has its own lock; a
        // request that misses a start or a stop only changes which thread allocates.
        self.runs.load(Ordering::Acquire)
    }

    fn stop(&self) {
        // Under the lock, or the thread could miss it between its check and its sleep.
        let mut due = unpoisoned(self.due.lock());
        // ORDERING: Release, with the Acquire of `runs`.
        self.runs.store(false, Ordering::Release);
        due.clear();
        self.changed.notify_all();
    }
}

/// The thread that allocates layers ahead of need, for all filters of a keyspace.
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
        // The thread has reported a panic itself; layers are then allocated when they are needed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
