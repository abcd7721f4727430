//! Listen addresses and limits of the loops, and why they could not start.

use crate::resp::Limits;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An address or path to listen on.
#[derive(Debug, Clone)]
pub enum Listen {
    /// TCP, the default of Redis.
    Tcp(SocketAddr),
    /// TLS 1.2 or newer.
    Tls(SocketAddr, Arc<rustls::ServerConfig>),
    /// A Unix socket, for its owner only (0600).
    Unix(PathBuf),
}

/// Listen addresses and limits of the loops.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; at least one place.
    pub listen: Vec<Listen>,
    /// Loop threads; 0 for one per core.
    pub threads: usize,
    /// How long a loop polls before it sleeps: 20 µs; zero to sleep at once.
    pub busy_poll: Duration,
    /// The most connections at a time. Fewer if the system allows fewer open files.
    pub max_clients: usize,
    /// The most HTTP connections at a time, for which file descriptors are reserved; 0 without
    /// HTTP.
    pub http_clients: usize,
    /// The most bytes of unfinished requests and unsent answers of all connections together.
    pub max_buffer_bytes: usize,
    /// The largest request of a client that has logged in.
    pub limits: Limits,
    /// Long requests that may wait for their thread; more are refused.
    pub max_jobs: usize,
    /// How long a request that began may take to arrive.
    pub request_timeout: Duration,
    /// How long a client may take to log in, if it has to.
    pub login_timeout: Duration,
    /// How long a client may read none of its pending answers.
    pub write_timeout: Duration,
    /// How long a connection may be silent; for ever if `None`.
    pub idle_timeout: Option<Duration>,
    /// How long until the system probes whether a silent client is still there.
    pub keepalive: Duration,
    /// How long a stopping server waits for clients to read their answers.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            threads: 0,
            busy_poll: Duration::from_micros(20),
            max_clients: 10_000,
            http_clients: 0,
            max_buffer_bytes: 512 << 20,
            limits: Limits::default(),
            max_jobs: 128,
            request_timeout: Duration::from_secs(30),
            login_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            idle_timeout: None,
            keepalive: Duration::from_secs(300),
            grace: Duration::from_secs(5),
        }
    }
}

/// Why a certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file cannot be read, or is not PEM.
    #[error(transparent)]
    NotPem(rustls::pki_types::pem::Error),
    /// The file has no certificate.
    #[error("no certificate found; it must be PEM")]
    NoCertificate,
    /// The key is of no known kind, or not that of the certificate.
    #[error(transparent)]
    Unusable(rustls::Error),
}

/// Why the server could not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address or path cannot be listened on.
    #[error("cannot listen on {place}: {source}")]
    Listen {
        /// The address or path.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {source}", .path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: TlsError,
    },
    /// Another error of the operating system.
    #[error("cannot {action}: {source}")]
    System {
        /// The attempted action.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The limit of open files leaves none for a client.
    #[error(
        "the limit of open files (ulimit -n) is {limit}, which leaves none for a client; {needed} \
         is the least, and each client takes one more"
    )]
    Files {
        /// The limit.
        limit: u64,
        /// The lowest sufficient limit.
        needed: u64,
    },
    /// A loop thread ended in the middle of its work: a bug.
    #[error("a loop thread ended in the middle of its work")]
    Died,
}
