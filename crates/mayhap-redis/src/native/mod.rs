//! mayhap's own layout: the blocks of a filter in string values, in the same form as in memory and
//! in files.
//!
//! | file | contents |
//! |---|---|
//! | `filter.rs`, `options.rs` | the handle, and how a filter is created |
//! | `shards.rs`, `meta.rs`, `generation.rs` | the position of a bit; the parameters; their keys |
//! | `create.rs`, `maker.rs` | creating a filter atomically, or finding it |
//! | `round.rs`, `batch.rs` | commands for digests and their replies; batches in rounds |
//! | `single.rs`, `coalesce.rs` | single calls of many tasks, coalesced into pipelines |
//! | `resolve.rs` | shards that are missing or being switched |
//! | `life.rs`, `extent.rs` | expiry, deletion and counts; of which bits |
//! | `bulk.rs`, `transfer.rs`, `union.rs` | large batches by shard; whole shards |
//! | `swap.rs` | switching to a rebuilt filter |
//! | `wire.rs` | commands, scripts and replies |
//!
//! `docs/redis.md` describes the layout.

mod batch;
mod bulk;
mod coalesce;
mod create;
mod extent;
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
