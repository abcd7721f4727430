//! What all threads of a server share.

use crate::config::Config;
use crate::durable::Log;
use crate::guesses::Guesses;
use crate::keyspace::Keyspace;
use crate::metrics::Metrics;
use crate::net::Clients;
use crate::slow_log::SlowLog;
use std::sync::Arc;

/// What all threads of a server share.
#[derive(Debug)]
pub struct Shared {
    /// The settings.
    pub config: Config,
    /// The filters.
    pub keyspace: Arc<Keyspace>,
    /// The write-ahead log that keeps them; `None` without a data folder.
    pub log: Option<Arc<Log>>,
    /// The server's counters.
    pub metrics: Metrics,
    /// The clients that are connected.
    pub clients: Clients,
    /// Who guesses passwords.
    pub guesses: Guesses,
    /// What took long.
    pub slow_log: SlowLog,
}

impl Shared {
    /// A server's state before its first client.
    pub fn new(config: Config, keyspace: Keyspace, log: Option<Arc<Log>>) -> Arc<Self> {
        let metrics = Metrics::new(config.loop_threads());
        let (keyspace, clients) = (Arc::new(keyspace), Clients::default());
        let (guesses, slow_log) = (Guesses::default(), SlowLog::default());
        Arc::new(Self { config, keyspace, log, metrics, clients, guesses, slow_log })
    }
}
