//! The thread of HTTP: its listener, connections and their end.

use super::admission::{Admission, Caller};
use super::body::request_time;
use super::head::{Heads, MAX_HEAD_BYTES, Times};
use super::taking::Taking;
use super::{State, routes, ui};
use crate::Shared;
use crate::metrics::Counter;
use crate::net::{self, keep_little_unsent};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The time within which the head of a request has to arrive, or `request_timeout` if that is less;
/// also for a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long requests in progress may take once the server is stopping.
const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// How long their work on other threads may take after that.
const LAST_WORK: Duration = Duration::from_secs(2);
const BACKLOG: i32 = 1024;

/// The thread that speaks HTTP.
#[derive(Debug)]
pub struct Http {
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Http {
    /// Listens, and answers on a thread of its own: `connections` connections at a time.
    ///
    /// # Errors
    ///
    /// An address, if it is taken, or TLS cannot be set up, or the system has no thread left.
    pub fn start(shared: Arc<Shared>, connections: usize) -> Result<Self, (SocketAddr, io::Error)> {
        let config = &shared.config();
        let port = config.http_port.unwrap_or_default();
        let places = config.http_bind().present();
        let places: Vec<_> = places.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let first = places.first().copied().unwrap_or_else(|| ([0, 0, 0, 0], port).into());
        let mut listeners = Vec::new();
        for place in &places {
            let listener = net::listen(*place, places.iter().copied(), BACKLOG);
            listeners.push(listener.map_err(|error| (*place, error))?);
        }
        if listeners.is_empty() {
            return Err((first, io::ErrorKind::AddrNotAvailable.into()));
        }
        Self::run(shared, connections, listeners).map_err(|error| (first, error))
    }

    fn run(
        shared: Arc<Shared>,
        connections: usize,
        listeners: Vec<std::net::TcpListener>,
    ) -> io::Result<Self> {
        let config = &shared.config();
        let tls = if config.http_tls() {
            let certificate = shared.certificate().map_err(io::Error::other)?;
            // Never fall back to plain text.
            let certificate = certificate.ok_or_else(|| io::Error::other("no certificate"))?;
            Some(TlsAcceptor::from(certificate.tls_config().map_err(io::Error::other)?))
        } else {
            None
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name("mayhap-http")
            .max_blocking_threads(32)
            .build()?;
        let listeners = {
            let _inside = runtime.enter();
            let listeners = listeners.into_iter().map(TcpListener::from_std);
            listeners.collect::<io::Result<Vec<_>>>()?
        };
        let addresses = listeners.iter().map(TcpListener::local_addr);
        let addresses = addresses.collect::<io::Result<Vec<_>>>()?;
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name("mayhap-http".into()).spawn(move || {
            let admission = Admission::new(connections);
            runtime.block_on(serve(listeners, shared, tls, admission, stopped));
            // Tasks that are still running write nothing that was acknowledged, but those that read
            // filters keep the data folder locked.
            runtime.shutdown_timeout(LAST_WORK);
        })?;
        Ok(Self { addresses, stop, thread })
    }

    /// All addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Accepts no more requests, lets those in progress finish and ends the thread.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.thread.join();
    }
}

/// The next connection, on any listener.
async fn accept(listeners: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    std::future::poll_fn(|context| {
        let mut all = listeners.iter().map(|listener| listener.poll_accept(context));
        all.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
    .map(|(stream, peer)| (stream, net::canonical(peer)))
}

pub(super) async fn serve(
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    tls: Option<TlsAcceptor>,
    admission: Arc<Admission>,
    mut stopped: watch::Receiver<bool>,
) {
    let state = State { shared, is_tls: tls.is_some(), history: Arc::default() };
    tokio::spawn(ui::record(state.clone(), stopped.clone()));
    let router = routes::router(state.clone());
    let stop = stopped.clone();
    let mut accepted_at_once = 0;
    loop {
        // Accepting must not run ahead of reading, or connections make room that nobody looked at.
        if accepted_at_once == admission.pace() {
            accepted_at_once = 0;
            tokio::task::yield_now().await;
        }
        accepted_at_once += 1;
        let accepted = tokio::select! {
            accepted = accept(&listeners) => accepted,
            _ = stopped.changed() => break,
        };
        let Ok((stream, peer)) = accepted else {
            // Out of file descriptors, most likely: other connections have to end first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Some(caller) = admission.enter(peer) else {
            state.shared.metrics.http().add(Counter::HttpRefused, 1);
            continue;
        };
        let caller = Arc::new(caller);
        let write_timeout = match state.shared.config().output_timeout_ms {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        };
        let (stop, router) = (stop.clone(), router.clone());
        let keep_alive = Duration::from_millis(state.shared.config().http_keep_alive_ms);
        let times = Times { head: HEAD_TIMEOUT.min(request_time(&state)), keep_alive };
        let connection = Connection { caller: caller.clone(), stop, router, times, write_timeout };
        let tls = tls.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = connection.begin(stream, tls) => {}
                () = caller.ended() => {}
            }
        });
    }
    drop(listeners);
    let _ = tokio::time::timeout(LAST_REQUESTS, admission.close()).await;
}

struct Connection {
    caller: Arc<Caller>,
    stop: watch::Receiver<bool>,
    router: Router,
    times: Times,
    /// A client that reads nothing of an answer for this time is disconnected.
    write_timeout: Option<Duration>,
}

impl Connection {
    async fn begin(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _ = stream.set_nodelay(true);
        keep_little_unsent(&stream);
        match tls {
            None => {
                // A Redis client, or a page that makes a browser speak its protocol.
                let mut first = [0];
                let peeked = tokio::time::timeout(self.times.head, stream.peek(&mut first)).await;
                if matches!(peeked, Ok(Ok(1..))) && first != *b"*" {
                    let stream = Taking::new(stream, self.write_timeout);
                    self.run(stream).await;
                }
            }
            Some(tls) => {
                let stream = Taking::new(stream, self.write_timeout);
                let stream = tokio::time::timeout(self.times.head, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = stream {
                    self.run(stream).await;
                }
            }
        }
    }

    async fn run(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let router = self.router.layer(axum::Extension(self.caller.clone()));
        // For answers that have no end of their own.
        let router = router.layer(axum::Extension(self.stop.clone()));
        let stream = Heads::new(stream, self.caller.clone(), self.times);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // `Heads` has the timeouts. With none here hyper would not poll it for the next head.
            .header_read_timeout(self.times.head + self.times.keep_alive + LAST_REQUESTS)
            .keep_alive(!self.times.keep_alive.is_zero())
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        let mut connection = std::pin::pin!(connection);
        // Errors here mean a client that disconnected or did not speak HTTP.
        tokio::select! {
            _ = connection.as_mut() => {}
            _ = self.stop.changed() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}
