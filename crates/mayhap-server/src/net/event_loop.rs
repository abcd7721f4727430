//! A loop thread: turn after turn.

use super::accept::Acceptor;
use super::clients::Close;
use super::connection::{Connection, Phase};
use super::connections::Connections;
use super::deferred::Deferred;
use super::gathered::Gathered;
use super::inbox::{Arrival, Inbox};
use super::jobs::{Aside, Jobs};
use super::listen::Listener;
use super::outcome::{Outcome, Writes};
use super::pipeline::{End, Pipeline};
use super::share::TURN_NS;
use super::socket::Socket;
use super::wait::Waiting;
use super::{Control, Options, Service};
use crate::Turn;
use crate::command::SHARE_NS;
use mayhap_engine::unix_ms;
use mio::event::Event;
use mio::{Events, Poll, Registry, Token};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The token of a waker's events.
pub(super) const WAKE: Token = Token(0);
/// Listeners have the next tokens, connections those from here on.
const FIRST_CONNECTION: usize = 1 << 8;

/// Bytes read from one connection in one turn.
const TURN_BYTES: usize = 64 << 10;
/// Bytes of answers after which a turn serves no more connections, which bounds their sum.
const MAX_TURN_ANSWERS: usize = 4 << 20;
/// Memory for answers that a loop keeps between turns.
const KEPT_BYTES: usize = 1 << 20;
/// Milliseconds between two checks of delayed logins.
const PARKED_MS: u64 = 20;

/// One loop thread.
#[derive(Debug)]
pub(super) struct Loop<S> {
    service: Arc<S>,
    options: Arc<Options>,
    control: Arc<Control>,
    inbox: Arc<Inbox>,
    close: Close,
    registry: Registry,
    acceptor: Acceptor,
    connections: Connections<S>,
    deferred: Deferred<S>,
    pipeline: Pipeline,
    /// The results of this turn, connection by connection.
    segments: Vec<Segment>,
    buffer: Box<[u8]>,
    clock: Clock,
    last_tick_ms: u64,
    stopping_since: Option<u64>,
}

/// The results of a turn for one connection.
#[derive(Debug)]
struct Segment {
    connection: usize,
    /// Its answers among those of the turn.
    answers: Range<usize>,
    writes: Option<Writes>,
    close: bool,
}

/// Two clocks read at once: a monotonic one, and the wall clock.
#[derive(Debug)]
struct Clock {
    start: Instant,
    wall_ms: u64,
    set_at_ms: u64,
}

impl Clock {
    fn new() -> Self {
        Self { start: Instant::now(), wall_ms: unix_ms(), set_at_ms: 0 }
    }

    /// Milliseconds since the start, from 1 on, and since 1970. The second is read once a second
    /// and follows the first in between.
    fn now(&mut self) -> (u64, u64) {
        let now_ms = self.start.elapsed().as_millis() as u64 + 1;
        if now_ms - self.set_at_ms >= 1000 {
            (self.wall_ms, self.set_at_ms) = (unix_ms(), now_ms);
        }
        (now_ms, self.wall_ms + (now_ms - self.set_at_ms))
    }
}

impl<S: Service> Loop<S> {
    /// The loop of this inbox; the one with listeners accepts connections for all.
    pub(super) fn new(
        service: Arc<S>,
        options: Arc<Options>,
        control: Arc<Control>,
        index: usize,
        (listeners, aside): (Vec<Listener>, (Jobs, Arc<Gathered>)),
        poll: &Poll,
    ) -> io::Result<Self> {
        let registry = poll.registry().try_clone()?;
        let inbox = Arc::clone(&control.inboxes[index]);
        let ours = Arc::clone(&inbox);
        if service.open(0, None).needs_login() {
            service.clients().expect_logins();
        }
        Ok(Self {
            acceptor: Acceptor::new(listeners, Arc::clone(&control), &registry, WAKE.0 + 1)?,
            connections: Connections::new(Arc::clone(&service), Arc::clone(&options)),
            deferred: Deferred::new(Arc::clone(&service), Arc::clone(&inbox), aside),
            pipeline: Pipeline::new(Turn { hurried: true, ..service.turn() }),
            service,
            options,
            control,
            inbox,
            close: Close(Arc::new(move || ours.kill())),
            registry,
            segments: Vec::new(),
            buffer: vec![0; TURN_BYTES].into_boxed_slice(),
            clock: Clock::new(),
            last_tick_ms: 0,
            stopping_since: None,
        })
    }

