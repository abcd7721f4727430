//! The connections of a loop: by number, in the queues for their turns, with their deadlines.

use super::connection::{Connection, Overdue, Phase};
use super::{Options, Service};
use crate::resp::Reply;
use slab::Slab;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that a connection may have while all of them together have too many.
const MODEST_BYTES: usize = 64 << 10;

/// The last answers to connections that are closed.
const NO_BUFFERS: &str =
    "ERR the server has no more memory for requests and answers (max_buffer_bytes)";
const NO_LOGIN: &str = "ERR no login within 10 seconds";
const TOO_SLOW: &str = "ERR the request did not arrive in time (request_timeout)";

/// The connections of a loop.
#[derive(Debug)]
pub(super) struct Connections<S> {
    service: Arc<S>,
    options: Arc<Options>,
    all: Slab<Connection>,
    /// Connections with work in this turn or the next.
    light: VecDeque<usize>,
    /// Connections whose last turn took long.
    heavy: VecDeque<usize>,
    /// Milliseconds since the start of the loop, as of this turn.
    pub(super) now_ms: u64,
    /// Whether any connection has a deadline.
    pub(super) watching: bool,
    /// Whether requests are not executed any more.
    stopping: bool,
}

impl<S: Service> Connections<S> {
    pub(super) fn new(service: Arc<S>, options: Arc<Options>) -> Self {
        Self {
            service,
            options,
            all: Slab::new(),
            light: VecDeque::new(),
            heavy: VecDeque::new(),
            now_ms: 1,
            watching: false,
            stopping: false,
        }
    }

