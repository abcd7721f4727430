//! The settings of an operator: file, environment, flags; users and their rights.
//!
//! `settings.rs` has a row for each setting, and nothing else knows their names: file, environment,
//! flags, help and `CONFIG GET` go by it. `file.rs` reads TOML, `load.rs` puts the sources together
//! and refuses what would be unsafe, `injected.rs` knows what Kubernetes puts into the environment,
//! `users.rs` is who may log in and `rights.rs` with what rights, `addresses.rs` where to listen,
//! `key_file.rs` reads a secret key, `current.rs` changes settings while a server runs. `error.rs`
//! has what may be wrong with any of it.

mod addresses;
mod current;
mod error;
mod file;
mod injected;
mod key_file;
mod load;
mod rights;
mod settings;
mod users;

pub use addresses::Addresses;
pub(crate) use current::Current;
pub use current::Reloaded;
pub use error::{ConfigError, Origin};
pub(crate) use key_file::check_data_key;
pub use key_file::{KeyFileError, read_key_file, read_key_file_of};
pub use load::{Loaded, Sources};
pub(crate) use load::{apply, is_loopback};
pub use rights::Rights;
pub(crate) use settings::find;
pub use settings::{SETTINGS, Setting};
pub use users::{DEFAULT_USER, Users, hash_password};

use crate::cores::num_cores;
use crate::durable::Policy;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

/// The settings of a server.
///
/// Times are in milliseconds, 0 for never; sizes in bytes.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    /// The data folder; without one nothing is kept.
    pub data: Option<PathBuf>,
    /// File of the secret key; `key` in the data folder unless said.
    pub key_file: Option<PathBuf>,
    /// Where the Redis protocol is spoken.
    pub bind: Addresses,
    /// Its port; 0 for any that is free.
    pub port: u16,
    /// Also on a Unix socket, for this user of the machine alone.
    pub unix_socket: Option<PathBuf>,
    /// Certificates in PEM, the server's own first. With them `port` speaks TLS unless `tls_port`
    /// is given.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    pub tls_key: Option<PathBuf>,
    /// TLS here, and no TLS on `port`.
    pub tls_port: Option<u16>,
    /// Where HTTP is spoken; `bind` unless said.
    pub http_bind: Option<Addresses>,
    /// HTTP port, off by default; 0 for any that is free.
    pub http_port: Option<u16>,
    /// Names by which HTTP clients may call us, beside addresses of loopback and `http_bind`.
    pub http_hosts: Vec<String>,
    /// HTTP with TLS; so it is if there is a certificate, unless said.
    pub http_tls: Option<bool>,
    /// Anybody who reaches a port that is not loopback may do everything.
    pub insecure_no_password: bool,
    /// The secret key may be in a file that every user of the machine can read.
    pub insecure_key_file: bool,
    /// Who may log in.
    pub users: Arc<Users>,
    /// When what is written becomes safe from a power cut.
    pub appendfsync: Policy,
    /// Log bytes after which a checkpoint is made.
    pub checkpoint_bytes: u64,
    /// Time after which a checkpoint is made if anything changed.
    pub checkpoint_interval_ms: u64,
    /// A checkpoint at the end.
    pub checkpoint_on_exit: bool,
    /// Not ready (`/readyz`) while a file of `import/` cannot be used.
    pub require_imports: bool,
    /// The most bytes of all filters together.
    pub max_memory: Option<u64>,
    /// The most bytes of one filter.
    pub max_filter_bytes: Option<u64>,
    /// Bytes of a filter's name.
    pub max_name_bytes: u32,
    /// Connections at once.
    pub max_clients: u32,
    /// Bytes of one word of a request.
    pub max_word_bytes: u32,
    /// Bytes of the word that is a chunk of `BF.LOADCHUNK`.
    pub max_chunk_bytes: u32,
    /// Words of a request.
    pub max_words: u32,
    /// Bytes of a request.
    pub max_request_bytes: u32,
    /// Unfinished requests and unsent answers of all clients together.
    pub max_buffer_bytes: Option<u64>,
    /// A request that has begun is whole within this time.
    pub request_timeout_ms: u64,
    /// A client that reads nothing of its answers is closed.
    pub output_timeout_ms: u64,
    /// Idle timeout; 0 is never.
    pub idle_timeout_ms: u64,
    /// How long an HTTP connection may be idle between two requests; 0 closes it after each.
    pub http_keep_alive_ms: u64,
    /// TCP keepalive: when the system probes whether a silent client is still there.
    pub keepalive_ms: u64,
    /// Loop threads; one per core unless said.
    pub threads: Option<usize>,
    /// Microseconds for which a loop looks for more before it sleeps.
    pub busy_poll_us: u32,
    /// Of filters that are made by an add.
    pub default_error: f64,
    /// Of filters that are made by an add.
    pub default_capacity: u64,
    /// Of filters that are made by an add.
    pub default_expansion: u32,
    /// Whether a read of a filter that does not exist is an error, and not "surely not".
    pub strict_names: bool,
    /// The least important messages that are written.
    pub log_level: log::LevelFilter,
    /// How they are written.
    pub log_format: LogFormat,
    /// Filters that `/metrics` lists one by one.
    pub metrics_filters: usize,
}

