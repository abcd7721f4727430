//! Requests that take long: they leave their loop, so that its other connections go on.
//!
//! ```text
//!  loop:    … a request says "later" ─► its connection is not read ─► its answer, the next …
//!  thread:            session, words ─► carried out, committed ─► session, answer
//! ```
//!
//! The session goes with the request and comes back with the answer, so a command is the same code
//! wherever it runs, and the answers of a connection keep their order. There are two threads: those
//! who have not logged in have one of their own, and cannot fill the queue of those who have.

use super::connection::{From, Writes};
use super::send::Outcome;
use super::{Client, Control, Engine, Inbox};
use crate::clock::unix_ms;
use crate::command::After;
use crate::config::Rights;
use crate::resp::Words;
use crate::{Session, Turn};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The words of a request, kept.
#[derive(Debug, Default)]
pub(super) struct Request {
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
    /// It waits until this time, in milliseconds since 1970.
    pub(super) not_before: u64,
}

impl Request {
    pub(super) fn of(words: Words<'_>) -> Self {
        let mut this = Self::default();
        for word in words.iter() {
            // At most `max_request_bytes`, which is a u32.
            let start = this.bytes.len() as u32;
            this.bytes.extend_from_slice(word);
            this.places.push((start, this.bytes.len() as u32));
        }
        this
    }

    const fn words(&self) -> Words<'_> {
        Words::new(self.bytes.as_slice(), self.places.as_slice())
    }

    pub(super) const fn footprint(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(u32, u32)>()
    }
}

/// Where a connection's request is that takes long; nothing else of it is carried out meanwhile.
#[derive(Debug)]
pub(super) enum Aside {
    /// Here: answers before it wait for the log.
    Due(Request),
    /// With a thread, and so many bytes with it.
    Out(usize),
}

impl Aside {
    pub(super) const fn footprint(&self) -> usize {
        match self {
            Self::Due(request) => request.footprint(),
            Self::Out(bytes) => *bytes,
        }
    }
}

/// A request on its way to a thread.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) session: Session,
    pub(super) client: Arc<Client>,
    /// Its place in its loop, which another client may have by the time it is done.
    pub(super) connection: usize,
    /// That of its loop.
    pub(super) inbox: Arc<Inbox>,
}

/// A request that was carried out.
#[derive(Debug)]
pub(crate) struct Done {
    pub(super) session: Session,
    pub(super) client: Arc<Client>,
    pub(super) connection: usize,
    pub(super) answer: Vec<u8>,
    pub(super) writes: Option<Writes>,
    pub(super) outcome: Outcome,
    pub(super) after: After,
}

/// The way to the threads: of those who have not logged in, and of those who have. The threads end
/// once nobody has it any more.
#[derive(Debug, Clone)]
pub(crate) struct Jobs([SyncSender<Box<Job>>; 2]);

/// What the threads take from.
#[derive(Debug)]
pub(crate) struct Queues([Receiver<Box<Job>>; 2]);

impl Jobs {
    /// Queues with room for so many requests each.
    pub(crate) fn new(room: usize) -> (Self, Queues) {
        let ((strangers, first), (users, second)) = (sync_channel(room), sync_channel(room));
        (Self([strangers, users]), Queues([first, second]))
    }

    /// Hands a request over; it comes back if there are too many.
    pub(super) fn put(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let Rights { read, write, admin, .. } = job.session.rights;
        let queue = &self.0[usize::from(read || write || admin)];
        queue.try_send(job).map_err(|error| match error {
            // A thread that has ended takes the server with it.
            std::sync::mpsc::TrySendError::Full(job)
            | std::sync::mpsc::TrySendError::Disconnected(job) => job,
        })
    }
}

impl Queues {
    /// Starts the threads.
    pub(crate) fn start<E: Engine>(
        self,
        engine: Arc<E>,
        control: &Arc<Control>,
    ) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
        let [strangers, users] = self.0;
        let other = Worker { engine: Arc::clone(&engine), control: Arc::clone(control) };
        let first = Worker { engine, control: Arc::clone(control) };
        Ok(vec![first.start("logins", strangers)?, other.start("jobs", users)?])
    }
}

/// One of the threads.
struct Worker<E> {
    engine: Arc<E>,
    control: Arc<Control>,
}

impl<E: Engine> Worker<E> {
    fn start(
        self,
        name: &str,
        queue: Receiver<Box<Job>>,
    ) -> io::Result<JoinHandle<io::Result<()>>> {
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            self.run(&queue);
            Ok(())
        })
    }

    fn run(&self, queue: &Receiver<Box<Job>>) {
        let mut turn = self.engine.turn();
        for job in queue {
            // Nobody waits for the answer, and nobody has heard that it was done.
            if !job.client.is_gone() {
                let inbox = Arc::clone(&job.inbox);
                inbox.put_done(self.carry_out(*job, &mut turn));
                inbox.wake();
            }
        }
    }

    fn carry_out(&self, job: Job, turn: &mut Turn) -> Done {
        let Job { request, mut session, client, connection, .. } = job;
        let began = Instant::now();
        turn.now = unix_ms();
        (turn.wrote, turn.operated, turn.wrote_from) = (false, false, None);
        let mut answer = Vec::new();
        let after = self.engine.execute(request.words(), &mut session, turn, &mut answer);
        let whole = From { at: 0, answers: 1 };
        let inner = turn.wrote_from.map(|(at, answers)| From { at, answers });
        let recorded = turn.wrote.then(|| inner.unwrap_or(whole));
        let writes = (turn.wrote || turn.operated).then_some(Writes { all: whole, recorded });
        let outcome = Outcome::of(&*self.engine, turn);
        let took = began.elapsed();
        self.engine.end_job(turn, took);
        self.engine.slow(request.words(), &session, turn, took);
        Done { session, client, connection, answer, writes, outcome, after }
    }
}

impl<E> Drop for Worker<E> {
    fn drop(&mut self) {
        // It ends with the loops; before that by a bug, and then a part of the server is missing.
        self.control.stop();
    }
}
