//! The end of a turn: first the log, then the answers.

use super::Engine;
use super::connection::{From, Held, Phase, Waits};
use super::event_loop::{Loop, Segment};
use super::jobs::{Aside, Job};
use crate::command::After;
use crate::config::Rights;
use crate::durable::{State, Ticket, Unwritten};
use crate::metrics::Counter;
use crate::resp::Reply;
use crate::{Session, Turn};
use std::sync::Arc;

/// Memory for answers that a loop keeps between turns.
const KEPT_BYTES: usize = 1 << 20;

/// The answer if the log failed after their change was written.
const LOG_FAILED: &str = "MISCONF The log failed on the disk, so it is unknown whether this change \
                          is durable. Check the server's messages, then restart it.";

/// The answer if too many requests that take long wait already.
const BUSY: &str =
    "ERR too many requests that take long are waiting already; nothing was done, try again later";

/// What the log says of the changes of a turn.
#[derive(Debug)]
pub(super) enum Outcome {
    Safe,
    Waiting(Ticket),
    /// Nothing of it is done, once all is taken back of what was refused with this number; the
    /// operations of the turn are, up to this place.
    Refused {
        text: String,
        waits: Waits,
    },
    /// It is written, and may not be durable.
    Failed,
}

impl Outcome {
    /// Writes what a turn has changed.
    pub(super) fn of(engine: &impl Engine, turn: &mut Turn) -> Self {
        match engine.commit(turn) {
            Ok(None) => Self::Safe,
            Ok(Some(ticket)) => match engine.state(ticket) {
                State::Safe => Self::Safe,
                State::Waiting => Self::Waiting(ticket),
                State::Refused => Self::Failed,
            },
            Err(Unwritten { why, until }) => Self::Refused {
                text: format!("MISCONF {why}"),
                waits: Waits { ticket: engine.last_operation(), undone: until },
            },
        }
    }
}

impl<E: Engine> Loop<E> {
    /// Writes what was changed, then sends the answers.
    pub(super) fn end_turn(&mut self) {
        if self.segments.is_empty() {
            return;
        }
        let outcome = Outcome::of(&*self.engine, &mut self.work.turn);
        let mut segments = std::mem::take(&mut self.segments);
        let mut out = std::mem::take(&mut self.work.out);
        for segment in segments.drain(..) {
            self.answer(&segment, &out[segment.answers.clone()], &outcome);
            self.begin_job(segment.connection);
            self.account(segment.connection);
        }
        // ORDERING: Relaxed. A count for people.
        self.engine.clients().bytes_out.add(out.len() as u64);
        out.clear();
        out.shrink_to(KEPT_BYTES);
        (self.segments, self.work.out) = (segments, out);
    }

    fn answer(&mut self, segment: &Segment, answers: &[u8], outcome: &Outcome) {
        let index = segment.connection;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if segment.close {
            connection.phase = Phase::Closing;
        }
        let (bytes, waits, writes) = match (outcome, segment.writes) {
            (Outcome::Refused { text, waits }, Some(writes)) => {
                let bytes = match writes.recorded {
                    Some(recorded) => refused(answers, recorded, text),
                    None => answers.to_vec(),
                };
                (bytes, *waits, writes)
            }
            (&Outcome::Waiting(ticket), Some(writes)) => {
                (answers.to_vec(), Waits { ticket: Some(ticket), undone: None }, writes)
            }
            (Outcome::Failed, Some(writes)) => {
                return self.send(index, &refused(answers, writes.all, LOG_FAILED));
            }
            _ => return self.send(index, answers),
        };
        connection.held = Some(Box::new(Held { waits, bytes, writes }));
        self.release(index);
    }

