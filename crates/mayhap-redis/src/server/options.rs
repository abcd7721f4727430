//! Time-outs for a server, and the replicas that a write has to reach.

use super::Certificates;
use std::time::Duration;

/// Time-outs, and the replicas that a write has to reach.
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
/// assert_eq!(options.wait_replicas, Some(replicas));
/// assert_eq!(options.deadline, Duration::from_secs(30));
/// ```
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The time-out for establishing a connection.
    pub connect_timeout: Duration,
    /// The time-out for one reply. After it, the node or its replica is tried again.
    pub response_timeout: Duration,
    /// The time-out for a call including all retries, after which it returns
    /// [`crate::Error::Unavailable`].
    pub deadline: Duration,
    /// Whether a write has to reach replicas before it is acknowledged. `WAIT` is sent in the same
    /// pipeline as the writes, and one such pipeline at a time to a node. This is not consensus: a
    /// write that a majority has can still be lost.
    pub wait_replicas: Option<WaitReplicas>,
    /// In a cluster, lets replicas answer queries: they may not have the newest keys yet. Replicas
    /// are looked up on connect and after a failure; a replica that has never received anything is
    /// not listed.
    pub read_replicas: bool,
    /// Certificates for `rediss://` beside those of the machine.
    pub certificates: Certificates,
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
            certificates: Certificates::default(),
        }
    }
}

/// The number of replicas of its master that have to confirm a write, and the time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitReplicas {
    /// At least 1.
    pub replicas: u32,
    /// After this the write is sent again, until the deadline of the call.
    pub timeout: Duration,
}

/// The data that a server keeps when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Persistence {
    /// Unknown: `CONFIG` is not allowed, as on managed servers.
    Unknown,
    /// Nothing. A master that restarts before its replica takes over even empties the replica.
    Nothing,
    /// The last snapshot: later insertions are lost.
    Snapshots,
    /// A log of all writes: by default, at most the last second is lost.
    Log,
}
