//! What reaches a loop thread from outside.

use super::jobs::Done;
use super::stream::Stream;
use mio::Waker;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
        self.kills.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether connections were marked to be closed since the last time.
    pub(super) fn take_kills(&self) -> bool {
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
}

impl Control {
    pub(crate) const fn new(inboxes: Vec<Arc<Inbox>>) -> Self {
        Self { inboxes, stopping: AtomicBool::new(false), shutdown: Mutex::new(None) }
    }

    /// Stops: no more connections and requests, answers that are due are sent, then all is closed.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake_all();
    }

    /// Whether it was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
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
