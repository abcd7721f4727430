//! The interface of a connection, so that another client crate, or a faulty test double, can
//! replace it.

use super::node::Sent;
use futures_util::future::BoxFuture;
use redis::{Pipeline, RedisResult, ServerError};
use std::fmt;
use std::sync::Arc;

/// The destination of a command, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    /// `host:port`.
    pub(crate) node: Arc<str>,
    pub(crate) how: How,
}

/// The prefix that a node requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// Nothing.
    Plain,
    /// `ASKING`, before each command: its key has already moved here, its slot has not.
    Asking,
    /// `READONLY`, once: it is a replica.
    ReadOnly,
}

impl How {
    /// The position of the first command of a caller in a pipeline, and the distance to the next.
    pub(crate) fn before(self) -> (usize, usize) {
        match self {
            Self::Plain => (0, 1),
            Self::Asking => (1, 2),
            Self::ReadOnly => (1, 1),
        }
    }
}

pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// The destination of the commands of a slot, as far as is known. `replica`: a replica may
    /// answer.
    fn place(&self, slot: u16, replica: bool) -> Route;

    /// The destination of a `MOVED` or an `ASK` from a node; `None` if it is not a cluster.
    fn redirected(&self, _from: &Route, _error: &ServerError) -> Option<Route> {
        None
    }

    /// Whether keys are in slots, and all keys of a command in one.
    fn is_cluster(&self) -> bool {
        false
    }

    /// One slot of each master; without a cluster there is one.
    fn masters(&self) -> Vec<u16> {
        vec![0]
    }

    /// The number of times that a node was lost or a slot changed its master.
    fn losses(&self) -> u64;

    /// The last of these that concerned the master of a slot; 0 if none did.
    fn lost_at(&self, slot: u16) -> u64;

    /// Sends once, without retries: the caller has to know about lost replies.
    fn send<'a>(
        &'a self,
        node: &Arc<str>,
        pipeline: &'a Pipeline,
        waits: bool,
    ) -> BoxFuture<'a, Sent>;

    /// Looks up the slots again.
    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>>;
}
