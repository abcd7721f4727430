//! Requests on filters in a store: they leave their loop until the store has replied.

use super::inbox::Done;
use super::jobs::Job;
use super::outcome::Outcome;
use crate::Shared;
use crate::command::{self, After};
use std::sync::Arc;
use std::time::Instant;

/// Begins a request, if it is on filters in the store; returns any other.
///
/// A connection has one at a time, or several for one key each that the client has sent together,
/// so those of all clients are as many as there are clients.
pub(super) fn begin(shared: &Arc<Shared>, job: Box<Job>) -> Option<Box<Job>> {
    let front = shared.front()?;
    if !command::is_on_store(job.request.words.words()) {
        return Some(job);
    }
    let shared = Arc::clone(shared);
    front.spawn(async move {
        let Job { request, session, client, connection, inbox } = *job;
        if client.is_gone() {
            return;
        }
        let began = Instant::now();
        let words = request.words.words();
        let requests = request.requests;
        let answer = command::on_store(&shared, (words, requests), &session).await;
        let took = began.elapsed();
        shared.metrics.jobs.took(took);
        shared.slow_log.note(words, &session, mayhap_engine::unix_ms(), took);
        let (writes, outcome, after) = (None, Outcome::Safe, After::Go);
        let done = Done { session, client, connection, requests, answer, writes, outcome, after };
        inbox.put_done(done);
        inbox.wake();
    });
    None
}
