//! Where the loops listen, what they allow, and why they could not start.

use crate::resp::Limits;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A place where clients arrive.
#[derive(Debug, Clone)]
pub enum Listen {
    /// As Redis does.
    Tcp(SocketAddr),
    /// Behind TLS 1.2 or newer.
    Tls(SocketAddr, Arc<rustls::ServerConfig>),
    /// A socket in the file system, for its owner only (0600).
    Unix(PathBuf),
}

/// Where the loops listen and what they allow.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where clients arrive; at least one place.
    pub listen: Vec<Listen>,
    /// Loop threads; 0 for one per core.
    pub threads: usize,
    /// How long a loop looks for more before it sleeps: 20 µs; zero to sleep at once.
    pub busy_poll: Duration,
    /// Connections at once. Fewer if the system allows fewer open files.
    pub max_clients: usize,
    /// Connections at once of HTTP, for which open files are kept; 0 without it.
    pub http_clients: usize,
    /// Bytes of unfinished requests and unsent answers of all connections together.
    pub max_buffer_bytes: usize,
    /// The largest request of those who may do anything.
    pub limits: Limits,
    /// Requests that take long and wait for their thread; more are refused.
    pub max_jobs: usize,
    /// How long a request that began may take to arrive.
    pub request_timeout: Duration,
    /// How long a client may take to log in, where it has to.
    pub login_timeout: Duration,
    /// How long a client may take none of the answers that wait for it.
    pub write_timeout: Duration,
    /// How long a connection may be silent; for ever if `None`.
    pub idle_timeout: Option<Duration>,
    /// How long until the system asks whether a silent client is still there.
    pub keepalive: Duration,
    /// How long a server that stops waits for clients to take their answers.
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

/// Why the server could not start, or ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Nobody can connect there.
    Listen {
        /// The address or path.
        place: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A certificate or key is of no use.
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The operating system refused something else.
    System {
        /// What was being done.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The limit of open files leaves none for a client.
    Files {
        /// The limit.
        limit: u64,
        /// The least limit that does.
        needed: u64,
    },
    /// A loop thread ended in the middle of its work: a bug.
    Died,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { place, source } => write!(f, "cannot listen on {place}: {source}"),
            Self::Tls { path, message } => write!(f, "{}: {message}", path.display()),
            Self::System { action, source } => write!(f, "cannot {action}: {source}"),
            Self::Files { limit, needed } => write!(
                f,
                "the limit of open files (ulimit -n) is {limit}, which leaves none for a client; \
                 {needed} is the least, and each client takes one more"
            ),
            Self::Died => f.write_str("a loop thread ended in the middle of its work"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } | Self::System { source, .. } => Some(source),
            Self::Tls { .. } | Self::Files { .. } | Self::Died => None,
        }
    }
}
