//! Processing the bytes of one connection in one turn.

use super::connection::{Connection, Input, MAX_UNSENT_BYTES, Partial};
use super::jobs::Request;
use super::outcome::{Tail, Writes};
use super::share::{HEAVY_NS, Share};
use super::{Options, Service};
use crate::command::{self, After};
use crate::metrics::Counter;
use crate::resp::{Limits, Malformed, Parser, Reply};
use crate::{Session, Turn};
use mayhap_engine::Words;

/// The state that a loop thread executes requests with, reused in every turn.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) turn: Turn,
    /// The answers of this turn, connection after connection.
    pub(super) out: Vec<u8>,
    /// For connections whose last request was complete, as most are.
    parser: Parser,
    places: Vec<(u32, u32)>,
}

/// The results of a turn for one connection.
#[derive(Debug)]
pub(super) struct Ran {
    /// Bytes that are processed.
    used: usize,
    pub(super) requests: u64,
    /// The answers that depend on the log.
    pub(super) writes: Option<Writes>,
    pub(super) end: End,
    /// A request that takes long.
    pub(super) later: Option<Request>,
    /// Whether it took more of the turn than most.
    pub(super) heavy: bool,
}

/// Why no more of a connection's requests are executed in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All are done, or the rest has not arrived.
    Waiting,
    /// There are enough answers for one turn, or its share of the turn is used up.
    Enough,
    /// One takes long: the rest is executed after it.
    Later,
    /// The connection is closed once the answers are sent.
    Close,
    /// The server stops as well.
    Shutdown { save: bool },
}

impl Pipeline {
    pub(super) const fn new(turn: Turn) -> Self {
        Self { turn, out: Vec::new(), parser: Parser::new(), places: Vec::new() }
    }

    /// Executes the complete requests of a connection, with `arrived` after its earlier input.
    pub(super) fn carry_out(
        &mut self,
        connection: &mut Connection,
        arrived: &[u8],
        service: &impl Service,
        options: &Options,
    ) -> Ran {
        let room = MAX_UNSENT_BYTES.saturating_sub(connection.socket.unsent_bytes());
        let Connection { session, input: Input { partial, .. }, .. } = connection;
        let (turn, out) = (&mut self.turn, &mut self.out);
        let Some(kept) = partial else {
            let mut job = Job { service, options, session, turn, out, room };
            let ran = job.run(arrived, &mut self.parser, &mut self.places);
            if ran.used < arrived.len() || self.parser.is_skipping() {
                let bytes = arrived[ran.used..].to_vec();
                let parser = std::mem::take(&mut self.parser);
                let waits = ran.end == End::Waiting;
                let places = if waits { self.places.clone() } else { Vec::new() };
                *partial = Some(Box::new(Partial { bytes, parser, places }));
            }
            return ran;
        };
        kept.bytes.extend_from_slice(arrived);
        let Partial { bytes, parser, places } = &mut **kept;
        let ran = Job { service, options, session, turn, out, room }.run(bytes, parser, places);
        if ran.used == bytes.len() && !parser.is_skipping() {
            *partial = None;
        } else if ran.used > 0 {
            bytes.drain(..ran.used);
            bytes.shrink_to(2 * bytes.len());
            places.shrink_to(2 * places.len());
        }
        ran
    }
}

/// The context of one pipeline.
struct Job<'a, S> {
    service: &'a S,
    options: &'a Options,
    session: &'a mut Session,
    turn: &'a mut Turn,
    out: &'a mut Vec<u8>,
    /// Bytes of answers after which there are enough.
    room: usize,
}

