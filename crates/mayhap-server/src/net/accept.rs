//! Connections come in: one loop takes them, and hands them round.

use super::Engine;
use super::connection::Connection;
use super::control::Arrival;
use super::event_loop::{FIRST_CONNECTION, Loop};
use mio::Token;
use std::io;

/// Connections that are taken in one turn: they cost some 20 µs each.
const MAX_TURN_ARRIVALS: usize = 32;

impl<E: Engine> Loop<E> {
    /// Takes connections and hands them round.
    pub(super) fn accept(&mut self) {
        self.accepting = false;
        let mut woken = vec![false; self.control.inboxes.len()];
        let clients = self.engine.clients();
        let most = self.options.max_clients;
        let mut left = MAX_TURN_ARRIVALS;
        let mut mine = Vec::new();
        for listener in &self.listeners {
            while left > 0 {
                left -= 1;
                if !clients.may_enter(most) {
                    // Others are being closed: at the next turn.
                    left = 0;
                    break;
                }
                match listener.accept(|address| clients.enter(most, address)) {
                    Ok(None) => {}
                    Ok(Some(arrival)) => {
                        let target = self.next_owner;
                        self.next_owner = (target + 1) % woken.len();
                        // The loop with the listeners is the first.
                        if target == 0 {
                            mine.push(arrival);
                        } else {
                            self.control.inboxes[target].put(arrival);
                            woken[target] = true;
                        }
                    }
                    Err(error) => match error.kind() {
                        io::ErrorKind::WouldBlock => break,
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                        _ => {
                            log::warn!("cannot accept a connection: {error}");
                            self.accept_failed = true;
                            break;
                        }
                    },
                }
            }
        }
        self.accepting = left == 0;
        for (inbox, _) in self.control.inboxes.iter().zip(woken).filter(|(_, woken)| *woken) {
            inbox.wake();
        }
        for arrival in mine {
            self.welcome(arrival);
        }
    }

    pub(super) fn welcome(&mut self, arrival: Arrival) {
        let Arrival { mut stream, address } = arrival;
        let clients = self.engine.clients();
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        let token = Token(index + FIRST_CONNECTION);
        if let Err(error) = stream.register(&self.registry, token) {
            log::warn!("cannot watch a connection: {error}");
            clients.leave();
            return;
        }
        let client = clients.add(address, self.work.turn.now, self.close.clone());
        let session = self.engine.open(client.id, address);
        let mut connection = Connection::new(stream, session, client, self.now_ms);
        connection.note_stranger(clients, self.now_ms);
        self.watching |= connection.is_watched(&self.options);
        entry.insert(connection);
        self.enqueue(index);
    }
}
