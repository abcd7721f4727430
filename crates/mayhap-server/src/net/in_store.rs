//! Requests on filters in a store: they leave their loop until the store has replied.

use super::gathered::{self, Now, Waiting};
use super::jobs::Job;
use crate::Shared;
use crate::command;
use std::sync::Arc;
use std::time::Instant;

/// Begins a request, if it is on filters in the store; returns any other. Those for single keys are
/// put into `gathering`, and begin together.
///
/// A connection has one at a time, or several for one key each that the client has sent together,
/// so those of all clients are as many as there are clients.
pub(super) fn begin(
    shared: &Arc<Shared>,
    gathering: &mut Vec<Waiting>,
    job: Box<Job>,
) -> Option<Box<Job>> {
    let Some(front) = shared.front() else { return Some(job) };
    let job = match Waiting::take(job) {
        Ok(waiting) => {
            gathering.push(waiting);
            return None;
        }
        Err(job) => job,
    };
    if !command::is_on_store(job.request.words.words()) {
        return Some(job);
    }
    let shared = Arc::clone(shared);
    front.spawn(async move {
        if job.client.is_gone() {
            return;
        }
        let began = Instant::now();
        let words = job.request.words.words();
        let answer = command::on_store(&shared, words, &job.session).await;
        let inbox = Arc::clone(&job.inbox);
        gathered::end(&shared, *job, answer, (began, Now::read()));
        inbox.wake();
    });
    None
}
