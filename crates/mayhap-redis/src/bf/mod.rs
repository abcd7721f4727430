//! Filters that the server itself keeps: `BF.*` of `RedisBloom`, valkey-bloom and `mayhap serve`.
//!
//! `options.rs` has the arguments of `BF.RESERVE`, `info.rs` the reply of `BF.INFO`, `error.rs`
//! their errors, `filter.rs` the filter.

mod error;
mod filter;
mod info;
mod options;

pub use filter::RemoteBf;
pub use options::{BfGrowth, BfOptions};
