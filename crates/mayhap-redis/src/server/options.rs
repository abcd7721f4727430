//! How long to wait for a server, and what a write has to have reached.

use std::time::Duration;

/// How long to wait, and what a write has to have reached.
///
/// # Examples
///
/// ```
/// use mayhap_redis::{ServerOptions, WaitReplicas};
/// use std::time::Duration;
///
/// // Every insertion is on a replica too before it is acknowledged.
/// let replicas = WaitReplicas { replicas: 1, timeout: Duration::from_millis(500) };
/// let options = ServerOptions { wait_replicas: Some(replicas), ..ServerOptions::default() };
/// assert_eq!(options.deadline, Duration::from_secs(30));
/// ```
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// For one connection to be made.
    pub connect_timeout: Duration,
    /// For one reply. A node that is silent for longer is tried again, or its replica.
    pub response_timeout: Duration,
    /// For a call with all its repetitions; it ends with [`crate::Error::Unavailable`] then.
    pub deadline: Duration,
    /// Whether a write has to reach replicas before it is acknowledged. `WAIT` goes in the same
    /// pipeline as the writes, and one such pipeline at a time to a node. Not a consensus: a write
    /// that a majority has can still be lost.
    pub wait_replicas: Option<WaitReplicas>,
    /// In a cluster, lets replicas answer queries: they may not know the newest keys yet. Which
    /// there are is looked up when connecting and after a failure; a replica that has never been
    /// sent anything is not among them.
    pub read_replicas: bool,
}

impl Default for ServerOptions {
    /// 5 s to connect, 2 s for a reply, 30 s for a call, masters only.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(2),
            deadline: Duration::from_secs(30),
            wait_replicas: None,
            read_replicas: false,
        }
    }
}

/// How many replicas of its master have to confirm a write, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitReplicas {
    /// At least 1.
    pub replicas: u32,
    /// After this the write is sent again, until the deadline of the call.
    pub timeout: Duration,
}

/// What a server keeps when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Persistence {
    /// It does not say: `CONFIG` is not allowed, as on managed servers.
    Unknown,
    /// Nothing. A master that restarts before its replica takes over even empties that one.
    Nothing,
    /// The last snapshot: what was inserted since is lost.
    Snapshots,
    /// A log of all writes, by default at most the last second is lost.
    Log,
}
