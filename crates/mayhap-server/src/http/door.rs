//! Places for connections and requests, and who makes room where they are taken.
//!
//! A connection without a whole request is at the door: the oldest of them goes when another one
//! comes and there is no place. Requests that probes do not send have three quarters of the places,
//! and where those are taken, the one whose body has been arriving for the longest goes. So heads
//! and bodies that never end keep nobody out.

use super::Failure;
use crate::net::Strangers;
use axum::http::StatusCode;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

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
    /// Those without a whole request.
    waiting: Strangers<Arc<Notify>>,
    /// Those whose body is arriving.
    sending: Strangers<Arc<Notify>>,
}

impl Door {
    /// Places for so many connections at once.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            connections: Arc::new(Semaphore::new(most)),
            requests: Arc::new(Semaphore::new(max_requests(most))),
            waiting: Strangers::default(),
            sending: Strangers::default(),
        })
    }

    /// A place for a connection; none if all are taken by requests at hand.
    pub(super) async fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<Caller> {
        let place = take(&self.connections, &self.waiting, peer).await?;
        let ending = Arc::new(Notify::new());
        let number = self.waiting.add(Some(peer.ip()), ending.clone());
        let (door, number) = (self.clone(), AtomicU64::new(number));
        Some(Caller { door, peer, ending, number, _place: place })
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
    /// Its number among those at the door; 0 while it has a request.
    number: AtomicU64,
    _place: OwnedSemaphorePermit,
}

impl Caller {
    /// Until it has to make room.
    pub(super) async fn ended(&self) {
        self.ending.notified().await;
    }

    /// Its request has arrived, but for its body.
    ///
    /// # Errors
    ///
    /// 503 if there are too many, and none of them only waits for its body.
    pub(super) async fn begin(
        &self,
        is_probe: bool,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        // ORDERING: Relaxed. One task has the connection; the lists are behind their locks.
        self.door.waiting.remove(self.number.swap(0, Ordering::Relaxed));
        if is_probe {
            return Ok(None);
        }
        let place = take(&self.door.requests, &self.door.sending, self.peer).await;
        place.map(Some).ok_or_else(|| {
            let most = max_requests(self.door.most);
            let problem = format!(
                "{most} requests are in progress already; try again \
                                   later"
            );
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, problem)
        })
    }

    /// It is answered, and may be idle.
    pub(super) fn end(&self) {
        let number = self.door.waiting.add(Some(self.peer.ip()), self.ending.clone());
        // ORDERING: Relaxed, as in `begin`.
        self.number.store(number, Ordering::Relaxed);
    }

    /// Its body is arriving, until this is dropped.
    pub(super) fn send(self: &Arc<Self>) -> Sending {
        let number = self.door.sending.add(Some(self.peer.ip()), self.ending.clone());
        Sending { door: self.door.clone(), number }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // ORDERING: Relaxed, as in `begin`.
        self.door.waiting.remove(self.number.load(Ordering::Relaxed));
    }
}

/// A body that is arriving.
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
