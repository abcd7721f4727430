//! Places for connections and requests, and who makes room where they are taken.
//!
//! A connection is at the door while nobody is known to have a request on it that may be carried
//! out: it is idle, its head arrives, its user is not known yet, or it is refused. The oldest of
//! them goes when another one comes and there is no place. Requests of those who may send them, and
//! which are no probes, have three quarters of the places, until the last byte of their answer is
//! made; where those are taken, the one whose body has been on its way for the longest goes, up or
//! down. So heads and bodies that never end keep nobody out, and neither do guesses at passwords,
//! refusals, and downloads that nobody reads.

use super::Failure;
use crate::net::Strangers;
use axum::http::StatusCode;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Connections at once: people and scrapers, not fleets.
pub(crate) const MAX_CONNECTIONS: usize = 512;
/// How long a place may take to be given back by one who was ended.
const ENDED: Duration = Duration::from_millis(500);

/// The places of all.
#[derive(Debug)]
pub(super) struct Door {
    /// Connections at once.
    most: usize,
    connections: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    /// For a password that takes time to check: one at a time, as [`Users::login`] does, or those
    /// who guess would have all threads.
    ///
    /// [`Users::login`]: crate::config::Users::login
    logins: Semaphore,
    /// Those that are at the door.
    waiting: Strangers<Standing>,
    /// Those whose body is on its way.
    sending: Strangers<Arc<Notify>>,
}

impl Door {
    /// Places for so many connections at once.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            connections: Arc::new(Semaphore::new(most)),
            requests: Arc::new(Semaphore::new(max_requests(most))),
            logins: Semaphore::new(1),
            waiting: Strangers::default(),
            sending: Strangers::default(),
        })
    }

    /// A place for a connection; none if all are taken by requests at hand.
    ///
    /// The place of one that is ended is handed over at once, and not waited for: while many have
    /// something to do, each wait is as long as a turn of all of them, and who comes next waits
    /// behind it.
    pub(super) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<Caller> {
        let free = self.connections.clone().try_acquire_owned().ok();
        let place = match free {
            Some(place) => place,
            None => self.make_room(peer)?,
        };
        let ending = Arc::new(Notify::new());
        let place = Arc::new(Mutex::new(Some(place)));
        let standing = Standing { ending: ending.clone(), place: place.clone() };
        let number = self.waiting.add(Some(peer.ip()), standing);
        let (door, number) = (self.clone(), AtomicU64::new(number));
        let (asks, requested) = (AtomicBool::new(false), AtomicU64::new(0));
        Some(Caller { door, peer, ending, number, asks, requested, place })
    }

    /// The place of the oldest at the door, which is ended.
    fn make_room(&self, peer: SocketAddr) -> Option<OwnedSemaphorePermit> {
        loop {
            let Standing { ending, place } = self.waiting.take_oldest(Some(peer.ip()))?;
            ending.notify_one();
            // One that was ended before, and came to the door once more, has none.
            if let Some(place) = lock(&place).take() {
                return Some(place);
            }
        }
    }

    /// How many connections are at the door, and how many places of requests are free.
    #[cfg(test)]
    pub(super) fn standing(&self) -> (usize, usize) {
        (self.waiting.len(), self.requests.available_permits())
    }

    /// Waits until all have left.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = self.connections.acquire_many(all).await;
    }
}

/// Requests at once that are no probes, with so many connections.
const fn max_requests(connections: usize) -> usize {
    connections - connections / 4
}

/// Who stands at the door: how it is ended, and its place.
#[derive(Debug)]
struct Standing {
    ending: Arc<Notify>,
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

/// What it guards is whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place, if need be that of the oldest of `those`.
async fn take(
    places: &Arc<Semaphore>,
    those: &Strangers<Arc<Notify>>,
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
    door: Arc<Door>,
    pub(super) peer: SocketAddr,
    ending: Arc<Notify>,
    /// Its number among those at the door; 0 while it is not.
    number: AtomicU64,
    /// The head of a request has arrived, and not all of its answer is made.
    asks: AtomicBool,
    /// Requests so far.
    requested: AtomicU64,
    /// Nothing once it was handed over to another.
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Caller {
    /// Until it has to make room.
    pub(super) async fn ended(&self) {
        self.ending.notified().await;
    }

    /// Waits until it is its turn to have a password checked, which is until this is dropped.
    pub(super) async fn login(&self) -> Option<SemaphorePermit<'_>> {
        self.door.logins.acquire().await.ok()
    }

    /// Its request has arrived, but for its body. It stays at the door, as the newest.
    pub(super) fn ask(self: &Arc<Self>) -> Asking {
        // ORDERING: Relaxed. One task has the connection, and a body that ends elsewhere only lets
        // it be idle a moment later; the lists are behind their locks.
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

    /// The newest at the door.
    fn come(&self) {
        self.leave();
        let standing = Standing { ending: self.ending.clone(), place: self.place.clone() };
        let number = self.door.waiting.add(Some(self.peer.ip()), standing);
        // ORDERING: Relaxed, as in `ask`.
        self.number.store(number, Ordering::Relaxed);
    }

    fn leave(&self) {
        // ORDERING: Relaxed, as in `ask`.
        self.door.waiting.remove(self.number.swap(0, Ordering::Relaxed));
    }

    /// Its body is on its way, until this is dropped.
    pub(super) fn send(self: &Arc<Self>) -> Sending {
        let number = self.door.sending.add(Some(self.peer.ip()), self.ending.clone());
        Sending { door: self.door.clone(), number }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.leave();
        lock(&self.place).take();
    }
}

/// A request at the door, until this is dropped.
#[derive(Debug)]
pub(super) struct Asking(Arc<Caller>);

impl Asking {
    /// It may be carried out, and has a place until what comes back is dropped; a probe needs none.
    ///
    /// # Errors
    ///
    /// 503 if there are too many, and none of them only waits for its body.
    pub(super) async fn begin(self, is_probe: bool) -> Result<Place, Failure> {
        self.0.leave();
        if is_probe {
            return Ok(Place { _permit: None, asking: self });
        }
        let permit = take(&self.0.door.requests, &self.0.door.sending, self.0.peer).await;
        let Some(permit) = permit else {
            let most = max_requests(self.0.door.most);
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

/// The place of a request: of the handler, and of a body that is made while it is sent.
#[derive(Debug)]
pub(super) struct Place {
    // In this order: who is back at the door has given its place back.
    _permit: Option<OwnedSemaphorePermit>,
    asking: Asking,
}

impl Place {
    /// The body of the answer is on its way, until this is dropped.
    pub(super) fn send(&self) -> Sending {
        self.asking.0.send()
    }
}

/// A body that is on its way.
#[derive(Debug)]
pub(super) struct Sending {
    door: Arc<Door>,
    number: u64,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.door.sending.remove(self.number);
    }
}

#[cfg(test)]
mod tests;