    /// Runs until the server has to stop.
    pub(super) fn run(mut self, mut poll: Poll) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut waiting = Waiting::new(self.options.busy_poll);
        loop {
            waiting.wait(&mut poll, &mut events, self.timeout())?;
            let (now_ms, wall_ms) = self.clock.now();
            (self.connections.now_ms, self.pipeline.turn.work.now) = (now_ms, wall_ms);
            let began = Instant::now();
            for event in &events {
                self.take(event);
            }
            for arrival in self.inbox.take_arrivals() {
                self.welcome(arrival);
            }
            if self.acceptor.is_due {
                let most = self.options.max_clients;
                for arrival in self.acceptor.accept(self.service.clients(), most) {
                    self.welcome(arrival);
                }
            }
            self.deferred.take_done(&mut self.connections, &self.control, wall_ms);
            self.serve_queue();
            let served = self.segments.len();
            self.end_turn();
            let took = began.elapsed();
            if served != 0 {
                self.service.end(&mut self.pipeline.turn, took);
            }
            waiting.after(served, took);
            self.deferred.release_all(&mut self.connections, &mut self.pipeline.turn);
            self.tick(now_ms);
            self.deferred.begin_gathered();
            if self.is_done(now_ms) {
                return Ok(());
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if self.connections.queued() != (0, 0) || self.acceptor.is_due {
            return Some(Duration::ZERO);
        }
        if !self.deferred.parked.is_empty() {
            return Some(Duration::from_millis(PARKED_MS));
        }
        let ticks =
            self.connections.watching || self.acceptor.has_failed || self.stopping_since.is_some();
        ticks.then(|| Duration::from_millis(self.tick_ms()))
    }

    /// Often enough for the shortest deadline.
    fn tick_ms(&self) -> u64 {
        let options = &self.options;
        let shortest = options.request_timeout.min(options.write_timeout).min(options.grace);
        (shortest.as_millis() as u64 / 4).clamp(10, 1000)
    }

    fn take(&mut self, event: &Event) {
        let Token(token) = event.token();
        let Some(index) = token.checked_sub(FIRST_CONNECTION) else {
            self.acceptor.is_due |= event.token() != WAKE;
            return;
        };
        let Some(connection) = self.connections.get(index) else { return };
        // Nothing can be answered any more, so the pending request need not be begun.
        if event.is_write_closed() && connection.owed.aside.is_some() {
            return self.connections.close(index);
        }
        if connection.socket.note(event) {
            self.connections.flush(index);
        }
        self.connections.enqueue(index);
    }

    fn welcome(&mut self, arrival: Arrival) {
        let Arrival { mut stream, address } = arrival;
        let clients = self.service.clients();
        let token = Token(self.connections.next_index() + FIRST_CONNECTION);
        if let Err(error) = stream.register(&self.registry, token) {
            log::warn!("cannot watch a connection: {error}");
            clients.leave();
            return;
        }
        let client = clients.add(address, self.pipeline.turn.work.now, self.close.clone());
        let session = self.service.open(client.id, address);
        let now_ms = self.connections.now_ms;
        let socket = Socket::new(stream, now_ms);
        self.connections.add(Connection::new(socket, session, client, now_ms));
    }

    /// Serves connections with little work, then at least one of those whose last turn took long,
    /// so that they make progress, and more only while the turn is short.
    fn serve_queue(&mut self) {
        let start = self.pipeline.turn.work_ns;
        // A connection that is put back is served again in the next turn.
        for _ in 0..self.connections.queued().0 {
            if self.is_full(start, TURN_NS) {
                break;
            }
            let Some(index) = self.connections.dequeue(false) else { break };
            self.serve(index);
        }
        for _ in 0..self.connections.queued().1 {
            let Some(index) = self.connections.dequeue(true) else { break };
            self.serve(index);
            if self.is_full(start, SHARE_NS) {
                break;
            }
        }
    }

    /// Whether a turn that started at `start` has done enough work.
    const fn is_full(&self, start: u64, most: u64) -> bool {
        self.pipeline.out.len() > MAX_TURN_ANSWERS || self.pipeline.turn.work_ns - start >= most
    }

    /// Executes the requests of a connection.
    fn serve(&mut self, index: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        if matches!(connection.phase, Phase::Lingering { .. }) {
            if connection.socket.throw_away(&mut self.buffer) {
                self.connections.close(index);
            } else {
                self.connections.enqueue(index);
            }
            return;
        }
        if connection.phase != Phase::Open || connection.is_paused() {
            return;
        }
        let mut arrived = 0;
        if !connection.input.backlog {
            arrived = match connection.socket.read(&mut self.buffer) {
                Ok(0) => return self.connections.end_input(index),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.connections.continue_handshake(index);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return self.connections.enqueue(index);
                }
                Err(_) => return self.connections.close(index),
            };
        }
        self.execute(index, arrived);
    }

