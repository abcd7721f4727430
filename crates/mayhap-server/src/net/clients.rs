//! The connected clients: for `CLIENT LIST`, `CLIENT KILL` and statistics.

use super::unadmitted::Unadmitted;
use crate::lock::lock;
use crate::session::{ClientInfo, Session};
use mayhap_engine::Count;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The connected clients. Numbers are as of the last turn of each connection.
#[derive(Debug, Default)]
pub struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    /// Connections that have not logged in, where that is required.
    unauthenticated: Unadmitted<Arc<Client>>,
    /// 1 if a login is required.
    logins: Count,
    /// Connections that have logged in.
    known: Count,
    last_id: Count,
    connected: Count,
    refused: Count,
    buffered: Count,
    requests: Count,
    bytes_in: Count,
    bytes_out: Count,
}

/// Places beyond the limit, for new connections while those that make room are being closed.
const SPARE: usize = 32;

/// Wakes the loop of a connection, to close killed ones.
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
    /// The client's address; `None` on a Unix socket.
    pub address: Option<SocketAddr>,
    /// Milliseconds since 1970 when it connected.
    pub since: u64,
    active: Count,
    requests: Count,
    buffered: Count,
    killed: AtomicBool,
    /// Its number among unauthenticated connections; 0 if it is not one.
    unauthenticated: Count,
    /// 1 once it has logged in, if it has to.
    known: Count,
    info: Mutex<ClientInfo>,
    close: Close,
}

impl Clients {
    /// All connected clients, the oldest first.
    pub fn list(&self) -> Vec<Arc<Client>> {
        lock(&self.all).values().cloned().collect()
    }

    /// Closes a connection at its next turn, including unsent answers; false if none has this
    /// number.
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

    /// How many have connected so far, including current ones.
    pub fn received(&self) -> u64 {
        self.last_id.get()
    }

    /// How many were refused because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Requests that were executed.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Bytes received, without TLS.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in.get()
    }

    /// Bytes of answers, without TLS.
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out.get()
    }

    /// Bytes of unfinished requests and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.get() as usize
    }

    /// Reserves bytes, within `most`, for a request outside of the loops; false if too few are
    /// left.
    pub(crate) fn hold(&self, bytes: u64, most: u64) -> bool {
        let all = self.buffered.add(bytes);
        if all > most {
            self.buffered.sub(bytes);
        }
        all <= most
    }

    /// Releases reserved bytes.
    pub(crate) fn release(&self, bytes: u64) {
        self.buffered.sub(bytes);
    }

    /// Whether the next connection may be accepted now. Not while [`SPARE`] connections are being
    /// closed to make room: it waits in the backlog, and one more of the oldest is closed.
    pub(super) fn may_enter(&self, most: usize) -> bool {
        let waits =
            self.asks_login() && self.known.get() < most as u64 && self.connected() >= most + SPARE;
        if waits {
            self.make_room(None);
        }
        !waits
    }

    /// Takes a place among `most`; false if there is none. Three quarters of them are for
    /// connections that have not logged in: if those, or all, are taken, the oldest of them makes
    /// room.
    pub(super) fn enter(&self, most: usize, address: Option<SocketAddr>) -> bool {
        let limit = if self.asks_login() && self.known.get() < most as u64 {
            if self.connected() >= most || self.unauthenticated.len() >= (most - most / 4).max(1) {
                self.make_room(address);
            }
            // The loop of the closed connection removes it at its next turn.
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

    /// Requires a login: connections without one then never occupy all places.
    pub(crate) fn expect_logins(&self) {
        self.logins.replace(1);
    }

    fn asks_login(&self) -> bool {
        self.logins.get() != 0
    }

    /// Closes the oldest connection that has not logged in.
    fn make_room(&self, address: Option<SocketAddr>) {
        if let Some(oldest) = self.unauthenticated.take_oldest(address.map(|at| at.ip())) {
            oldest.set_gone();
            (oldest.close.0)();
        }
    }

    /// Releases a place that has no [`Client`] yet.
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
            unauthenticated: Count::default(),
            known: Count::default(),
            info: Mutex::default(),
            close,
        });
        lock(&self.all).insert(id, Arc::clone(&client));
        client
    }

    /// Updates whether this client has logged in, if it has to, and the counts of such clients.
    pub(super) fn set_login(&self, client: &Arc<Client>, has_logged_in: bool) {
        let number = client.unauthenticated.get();
        if !has_logged_in && number == 0 {
            let address = client.address.map(|at| at.ip());
            let number = self.unauthenticated.add(address, Arc::clone(client));
            client.unauthenticated.replace(number);
        } else if has_logged_in && number != 0 {
            self.unauthenticated.remove(number);
            client.unauthenticated.replace(0);
        }
        let is_known = u64::from(has_logged_in);
        let was_known = client.known.replace(is_known);
        self.known.add(is_known);
        self.known.sub(was_known);
    }

    /// Counts executed requests, and received bytes.
    pub(super) fn count_in(&self, requests: u64, bytes: u64) {
        // ORDERING: Relaxed. Statistics only.
        self.requests.add(requests);
        self.bytes_in.add(bytes);
    }

    /// Counts bytes of answers.
    pub(super) fn count_out(&self, bytes: u64) {
        // ORDERING: Relaxed. Statistics only.
        self.bytes_out.add(bytes);
    }

    /// Updates the buffered bytes of a client; returns those of all clients if they have grown.
    pub(super) fn set_buffered(&self, client: &Client, bytes: u64) -> Option<u64> {
        // ORDERING: Relaxed. A count; the limit protects memory and orders nothing.
        let before = client.buffered.replace(bytes);
        if bytes <= before {
            self.buffered.sub(before - bytes);
            return None;
        }
        Some(self.buffered.add(bytes - before))
    }

    pub(super) fn remove(&self, client: &Client) {
        client.set_gone();
        self.unauthenticated.remove(client.unauthenticated.get());
        self.known.sub(client.known.replace(0));
        lock(&self.all).remove(&client.id);
        self.buffered.sub(client.buffered.get());
        self.leave();
    }
}

impl Client {
    /// Milliseconds since 1970 when it was last active.
    pub fn active(&self) -> u64 {
        self.active.get()
    }

    /// Requests that were executed.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Bytes of its unfinished request and unsent answers.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.get() as usize
    }

    /// Properties set by the client itself.
    pub fn info(&self) -> ClientInfo {
        lock(&self.info).clone()
    }

    fn set_gone(&self) {
        // ORDERING: Relaxed, as in `is_gone`.
        self.killed.store(true, Ordering::Relaxed);
    }

    /// Whether it was killed or is gone: its answers are not needed any more.
    pub(super) fn is_gone(&self) -> bool {
        // ORDERING: Relaxed. A flag that stands for itself; its loop is woken by the inbox.
        self.killed.load(Ordering::Relaxed)
    }

    /// Takes over the results of a turn.
    pub(super) fn update(&self, session: &mut Session, requests: u64, now: u64) {
        self.active.replace(now);
        self.requests.add(requests);
        if session.info.take_changed() {
            lock(&self.info).clone_from(&session.info);
        }
    }
}
