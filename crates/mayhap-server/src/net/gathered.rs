//! Requests for single keys of filters in a store, gathered: while those of some clients are with
//! the store, those of others wait, and are then sent together.
//!
//! ```text
//!  loops:  BF.ADD f a ─┐
//!          BF.ADD f b ─┼─► queue of f ─► one call with all its keys ─► an answer for each loop
//!          BF.ADD f c ─┘
//! ```
//!
//! A request alone costs the system calls and the waking of a call with a thousand keys. So those
//! of one turn of a loop begin together, at its end; nothing waits for a timer.

use super::inbox::{Done, Inbox};
use super::jobs::Job;
use super::outcome::Outcome;
use crate::Shared;
use crate::command::{self, After, KeyRequest, OfKeys};
use crate::front::GRACE;
use crate::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The most calls for one filter under way, and keys in one, unless a single client sends more.
///
/// While the store executes one call, the next is prepared; a third would only make them smaller,
/// and each costs the store a wake-up. An insertion is more work for the store than a query, and
/// more than for this server: the store begins sooner if there are fewer in a call.
const fn most(adds: bool) -> (usize, usize) {
    (2, if adds { 200 } else { 1000 })
}

/// The requests that wait for a call: those that query, and those that add.
#[derive(Debug, Default)]
pub(super) struct Gathered([Mutex<HashMap<Box<[u8]>, Queue>>; 2]);

/// The requests for one filter.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// The keys of those that wait.
    keys: usize,
    /// Calls under way.
    calls: usize,
    /// Of these, those that have not taken requests yet.
    starting: usize,
}

impl Queue {
    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.keys -= waiting.job.request.requests;
        Some(waiting)
    }
}

/// A request, and the time when it came.
#[derive(Debug)]
pub(super) struct Waiting {
    job: Box<Job>,
    began: Instant,
}

/// Begins requests for single keys of filters, those of one turn of a loop.
pub(super) fn begin(shared: &Arc<Shared>, gathered: &Arc<Gathered>, requests: Vec<Waiting>) {
    let Some(front) = shared.front() else { return };
    let mut callers = Vec::new();
    for waiting in requests {
        let Some(OfKeys { adds, name }) = waiting.filter() else { continue };
        let mut queues = lock(&gathered.0[usize::from(adds)]);
        if !queues.contains_key(name) {
            queues.insert(name.into(), Queue::default());
        }
        let Some(queue) = queues.get_mut(name) else { continue };
        queue.keys += waiting.job.request.requests;
        let (most_calls, most_keys) = most(adds);
        if queue.calls < most_calls && queue.keys > queue.starting * most_keys {
            (queue.calls, queue.starting) = (queue.calls + 1, queue.starting + 1);
            let (shared, gathered) = (Arc::clone(shared), Arc::clone(gathered));
            let (name, longest) = (name.into(), front.deadline());
            callers.push(Caller { shared, gathered, adds, name, longest, state: State::Starting });
        }
        queue.waiting.push_back(waiting);
    }
    for caller in callers {
        front.spawn(caller.run());
    }
}

/// Sends the requests for one filter until none waits.
struct Caller {
    shared: Arc<Shared>,
    gathered: Arc<Gathered>,
    adds: bool,
    name: Box<[u8]>,
    /// How long a request waits to be sent.
    longest: Duration,
    state: State,
}

/// How far a caller has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Calling,
    Ended,
}

impl Caller {
    async fn run(mut self) {
        while let Some(batch) = self.next() {
            let answers = self.call(&batch).await;
            self.end(batch, answers);
        }
    }

    /// Sends a batch, which has the time that is left for its oldest request; meanwhile those that
    /// have waited for too long are answered.
    async fn call(&self, batch: &[Waiting]) -> Vec<Vec<u8>> {
        let requests: Vec<_> = batch.iter().map(Waiting::request).collect();
        let mut call = pin!(command::on_keys(&self.shared, self.filter(), &requests));
        let first = batch.first().map_or_else(Instant::now, |first| first.began);
        let end = first + self.longest + GRACE;
        loop {
            let next = self.oldest().map_or(end, |oldest| end.min(oldest));
            tokio::select! {
                answers = &mut call => return answers,
                () = tokio::time::sleep_until(next.into()) => self.give_up(),
            }
            if Instant::now() >= end {
                return command::unanswered(&self.shared, self.filter(), &requests);
            }
        }
    }

