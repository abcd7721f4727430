//! One connection: its socket, what of a request has arrived, what of the answers is unsent.

use super::jobs::Aside;
use super::stream::Stream;
use super::{Client, Clients, Options};
use crate::Session;
use crate::durable::Ticket;
use crate::resp::Parser;
use std::io;
use std::sync::Arc;

/// Unsent answers beyond which no more requests are carried out.
pub(super) const MAX_UNSENT_BYTES: usize = 256 << 10;
/// What unsent answers may take beyond their bytes: this part of them for those that were sent, and
/// as much for room to grow. Small, so that memory keeps to its limit; not nothing, so that answers
/// that come one by one are not copied each time.
const SPARE: usize = 8;

/// Looks in the time after which a client is closed that takes nothing of its answers.
const LOOKS: u128 = 8;

/// How long a client may take to close a connection after its last answer, in milliseconds.
const LINGER_MS: u64 = 1000;

/// Bytes that it may still send meanwhile.
const MAX_LINGER_BYTES: usize = 4 << 20;

/// One connection. Without an unfinished request and unsent answers it has no buffer.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that holds with any other")]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) session: Session,
    pub(super) client: Arc<Client>,
    /// What has arrived of requests that are not carried out.
    pub(super) partial: Option<Box<Partial>>,
    /// Answers that the socket did not take.
    unsent: Vec<u8>,
    /// How much of them it has taken since.
    sent: usize,
    /// Answers that wait for the log.
    pub(super) held: Option<Box<Held>>,
    /// A request that takes long.
    pub(super) aside: Option<Box<Aside>>,
    pub(super) phase: Phase,
    /// There may be something to read.
    pub(super) readable: bool,
    /// The client sends no more, or is gone: a short read is not the last one.
    pub(super) half_closed: bool,
    /// `partial` may have whole requests.
    pub(super) backlog: bool,
    /// Its last turn took longer than most: it waits behind those that bring less.
    pub(super) heavy: bool,
    /// It stands in a queue of the loop.
    pub(super) queued: bool,
    /// When its unfinished request began; 0 if there is none.
    pub(super) began_ms: u64,
    /// When the socket last took answers.
    progress_ms: u64,
    /// When the client last sent something.
    pub(super) active_ms: u64,
    lingered: usize,
    /// Since when nobody has logged in who has to; 0 if somebody has.
    stranger_ms: u64,
}

/// Requests that have arrived in part.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) bytes: Vec<u8>,
    pub(super) parser: Parser,
    pub(super) places: Vec<(u32, u32)>,
}

/// Answers that wait for the log.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) waits: Waits,
    pub(super) bytes: Vec<u8>,
    pub(super) writes: Writes,
}

/// What answers wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// What was written up to there is as safe as the policy promises.
    pub(super) ticket: Option<Ticket>,
    /// What the turn has changed is taken back: it was refused with this number.
    pub(super) undone: Option<u64>,
}

/// Which of the answers of a turn depend on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Those that say that something was changed.
    pub(super) all: From,
    /// Of them, those that rest on what the turn has recorded, and become errors if that is
    /// refused: the others say what is in the log already.
    pub(super) recorded: Option<From>,
}

/// An answer and all that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct From {
    /// Where it begins, from the first answer of the turn.
    pub(super) at: usize,
    /// It and all that follow.
    pub(super) answers: u32,
}

/// How far a connection is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Requests are carried out.
    Open,
    /// Answers are sent, requests are not read.
    Closing,
    /// All is sent; what the client still sends is thrown away, since closing over it would take
    /// the answers away from it. Until this time.
    Lingering { until_ms: u64 },
}

impl Connection {
    pub(super) fn new(stream: Stream, session: Session, client: Arc<Client>, now_ms: u64) -> Self {
        // Agreeing on TLS is a request too.
        let began_ms = if stream.is_handshaking() { now_ms } else { 0 };
        Self {
            stream,
            session,
            client,
            partial: None,
            unsent: Vec::new(),
            sent: 0,
            held: None,
            aside: None,
            phase: Phase::Open,
            // Something may have arrived before the socket was registered.
            readable: true,
            half_closed: false,
            backlog: false,
            heavy: false,
            queued: false,
            began_ms,
            progress_ms: now_ms,
            active_ms: now_ms,
            lingered: 0,
            stranger_ms: 0,
        }
    }