/// Buffers of all clients, unless said, where memory is scarce: more than one request may be.
const LEAST_BUFFERS: u64 = 32 << 20;
/// And where it is not.
const MOST_BUFFERS: u64 = 512 << 20;

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// `2026-01-31T12:00:00.000Z INFO Redis clients: 127.0.0.1:6380`
    #[default]
    Text,
    /// An object a line.
    Json,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: None,
            key_file: None,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST).into(),
            port: 6380,
            unix_socket: None,
            tls_cert: None,
            tls_key: None,
            tls_port: None,
            http_bind: None,
            http_port: None,
            http_hosts: Vec::new(),
            http_tls: None,
            insecure_no_password: false,
            insecure_key_file: false,
            users: Arc::default(),
            appendfsync: Policy::default(),
            checkpoint_bytes: 64 << 20,
            checkpoint_interval_ms: 15 * 60 * 1000,
            checkpoint_on_exit: false,
            require_imports: false,
            max_memory: None,
            max_filter_bytes: None,
            max_name_bytes: 1 << 10,
            max_clients: 10_000,
            max_word_bytes: 1 << 20,
            max_chunk_bytes: (16 << 20) + (64 << 10),
            max_words: 1 << 20,
            max_request_bytes: 64 << 20,
            max_buffer_bytes: None,
            request_timeout_ms: 30_000,
            output_timeout_ms: 30_000,
            idle_timeout_ms: 0,
            http_keep_alive_ms: 75_000,
            keepalive_ms: 300_000,
            threads: None,
            busy_poll_us: 20,
            default_error: 0.01,
            default_capacity: 100,
            default_expansion: 2,
            strict_names: false,
            log_level: log::LevelFilter::Info,
            log_format: LogFormat::default(),
            metrics_filters: 100,
        }
    }
}

impl Config {
    /// Loop threads: the setting, or one per core.
    pub fn loop_threads(&self) -> usize {
        self.threads.filter(|&threads| threads > 0).unwrap_or_else(num_cores)
    }

    /// Bytes that unfinished requests and unsent answers may take together: the setting, or an
    /// eighth of `max_memory`, from 32 MiB to 512 MiB.
    pub fn buffer_bytes(&self) -> u64 {
        let by_memory = |memory: u64| (memory / 8).clamp(LEAST_BUFFERS, MOST_BUFFERS);
        self.max_buffer_bytes.unwrap_or_else(|| self.max_memory.map_or(MOST_BUFFERS, by_memory))
    }

    /// Where HTTP is spoken.
    pub fn http_bind(&self) -> &Addresses {
        self.http_bind.as_ref().unwrap_or(&self.bind)
    }

    /// Whether HTTP is spoken inside TLS.
    pub fn http_tls(&self) -> bool {
        self.http_tls.unwrap_or(self.tls_cert.is_some())
    }

    /// The file of the secret key.
    pub fn key_file(&self) -> Option<PathBuf> {
        let in_data = || self.data.as_ref().map(|data| data.join("key"));
        self.key_file.clone().or_else(in_data)
    }
}
