//! What a connection has to do, so that another client crate, or a faulty one, can take its place.

use super::node::Sent;
use futures_util::future::BoxFuture;
use redis::{Pipeline, RedisResult, ServerError};
use std::fmt;
use std::sync::Arc;

/// Where a command goes, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    /// `host:port`.
    pub(crate) node: Arc<str>,
    pub(crate) how: How,
}

/// What has to be sent to a node first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// Nothing.
    Plain,
    /// `ASKING`, before each command: its key has come here, its slot has not yet.
    Asking,
    /// `READONLY`, once: it is a replica.
    ReadOnly,
}

impl How {
    /// Where the first command of a caller is in a pipeline, and how far it is to the next.
    pub(crate) fn before(self) -> (usize, usize) {
        match self {
            Self::Plain => (0, 1),
            Self::Asking => (1, 2),
            Self::ReadOnly => (1, 1),
        }
    }
}

pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Where the commands of a slot go, as far as is known. `replica`: one may answer.
    fn place(&self, slot: u16, replica: bool) -> Route;

    /// Where a `MOVED` or an `ASK` of a node points to; `None` if it is no cluster.
    fn redirected(&self, from: &Route, error: &ServerError) -> Option<Route>;

    /// One slot of each master.
    fn masters(&self) -> Vec<u16>;

    /// Sends once, and repeats nothing: a reply that was lost has to be known of.
    fn send<'a>(
        &'a self,
        node: &Arc<str>,
        pipeline: &'a Pipeline,
        waits: bool,
    ) -> BoxFuture<'a, Sent>;

    /// Looks again which node has which slots.
    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>>;
}