    /// Executes the complete requests of a connection, with `arrived` new bytes in the buffer.
    fn execute(&mut self, index: usize, arrived: usize) {
        let now_ms = self.connections.now_ms;
        let Some(connection) = self.connections.get(index) else { return };
        let start = self.pipeline.out.len();
        let bytes = &self.buffer[..arrived];
        let ran = self.pipeline.carry_out(connection, bytes, &*self.service, &self.options);
        let is_unfinished = connection.input.partial.is_some();
        connection.input.backlog = matches!(ran.end, End::Enough | End::Later) && is_unfinished;
        connection.queued.is_heavy = ran.heavy;
        connection.owed.aside = ran.later.map(|request| Box::new(Aside::Due(request)));
        let since = &mut connection.since;
        if !is_unfinished || connection.input.backlog {
            since.request = 0;
        } else if since.request == 0 || ran.requests > 0 {
            since.request = now_ms;
        }
        self.service.clients().count_in(ran.requests, arrived as u64);
        self.connections.note_turn(index, ran.requests, self.pipeline.turn.work.now);
        if let End::Shutdown { save } = ran.end {
            self.control.shut_down(save);
        }
        self.segments.push(Segment {
            connection: index,
            answers: start..self.pipeline.out.len(),
            writes: ran.writes,
            close: matches!(ran.end, End::Close | End::Shutdown { .. }),
        });
    }

    /// Ends a turn: first the log, then the answers.
    fn end_turn(&mut self) {
        if self.segments.is_empty() {
            return;
        }
        let outcome = Outcome::of(&*self.service, &mut self.pipeline.turn);
        let Pipeline { turn, out, .. } = &mut self.pipeline;
        let (connections, deferred) = (&mut self.connections, &mut self.deferred);
        for Segment { connection: index, answers, writes, close } in self.segments.drain(..) {
            deferred.answer(connections, index, (&out[answers], writes, close), &outcome);
            deferred.begin_job(connections, index, turn);
            connections.account(index);
        }
        self.service.clients().count_out(out.len() as u64);
        out.clear();
        out.shrink_to(KEPT_BYTES);
    }

    /// Regular checks.
    fn tick(&mut self, now_ms: u64) {
        if self.inbox.take_kills() {
            self.connections.close_those(|connection| connection.client.is_gone());
        }
        if self.stopping_since.is_none() && self.control.is_stopping() {
            self.stopping_since = Some(now_ms);
            self.acceptor.stop();
        }
        if self.stopping_since.is_some() {
            self.connections.stop();
        }
        self.deferred.begin_parked(&mut self.connections, &mut self.pipeline.turn);
        if now_ms.saturating_sub(self.last_tick_ms) < self.tick_ms() {
            return;
        }
        self.last_tick_ms = now_ms;
        self.acceptor.retry();
        if self.connections.watching {
            self.connections.watch();
        }
    }

    /// Whether all connections of a stopping server are closed, or its grace period is over.
    fn is_done(&self, now_ms: u64) -> bool {
        self.stopping_since.is_some_and(|since_ms| {
            let waited = u128::from(now_ms.saturating_sub(since_ms));
            self.connections.is_empty() || waited >= self.options.grace.as_millis()
        })
    }
}

impl<S> Drop for Loop<S> {
    fn drop(&mut self) {
        // However this one ended, the others would be half a server.
        self.control.stop();
    }
}
