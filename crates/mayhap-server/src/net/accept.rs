//! Accepting connections: one loop accepts them, and distributes them.

use super::inbox::Arrival;
use super::listen::Listener;
use super::{Clients, Control};
use mio::{Registry, Token};
use std::io;
use std::sync::Arc;

/// Connections that are accepted in one turn: they cost some 20 µs each.
const MAX_TURN_ARRIVALS: usize = 32;

/// The listeners of a loop, and whether they may have connections.
#[derive(Debug)]
pub(super) struct Acceptor {
    listeners: Vec<Listener>,
    control: Arc<Control>,
    /// A listener may have more connections.
    pub(super) is_due: bool,
    /// Accepting failed; it is tried again at the next tick.
    pub(super) has_failed: bool,
    /// The loop that gets the next connection.
    next_owner: usize,
}

impl Acceptor {
    /// Watches the listeners, whose tokens begin with `first`.
    pub(super) fn new(
        mut listeners: Vec<Listener>,
        control: Arc<Control>,
        registry: &Registry,
        first: usize,
    ) -> io::Result<Self> {
        for (index, listener) in listeners.iter_mut().enumerate() {
            listener.register(registry, Token(first + index))?;
        }
        Ok(Self { listeners, control, is_due: false, has_failed: false, next_owner: 0 })
    }

    /// Tries again where it has failed.
    pub(super) fn retry(&mut self) {
        self.is_due |= std::mem::take(&mut self.has_failed) && !self.listeners.is_empty();
    }

    /// Listens no more.
    pub(super) fn stop(&mut self) {
        self.listeners.clear();
        self.is_due = false;
    }

    /// Accepts connections, and distributes them; returns those of the loop itself, which is the
    /// first.
    pub(super) fn accept(&mut self, clients: &Clients, most: usize) -> Vec<Arrival> {
        let mut woken = vec![false; self.control.inboxes.len()];
        let mut left = MAX_TURN_ARRIVALS;
        let mut mine = Vec::new();
        for listener in &self.listeners {
            while left > 0 {
                left -= 1;
                if !clients.may_enter(most) {
                    // Others are being closed: continue at the next turn.
                    left = 0;
                    break;
                }
                match listener.accept(|address| clients.enter(most, address)) {
                    Ok(None) => {}
                    Ok(Some(arrival)) => {
                        let target = self.next_owner;
                        self.next_owner = (target + 1) % woken.len();
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
                            self.has_failed = true;
                            break;
                        }
                    },
                }
            }
        }
        self.is_due = left == 0;
        for (inbox, _) in self.control.inboxes.iter().zip(woken).filter(|(_, woken)| *woken) {
            inbox.wake();
        }
        mine
    }
}
