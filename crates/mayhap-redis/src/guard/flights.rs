//! One call for all tasks that want the same key at the same time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What arrives: `None` until it does.
pub(super) type Arrival<T> = watch::Receiver<Option<T>>;

/// The calls on their way, by key.
#[derive(Debug)]
pub(super) struct Flights<T> {
    flying: Mutex<HashMap<Vec<u8>, Flight<T>>>,
}

#[derive(Debug)]
struct Flight<T> {
    arrival: Arrival<T>,
    outdated: Arc<AtomicBool>,
}

/// Who makes the call. Dropped without [`Pilot::land`], those who wait hear that nothing comes.
#[derive(Debug)]
pub(super) struct Pilot<T> {
    flights: Arc<Flights<T>>,
    pub(super) key: Vec<u8>,
    outdated: Arc<AtomicBool>,
    passengers: watch::Sender<Option<T>>,
}

impl<T> Flights<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { flying: Mutex::default() })
    }

    /// Joins the call for a key, or begins one: then there is a pilot.
    pub(super) fn join(self: &Arc<Self>, key: &[u8]) -> (Arrival<T>, Option<Pilot<T>>) {
        let mut flying = self.flying();
        if let Some(flight) = flying.get(key) {
            return (flight.arrival.clone(), None);
        }
        let (passengers, arrival) = watch::channel(None);
        let outdated = Arc::new(AtomicBool::new(false));
        let flight = Flight { arrival: arrival.clone(), outdated: outdated.clone() };
        flying.insert(key.to_vec(), flight);
        let flights = self.clone();
        (arrival, Some(Pilot { flights, key: key.to_vec(), outdated, passengers }))
    }

    /// The key's value changed: nobody joins the call on its way any more.
    pub(super) fn outdate(&self, key: &[u8]) {
        if let Some(flight) = self.flying().remove(key) {
            // ORDERING: SeqCst here and where it is read: the cache is written between two looks,
            // and one of the two sides has to see the other.
            flight.outdated.store(true, Ordering::SeqCst);
        }
    }

    fn flying(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Flight<T>>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Pilot<T> {
    /// Whether the key's value changed since the call began.
    pub(super) fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::SeqCst)
    }

    pub(super) fn land(self, answer: T) {
        self.passengers.send_replace(Some(answer));
    }
}

impl<T> Drop for Pilot<T> {
    fn drop(&mut self) {
        let mut flying = self.flights.flying();
        // Another call may have begun since this one was outdated.
        if flying.get(&self.key).is_some_and(|own| Arc::ptr_eq(&own.outdated, &self.outdated)) {
            flying.remove(&self.key);
        }
    }
}
