//! Answers of a turn on their way to the clients: those that need not wait for the log at once,
//! the others when it is safe, those of long requests when they are done.

use super::connection::Phase;
use super::connections::Connections;
use super::gathered::{self, Gathered, Waiting};
use super::in_store;
use super::inbox::{Done, Inbox};
use super::jobs::{Aside, Job, Jobs};
use super::outcome::{Answers, Outcome, Writes};
use super::{Control, Service};
use crate::command::After;
use crate::config::Rights;
use crate::metrics::Counter;
use crate::resp::Reply;
use crate::{Session, Turn};
use std::sync::Arc;

/// The answer if too many long requests are waiting already.
const BUSY: &str =
    "ERR too many requests that take long are waiting already; nothing was done, try again later";

/// Answers that wait, and requests that leave the loop.
#[derive(Debug)]
pub(super) struct Deferred<S> {
    service: Arc<S>,
    inbox: Arc<Inbox>,
    jobs: Jobs,
    gathered: Arc<Gathered>,
    /// Requests of this turn for single keys of filters in a store.
    gathering: Vec<Waiting>,
    /// Connections whose answers wait for the log.
    held: Vec<usize>,
    /// Connections whose login is delayed; another may have taken the place of a closed one.
    pub(super) parked: Vec<usize>,
}

impl<S: Service> Deferred<S> {
    pub(super) fn new(
        service: Arc<S>,
        inbox: Arc<Inbox>,
        (jobs, gathered): (Jobs, Arc<Gathered>),
    ) -> Self {
        let (gathering, held, parked) = (Vec::new(), Vec::new(), Vec::new());
        Self { service, inbox, jobs, gathered, gathering, held, parked }
    }

    /// Answers the requests of a connection in a turn with this outcome; `close` if it ends.
    pub(super) fn answer(
        &mut self,
        connections: &mut Connections<S>,
        index: usize,
        (answers, writes, close): (&[u8], Option<Writes>, bool),
        outcome: &Outcome,
    ) {
        let Some(connection) = connections.get(index) else { return };
        if close {
            connection.phase = Phase::Closing;
        }
        match outcome.apply(answers, writes) {
            Answers::AsTheyAre => connections.send(index, answers),
            Answers::Instead(bytes) => connections.send(index, &bytes),
            Answers::Held(held) => {
                connection.owed.held = Some(held);
                self.release(connections, index);
            }
        }
    }

    /// Sends the answers that need not wait any longer.
    pub(super) fn release_all(&mut self, connections: &mut Connections<S>, turn: &mut Turn) {
        if self.held.is_empty() {
            return;
        }
        for index in std::mem::take(&mut self.held) {
            if self.release(connections, index) {
                self.begin_job(connections, index, turn);
                connections.account(index);
            }
        }
    }

    /// Sends held answers of a connection if they need not wait; returns whether it did.
    fn release(&mut self, connections: &mut Connections<S>, index: usize) -> bool {
        let Some(connection) = connections.get(index) else { return false };
        // Another connection may have taken the place of one that was closed.
        let Some(held) = connection.owed.held.take() else { return false };
        match held.release(&*self.service) {
            Ok(bytes) => {
                connections.send(index, &bytes);
                true
            }
            Err(held) => {
                connection.owed.held = Some(held);
                self.held.push(index);
                false
            }
        }
    }

    /// Hands a long request to its thread, once the answers before it may be sent.
    pub(super) fn begin_job(
        &mut self,
        connections: &mut Connections<S>,
        index: usize,
        turn: &mut Turn,
    ) {
        let Some(connection) = connections.get(index) else { return };
        let owed = &mut connection.owed;
        if owed.held.is_some() {
            return;
        }
        let now = turn.work.now;
        if matches!(owed.aside.as_deref(), Some(Aside::Due(due)) if due.not_before > now) {
            self.parked.push(index);
            return;
        }
        let due = owed.aside.take_if(|aside| matches!(**aside, Aside::Due(_)));
        let Some(Aside::Due(request)) = due.map(|aside| *aside) else { return };
        let bytes = request.words.footprint() + connection.queued_bytes();
        connection.owed.aside = Some(Box::new(Aside::Out(bytes)));
        let nobody = Session::new(connection.client.id, None, Rights::NONE);
        let session = std::mem::replace(&mut connection.session, nobody);
        let (client, inbox) = (Arc::clone(&connection.client), Arc::clone(&self.inbox));
        let job = Box::new(Job { request, session, client, connection: index, inbox });
        let job = match self.service.in_store() {
            Some(shared) => in_store::begin(shared, &mut self.gathering, job),
            None => Some(job),
        };
        if let Some(Err(job)) = job.map(|job| self.jobs.put(job)) {
            connection.session = job.session;
            // An `EXEC` that is refused ends its transaction.
            connection.session.queue = None;
            connection.owed.aside = None;
            let mut line = Vec::new();
            Reply::new(&mut line, false).error(BUSY);
            turn.counts.add(Counter::Errors, 1);
            connections.send(index, &line);
        }
    }

    /// Begins the requests of this turn for single keys of filters in a store.
    pub(super) fn begin_gathered(&mut self) {
        if let Some(shared) = self.service.in_store()
            && !self.gathering.is_empty()
        {
            gathered::begin(shared, &self.gathered, std::mem::take(&mut self.gathering));
        }
    }

    /// Begins requests whose delay has passed.
    pub(super) fn begin_parked(&mut self, connections: &mut Connections<S>, turn: &mut Turn) {
        for index in std::mem::take(&mut self.parked) {
            self.begin_job(connections, index, turn);
        }
    }

    /// Takes back finished long requests, and answers them.
    pub(super) fn take_done(
        &mut self,
        connections: &mut Connections<S>,
        control: &Control,
        wall_ms: u64,
    ) {
        for done in self.inbox.take_done() {
            let Done { session, client, connection: index, answer, writes, outcome, after, .. } =
                done;
            // Another client may have taken the place of a closed one.
            let connection = connections.get(index).filter(|to| to.client.id == client.id);
            let Some(connection) = connection else { continue };
            connection.session = session;
            connection.owed.aside = None;
            connections.note_turn(index, done.requests as u64, wall_ms);
            self.service.clients().count_in(done.requests as u64, 0);
            self.service.clients().count_out(answer.len() as u64);
            if let After::Shutdown { save } = after {
                control.shut_down(save);
            }
            let close = matches!(after, After::Close | After::Shutdown { .. });
            self.answer(connections, index, (&answer, writes, close), &outcome);
            connections.account(index);
        }
    }
}
