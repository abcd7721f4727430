//! What all threads of a server share.

use crate::config::Config;
use crate::durable::Log;
use crate::keyspace::Keyspace;
use crate::metrics::Metrics;
use crate::net::Clients;
use std::sync::Arc;

/// What all threads of a server share.
#[derive(Debug)]
pub struct Shared {
    /// What the operator said.
    pub config: Config,
    /// The filters.
    pub keyspace: Keyspace,
    /// How they outlive the process; none without a data folder.
    pub log: Option<Arc<Log>>,
    /// What is counted.
    pub metrics: Metrics,
    /// Who is connected.
    pub clients: Clients,
}