    /// Executes no more requests, and closes connections that are owed nothing.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        self.close_those(|connection| !connection.is_owed());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut Connection> {
        self.all.get_mut(index)
    }

    /// The index of the next connection that is added.
    pub(super) fn next_index(&self) -> usize {
        self.all.vacant_key()
    }

    pub(super) fn add(&mut self, mut connection: Connection) {
        connection.note_login(self.service.clients(), self.now_ms);
        self.watching |= connection.is_watched(&self.options);
        let index = self.all.insert(connection);
        self.enqueue(index);
    }

    /// Puts a connection into a queue if there is work for it.
    pub(super) fn enqueue(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if connection.has_work(self.stopping) && !connection.queued.is_in {
            connection.queued.is_in = true;
            let is_heavy = connection.queued.is_heavy;
            let queue = if is_heavy { &mut self.heavy } else { &mut self.light };
            queue.push_back(index);
        }
    }

    /// The lengths of the queues: of connections with little work, and of those whose last turn
    /// took long.
    pub(super) fn queued(&self) -> (usize, usize) {
        (self.light.len(), self.heavy.len())
    }

    /// The next of a queue.
    pub(super) fn dequeue(&mut self, is_heavy: bool) -> Option<usize> {
        let queue = if is_heavy { &mut self.heavy } else { &mut self.light };
        let index = queue.pop_front()?;
        if let Some(connection) = self.all.get_mut(index) {
            connection.queued.is_in = false;
        }
        Some(index)
    }

    /// Updates what is known of a connection after its turn or its long request.
    pub(super) fn note_turn(&mut self, index: usize, requests: u64, wall_ms: u64) {
        let Some(connection) = self.all.get_mut(index) else { return };
        connection.since.active = self.now_ms;
        connection.note_login(self.service.clients(), self.now_ms);
        self.watching |= connection.is_watched(&self.options);
        connection.client.update(&mut connection.session, requests, wall_ms);
    }

    pub(super) fn close(&mut self, index: usize) {
        if let Some(connection) = self.all.try_remove(index) {
            self.service.clients().remove(&connection.client);
        }
    }

    pub(super) fn close_those(&mut self, which: impl Fn(&Connection) -> bool) {
        let found = self.all.iter().filter(|(_, connection)| which(connection));
        let found: Vec<_> = found.map(|(index, _)| index).collect();
        for index in found {
            self.close(index);
        }
    }

    /// Updates the buffer size of a connection; it is closed if all of them have too much and it
    /// has more than most.
    pub(super) fn account(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        let bytes = connection.footprint();
        let all = self.service.clients().set_buffered(&connection.client, bytes as u64);
        let most = self.options.max_buffer_bytes;
        if all.is_some_and(|all| all > most as u64) && bytes > MODEST_BYTES {
            let all = all.unwrap_or_default();
            log::warn!("client {} closed: {all} bytes of {most} for buffers", connection.client.id);
            self.refuse(index, NO_BUFFERS);
        }
    }

    pub(super) fn send(&mut self, index: usize, bytes: &[u8]) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if connection.socket.send(bytes, self.now_ms).is_err() {
            return self.close(index);
        }
        self.after_sending(index);
    }

    /// Sends unsent answers.
    pub(super) fn flush(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if !connection.socket.has_unsent() {
            return;
        }
        if connection.socket.flush(self.now_ms).is_err() {
            return self.close(index);
        }
        self.after_sending(index);
        self.account(index);
    }

    fn after_sending(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if connection.socket.has_unsent() {
            self.watching = true;
        } else if connection.phase == Phase::Closing && !connection.owed.is_something() {
            return self.begin_linger(index);
        }
        self.enqueue(index);
    }

    fn begin_linger(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        connection.linger(self.now_ms);
        self.watching = true;
        self.enqueue(index);
    }

    /// A client that sends no more still gets its answers.
    pub(super) fn end_input(&mut self, index: usize) {
        match self.all.get_mut(index) {
            Some(connection) if connection.is_owed() => connection.phase = Phase::Closing,
            _ => self.close(index),
        }
    }

    /// A TLS handshake has bytes of its own to send, and ends at some point.
    pub(super) fn continue_handshake(&mut self, index: usize) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if connection.input.partial.is_none() && !connection.socket.is_handshaking() {
            connection.since.request = 0;
        }
        if connection.socket.wants_write() {
            self.flush(index);
        }
    }

    /// Sends an error, and closes.
    fn refuse(&mut self, index: usize, text: &str) {
        let Some(connection) = self.all.get_mut(index) else { return };
        if connection.is_owed() || connection.phase != Phase::Open {
            return self.close(index);
        }
        let mut line = Vec::new();
        Reply::new(&mut line, false).error(text);
        let sent = connection.socket.send(&line, self.now_ms);
        if sent.is_err() || connection.socket.has_unsent() {
            return self.close(index);
        }
        self.begin_linger(index);
        self.account(index);
    }

    /// Closes connections that have missed a deadline.
    pub(super) fn watch(&mut self) {
        let (now_ms, options) = (self.now_ms, Arc::clone(&self.options));
        self.watching = false;
        let is_tried = |(_, connection): &(usize, &Connection)| {
            connection.socket.is_to_be_tried(now_ms, options.write_timeout)
        };
        let tried: Vec<usize> = self.all.iter().filter(is_tried).map(|(index, _)| index).collect();
        for index in tried {
            self.flush(index);
        }
        let mut overdue = Vec::new();
        for (index, connection) in &self.all {
            self.watching |= connection.is_watched(&options);
            overdue.extend(connection.overdue(now_ms, &options).map(|why| (index, why)));
        }
        for (index, why) in overdue {
            match why {
                Overdue::Gone => self.close(index),
                Overdue::Answers => self.leave(index),
                Overdue::Request => self.refuse(index, TOO_SLOW),
                Overdue::Login => self.refuse(index, NO_LOGIN),
            }
        }
    }

    /// Closes a connection that reads no answers, and logs it.
    fn leave(&mut self, index: usize) {
        if let Some(connection) = self.all.get(index) {
            let (client, bytes) = (&connection.client, connection.socket.unsent_bytes());
            let address = client.address.map_or_else(|| "unix".into(), |at| at.to_string());
            log::warn!(
                "client {} ({address}) closed: it has taken nothing of {bytes} bytes of answers \
                 for {} s (output_timeout)",
                client.id,
                self.options.write_timeout.as_secs_f64()
            );
        }
        self.close(index);
    }
}
