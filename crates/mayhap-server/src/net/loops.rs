//! The loop threads and the worker threads, from their start to their end.

use super::event_loop::{Loop, WAKE};
use super::inbox::Inbox;
use super::jobs::Jobs;
use super::listen::Listener;
use super::{Control, Error, Listen, Options, Room, Service};
use mayhap_engine::num_cores;
use mio::{Poll, Waker};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Loop threads that clients are connected to, and threads for requests that take long.
///
/// Dropping it stops the threads without waiting for them.
#[derive(Debug)]
pub struct Loops {
    addresses: Vec<SocketAddr>,
    control: Arc<Control>,
    http_clients: usize,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// Why the loops have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By [`Control::stop`].
    Stopped,
    /// By `SHUTDOWN`, with a checkpoint or without.
    Shutdown {
        /// With a checkpoint.
        save: bool,
    },
}

impl Loops {
    /// Listens, and executes requests with this service.
    ///
    /// # Errors
    ///
    /// [`Error`] if an address cannot be listened on, or the system has no threads or files left.
    pub fn start<S: Service>(mut options: Options, service: Arc<S>) -> Result<Self, Error> {
        if options.listen.is_empty() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "no address was given");
            return Err(Error::Listen { place: "nothing".to_owned(), source });
        }
        // Before any client can connect.
        let threads = if options.threads == 0 { num_cores() } else { options.threads };
        let room = Room::find(options.max_clients, options.http_clients, threads)?;
        room.warn(options.max_clients);
        options.max_clients = room.clients;
        let bind = |place: &Listen| Listener::bind(place, &options.listen, options.keepalive);
        let mut listeners = options.listen.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().filter_map(Listener::address).collect();

        let mut polls = Vec::new();
        let mut inboxes = Vec::new();
        for _ in 0..threads {
            let poll = Poll::new().map_err(system("make an event queue"))?;
            let waker = Waker::new(poll.registry(), WAKE);
            let waker = waker.map_err(system("make a waker"))?;
            polls.push(poll);
            inboxes.push(Arc::new(Inbox::new(waker)));
        }
        let control = Arc::new(Control::new(inboxes));
        let progress = Arc::clone(&control);
        service.on_progress(Box::new(move || progress.wake_all()));
        // From here on a failure stops what has started.
        let (http_clients, started) = (room.http, Vec::new());
        let mut loops = Self { addresses, control, http_clients, threads: started };
        let options = Arc::new(options);
        let (jobs, queues) = Jobs::new(options.max_jobs);
        let ways = std::iter::repeat_n((jobs, Arc::default()), threads);
        for (index, (poll, aside)) in polls.into_iter().zip(ways).enumerate() {
            let mine = (std::mem::take(&mut listeners), aside);
            let (service, options) = (Arc::clone(&service), Arc::clone(&options));
            let turns = Loop::new(service, options, loops.control(), index, mine, &poll)
                .map_err(system("watch a listener"))?;
            let thread = thread::Builder::new().name(format!("loop-{index}"));
            let thread = thread.spawn(move || turns.run(poll));
            loops.threads.push(thread.map_err(system("start a thread"))?);
        }
        let started = queues.start(service, &loops.control);
        loops.threads.extend(started.map_err(system("start a thread"))?);
        Ok(loops)
    }

    /// The first address, with the port that the system chose for port 0; `None` if it only
    /// listens on a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.addresses.first().copied()
    }

    /// All addresses, in the order of [`Options::listen`].
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connections that HTTP has file descriptors for, of [`Options::http_clients`].
    pub const fn http_clients(&self) -> usize {
        self.http_clients
    }

    /// A handle that stops it from another thread, or when a signal arrives.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// Stops it: due answers are sent, then all connections are closed.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    ///
    /// [`Error`] if a thread has failed; the others were stopped then.
    pub fn join(mut self) -> Result<Ended, Error> {
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let ended = match thread.join() {
                Ok(ended) => ended.map_err(system("wait for clients")),
                Err(_) => Err(Error::Died),
            };
            result = result.and(ended);
        }
        result?;
        Ok(self.control.shutdown().map_or(Ended::Stopped, |save| Ended::Shutdown { save }))
    }
}

impl Drop for Loops {
    /// Waits too: its threads share resources of the server, such as the lock of its folder.
    fn drop(&mut self) {
        self.control.stop();
        for thread in self.threads.drain(..) {
            // Errors cannot be reported here; `join` returns them.
            let _ = thread.join();
        }
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::System { action, source }
}
