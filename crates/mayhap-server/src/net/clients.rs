//! Who is connected: for `CLIENT LIST`, `CLIENT KILL` and what is counted.

use crate::Session;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who is connected. Numbers are as of the last turn of each connection.
#[derive(Debug, Default)]
pub struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    last_id: AtomicU64,
    connected: AtomicUsize,
    refused: AtomicU64,
    pub(super) buffered: AtomicUsize,
    pub(super) requests: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
}

/// Wakes the loop of a connection, to close those that were killed.
#[derive(Clone)]
pub(super) struct Close(pub(super) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Close")
    }
}

/// A connection as others see it.
#[derive(Debug)]
pub struct Client {
    /// `CLIENT ID`.
    pub id: u64,
    /// Where the client is; `None` behind a socket of the file system.
    pub address: Option<SocketAddr>,
    /// Milliseconds since 1970 when it connected.
    pub since: u64,
    pub(super) active: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) buffered: AtomicUsize,
    pub(super) killed: AtomicBool,
    info: Mutex<ClientInfo>,
    close: Close,
}

/// What a client said of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME` and `LIB-VER`.
    pub library: [Vec<u8>; 2],
    /// Who has logged in.
    pub user: Option<String>,
    /// RESP3 was agreed on.
    pub resp3: bool,
}

// ORDERING: Relaxed throughout. These are counts and flags for people; nothing is published by
// them, and who is listed is behind the lock.
impl Clients {
    /// All that are connected, the oldest first.
    pub fn list(&self) -> Vec<Arc<Client>> {
        lock(&self.all).values().cloned().collect()
    }

    /// Closes a connection at its next turn, unsent answers and all; false if there is none of
    /// this number.
    pub fn kill(&self, id: u64) -> bool {
        let Some(client) = lock(&self.all).get(&id).cloned() else { return false };
        client.killed.store(true, Ordering::Relaxed);
        (client.close.0)();
        true
    }

    /// How many are connected.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }

    /// How many have been, with those that are.
    pub fn received(&self) -> u64 {
        self.last_id.load(Ordering::Relaxed)
    }

    /// How many were sent away because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Requests that were carried out.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Bytes that came, before TLS has wrapped them.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in.load(Ordering::Relaxed)
    }

    /// Bytes of answers, before TLS wraps them.
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out.load(Ordering::Relaxed)
    }

    /// Bytes of unfinished requests and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Takes a place among `most`; false if there is none.
    pub(super) fn enter(&self, most: usize) -> bool {
        let room = |connected: usize| (connected < most).then(|| connected + 1);
        let entered = self.connected.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        if entered.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        entered.is_ok()
    }

    /// Gives a place back that no [`Client`] was made for.
    pub(super) fn leave(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn add(&self, address: Option<SocketAddr>, now: u64, close: Close) -> Arc<Client> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Arc::new(Client {
            id,
            address,
            since: now,
            active: AtomicU64::new(now),
            requests: AtomicU64::new(0),
            buffered: AtomicUsize::new(0),
            killed: AtomicBool::new(false),
            info: Mutex::default(),
            close,
        });
        lock(&self.all).insert(id, Arc::clone(&client));
        client
    }

    pub(super) fn remove(&self, client: &Client) {
        client.killed.store(true, Ordering::Relaxed);
        lock(&self.all).remove(&client.id);
        self.buffered.fetch_sub(client.buffered.load(Ordering::Relaxed), Ordering::Relaxed);
        self.leave();
    }
}

impl Client {
    /// Milliseconds since 1970 when something came of it.
    pub fn active(&self) -> u64 {
        self.active.load(Ordering::Relaxed)
    }

    /// Requests that were carried out.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Bytes of its unfinished request and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// What it said of itself.
    pub fn info(&self) -> ClientInfo {
        lock(&self.info).clone()
    }

    /// Whether nobody waits for its answers any more, or is to.
    pub(super) fn is_gone(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Takes over what a turn has brought.
    pub(super) fn update(&self, session: &Session, requests: u64, now: u64) {
        self.active.store(now, Ordering::Relaxed);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        let mut info = lock(&self.info);
        if info.resp3 != session.resp3
            || info.name != session.name
            || info.library != session.library
            || info.user != session.user
        {
            *info = ClientInfo {
                name: session.name.clone(),
                library: session.library.clone(),
                user: session.user.clone(),
                resp3: session.resp3,
            };
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind it is whole after every single step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
