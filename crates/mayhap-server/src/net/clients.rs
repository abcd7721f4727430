//! Who is connected: for `CLIENT LIST`, `CLIENT KILL` and what is counted.

use super::strangers::Strangers;
use crate::Session;
use crate::count::Count;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who is connected. Numbers are as of the last turn of each connection.
#[derive(Debug, Default)]
pub struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    strangers: Strangers<Arc<Client>>,
    /// 1 if clients have to log in.
    logins: Count,
    /// Connections on which somebody has logged in.
    known: Count,
    last_id: Count,
    connected: Count,
    refused: Count,
    pub(super) buffered: Count,
    pub(super) requests: Count,
    pub(super) bytes_in: Count,
    pub(super) bytes_out: Count,
}

/// Places beyond the limit for those who come while their place is being closed.
const SPARE: usize = 32;

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
    active: Count,
    requests: Count,
    pub(super) buffered: Count,
    killed: AtomicBool,
    /// Its number among strangers; 0 if it is none.
    stranger: Count,
    /// 1 once somebody has logged in who had to.
    known: Count,
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

impl Clients {
    /// All that are connected, the oldest first.
    pub fn list(&self) -> Vec<Arc<Client>> {
        lock(&self.all).values().cloned().collect()
    }

    /// Closes a connection at its next turn, unsent answers and all; false if there is none of
    /// this number.
    pub fn kill(&self, id: u64) -> bool {
        let Some(client) = lock(&self.all).get(&id).cloned() else { return false };
        client.set_gone();
        (client.close.0)();
        true
    }

    /// How many are connected.
    pub fn connected(&self) -> usize {
        self.connected.get() as usize
    }

    /// How many have been, with those that are.
    pub fn received(&self) -> u64 {
        self.last_id.get()
    }

    /// How many were sent away because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Requests that were carried out.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Bytes that came, before TLS has wrapped them.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in.get()
    }

    /// Bytes of answers, before TLS wraps them.
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out.get()
    }

    /// Bytes of unfinished requests and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.get() as usize
    }

    /// Takes bytes of `most` for a request that is no connection's of the loops; false if there are
    /// not so many.
    pub(crate) fn hold(&self, bytes: u64, most: u64) -> bool {
        let all = self.buffered.add(bytes);
        if all > most {
            self.buffered.sub(bytes);
        }
        all <= most
    }

    /// Gives bytes back that were held.
    pub(crate) fn release(&self, bytes: u64) {
        self.buffered.sub(bytes);
    }

    /// Whether the next connection may be taken now. Not while as many as [`SPARE`] are being
    /// closed to make room: it waits for them where it is, and one more of the oldest goes.
    pub(super) fn may_enter(&self, most: usize) -> bool {
        let waits =
            self.asks_login() && self.known.get() < most as u64 && self.connected() >= most + SPARE;
        if waits {
            self.make_room(None);
        }
        !waits
    }

    /// Takes a place among `most`; false if there is none. Three quarters of them are for those
    /// who have not logged in: where those, or all, are taken, the oldest of them makes room.
    pub(super) fn enter(&self, most: usize, address: Option<SocketAddr>) -> bool {
        let limit = if self.asks_login() && self.known.get() < most as u64 {
            if self.connected() >= most || self.strangers.len() >= (most - most / 4).max(1) {
                self.make_room(address);
            }
            // The loop of the one that goes closes it at its next turn.
            most + SPARE
        } else {
            most
        };
        let entered = self.connected.add_below(limit as u64);
        if !entered {
            self.refused.add(1);
        }
        entered
    }

    /// That clients have to log in: places are then never all taken by those who have not.
    pub(crate) fn expect_logins(&self) {
        self.logins.replace(1);
    }

    fn asks_login(&self) -> bool {
        self.logins.get() != 0
    }

    /// Ends the oldest of those who have not logged in.
    fn make_room(&self, address: Option<SocketAddr>) {
        if let Some(oldest) = self.strangers.take_oldest(address.map(|at| at.ip())) {
            oldest.set_gone();
            (oldest.close.0)();
        }
    }

    /// Gives a place back that no [`Client`] was made for.
    pub(super) fn leave(&self) {
        self.connected.sub(1);
    }

    pub(super) fn add(&self, address: Option<SocketAddr>, now: u64, close: Close) -> Arc<Client> {
        let id = self.last_id.add(1);
        let client = Arc::new(Client {
            id,
            address,
            since: now,
            active: Count::new(now),
            requests: Count::default(),
            buffered: Count::default(),
            killed: AtomicBool::new(false),
            stranger: Count::default(),
            known: Count::default(),
            info: Mutex::default(),
            close,
        });
        lock(&self.all).insert(id, Arc::clone(&client));
        client
    }

    /// Whether this one has not logged in, and is counted among those who have not.
    pub(super) fn set_stranger(&self, client: &Arc<Client>, is_stranger: bool) {
        let number = client.stranger.get();
        if is_stranger && number == 0 {
            let address = client.address.map(|at| at.ip());
            client.stranger.replace(self.strangers.add(address, Arc::clone(client)));
        } else if !is_stranger && number != 0 {
            self.strangers.remove(number);
            client.stranger.replace(0);
        }
        let is_known = u64::from(!is_stranger);
        let was_known = client.known.replace(is_known);
        self.known.add(is_known);
        self.known.sub(was_known);
    }

    pub(super) fn remove(&self, client: &Client) {
        client.set_gone();
        self.strangers.remove(client.stranger.get());
        self.known.sub(client.known.replace(0));
        lock(&self.all).remove(&client.id);
        self.buffered.sub(client.buffered.get());
        self.leave();
    }
}

impl Client {
    /// Milliseconds since 1970 when something came of it.
    pub fn active(&self) -> u64 {
        self.active.get()
    }

    /// Requests that were carried out.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Bytes of its unfinished request and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.get() as usize
    }

    /// What it said of itself.
    pub fn info(&self) -> ClientInfo {
        lock(&self.info).clone()
    }

    fn set_gone(&self) {
        // ORDERING: Relaxed, as in `is_gone`.
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits for its answers any more, or is to.
    pub(super) fn is_gone(&self) -> bool {
        // ORDERING: Relaxed. A flag that stands for itself; its loop is woken by the inbox.
        self.killed.load(Ordering::Relaxed)
    }

    /// Takes over what a turn has brought.
    pub(super) fn update(&self, session: &Session, requests: u64, now: u64) {
        self.active.replace(now);
        self.requests.add(requests);
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