    /// Sends the answers whose time has come.
    pub(super) fn release_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        for index in std::mem::take(&mut self.held) {
            if self.release(index) {
                self.begin_job(index);
                self.account(index);
            }
        }
    }

    /// Sends the answers of a connection if they need not wait; whether they were held and go now.
    fn release(&mut self, index: usize) -> bool {
        let Some(connection) = self.connections.get_mut(index) else { return false };
        // Another connection may have taken the place of one that was closed.
        let Some(held) = connection.held.take() else { return false };
        let Waits { ticket, undone } = held.waits;
        let is_undone = undone.is_none_or(|number| self.engine.is_undone(number));
        let state = ticket.map_or(State::Safe, |ticket| self.engine.state(ticket));
        match state {
            State::Safe if is_undone => self.send(index, &held.bytes),
            State::Refused if is_undone => {
                self.send(index, &refused(&held.bytes, held.writes.all, LOG_FAILED));
            }
            _ => {
                connection.held = Some(held);
                self.held.push(index);
                return false;
            }
        }
        true
    }

    /// Hands a request that takes long to its thread, once the answers before it may go.
    fn begin_job(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.held.is_some() {
            return;
        }
        let now = self.work.turn.now;
        if matches!(connection.aside.as_deref(), Some(Aside::Due(due)) if due.not_before > now) {
            self.watching = true;
            self.parked.push(index);
            return;
        }
        let due = connection.aside.take_if(|aside| matches!(**aside, Aside::Due(_)));
        let Some(Aside::Due(request)) = due.map(|aside| *aside) else { return };
        connection.aside =
            Some(Box::new(Aside::Out(request.footprint() + connection.queued_bytes())));
        let nobody = Session::new(connection.client.id, None, Rights::NONE);
        let session = std::mem::replace(&mut connection.session, nobody);
        let (client, inbox) = (Arc::clone(&connection.client), Arc::clone(&self.inbox));
        if let Err(job) =
            self.jobs.put(Box::new(Job { request, session, client, connection: index, inbox }))
        {
            connection.session = job.session;
            // An `EXEC` that is refused ends its transaction.
            connection.session.queue = None;
            connection.aside = None;
            let mut line = Vec::new();
            Reply::new(&mut line, false).error(BUSY);
            self.work.turn.counts.add(Counter::Errors, 1);
            self.send(index, &line);
        }
    }

    /// Begins what had to wait for its time.
    pub(super) fn begin_parked(&mut self) {
        for index in std::mem::take(&mut self.parked) {
            self.begin_job(index);
        }
    }

    /// Takes back what took long, and answers it.
    pub(super) fn take_done(&mut self) {
        for done in self.inbox.take_done() {
            let index = done.connection;
            let connection = self.connections.get_mut(index);
            // Another client may have taken the place of one that is gone.
            let Some(connection) = connection.filter(|to| to.client.id == done.client.id) else {
                continue;
            };
            connection.session = done.session;
            connection.aside = None;
            connection.active_ms = self.now_ms;
            connection.note_stranger(self.engine.clients(), self.now_ms);
            connection.client.update(&connection.session, 1, self.work.turn.now);
            let clients = self.engine.clients();
            // ORDERING: Relaxed. Counts for people.
            clients.requests.add(1);
            clients.bytes_out.add(done.answer.len() as u64);
            if let After::Shutdown { save } = done.after {
                self.control.shut_down(save);
            }
            let close = matches!(done.after, After::Close | After::Shutdown { .. });
            let answers = 0..done.answer.len();
            let segment = Segment { connection: index, answers, writes: done.writes, close };
            self.answer(&segment, &done.answer, &done.outcome);
            self.account(index);
        }
    }

    fn send(&mut self, index: usize, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.send(bytes, self.now_ms).is_err() {
            return self.close(index);
        }
        self.after_sending(index);
    }

    /// Sends what was unsent.
    pub(super) fn flush(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !connection.has_unsent() {
            return;
        }
        if connection.flush(self.now_ms).is_err() {
            return self.close(index);
        }
        self.after_sending(index);
        self.account(index);
    }

    fn after_sending(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.has_unsent() {
            self.watching = true;
        } else if connection.phase == Phase::Closing && !connection.owes() {
            return self.begin_linger(index);
        }
        self.enqueue(index);
    }
}

/// The answers up to this one, then an error in its place and for each that follows.
fn refused(answers: &[u8], from: From, text: &str) -> Vec<u8> {
    let mut out = answers.get(..from.at).unwrap_or(&[]).to_vec();
    for _ in 0..from.answers {
        Reply::new(&mut out, false).error(text);
    }
    out
}
