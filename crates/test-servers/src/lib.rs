//! Real servers on loopback, for tests, examples and benchmarks: Redis (or Valkey), a Redis
//! Cluster, `PostgreSQL`; a slow link to one ([`Line`]); and a stand-in for the servers that cannot
//! be installed ([`BfServer`]).
//!
//! Each server has a temporary folder and a port of its own, so that tests run side by side. It is
//! killed, by pid, when its value is dropped; on Linux also when this process ends in any other
//! way, including SIGKILL (`setpriv --pdeathsig`; only the folder stays behind then). Elsewhere a
//! killed test leaves its servers running.
//!
//! A test begins with [`ready`]:
//!
//! ```
//! use test_servers::{RedisOptions, RedisServer, ready};
//!
//! # fn main() -> Result<(), test_servers::Error> {
//! if !ready(&["redis-server"]) {
//!     return Ok(());
//! }
//! let server = RedisServer::start(&RedisOptions::default())?;
//! server.cli(&["SET", "key", "value"])?;
//! assert_eq!(server.cli(&["GET", "key"])?, "value");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

// | file | contents |
// |---|---|
// | `bf/` | a stand-in for servers with `BF.*` commands |
// | `cluster.rs` | a Redis Cluster on loopback |
// | `error.rs` | what can go wrong |
// | `line.rs` | a long line to a server: what goes through takes its time, and is counted |
// | `port.rs` | ports that nobody else takes |
// | `postgres.rs` | one `PostgreSQL` server |
// | `process.rs` | one child process: started so that it cannot outlive us, its log, its end |
// | `programs.rs` | which programs are here, and what a test does when some are not |
// | `redis.rs` | one Redis or Valkey server |
// | `resp.rs` | as much of the Redis protocol as a test needs |
// | `sentinels.rs` | three sentinels that watch a master and its replicas |
// | `view.rs` | `CLUSTER NODES`, as one node tells it |

mod bf;
mod cluster;
mod error;
mod line;
mod port;
mod postgres;
mod process;
mod programs;
mod redis;
mod resp;
mod sentinels;
mod view;

pub use bf::{BfServer, Dialect};
pub use cluster::{ClusterOptions, RedisCluster};
pub use error::Error;
pub use line::{Line, Trips};
pub use postgres::Postgres;
pub use programs::{missing, ready, skipped, tool};
pub use redis::{RedisOptions, RedisServer};
pub use sentinels::RedisSentinels;