    fn filter(&self) -> OfKeys<'_> {
        OfKeys { adds: self.adds, name: &self.name }
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Queue>> {
        lock(&self.gathered.0[usize::from(self.adds)])
    }

    /// The requests of the next call; `None` if none waits, and the caller ends.
    fn next(&mut self) -> Option<Vec<Waiting>> {
        let mut queues = lock(&self.gathered.0[usize::from(self.adds)]);
        let queue = queues.get_mut(&self.name)?;
        if self.state == State::Starting {
            queue.starting -= 1;
            self.state = State::Calling;
        }
        let (mut batch, mut keys) = (Vec::new(), 0);
        while keys < most(self.adds).1 {
            let Some(waiting) = queue.pop() else { break };
            if !waiting.job.client.is_gone() {
                keys += waiting.job.request.requests;
                batch.push(waiting);
            }
        }
        if batch.is_empty() {
            // In the same lock: the next request begins another caller.
            queue.calls -= 1;
            self.state = State::Ended;
            if queue.calls == 0 {
                queues.remove(&self.name);
            }
            return None;
        }
        Some(batch)
    }

    /// The time until which the oldest of those that wait does so.
    fn oldest(&self) -> Option<Instant> {
        let queues = self.queues();
        let first = queues.get(&self.name)?.waiting.front()?;
        Some(first.began + self.longest)
    }

    /// Answers those that have waited for too long: the store has not replied to those before them.
    fn give_up(&self) {
        let mut late = Vec::new();
        if let Some(queue) = self.queues().get_mut(&self.name) {
            let is_late = |waiting: &Waiting| waiting.began.elapsed() >= self.longest;
            while queue.waiting.front().is_some_and(is_late) {
                late.extend(queue.pop());
            }
        }
        if late.is_empty() {
            return;
        }
        let requests: Vec<_> = late.iter().map(Waiting::request).collect();
        let answers = command::unanswered(&self.shared, self.filter(), &requests);
        drop(requests);
        self.end(late, answers);
    }

    /// Hands the answers to the loops.
    fn end(&self, batch: Vec<Waiting>, answers: Vec<Vec<u8>>) {
        let mut inboxes: Vec<Arc<Inbox>> = Vec::new();
        let now = Now::read();
        for (Waiting { job, began }, answer) in batch.into_iter().zip(answers) {
            if !inboxes.iter().any(|inbox| Arc::ptr_eq(inbox, &job.inbox)) {
                inboxes.push(Arc::clone(&job.inbox));
            }
            end(&self.shared, *job, answer, (began, now));
        }
        for inbox in inboxes {
            inbox.wake();
        }
    }
}

impl Drop for Caller {
    /// In the middle of a call, as by the end of its thread: the next request begins another.
    fn drop(&mut self) {
        if self.state != State::Ended
            && let Some(queue) = self.queues().get_mut(&self.name)
        {
            queue.calls -= 1;
            queue.starting -= usize::from(self.state == State::Starting);
        }
    }
}

impl Waiting {
    /// Takes a request for single keys of a filter; returns any other.
    pub(super) fn take(job: Box<Job>) -> Result<Self, Box<Job>> {
        if command::of_keys(job.request.words.words()).is_none() {
            return Err(job);
        }
        Ok(Self { job, began: Instant::now() })
    }

    fn filter(&self) -> Option<OfKeys<'_>> {
        command::of_keys(self.job.request.words.words())
    }

    fn request(&self) -> KeyRequest<'_> {
        let Job { request, session, .. } = &*self.job;
        let (words, requests) = (request.words.words(), request.requests);
        KeyRequest { words, requests, is_resp3: session.info.resp3 }
    }
}

/// The time of an answer by both clocks.
#[derive(Clone, Copy)]
pub(super) struct Now {
    instant: Instant,
    unix_ms: u64,
}

impl Now {
    pub(super) fn read() -> Self {
        Self { instant: Instant::now(), unix_ms: mayhap_engine::unix_ms() }
    }
}

/// Hands the answer to the loop of the client, which the caller wakes.
pub(super) fn end(shared: &Shared, job: Job, answer: Vec<u8>, (began, now): (Instant, Now)) {
    let Job { request, session, client, connection, inbox } = job;
    let (took, requests) = (now.instant.saturating_duration_since(began), request.requests);
    shared.metrics.jobs.took(took);
    shared.slow_log.note(request.words.words(), &session, now.unix_ms, took);
    let (writes, outcome, after) = (None, Outcome::Safe, After::Go);
    inbox.put_done(Done { session, client, connection, requests, answer, writes, outcome, after });
}
