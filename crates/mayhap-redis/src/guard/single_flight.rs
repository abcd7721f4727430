//! Single-flight: one call for all tasks that request the same key at the same time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The answer: `None` until it arrives.
pub(super) type Arrival<T> = watch::Receiver<Option<T>>;

/// The calls in flight, by key.
#[derive(Debug)]
pub(super) struct SingleFlight<T> {
    in_flight: Mutex<HashMap<Vec<u8>, InFlight<T>>>,
}

#[derive(Debug)]
struct InFlight<T> {
    arrival: Arrival<T>,
    outdated: Arc<AtomicBool>,
}

/// The task that makes the call. If it is dropped without [`Leader::finish`], the waiters are
/// notified that there is no answer.
#[derive(Debug)]
pub(super) struct Leader<T> {
    single_flight: Arc<SingleFlight<T>>,
    pub(super) key: Vec<u8>,
    outdated: Arc<AtomicBool>,
    answers: watch::Sender<Option<T>>,
}

impl<T> SingleFlight<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { in_flight: Mutex::default() })
    }

    /// Joins the call for a key, or begins one: then the caller is its leader.
    pub(super) fn join(self: &Arc<Self>, key: &[u8]) -> (Arrival<T>, Option<Leader<T>>) {
        let mut in_flight = self.in_flight();
        if let Some(call) = in_flight.get(key) {
            return (call.arrival.clone(), None);
        }
        let (answers, arrival) = watch::channel(None);
        let outdated = Arc::new(AtomicBool::new(false));
        let call = InFlight { arrival: arrival.clone(), outdated: outdated.clone() };
        in_flight.insert(key.to_vec(), call);
        let single_flight = self.clone();
        (arrival, Some(Leader { single_flight, key: key.to_vec(), outdated, answers }))
    }

    /// The key's value changed: no task joins the call in flight any more.
    pub(super) fn outdate(&self, key: &[u8]) {
        if let Some(call) = self.in_flight().remove(key) {
            // ORDERING: SeqCst here and where it is read: the cache is written between two checks,
            // and one of the two sides has to see the other.
            call.outdated.store(true, Ordering::SeqCst);
        }
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<Vec<u8>, InFlight<T>>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Leader<T> {
    /// Whether the key's value changed since the call began.
    pub(super) fn is_outdated(&self) -> bool {
        // ORDERING: SeqCst, with the store in `outdate`, which explains it.
        self.outdated.load(Ordering::SeqCst)
    }

    pub(super) fn finish(self, answer: T) {
        self.answers.send_replace(Some(answer));
    }
}

impl<T> Drop for Leader<T> {
    fn drop(&mut self) {
        let mut in_flight = self.single_flight.in_flight();
        // Another call may have begun since this one was outdated.
        if in_flight.get(&self.key).is_some_and(|own| Arc::ptr_eq(&own.outdated, &self.outdated)) {
            in_flight.remove(&self.key);
        }
    }
}
