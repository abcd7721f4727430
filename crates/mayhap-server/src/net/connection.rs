//! One connection: its socket, its session, the received part of a request, the answers that it is
//! owed, its deadlines.

use super::jobs::Aside;
use super::outcome::Held;
use super::socket::Socket;
use super::{Client, Clients, Options};
use crate::Session;
use crate::resp::Parser;
use std::sync::Arc;

/// Unsent answers beyond which no more requests are executed.
pub(super) const MAX_UNSENT_BYTES: usize = 256 << 10;

/// How long a client may take to close a connection after its last answer, in milliseconds.
const LINGER_MS: u64 = 1000;

/// One connection. Without an unfinished request and unsent answers it has no buffer.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) session: Session,
    pub(super) client: Arc<Client>,
    pub(super) input: Input,
    pub(super) owed: Owed,
    pub(super) phase: Phase,
    pub(super) queued: Queued,
    pub(super) since: Since,
}

/// Received bytes of requests that are not yet executed.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) partial: Option<Box<Partial>>,
    /// Whether `partial` may have complete requests.
    pub(super) backlog: bool,
}

/// Requests that have arrived in part.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) bytes: Vec<u8>,
    pub(super) parser: Parser,
    pub(super) places: Vec<(u32, u32)>,
}

/// Answers that are pending, or may not be sent yet; further requests wait for them.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// Answers that wait for the log.
    pub(super) held: Option<Box<Held>>,
    /// A request that takes long.
    pub(super) aside: Option<Box<Aside>>,
}

/// Its place in the queues of the loop.
#[derive(Debug, Default)]
pub(super) struct Queued {
    /// Whether it is in one of them.
    pub(super) is_in: bool,
    /// Its last turn took longer than most: it waits behind connections with less work.
    pub(super) is_heavy: bool,
}

/// Times that deadlines are counted from, in milliseconds.
#[derive(Debug)]
pub(super) struct Since {
    /// When its unfinished request began; 0 if there is none.
    pub(super) request: u64,
    /// When the client last sent something.
    pub(super) active: u64,
    /// Since when a required login is missing; 0 if there was one.
    unauthenticated: u64,
}

/// The phases of closing a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Requests are executed.
    Open,
    /// Answers are sent, requests are not read.
    Closing,
    /// All is sent; further input is discarded until this time, since closing before it is read
    /// would make the client lose the answers.
    Lingering { until_ms: u64 },
}

impl Owed {
    pub(super) const fn is_something(&self) -> bool {
        self.held.is_some() || self.aside.is_some()
    }
}

impl Connection {
    pub(super) fn new(socket: Socket, session: Session, client: Arc<Client>, now_ms: u64) -> Self {
        // A TLS handshake counts as a request.
        let request = if socket.is_handshaking() { now_ms } else { 0 };
        Self {
            socket,
            session,
            client,
            input: Input::default(),
            owed: Owed::default(),
            phase: Phase::Open,
            queued: Queued::default(),
            since: Since { request, active: now_ms, unauthenticated: 0 },
        }
    }

    /// Whether requests have to wait: for the log, for a long request, or for the client to read
    /// answers.
    pub(super) const fn is_paused(&self) -> bool {
        self.owed.is_something() || self.socket.unsent_bytes() > MAX_UNSENT_BYTES
    }

    /// Whether answers are unsent or pending.
    pub(super) fn is_owed(&self) -> bool {
        self.socket.has_unsent() || self.owed.is_something()
    }

    /// Whether a turn can do something for it.
    pub(super) const fn has_work(&self, is_stopping: bool) -> bool {
        let is_able = match self.phase {
            Phase::Open => !self.is_paused() && !is_stopping,
            Phase::Closing => false,
            Phase::Lingering { .. } => true,
        };
        is_able && (self.socket.is_readable() || self.input.backlog)
    }

    /// Bytes of memory in addition to the struct itself.
    pub(super) fn footprint(&self) -> usize {
        let partial = self.input.partial.as_ref().map_or(0, |partial| {
            partial.bytes.capacity() + partial.places.capacity() * size_of::<(u32, u32)>()
        });
        let held = self.owed.held.as_ref().map_or(0, |held| held.bytes.len());
        let aside = self.owed.aside.as_ref().map_or(0, |aside| aside.footprint());
        partial + self.queued_bytes() + held + aside + self.socket.footprint()
    }

    /// Bytes queued for `EXEC`.
    pub(super) fn queued_bytes(&self) -> usize {
        self.session.queue.as_ref().map_or(0, |queue| queue.footprint())
    }

    /// Begins to discard input, once everything is sent.
    pub(super) fn linger(&mut self, now_ms: u64) {
        self.socket.begin_linger();
        self.input = Input::default();
        self.phase = Phase::Lingering { until_ms: now_ms + LINGER_MS };
    }

    /// Updates whether its client has logged in.
    #[inline]
    pub(super) fn note_login(&mut self, clients: &Clients, now_ms: u64) {
        let needs_login = self.session.needs_login();
        if needs_login != (self.since.unauthenticated != 0) {
            self.since.unauthenticated = if needs_login { now_ms } else { 0 };
            clients.set_login(&self.client, !needs_login);
        }
    }

    /// Whether it has a deadline to watch.
    pub(super) fn is_watched(&self, options: &Options) -> bool {
        self.since.request != 0
            || self.since.unauthenticated != 0
            || self.socket.has_unsent()
            || self.phase != Phase::Open
            || options.idle_timeout.is_some()
    }

    /// The deadline that it has missed, if any.
    pub(super) fn overdue(&self, now_ms: u64, options: &Options) -> Option<Overdue> {
        let for_ms = |then_ms: u64| u128::from(now_ms.saturating_sub(then_ms));
        let Since { request, active, unauthenticated } = self.since;
        if let Phase::Lingering { until_ms } = self.phase {
            return (now_ms >= until_ms).then_some(Overdue::Gone);
        }
        if self.socket.is_stalled(now_ms, options.write_timeout) {
            return Some(Overdue::Answers);
        }
        if self.is_paused() || self.phase != Phase::Open {
            return None;
        }
        if request != 0 && for_ms(request) >= options.request_timeout.as_millis() {
            return Some(Overdue::Request);
        }
        if unauthenticated != 0 && for_ms(unauthenticated) >= options.login_timeout.as_millis() {
            return Some(Overdue::Login);
        }
        let idle = options.idle_timeout.is_some_and(|most| for_ms(active) >= most.as_millis());
        idle.then_some(Overdue::Gone)
    }
}

/// The deadline that a connection has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// It is idle.
    Gone,
    /// It does not read its answers.
    Answers,
    /// Its request does not arrive.
    Request,
    /// It does not log in.
    Login,
}
