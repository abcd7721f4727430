//! Messages to a loop thread from others.

use super::Client;
use super::outcome::{Outcome, Writes};
use super::stream::Stream;
use crate::Session;
use crate::command::After;
use crate::lock::lock;
use mio::Waker;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A connection on its way to the loop that will own it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(super) stream: Stream,
    pub(super) address: Option<SocketAddr>,
}

/// A long request that was executed, or several that were executed together.
#[derive(Debug)]
pub(crate) struct Done {
    pub(super) session: Session,
    pub(super) client: Arc<Client>,
    /// The connection's index in its loop, which another client may have by now.
    pub(super) connection: usize,
    pub(super) requests: usize,
    pub(super) answer: Vec<u8>,
    pub(super) writes: Option<Writes>,
    pub(super) outcome: Outcome,
    pub(super) after: After,
}

/// Messages to one loop thread from others.
#[derive(Debug)]
pub(crate) struct Inbox {
    waker: Waker,
    arrivals: Mutex<Vec<Arrival>>,
    done: Mutex<Vec<Done>>,
    kills: AtomicBool,
}

impl Inbox {
    pub(crate) fn new(waker: Waker) -> Self {
        let (arrivals, done) = (Mutex::default(), Mutex::default());
        Self { waker, arrivals, done, kills: AtomicBool::new(false) }
    }

    /// Wakes the loop. If that fails, it wakes at its next tick.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            log::error!("cannot wake a loop thread: {error}");
        }
    }

    pub(super) fn kill(&self) {
        // ORDERING: Release, with the Acquire of `take_kills`: the loop finds the marked clients.
        self.kills.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether connections were marked to be closed since the last time.
    pub(super) fn take_kills(&self) -> bool {
        // ORDERING: Relaxed for the check, since most often there is nothing; Acquire to take.
        self.kills.load(Ordering::Relaxed) && self.kills.swap(false, Ordering::Acquire)
    }

    /// Hands connections over; the loop is woken by the caller.
    pub(super) fn put(&self, arrival: Arrival) {
        lock(&self.arrivals).push(arrival);
    }

    pub(super) fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *lock(&self.arrivals))
    }

    /// Hands over a finished long request; the loop is woken by the caller.
    pub(super) fn put_done(&self, done: Done) {
        lock(&self.done).push(done);
    }

    pub(super) fn take_done(&self) -> Vec<Done> {
        std::mem::take(&mut *lock(&self.done))
    }
}
