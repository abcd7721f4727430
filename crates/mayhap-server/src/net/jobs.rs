//! Requests that take long: they leave their loop, so that its other connections continue.
//!
//! ```text
//!  loop:    … a request says "later" ─► its connection is not read ─► its answer, the next …
//!  thread:            session, words ─► executed, committed ─► session, answer
//! ```
//!
//! The session goes with the request and comes back with the answer, so a command is the same code
//! wherever it runs, and the answers of a connection keep their order. There are two threads:
//! connections that have not logged in have one of their own, and cannot fill the queue of the
//! others.

use super::inbox::{Done, Inbox};
use super::outcome::{Outcome, Tail, Writes};
use super::{Client, Control, Service};
use crate::resp::WordList;
use crate::{Session, Turn};
use mayhap_engine::{Words, unix_ms};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// A copy of a request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) words: WordList,
    /// If it is several, they are the same but for the last word: the last words of the others
    /// follow that of the first.
    pub(super) requests: usize,
    /// It waits until this time, in milliseconds since 1970.
    pub(super) not_before: u64,
}

impl Request {
    pub(super) fn new(request: Words<'_>, not_before: u64) -> Self {
        let mut words = WordList::default();
        words.extend(request.iter());
        Self { words, requests: 1, not_before }
    }
}

/// The long request of a connection; its other requests wait meanwhile.
#[derive(Debug)]
pub(super) enum Aside {
    /// Still here: answers before it wait for the log.
    Due(Request),
    /// With a thread, and this many bytes with it.
    Out(usize),
}

impl Aside {
    pub(super) const fn footprint(&self) -> usize {
        match self {
            Self::Due(request) => request.words.footprint(),
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
    /// The connection's index in its loop, which another client may have by the time it is done.
    pub(super) connection: usize,
    /// The inbox of its loop.
    pub(super) inbox: Arc<Inbox>,
}

/// Senders to the threads: for connections that have not logged in, and for those that have. The
/// threads end once all senders are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Jobs([SyncSender<Box<Job>>; 2]);

/// Receivers of the threads.
#[derive(Debug)]
pub(crate) struct Queues([Receiver<Box<Job>>; 2]);

impl Jobs {
    /// Queues with room for `room` requests each.
    pub(crate) fn new(room: usize) -> (Self, Queues) {
        let ((newcomers, first), (users, second)) = (sync_channel(room), sync_channel(room));
        (Self([newcomers, users]), Queues([first, second]))
    }

    /// Hands a request over; returns it if there are too many.
    pub(super) fn put(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let queue = &self.0[usize::from(job.session.rights.has_any())];
        queue.try_send(job).map_err(|error| match error {
            // A thread that has ended stops the server.
            TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
        })
    }
}

impl Queues {
    /// Starts the threads.
    pub(crate) fn start<S: Service>(
        self,
        service: Arc<S>,
        control: &Arc<Control>,
    ) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
        let [newcomers, users] = self.0;
        let other = Worker { service: Arc::clone(&service), control: Arc::clone(control) };
        let first = Worker { service, control: Arc::clone(control) };
        Ok(vec![first.start("logins", newcomers)?, other.start("jobs", users)?])
    }
}

/// One of the threads.
struct Worker<S> {
    service: Arc<S>,
    control: Arc<Control>,
}

impl<S: Service> Worker<S> {
    fn start(
        self,
        name: &str,
        queue: Receiver<Box<Job>>,
    ) -> io::Result<JoinHandle<io::Result<()>>> {
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            yield_to_loops();
            self.run(&queue);
            Ok(())
        })
    }

    fn run(&self, queue: &Receiver<Box<Job>>) {
        let mut turn = self.service.turn();
        for job in queue {
            // Nobody waits for the answer, and the request was not acknowledged.
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
        turn.work.now = unix_ms();
        (turn.wrote, turn.operated, turn.wrote_from) = (false, false, None);
        let mut answer = Vec::new();
        let words = request.words.words();
        let after = self.service.execute(words, &mut session, turn, &mut answer);
        let whole = Tail { at: 0, answers: 1 };
        let inner = turn.wrote_from.map(|(at, answers)| Tail { at, answers });
        let recorded = turn.wrote.then(|| inner.unwrap_or(whole));
        let writes = (turn.wrote || turn.operated).then_some(Writes { all: whole, recorded });
        let outcome = Outcome::of(&*self.service, turn);
        let took = began.elapsed();
        self.service.end_job(words, &session, turn, took);
        Done { session, client, connection, requests: 1, answer, writes, outcome, after }
    }
}

/// Lets the loops go first if there are more busy threads than processors: long requests may take
/// slightly longer. (Beside a long request and a flood of connections on two processors, p99 of
/// other clients was 30 to 80 ms, and is 3 to 6 with this. A long request still gets a tenth of a
/// processor that a busy loop wants.)
fn yield_to_loops() {
    // Only Linux has a priority for each thread. It may always be lowered, and failure does no
    // harm.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

impl<S> Drop for Worker<S> {
    fn drop(&mut self) {
        // The thread ends with the loops; before that by a bug, and then a part of the server is
        // missing.
        self.control.stop();
    }
}
