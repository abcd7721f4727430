//! Admission of connections and requests: the places for them, and which one makes room.
//!
//! A connection waits for admission while it has no request that may be executed: it is idle, its
//! head is arriving, its user is not known yet, or it is refused. The oldest of them is closed when
//! another one arrives and there is no place. Requests of users who may send them, other than
//! probes, have three quarters of the places, until the last byte of their answer is made; if these
//! are taken, the one whose body has been in transit for the longest is closed, in either
//! direction. So heads and bodies that never end keep nobody out, and neither do guessed passwords,
//! refusals, and downloads that nobody reads.

use super::Failure;
use crate::lock::lock;
use crate::net::Unadmitted;
use axum::http::StatusCode;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The most connections at a time: people and scrapers, not fleets.
pub(crate) const MAX_CONNECTIONS: usize = 512;
/// How long a closed request may take to release its place.
const ENDED: Duration = Duration::from_millis(500);

/// The places of all connections.
#[derive(Debug)]
pub(super) struct Admission {
    /// The most connections at a time.
    most: usize,
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    /// For a password that takes time to check: one at a time, as [`Users::login`] does, or
    /// guessers would occupy all threads.
    ///
    /// [`Users::login`]: crate::config::Users::login
    logins: Semaphore,
    /// The connections that wait for admission.
    waiting: Unadmitted<Waiting>,
    /// The connections whose body is in transit.
    sending: Unadmitted<Arc<Notify>>,
}

impl Admission {
    /// Places for `most` connections at a time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            connections: Arc::new(Semaphore::new(most)),
            requests: Arc::new(Semaphore::new(max_requests(most))),
            logins: Semaphore::new(1),
            waiting: Unadmitted::default(),
            sending: Unadmitted::default(),
        })
    }

    /// How many connections to accept before those that are there have their turn: so few that each
    /// is read several times before as many came as there are places.
    pub(super) fn pace(&self) -> usize {
        (self.most / 32).max(1)
    }

    /// A place for a connection; none if all are taken by requests in progress.
    ///
    /// The place of a connection that is closed is passed on at once, without waiting for its end:
    /// while many connections are busy, each wait is as long as an iteration over all of them, and
    /// later connections queue behind it.
    pub(super) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<Caller> {
        let free = self.connections.clone().try_acquire_owned().ok();
        let place = match free {
            Some(place) => place,
            None => self.make_room(peer)?,
        };
        let ending = Arc::new(Notify::new());
        let place = Arc::new(Mutex::new(Some(place)));
        let waiting = Waiting { ending: ending.clone(), place: place.clone() };
        let number = self.waiting.add(Some(peer.ip()), waiting);
        let (admission, number) = (self.clone(), AtomicU64::new(number));
        let (asks, requested) = (AtomicBool::new(false), AtomicU64::new(0));
        Some(Caller { admission, peer, ending, number, asks, requested, place })
    }

    /// Closes the oldest connection that waits for admission and returns its place.
    fn make_room(&self, peer: SocketAddr) -> Option<OwnedSemaphorePermit> {
        loop {
            let Waiting { ending, place } = self.waiting.take_oldest(Some(peer.ip()))?;
            ending.notify_one();
            // A connection that was closed before, and waited once more, has none.
            if let Some(place) = lock(&place).take() {
                return Some(place);
            }
        }
    }

    /// How many connections wait for admission, and how many places of requests are free.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.requests.available_permits())
    }

    /// Waits until all connections have ended.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = self.connections.acquire_many(all).await;
    }
}

/// The most requests at a time other than probes, given this many connections.
const fn max_requests(connections: usize) -> usize {
    connections - connections / 4
}

