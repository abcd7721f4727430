//! What a loop asks of the rest of the server.

use super::Clients;
use crate::command;
use crate::durable::{Recorder, State, Ticket, Unwritten};
use crate::resp::Words;
use crate::{Session, Shared, Turn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// What a loop asks of the rest of the server; one for all loops.
pub trait Engine: Send + Sync + 'static {
    /// Who is connected.
    fn clients(&self) -> &Clients;

    /// A connection that has just been made.
    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session;

    /// What one loop thread works with.
    fn turn(&self) -> Turn;

    /// Carries out one request and writes its answer, as [`command::execute`] does.
    fn execute(
        &self,
        words: Words<'_>,
        session: &mut Session,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> command::After;

    /// Writes what the turn has changed; the place that answers have to wait for, if they must.
    ///
    /// # Errors
    ///
    /// [`Unwritten`] if it could not be written: the answers become errors.
    fn commit(&self, turn: &mut Turn) -> Result<Option<Ticket>, Unwritten>;

    /// A turn has ended that took so long.
    fn end(&self, turn: &mut Turn, took: Duration) {
        let _ = (turn, took);
    }

    /// A request that took long has ended, after so much time on a thread of its own.
    fn end_job(&self, turn: &mut Turn, took: Duration) {
        let _ = (turn, took);
    }

    /// A request was carried out beside the loops, and took so long.
    fn slow(&self, words: Words<'_>, session: &Session, turn: &Turn, took: Duration) {
        let _ = (words, session, turn, took);
    }

    /// Whether answers may go that wait for this place.
    fn state(&self, ticket: Ticket) -> State;

    /// The place of the last operation, if answers about it have to wait.
    fn last_operation(&self) -> Option<Ticket> {
        None
    }

    /// Whether all is taken back of what was refused with this number.
    fn is_undone(&self, number: u64) -> bool {
        let _ = number;
        true
    }

    /// Takes what is to be called when a state may have changed.
    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>);
}

/// The engine of a real server: its commands, its filters, its log.
#[derive(Debug)]
pub struct Live(pub Arc<Shared>);

impl Engine for Live {
    fn clients(&self) -> &Clients {
        &self.0.clients
    }

    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session {
        let users_version = self.0.users_version();
        let rights = self.0.config().users.anonymous();
        Session { users_version, ..Session::new(id, address, rights) }
    }

    fn turn(&self) -> Turn {
        let recorder = self.0.log.as_ref().map(crate::durable::Log::recorder);
        Turn { recorder, lane: self.0.metrics.claim(), ..Turn::default() }
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
        turn.recorder.as_mut().map_or(Ok(None), Recorder::commit)
    }

    fn end(&self, turn: &mut Turn, took: Duration) {
        let lane = self.0.metrics.lane(turn.lane);
        lane.take(&mut turn.counts);
        lane.took(took);
    }

    fn end_job(&self, turn: &mut Turn, took: Duration) {
        self.0.metrics.lane(turn.lane).take(&mut turn.counts);
        self.0.metrics.jobs.took(took);
    }

    fn slow(&self, words: Words<'_>, session: &Session, turn: &Turn, took: Duration) {
        self.0.slow_log.note(words, session, turn.now, took);
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

    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>) {
        if let Some(log) = &self.0.log {
            log.on_progress(wake);
        }
    }
}
