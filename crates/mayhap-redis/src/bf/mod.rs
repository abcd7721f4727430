//! Filters that the server itself keeps: `BF.*` of `RedisBloom`, valkey-bloom and `mayhap serve`.
//!
//! `options.rs` is what `BF.RESERVE` takes, `info.rs` what `BF.INFO` answers, `error.rs` their
//! refusals, `filter.rs` the filter.

mod error;
mod filter;
mod info;
mod options;

pub use filter::RemoteBf;
pub use options::{BfGrowth, BfOptions};
