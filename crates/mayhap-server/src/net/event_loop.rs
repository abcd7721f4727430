//! A loop thread: turn after turn.

use super::clients::Close;
use super::connection::{Connection, Overdue, Phase, Writes};
use super::jobs::{Aside, Jobs};
use super::pipeline::{End, Work};
use super::share::TURN_NS;
use super::wait::Waiting;
use super::{Control, Engine, Inbox, Listener, Options};
use crate::Turn;
use crate::clock::unix_ms;
use crate::command::SHARE_NS;
use crate::resp::Reply;
use mio::event::Event;
use mio::{Events, Poll, Registry, Token};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a waker's event says.
pub(crate) const WAKE: Token = Token(0);
/// Listeners come next, connections from here on.
pub(super) const FIRST_CONNECTION: usize = 1 << 8;

/// Bytes that one connection may bring into one turn.
const TURN_BYTES: usize = 64 << 10;
/// Answers after which a turn takes no more connections, so that all of them together stay small.
const MAX_TURN_ANSWERS: usize = 4 << 20;
/// Milliseconds between two looks at logins that have to wait.
const PARKED_MS: u64 = 20;
/// Bytes that a connection may have when all of them together have too many.
const MODEST_BYTES: usize = 64 << 10;

/// The last answers of connections that are closed.
const NO_BUFFERS: &str =
    "ERR the server has no more memory for requests and answers (max_buffer_bytes)";
const NO_LOGIN: &str = "ERR no login within 10 seconds";
const TOO_SLOW: &str = "ERR the request did not arrive in time (request_timeout)";

/// One loop thread.
#[derive(Debug)]
pub(crate) struct Loop<E> {
    pub(super) engine: Arc<E>,
    pub(super) options: Arc<Options>,
    pub(super) control: Arc<Control>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) close: Close,
    pub(super) jobs: Jobs,
    pub(super) listeners: Vec<Listener>,
    pub(super) registry: Registry,
    pub(super) connections: Slab<Connection>,
    /// Connections that have something to do in this turn or the next.
    queue: VecDeque<usize>,
    /// Those whose last turn took long.
    heavy: VecDeque<usize>,
    /// Connections whose answers wait for the log.
    pub(super) held: Vec<usize>,
    /// Connections whose login has to wait; another may have the place of one that is gone.
    pub(super) parked: Vec<usize>,
    /// What this turn did, connection by connection.
    pub(super) segments: Vec<Segment>,
    pub(super) work: Work,
    buffer: Box<[u8]>,
    clock: Clock,
    pub(super) now_ms: u64,
    /// A listener may have more connections.
    pub(super) accepting: bool,
    /// Listening failed; it is tried again at the next tick.
    pub(super) accept_failed: bool,
    pub(super) next_owner: usize,
    /// Some connection has a deadline.
    pub(super) watching: bool,
    last_tick_ms: u64,
    stopping_since: Option<u64>,
}

/// What a turn did for one connection.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) connection: usize,
    /// Its answers among those of the turn.
    pub(super) answers: Range<usize>,
    pub(super) writes: Option<Writes>,
    pub(super) close: bool,
}

/// Two clocks read at once: one that never jumps, and what people call the time.
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

impl<E: Engine> Loop<E> {
    /// The loop of this inbox; the one with listeners takes connections for all.
    pub(crate) fn new(
        engine: Arc<E>,
        options: Arc<Options>,
        control: Arc<Control>,
        index: usize,
        (listeners, jobs): (Vec<Listener>, Jobs),
        poll: &Poll,
    ) -> io::Result<Self> {
        let registry = poll.registry().try_clone()?;
        let inbox = Arc::clone(&control.inboxes[index]);
        let ours = Arc::clone(&inbox);
        if engine.open(0, None).is_stranger() {
            engine.clients().expect_logins();
        }
        let close = Close(Arc::new(move || ours.kill()));
        let mut this = Self {
            work: Work::new(Turn { hurried: true, ..engine.turn() }),
            engine,
            options,
            inbox,
            close,
            control,
            jobs,
            listeners,
            registry,
            connections: Slab::new(),
            queue: VecDeque::new(),
            heavy: VecDeque::new(),
            held: Vec::new(),
            parked: Vec::new(),
            segments: Vec::new(),
            buffer: vec![0; TURN_BYTES].into_boxed_slice(),
            clock: Clock::new(),
            now_ms: 1,
            accepting: false,
            accept_failed: false,
            next_owner: 0,
            watching: false,
            last_tick_ms: 0,
            stopping_since: None,
        };
        for (index, listener) in this.listeners.iter_mut().enumerate() {
            listener.register(&this.registry, Token(1 + index))?;
        }
        Ok(this)
    }

