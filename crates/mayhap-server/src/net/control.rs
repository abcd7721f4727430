//! How a server is stopped, from any thread.

use super::inbox::Inbox;
use crate::lock::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Stops a server from any thread.
#[derive(Debug)]
pub struct Control {
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    stopping: AtomicBool,
    shutdown: Mutex<Option<bool>>,
    /// Signals that `stopping` was set.
    stopped: Condvar,
}

impl Control {
    pub(crate) const fn new(inboxes: Vec<Arc<Inbox>>) -> Self {
        let (stopping, shutdown) = (AtomicBool::new(false), Mutex::new(None));
        Self { inboxes, stopping, shutdown, stopped: Condvar::new() }
    }

    /// Stops: no more connections and requests, due answers are sent, then all is closed.
    pub fn stop(&self) {
        {
            // Under the lock, or a waiter could miss it between its check and its sleep.
            let _shutdown = lock(&self.shutdown);
            // ORDERING: Release, with the Acquire of `is_stopping`: a thread that sees the flag
            // sees the changes before it.
            self.stopping.store(true, Ordering::Release);
        }
        self.stopped.notify_all();
        self.wake_all();
    }

    /// Whether [`Control::stop`] was called, or a client sent `SHUTDOWN`.
    pub fn is_stopping(&self) -> bool {
        // ORDERING: Acquire, with the Release of `stop`.
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits until [`Control::is_stopping`].
    pub fn wait(&self) {
        drop(self.stopped.wait_while(lock(&self.shutdown), |_| !self.is_stopping()));
    }

    /// Stops at the request of a client.
    pub(super) fn shut_down(&self, save: bool) {
        *lock(&self.shutdown) = Some(save);
        self.stop();
    }

    /// How a client shut down the server, if one did: with a checkpoint or without.
    pub(crate) fn shutdown(&self) -> Option<bool> {
        *lock(&self.shutdown)
    }

    pub(crate) fn wake_all(&self) {
        self.inboxes.iter().for_each(|inbox| inbox.wake());
    }
}
