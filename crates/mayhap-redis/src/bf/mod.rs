//! Filters that the server itself keeps: `BF.*` of `RedisBloom`, valkey-bloom and `mayhap serve`.
//!
//! `options.rs` has the arguments of `BF.RESERVE`, `info.rs` the reply of `BF.INFO`, `error.rs`
//! their errors, `filter.rs` the filter; `digests.rs` and `whole.rs` the operations of some servers
//! only: keys by their digests, and dumping and loading whole filters.

mod digests;
mod error;
mod filter;
mod info;
mod options;
mod whole;

pub use filter::RemoteBf;
pub use options::{BfGrowth, BfKind, BfOptions};
pub use whole::BfChunk;
pub(crate) use whole::type_of;