    /// Works until the server is to stop.
    pub(crate) fn run(mut self, mut poll: Poll) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut waiting = Waiting::new(self.options.busy_poll);
        loop {
            waiting.wait(&mut poll, &mut events, self.timeout())?;
            (self.now_ms, self.work.turn.now) = self.clock.now();
            let began = Instant::now();
            for event in &events {
                self.take(event);
            }
            for arrival in self.inbox.take_arrivals() {
                self.welcome(arrival);
            }
            if self.accepting {
                self.accept();
            }
            self.take_done();
            self.serve_queue();
            let served = self.segments.len();
            self.end_turn();
            let took = began.elapsed();
            if served != 0 {
                self.engine.end(&mut self.work.turn, took);
            }
            waiting.after(served, took);
            self.release_held();
            self.tick();
            if self.is_done() {
                return Ok(());
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.queue.is_empty() || !self.heavy.is_empty() || self.accepting {
            return Some(Duration::ZERO);
        }
        if !self.parked.is_empty() {
            return Some(Duration::from_millis(PARKED_MS));
        }
        let ticks = self.watching || self.accept_failed || self.stopping_since.is_some();
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
            self.accepting |= event.token() != WAKE;
            return;
        };
        let Some(connection) = self.connections.get_mut(index) else { return };
        let ended = event.is_read_closed() || event.is_error();
        connection.half_closed |= ended;
        connection.readable |= event.is_readable() || ended;
        if event.is_writable() || ended {
            self.flush(index);
        }
        self.enqueue(index);
    }

    /// Puts a connection into the queue if something can be done for it.
    pub(super) fn enqueue(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let able = match connection.phase {
            Phase::Open => !connection.is_paused() && self.stopping_since.is_none(),
            Phase::Closing => false,
            Phase::Lingering { .. } => true,
        };
        if able && !connection.queued && (connection.readable || connection.backlog) {
            connection.queued = true;
            let queue = if connection.heavy { &mut self.heavy } else { &mut self.queue };
            queue.push_back(index);
        }
    }

    /// Serves those who bring little, then those whose last turn took long: one of them at least,
    /// so that they go on, and more only while the turn is short.
    fn serve_queue(&mut self) {
        let start = self.work.turn.work;
        // Those that are put back have their next turn in the next turn.
        for _ in 0..self.queue.len() {
            if self.is_full(start, TURN_NS) {
                break;
            }
            let Some(index) = self.queue.pop_front() else { break };
            self.serve(index);
        }
        for _ in 0..self.heavy.len() {
            let Some(index) = self.heavy.pop_front() else { break };
            self.serve(index);
            if self.is_full(start, SHARE_NS) {
                break;
            }
        }
    }

    /// Whether a turn that began with so much work has done enough.
    const fn is_full(&self, start: u64, most: u64) -> bool {
        self.work.out.len() > MAX_TURN_ANSWERS || self.work.turn.work - start >= most
    }

