//! Bloom filters whose bits are in Redis, Valkey or a cluster of them, shared by many processes.
//!
//! A [`Server`] is a connection to one of them, or to a cluster; [`NativeFilter`] is a filter there
//! in mayhap's own layout (`docs/redis.md`). A key costs one command, a batch one round trip to
//! each node; the server decides which keys are new. [`RemoteFilter`] is the interface of filters
//! of all layouts, and [`blocking`] has the same calls for programs without async.
//!
//! ```
//! use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
//! # use test_servers::{RedisOptions, RedisServer, ready};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if !ready(&["redis-server"]) {
//! #     return Ok(());
//! # }
//! # let redis = RedisServer::start(&RedisOptions::default())?;
//! # let url = format!("{}/0/seen", redis.url());
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! // Such as redis+cluster://10.0.0.1:7000,10.0.0.2:7000/seen.
//! let address = Address::parse(&url)?;
//! let server = Server::connect(&address, ServerOptions::default()).await?;
//! let options = NativeOptions::for_items(100_000, 0.001)?;
//! let seen = NativeFilter::create(&server, "seen", &options).await?;
//! let new = seen.insert_batch(&[b"https://example.org/", b"https://example.com/"]).await?.new;
//! assert_eq!(new.count_ones(), 2);
//! # Ok(())
//! # })
//! # }
//! ```

// | file | contents |
// |---|---|
// | `backup.rs` | `BF.BACKUP` of `mayhap serve` |
// | `bf/` | filters that the server itself keeps |
// | `bitfield.rs` | bits of many keys, set or read by few commands |
// | `blocking.rs` | the same filters for programs without async: each call blocks |
// | `cause.rs` | the causes of some errors: a loss, damage, a misfit |
// | `error.rs` | the errors of filters on a server |
// | `filter.rs` | the interface of all filters on a server, whatever their layout |
// | `find.rs` | the kind of filter under a name on a server |
// | `guard/` | a guard in front of a database |
// | `magnus/` | filters of Java-BloomFilter's Redis variant |
// | `native/` | mayhap's own layout |
// | `observe/` | a server's contents, for monitoring: the names of its filters |
// | `redisson/` | filters of Redisson's `RBloomFilter` |
// | `rename.rs` | another name for a filter, whatever its layout |
// | `replies.rs` | replies of servers, and their errors with the key concerned |
// | `server/` | one server or a cluster of them |
// | `string.rs` | strings that are read in pieces |
// | `trouble.rs` | the failure of a connection, from its last error |

mod backup;
mod bf;
mod bitfield;
pub mod blocking;
mod cause;
mod error;
mod filter;
mod find;
pub mod guard;
mod magnus;
mod native;
mod observe;
mod redisson;
mod rename;
mod replies;
mod server;
mod string;
mod trouble;

pub use backup::RemoteBackup;
pub use bf::{BfChunk, BfGrowth, BfKind, BfOptions, RemoteBf};
pub use cause::{Damage, Loss, Misfit};
pub use error::Error;
pub use filter::{FilterInfo, Inserted, InsertedBatch, RemoteFilter};
pub use find::{Found, find};
pub use magnus::{MagnusOptions, MagnusParams, RemoteMagnus};
#[doc(hidden)]
pub use native::Meta;
pub use native::{Download, IfTaken, Merge, NativeFilter, NativeOptions, Orphan, Union, Upload};
pub use observe::{Client, FilterScheme, Listed, NamedFilter, SlowRequest, Status};
pub use redisson::RemoteRedisson;
pub use rename::{rename, rename_native};
pub use server::{Address, Certificates, Persistence, Server, ServerOptions, WaitReplicas};
pub use trouble::Trouble;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