/// A connection that waits for admission: how to close it, and its place.
#[derive(Debug)]
struct Waiting {
    ending: Arc<Notify>,
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

/// A place, if need be that of the oldest of `those`.
async fn take(
    places: &Arc<Semaphore>,
    those: &Unadmitted<Arc<Notify>>,
    peer: SocketAddr,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = places.clone().try_acquire_owned() {
        return Some(place);
    }
    those.take_oldest(Some(peer.ip()))?.notify_one();
    tokio::time::timeout(ENDED, places.clone().acquire_owned()).await.ok()?.ok()
}

/// A connection with its place.
#[derive(Debug)]
pub(super) struct Caller {
    admission: Arc<Admission>,
    pub(super) peer: SocketAddr,
    ending: Arc<Notify>,
    /// Its number among the connections that wait for admission; 0 while it does not.
    number: AtomicU64,
    /// Whether the head of a request has arrived, and its answer is not complete.
    asks: AtomicBool,
    /// Number of requests so far.
    requested: AtomicU64,
    /// `None` once it was handed over to another connection.
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Caller {
    /// Waits until it has to make room.
    pub(super) async fn ended(&self) {
        self.ending.notified().await;
    }

    /// Waits for its turn to have a password checked; the turn lasts until the result is dropped.
    pub(super) async fn login(&self) -> Option<SemaphorePermit<'_>> {
        self.admission.logins.acquire().await.ok()
    }

    /// The head of a request has arrived. The connection still waits, as the newest.
    pub(super) fn ask(self: &Arc<Self>) -> Asking {
        // ORDERING: Relaxed. One task has the connection, and a body that ends elsewhere only lets
        // it become idle a moment later; the lists have their own locks.
        self.requested.fetch_add(1, Ordering::Relaxed);
        self.asks.store(true, Ordering::Relaxed);
        self.come();
        Asking(self.clone())
    }

    /// How many requests it has sent, and whether the last one is being answered.
    pub(super) fn requests(&self) -> (u64, bool) {
        // ORDERING: Relaxed, as in `ask`.
        (self.requested.load(Ordering::Relaxed), self.asks.load(Ordering::Relaxed))
    }

    /// Adds it as the newest that waits.
    fn come(&self) {
        self.leave();
        let waiting = Waiting { ending: self.ending.clone(), place: self.place.clone() };
        let number = self.admission.waiting.add(Some(self.peer.ip()), waiting);
        // ORDERING: Relaxed, as in `ask`.
        self.number.store(number, Ordering::Relaxed);
    }

    fn leave(&self) {
        // ORDERING: Relaxed, as in `ask`.
        self.admission.waiting.remove(self.number.swap(0, Ordering::Relaxed));
    }

    /// Its body is in transit, until this is dropped.
    pub(super) fn send(self: &Arc<Self>) -> Sending {
        let number = self.admission.sending.add(Some(self.peer.ip()), self.ending.clone());
        Sending { admission: self.admission.clone(), number }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.leave();
        lock(&self.place).take();
    }
}

/// A request that waits for admission, until this is dropped.
#[derive(Debug)]
pub(super) struct Asking(Arc<Caller>);

impl Asking {
    /// Admits the request, with a place until the result is dropped; a probe needs none.
    ///
    /// # Errors
    ///
    /// 503 if there are too many, and none of them is only waiting for its body.
    pub(super) async fn begin(self, is_probe: bool) -> Result<Place, Failure> {
        self.0.leave();
        if is_probe {
            return Ok(Place { _permit: None, asking: self });
        }
        let permit = take(&self.0.admission.requests, &self.0.admission.sending, self.0.peer).await;
        let Some(permit) = permit else {
            let most = max_requests(self.0.admission.most);
            let problem = format!("{most} requests are in progress already; try again later");
            return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, problem));
        };
        Ok(Place { _permit: Some(permit), asking: self })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // ORDERING: Relaxed, as in `ask`.
        self.0.asks.store(false, Ordering::Relaxed);
        self.0.come();
    }
}

/// The place of a request: held by the handler, and by a body that is created while it is sent.
#[derive(Debug)]
pub(super) struct Place {
    // In this order: the place is released before the connection waits again.
    _permit: Option<OwnedSemaphorePermit>,
    asking: Asking,
}

impl Place {
    /// The body of the answer is in transit, until this is dropped.
    pub(super) fn send(&self) -> Sending {
        self.asking.0.send()
    }
}

/// A body in transit.
#[derive(Debug)]
pub(super) struct Sending {
    admission: Arc<Admission>,
    number: u64,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.admission.sending.remove(self.number);
    }
}

#[cfg(test)]
mod tests;
