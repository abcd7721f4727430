//! Common parts of handlers: rights, turns, threads of their own, answers.

use super::{Failure, State};
use crate::Turn;
use crate::config::Rights;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_engine::keyspace::Entry;
use mayhap_engine::{Work, unix_ms};
use serde::Serialize;
use std::sync::Arc;

pub(super) type Answer = Result<Response, Failure>;

/// Runs work that may wait for a disk, or takes long, on a thread of its own.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let panicked = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
    tokio::task::spawn_blocking(work).await.map_err(panicked)?
}

/// # Errors
///
/// 403 if the user lacks this right.
pub(super) fn need(has: bool, right: &str) -> Result<(), Failure> {
    if has {
        return Ok(());
    }
    Err(Failure::new(StatusCode::FORBIDDEN, format!("this user lacks the right to {right}")))
}

/// # Errors
///
/// 403 if the user lacks this right, or has it but not for this filter.
pub(super) fn need_on(has: bool, right: &str, rights: &Rights, name: &[u8]) -> Result<(), Failure> {
    need(has, right)?;
    if rights.covers(name) {
        return Ok(());
    }
    Err(Failure::new(StatusCode::FORBIDDEN, "this user may not use filters of this name"))
}

/// # Errors
///
/// 501 if the filters are in a store, for which `what` is not served.
pub(super) fn need_own(state: &State, what: &str) -> Result<(), Failure> {
    if state.shared.front().is_none() {
        return Ok(());
    }
    Err(Failure::not_served(what))
}

/// A value as JSON on one line.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Our types are plain numbers, strings and lists, which always serialise.
    let text = serde_json::to_string(value).unwrap_or_default() + "\n";
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

impl State {
    /// The filter of this name.
    ///
    /// # Errors
    ///
    /// 404.
    pub(super) fn filter(&self, name: &[u8]) -> Result<Arc<Entry>, Failure> {
        self.shared.keyspace.get(name, unix_ms()).ok_or_else(Failure::not_found)
    }

    /// The turn of a request, like that of an event loop.
    pub(super) fn turn(&self) -> Turn {
        Turn { work: Work::new(self.shared.log.as_ref()), ..Turn::default() }
    }

    /// The same for a request that changes a filter, before it looks the filter up.
    ///
    /// # Errors
    ///
    /// As [`State::check_writable`].
    pub(super) fn writing_turn(&self) -> Result<Turn, Failure> {
        let mut turn = self.turn();
        turn.work.begin();
        self.check_writable()?;
        Ok(turn)
    }

    /// Ends the turn of [`State::turn`]: only then may answers that depend on it be sent.
    pub(super) fn end(&self, turn: &mut Turn) -> Result<(), Failure> {
        self.shared.metrics.http().take(&mut turn.counts);
        Ok(turn.work.commit()?)
    }

    /// Waits until an applied operation is as safe as the policy promises.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        let Some(log) = &self.shared.log else { return Ok(()) };
        log.last_operation().map_or(Ok(()), |ticket| Ok(log.wait(ticket)?))
    }

    /// # Errors
    ///
    /// 503 if nothing can be written now.
    pub(super) fn check_writable(&self) -> Result<(), Failure> {
        self.shared.log.as_ref().map_or(Ok(()), |log| Ok(log.check_writable()?))
    }
}