impl<S: Service> Job<'_, S> {
    fn run(&mut self, data: &[u8], parser: &mut Parser, places: &mut Vec<(u32, u32)>) -> Ran {
        let start = self.out.len();
        let mut share = Share::begin(self.turn);
        let mut ran = Ran {
            used: 0,
            requests: 0,
            writes: None,
            end: End::Waiting,
            later: None,
            heavy: false,
        };
        while let Some(rest) = data.get(ran.used..).filter(|rest| !rest.is_empty()) {
            if self.out.len() - start > self.room {
                ran.end = End::Enough;
                break;
            }
            match parser.parse(rest, places, limits(self.session, self.options)) {
                Ok(Some(bytes)) => ran.used += bytes,
                Ok(None) => break,
                Err(Malformed(text)) => {
                    // In an order that makes sense to the client: after the answers so far.
                    if !text.is_empty() {
                        Reply::new(self.out, false).error(&text);
                        count(&mut ran.writes, None, 0..0);
                    }
                    (ran.used, ran.end) = (data.len(), End::Close);
                    break;
                }
            }
            let words = parser.words(rest, places);
            if words.is_empty() {
                if let Some(text) = parser.take_refusal() {
                    self.refuse(&text);
                    count(&mut ran.writes, None, 0..0);
                }
                continue;
            }
            let before = self.out.len();
            (self.turn.wrote, self.turn.operated) = (false, false);
            self.turn.wrote_from = None;
            let after = self.service.execute(words, self.session, self.turn, self.out);
            if after == After::Later {
                let (request, joined) = self.later(words, &data[ran.used..]);
                (ran.later, ran.end) = (Some(request), End::Later);
                ran.used += joined;
                break;
            }
            ran.requests += 1;
            if self.out.len() > before {
                count(&mut ran.writes, Some(self.turn), start..before);
            }
            if share.is_over(self.turn) {
                ran.end = End::Enough;
            }
            match after {
                After::Go | After::Later => {}
                After::Close => ran.end = End::Close,
                After::Shutdown { save } => ran.end = End::Shutdown { save },
            }
            match ran.end {
                End::Waiting => {}
                End::Enough => break,
                _ => {
                    ran.used = data.len();
                    break;
                }
            }
        }
        ran.heavy = share.taken(self.turn) > HEAVY_NS;
        ran
    }
}

impl<S: Service> Job<'_, S> {
    /// A request that takes long, with those joined to it out of the rest of the data, and their
    /// bytes.
    fn later(&mut self, words: Words<'_>, rest: &[u8]) -> (Request, usize) {
        let not_before = std::mem::take(&mut self.turn.not_before);
        let mut request = Request::new(words, not_before);
        let joined = match self.service.in_store() {
            Some(_) => join(&mut request, rest, limits(self.session, self.options)),
            None => 0,
        };
        (request, joined)
    }

    /// Answers a request that is too large for its limits.
    #[cold]
    fn refuse(&mut self, text: &str) {
        self.turn.counts.add(Counter::Errors, 1);
        if let Some(queue) = &mut self.session.queue {
            queue.failed = true;
        }
        Reply::new(self.out, false).error(text);
    }
}

/// The most requests on a filter in a store that are executed together.
const MAX_JOINED: usize = 1000;

/// Adds to a request on a filter in a store the keys of complete requests after it that are the
/// same but for the key, and returns the bytes of these requests.
fn join(request: &mut Request, rest: &[u8], limits: &Limits) -> usize {
    let (mut parser, mut places, mut used) = (Parser::new(), Vec::new(), 0);
    while request.requests < MAX_JOINED {
        // Incomplete and malformed requests are left for the next turn.
        let Some(next) = rest.get(used..) else { break };
        let Ok(Some(bytes)) = parser.parse(next, &mut places, limits) else { break };
        let words = parser.words(next, &places);
        if !command::are_joined(request.words.words(), words) {
            break;
        }
        request.words.extend(words.get(2));
        request.requests += 1;
        used += bytes;
    }
    used
}

/// Counts an answer among those that depend on the log, if it does or one before it does. The
/// answers of the turn begin where `places` does, and this one where it ends.
#[inline]
fn count(writes: &mut Option<Writes>, turn: Option<&Turn>, places: std::ops::Range<usize>) {
    let (wrote, operated) = turn.map_or((false, false), |turn| (turn.wrote, turn.operated));
    let this = Tail { at: places.end - places.start, answers: 1 };
    let more = |before: &mut Tail| before.answers += 1;
    match writes {
        None if wrote || operated => *writes = Some(Writes { all: this, recorded: None }),
        None => return,
        Some(Writes { all, recorded }) => {
            more(all);
            recorded.as_mut().map(more);
        }
    }
    if let Some(Writes { recorded: recorded @ None, .. }) = writes
        && wrote
    {
        // A transaction is one answer, whose first elements may be unaffected.
        let inner = turn.and_then(|turn| turn.wrote_from);
        let inner = inner.map(|(at, answers)| Tail { at: at - places.start, answers });
        *recorded = Some(inner.unwrap_or(this));
    }
}

/// Lower limits for connections that have yet to log in.
#[inline]
fn limits<'a>(session: &Session, options: &'a Options) -> &'a Limits {
    if session.rights.has_any() { &options.limits } else { &Limits::UNAUTHENTICATED }
}
