//! What reaches a loop thread from outside.

use super::jobs::Done;
use super::stream::Stream;
use mio::Waker;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A connection on its way to the loop that will own it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(super) stream: Stream,
    pub(super) address: Option<SocketAddr>,
}

/// What reaches one loop thread from others.
#[derive(Debug)]
pub(crate) struct Inbox {
    waker: Waker,
    arrivals: Mutex<Vec<Arrival>>,
    done: Mutex<Vec<Done>>,
    kills: AtomicBool,
}

impl Inbox {
    pub(crate) const fn new(waker: Waker) -> Self {
        Self {
            waker,
            arrivals: Mutex::new(Vec::new()),
            done: Mutex::new(Vec::new()),
            kills: AtomicBool::new(false),
        }
    }

    /// Ends its wait. A loop that cannot be woken ends its wait at its next tick.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            log::error!("cannot wake a loop thread: {error}");
        }
    }

    pub(super) fn kill(&self) {
        // ORDERING: Release, with the Acquire of `take_kills`: the loop finds the clients marked.
        self.kills.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether connections were marked to be closed since the last time.
    pub(super) fn take_kills(&self) -> bool {
        // ORDERING: Relaxed to look, since most often nothing is there; Acquire to take.
        self.kills.load(Ordering::Relaxed) && self.kills.swap(false, Ordering::Acquire)
    }

    /// Hands connections over; the loop is woken by the caller.
    pub(super) fn put(&self, arrival: Arrival) {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
    }

    pub(super) fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands over what took long; the loop is woken by the caller.
    pub(super) fn put_done(&self, done: Done) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(done);
    }

    pub(super) fn take_done(&self) -> Vec<Done> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Ends a server from any thread.
#[derive(Debug)]
pub struct Control {
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    stopping: AtomicBool,
    shutdown: Mutex<Option<bool>>,
    /// `stopping` was set.
    stopped: Condvar,
}

impl Control {
    pub(crate) const fn new(inboxes: Vec<Arc<Inbox>>) -> Self {
        let (stopping, shutdown) = (AtomicBool::new(false), Mutex::new(None));
        Self { inboxes, stopping, shutdown, stopped: Condvar::new() }
    }

    /// Stops: no more connections and requests, answers that are due are sent, then all is closed.
    pub fn stop(&self) {
        {
            // Under the lock, or a waiter could miss it between its look and its sleep.
            let _shutdown = self.shutdown.lock().unwrap_or_else(PoisonError::into_inner);
            // ORDERING: Release, with the Acquire of `is_stopping`: who sees the flag sees what led
            // to it.
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
        let mut shutdown = self.shutdown.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_stopping() {
            shutdown = self.stopped.wait(shutdown).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stops because a client said so.
    pub(super) fn shut_down(&self, save: bool) {
        *self.shutdown.lock().unwrap_or_else(PoisonError::into_inner) = Some(save);
        self.stop();
    }

    /// What a client said when it ended the server: with a checkpoint or without.
    pub(crate) fn shutdown(&self) -> Option<bool> {
        *self.shutdown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake_all(&self) {
        self.inboxes.iter().for_each(|inbox| inbox.wake());
    }
}