    /// Whether answers, or bytes of TLS, wait for the socket.
    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.unsent.len() || self.stream.wants_write()
    }

    /// Whether requests have to wait: for the log, for one that takes long, or for the client to
    /// take answers.
    pub(super) const fn is_paused(&self) -> bool {
        self.owes() || self.unsent_bytes() > MAX_UNSENT_BYTES
    }

    /// Bytes of answers that the socket did not take.
    pub(super) const fn unsent_bytes(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Whether an answer is to come that is not there, or may not go.
    pub(super) const fn owes(&self) -> bool {
        self.held.is_some() || self.aside.is_some()
    }

    /// Bytes that it takes besides itself.
    pub(super) fn footprint(&self) -> usize {
        let partial = self.partial.as_ref().map_or(0, |partial| {
            partial.bytes.capacity() + partial.places.capacity() * size_of::<(u32, u32)>()
        });
        let queue = self.queued_bytes();
        let held = self.held.as_ref().map_or(0, |held| held.bytes.len());
        let aside = self.aside.as_ref().map_or(0, |aside| aside.footprint());
        partial + queue + held + aside + self.unsent.capacity()
    }

    /// Bytes of what waits for `EXEC`.
    pub(super) fn queued_bytes(&self) -> usize {
        self.session.queue.as_ref().map_or(0, |queue| queue.footprint())
    }

    /// Sends answers after those that are unsent.
    pub(super) fn send(&mut self, bytes: &[u8], now_ms: u64) -> io::Result<()> {
        if self.has_unsent() {
            // By itself it would grow to twice its bytes.
            if self.unsent.capacity() - self.unsent.len() < bytes.len() {
                self.unsent.reserve_exact(bytes.len() + self.unsent.len() / SPARE);
            }
            self.unsent.extend_from_slice(bytes);
            return self.flush(now_ms);
        }
        let taken = write_all(&mut self.stream, bytes)?;
        self.progress_ms = now_ms;
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Sends what is unsent, as far as the socket takes it.
    pub(super) fn flush(&mut self, now_ms: u64) -> io::Result<()> {
        let took = self.stream.flush()?;
        let taken = write_all(&mut self.stream, &self.unsent[self.sent..])?;
        if took || taken > 0 {
            self.progress_ms = now_ms;
        }
        self.sent += taken;
        if self.sent == self.unsent.len() {
            (self.unsent, self.sent) = (Vec::new(), 0);
        } else if self.sent > self.unsent.len() / SPARE {
            // Fewer than SPARE bytes are moved for each that was sent.
            self.unsent.drain(..self.sent);
            self.sent = 0;
            self.unsent.shrink_to(self.unsent.len() + self.unsent.len() / SPARE);
        }
        Ok(())
    }

    /// Whether it is time to try whether the client has taken something: the system says so only
    /// once a good part of what it keeps is gone, which with a slow reader takes its time.
    pub(super) fn is_to_be_tried(&self, now_ms: u64, options: &Options) -> bool {
        let pause = options.write_timeout.as_millis() / LOOKS;
        self.has_unsent() && u128::from(now_ms.saturating_sub(self.progress_ms)) >= pause
    }

    /// Begins to throw away what comes, once everything is sent.
    pub(super) fn linger(&mut self, now_ms: u64) {
        self.stream.shut_down_write();
        self.partial = None;
        self.backlog = false;
        self.phase = Phase::Lingering { until_ms: now_ms + LINGER_MS };
    }

    /// Throws away what has come; true once the connection can be closed.
    pub(super) fn throw_away(&mut self, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => true,
            Ok(bytes) => {
                self.lingered += bytes;
                self.lingered > MAX_LINGER_BYTES
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                false
            }
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Looks whether its client has logged in.
    #[inline]
    pub(super) fn note_stranger(&mut self, clients: &Clients, now_ms: u64) {
        let is_stranger = self.session.is_stranger();
        if is_stranger != (self.stranger_ms != 0) {
            self.stranger_ms = if is_stranger { now_ms } else { 0 };
            clients.set_stranger(&self.client, is_stranger);
        }
    }

    /// Whether the clock has to be watched for it.
    pub(super) fn is_watched(&self, options: &Options) -> bool {
        self.began_ms != 0
            || self.stranger_ms != 0
            || self.has_unsent()
            || self.phase != Phase::Open
            || options.idle_timeout.is_some()
    }

    /// Why its time is over, if it is.
    pub(super) fn overdue(&self, now_ms: u64, options: &Options) -> Option<Overdue> {
        let since = |then_ms: u64| u128::from(now_ms.saturating_sub(then_ms));
        if let Phase::Lingering { until_ms } = self.phase {
            return (now_ms >= until_ms).then_some(Overdue::Gone);
        }
        if self.has_unsent() && since(self.progress_ms) >= options.write_timeout.as_millis() {
            return Some(Overdue::Answers);
        }
        if self.is_paused() || self.phase != Phase::Open {
            return None;
        }
        if self.began_ms != 0 && since(self.began_ms) >= options.request_timeout.as_millis() {
            return Some(Overdue::Request);
        }
        if self.stranger_ms != 0 && since(self.stranger_ms) >= options.login_timeout.as_millis() {
            return Some(Overdue::Login);
        }
        let idle =
            options.idle_timeout.is_some_and(|most| since(self.active_ms) >= most.as_millis());
        idle.then_some(Overdue::Gone)
    }
}

/// Why the time of a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// It does nothing.
    Gone,
    /// It takes no answers.
    Answers,
    /// Its request does not arrive.
    Request,
    /// Nobody logs in.
    Login,
}

/// Writes until the socket is full; the bytes that it took.
fn write_all(stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match stream.write(&bytes[taken..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(now) => taken += now,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}
