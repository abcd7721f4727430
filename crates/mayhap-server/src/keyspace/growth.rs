//! The next layers of filters that grow, made before they are needed.
//!
//! A layer of some MiB costs the thread that makes it milliseconds, and those that fill it first
//! wait for the system to find each page. So a thread of its own does both. If it is late, whoever
//! needs the layer makes it, or takes it as far as it is.

use super::Entry;
use super::filter::{Filter, locked, read};
use crate::Shared;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Which filters need a layer soon.
#[derive(Debug, Default)]
pub(super) struct Growth {
    asked: Mutex<BTreeSet<u64>>,
    /// Something is asked for, or it is time to end.
    changed: Condvar,
    /// Whether there is a thread that does it.
    runs: AtomicBool,
}

impl Growth {
    fn ask(&self, id: u64) {
        if self.runs() {
            locked(&self.asked).insert(id);
            self.changed.notify_one();
        }
    }

    /// The next filter; none when it is time to end.
    fn next(&self) -> Option<u64> {
        let mut asked = locked(&self.asked);
        while self.runs() {
            if let Some(id) = asked.pop_first() {
                return Some(id);
            }
            asked = self.changed.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn runs(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    fn stop(&self) {
        // Under the lock, or the thread could miss it between its look and its sleep.
        let mut asked = locked(&self.asked);
        self.runs.store(false, Ordering::Release);
        asked.clear();
        self.changed.notify_all();
    }
}

impl Entry {
    /// Says that the next layer is needed soon, if it is.
    #[inline]
    pub(super) fn ask_growth(&self) {
        if let Filter::Growing(filter) = &self.filter
            && filter.growth_is_due()
        {
            self.growth.ask(self.id);
        }
    }
}

/// The thread that makes layers before they are needed, for all filters; it ends when this is
/// dropped, which waits for as long as one allocation and 2 MiB of it take.
#[derive(Debug)]
pub struct Growing {
    growth: Arc<Growth>,
    thread: Option<JoinHandle<()>>,
}

impl Growing {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let growth = shared.keyspace.growth.clone();
        growth.runs.store(true, Ordering::Release);
        let mut growing = Self { growth, thread: None };
        let shared = shared.clone();
        let thread = thread::Builder::new().name("growth".to_owned());
        growing.thread = Some(thread.spawn(move || {
            let growth = &*shared.keyspace.growth;
            while let Some(id) = growth.next() {
                let named = read(&shared.keyspace.by_id).get(&id).cloned();
                let Some(entry) = named.map(|named| named.entry) else { continue };
                if let Filter::Growing(filter) = &entry.filter {
                    // One that was removed meanwhile is ours alone: its memory is to go.
                    filter.grow_ahead(|| growth.runs() && Arc::strong_count(&entry) > 1);
                }
            }
        })?);
        Ok(growing)
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        self.growth.stop();
        // If it panicked it has said so itself; layers are then made when they are needed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
