//! What all threads of a server share.

use crate::config::Config;
use crate::durable::{Filters, Log, Saved, Snapshot};
use crate::keyspace::Keyspace;
use crate::metrics::Metrics;
use crate::net::Clients;
use std::io;
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

/// For [`crate::durable::Threads`], which makes checkpoints of the keyspace in here.
impl Filters for Shared {
    fn list(&self) -> Vec<Saved> {
        self.keyspace.list()
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        self.keyspace.snapshot(id, segment)
    }
}
