//! The interface of a loop to the rest of the server.

use super::Clients;
use crate::command;
use crate::{Session, Shared, Turn};
use mayhap_engine::durable::{Recorder, State, Ticket, Unwritten};
use mayhap_engine::{Words, Work};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The interface of the loops to the rest of the server: one for all of them.
pub trait Service: Send + Sync + 'static {
    /// The connected clients.
    fn clients(&self) -> &Clients;

    /// The session of a new connection.
    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session;

    /// The state of one loop thread.
    fn turn(&self) -> Turn;

    /// Executes one request and writes its answer, as [`command::execute`] does.
    fn execute(
        &self,
        words: Words<'_>,
        session: &mut Session,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> command::After;

    /// Writes the changes of the turn; returns the position that answers have to wait for, if any.
    ///
    /// # Errors
    ///
    /// [`Unwritten`] if they could not be written: the answers become errors.
    fn commit(&self, turn: &mut Turn) -> Result<Option<Ticket>, Unwritten>;

    /// Records the end and duration of a turn.
    fn end(&self, turn: &mut Turn, took: Duration);

    /// Records the end of a long request, and its duration on a worker thread.
    fn end_job(&self, words: Words<'_>, session: &Session, turn: &mut Turn, took: Duration);

    /// Whether answers that wait for this position may be sent.
    fn state(&self, ticket: Ticket) -> State;

    /// The position of the last operation, if answers about it have to wait.
    fn last_operation(&self) -> Option<Ticket>;

    /// Whether all changes refused with this number are undone.
    fn is_undone(&self, number: u64) -> bool;

    /// The state of a server whose filters are in a store: requests on them leave the loop.
    fn in_store(&self) -> Option<&Arc<Shared>> {
        None
    }

    /// Registers a callback for each time when a state may have changed.
    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>);
}

/// The service of a real server: its commands, its filters, its log.
#[derive(Debug)]
pub struct Live(pub Arc<Shared>);

impl Service for Live {
    fn clients(&self) -> &Clients {
        &self.0.clients
    }

    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session {
        let users_version = self.0.users_version();
        let rights = self.0.config().users.anonymous();
        Session { users_version, ..Session::new(id, address, rights) }
    }

    fn turn(&self) -> Turn {
        let work = Work::new(self.0.log.as_ref());
        Turn { work, lane: self.0.metrics.claim(), ..Turn::default() }
    }

    #[inline]
    fn execute(
        &self,
        words: Words<'_>,
        session: &mut Session,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> command::After {
        command::execute(words, session, &self.0, turn, out)
    }

    fn commit(&self, turn: &mut Turn) -> Result<Option<Ticket>, Unwritten> {
        turn.work.recorder.as_mut().map_or(Ok(None), Recorder::commit)
    }

    fn end(&self, turn: &mut Turn, took: Duration) {
        let lane = self.0.metrics.lane(turn.lane);
        lane.take(&mut turn.counts);
        lane.took(took);
    }

    fn end_job(&self, words: Words<'_>, session: &Session, turn: &mut Turn, took: Duration) {
        self.0.metrics.lane(turn.lane).take(&mut turn.counts);
        self.0.metrics.jobs.took(took);
        self.0.slow_log.note(words, session, turn.work.now, took);
    }

    fn state(&self, ticket: Ticket) -> State {
        self.0.log.as_ref().map_or(State::Safe, |log| log.state(ticket))
    }

    fn last_operation(&self) -> Option<Ticket> {
        self.0.log.as_ref().and_then(|log| log.last_operation())
    }

    fn is_undone(&self, number: u64) -> bool {
        self.0.log.as_ref().is_none_or(|log| log.is_undone(number))
    }

    fn in_store(&self) -> Option<&Arc<Shared>> {
        Some(&self.0).filter(|shared| shared.front().is_some())
    }

    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>) {
        if let Some(log) = &self.0.log {
            log.on_progress(wake);
        }
    }
}
