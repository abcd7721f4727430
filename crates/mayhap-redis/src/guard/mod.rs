//! A guard in front of a database: a filter stops keys that exist nowhere, a cache answers most of
//! the others, and the database the rest.
//!
//! `get(key)` queries in this order and stops at the first answer:
//!
//! | part | answer | result |
//! |---|---|---|
//! | filter ([`GuardFilter`]) | surely absent | `None`, nothing else is queried |
//! | a load of this key by another task | | its answer |
//! | cache ([`Cache`]) | a value, or a cached absence | the answer |
//! | loader ([`Loader`]) | a value or nothing | the answer, stored in the cache |
//!
//! So in an attack with `a` keys that exist nowhere, `p · a` reach the loader, each at most once
//! per [`GuardOptions::absent_ttl`].
//!
//! `docs/redis.md#a-filter-in-front-of-a-database` describes how to keep the filter complete, the
//! behaviour when a server fails, and the attacks open to clients that choose keys. The example
//! `cache_guard` demonstrates it with Redis and `PostgreSQL`.
//!
//! # Examples
//!
//! ```
//! use mayhap::ConcurrentBlockedBloomFilter;
//! use mayhap_redis::guard::{Cache, CacheError, Guard, GuardOptions};
//! use std::collections::HashMap;
//! use std::sync::Mutex;
//! use std::time::Duration;
//!
//! /// Any cache will do; this one never forgets.
//! #[derive(Default)]
//! struct Memory(Mutex<HashMap<Vec<u8>, Vec<u8>>>);
//!
//! impl Cache for Memory {
//!     async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CacheError> {
//!         Ok(self.0.lock().unwrap().get(key).cloned())
//!     }
//!     async fn set(&self, key: &[u8], entry: &[u8], _: Duration) -> Result<(), CacheError> {
//!         self.0.lock().unwrap().insert(key.to_vec(), entry.to_vec());
//!         Ok(())
//!     }
//!     async fn remove(&self, key: &[u8]) -> Result<(), CacheError> {
//!         self.0.lock().unwrap().remove(key);
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let filter = ConcurrentBlockedBloomFilter::builder()
//!     .expected_items(1_000)
//!     .target_fpp(0.01)
//!     .build()?;
//! // The database: it has one row.
//! let load = async |key: Vec<u8>| {
//!     Ok::<_, std::io::Error>((key == b"7").then(|| b"seven".to_vec()))
//! };
//! let guard = Guard::new(filter, Memory::default(), load, GuardOptions::default());
//! guard.insert(b"7").await?;
//! guard.warmed();
//! assert_eq!(guard.get(b"7").await?, Some(b"seven".to_vec()));
//! assert_eq!(guard.get(b"8").await?, None);
//! assert_eq!((guard.counts().loads, guard.counts().stopped), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `breaker.rs` | a circuit breaker |
//! | `cache.rs` | Redis as the cache |
//! | `counts.rs` | the counts of a guard |
//! | `error.rs` | the errors of a guard |
//! | `gate.rs` | the guard itself |
//! | `options.rs` | the times and the failure mode of a guard |
//! | `parts.rs` | the parts of a guard: a filter, a cache, a loader |
//! | `single_flight.rs` | one call for all tasks that request the same key at the same time |

mod breaker;
mod cache;
mod counts;
mod error;
mod gate;
mod options;
mod parts;
mod single_flight;

pub use cache::RedisCache;
pub use counts::GuardCounts;
pub use error::GuardError;
pub use gate::Guard;
pub use options::{Failing, GuardOptions};
pub use parts::{Cache, CacheError, GuardFilter, Loader};