    /// Carries out what a connection has sent.
    fn serve(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        connection.queued = false;
        if matches!(connection.phase, Phase::Lingering { .. }) {
            if connection.throw_away(&mut self.buffer) {
                self.close(index);
            } else {
                self.enqueue(index);
            }
            return;
        }
        if connection.phase != Phase::Open || connection.is_paused() {
            return;
        }
        let mut arrived = 0;
        if !connection.backlog {
            match connection.stream.read(&mut self.buffer) {
                Ok(0) => return self.end_of_input(index),
                Ok(bytes) => arrived = bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.readable = false;
                    return self.after_handshake(index);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return self.enqueue(index);
                }
                Err(_) => return self.close(index),
            }
            let drained = arrived < self.buffer.len() && !connection.half_closed;
            connection.readable = !(drained && connection.stream.is_drained_by_a_short_read());
        }
        let start = self.work.out.len();
        let arrived = &self.buffer[..arrived];
        let ran = self.work.carry_out(connection, arrived, &*self.engine, &self.options);
        connection.backlog =
            matches!(ran.end, End::Enough | End::Later) && connection.partial.is_some();
        connection.heavy = ran.heavy;
        connection.aside = ran.later.map(|request| Box::new(Aside::Due(request)));
        if connection.partial.is_none() || connection.backlog {
            connection.began_ms = 0;
        } else if connection.began_ms == 0 || ran.requests > 0 {
            connection.began_ms = self.now_ms;
            self.watching = true;
        }
        connection.active_ms = self.now_ms;
        let clients = self.engine.clients();
        connection.note_stranger(clients, self.now_ms);
        self.watching |= connection.is_watched(&self.options);
        // ORDERING: Relaxed. Counts for people.
        clients.bytes_in.add(arrived.len() as u64);
        clients.requests.add(ran.requests);
        connection.client.update(&connection.session, ran.requests, self.work.turn.now);
        if let End::Shutdown { save } = ran.end {
            self.control.shut_down(save);
        }
        self.segments.push(Segment {
            connection: index,
            answers: start..self.work.out.len(),
            writes: ran.writes,
            close: matches!(ran.end, End::Close | End::Shutdown { .. }),
        });
    }

    /// A client that sends no more still gets its answers.
    fn end_of_input(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.has_unsent() || connection.owes() {
            connection.readable = false;
            connection.phase = Phase::Closing;
        } else {
            self.close(index);
        }
    }

    /// TLS has bytes of its own to send, and is done at some time.
    fn after_handshake(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.partial.is_none() && !connection.stream.is_handshaking() {
            connection.began_ms = 0;
        }
        if connection.stream.wants_write() {
            self.flush(index);
        }
    }

    pub(super) fn close(&mut self, index: usize) {
        if let Some(connection) = self.connections.try_remove(index) {
            self.engine.clients().remove(&connection.client);
        }
    }

    /// Counts the bytes of a connection anew; it is closed if all have too many and it has more
    /// than most.
    pub(super) fn account(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let (clients, client) = (self.engine.clients(), &connection.client);
        let bytes = connection.footprint();
        // ORDERING: Relaxed. A count; the limit is for memory, not for the order of anything.
        let before = client.buffered.replace(bytes as u64) as usize;
        if bytes <= before {
            clients.buffered.sub((before - bytes) as u64);
            return;
        }
        let all = clients.buffered.add((bytes - before) as u64) as usize;
        if all > self.options.max_buffer_bytes && bytes > MODEST_BYTES {
            let most = self.options.max_buffer_bytes;
            log::warn!("client {} closed: {all} bytes of {most} for buffers", client.id);
            self.refuse(index, NO_BUFFERS);
        }
    }

    /// Says why, and closes.
    fn refuse(&mut self, index: usize, text: &str) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.has_unsent() || connection.owes() || connection.phase != Phase::Open {
            return self.close(index);
        }
        let mut line = Vec::new();
        Reply::new(&mut line, false).error(text);
        if connection.send(&line, self.now_ms).is_err() || connection.has_unsent() {
            return self.close(index);
        }
        self.begin_linger(index);
        self.account(index);
    }

    pub(super) fn begin_linger(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        connection.linger(self.now_ms);
        connection.readable = true;
        self.watching = true;
        self.enqueue(index);
    }

    /// What has to be looked at once in a while.
    fn tick(&mut self) {
        if self.inbox.take_kills() {
            self.close_those(|connection| connection.client.is_gone());
        }
        if self.stopping_since.is_none() && self.control.is_stopping() {
            self.stopping_since = Some(self.now_ms);
            self.listeners.clear();
            self.accepting = false;
        }
        if self.stopping_since.is_some() {
            self.close_those(|connection| !connection.has_unsent() && !connection.owes());
        }
        self.begin_parked();
        if self.now_ms.saturating_sub(self.last_tick_ms) < self.tick_ms() {
            return;
        }
        self.last_tick_ms = self.now_ms;
        self.accepting |= std::mem::take(&mut self.accept_failed) && !self.listeners.is_empty();
        if !self.watching {
            return;
        }
        self.watch();
    }

    /// Looks for connections whose time is over.
    fn watch(&mut self) {
        let (now_ms, options) = (self.now_ms, Arc::clone(&self.options));
        self.watching = false;
        let tried =
            |(_, connection): &(usize, &Connection)| connection.is_to_be_tried(now_ms, &options);
        let tried: Vec<usize> =
            self.connections.iter().filter(tried).map(|(index, _)| index).collect();
        for index in tried {
            self.flush(index);
        }
        let mut overdue = Vec::new();
        for (index, connection) in &self.connections {
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

    /// Closes a connection that takes no answers, and says so.
    fn leave(&mut self, index: usize) {
        if let Some(connection) = self.connections.get(index) {
            let (client, bytes) = (&connection.client, connection.unsent_bytes());
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

    fn close_those(&mut self, which: impl Fn(&Connection) -> bool) {
        let found = self.connections.iter().filter(|(_, connection)| which(connection));
        let found: Vec<_> = found.map(|(index, _)| index).collect();
        for index in found {
            self.close(index);
        }
    }

    /// Whether nothing is left of a server that stops, or its time is over.
    fn is_done(&self) -> bool {
        self.stopping_since.is_some_and(|since_ms| {
            let waited = u128::from(self.now_ms.saturating_sub(since_ms));
            self.connections.is_empty() || waited >= self.options.grace.as_millis()
        })
    }
}

impl<E> Drop for Loop<E> {
    fn drop(&mut self) {
        // Whatever ended this one, the others would be half a server.
        self.control.stop();
    }
}
