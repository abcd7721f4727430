//! Our own layout: the blocks of a filter in string values, as they stand in memory and in files.
//!
//! | file | what |
//! |---|---|
//! | `filter.rs`, `options.rs` | the handle, and how a filter is created |
//! | `shards.rs`, `meta.rs`, `generation.rs` | where a bit is; the parameters; their keys |
//! | `create.rs`, `maker.rs` | creating or finding a filter, never half there |
//! | `round.rs`, `batch.rs` | commands for digests and their replies; batches in rounds |
//! | `single.rs`, `coalesce.rs` | single calls of many tasks, coalesced into pipelines |
//! | `resolve.rs` | shards that are gone or being switched |
//! | `life.rs` | expiry, deletion and counts |
//! | `bulk.rs`, `transfer.rs`, `union.rs` | large batches by shard; whole shards |
//! | `swap.rs` | switching to a rebuilt filter |
//! | `wire.rs` | commands, scripts and replies |
//!
//! `docs/redis.md` describes the layout.

mod batch;
mod bulk;
mod coalesce;
mod create;
mod filter;
mod generation;
mod life;
mod maker;
mod meta;
mod options;
mod resolve;
mod round;
mod shards;
mod single;
mod swap;
mod transfer;
mod union;
mod wire;

pub use filter::NativeFilter;
#[doc(hidden)]
pub use meta::Meta;
pub use options::NativeOptions;
pub use transfer::{Download, Upload};
pub use union::Union;
