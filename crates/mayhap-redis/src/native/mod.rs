//! mayhap's own layout: the blocks of a filter in string values, in the same form as in memory and
//! in files.
//!
//! | file | contents |
//! |---|---|
//! | `filter.rs`, `options.rs` | the filter as its users see it, and how one is created |
//! | `handle.rs`, `resolve.rs` | the generation that a handle assumes; shards that are missing or being switched |
//! | `generation.rs`, `meta.rs` | the values of one generation; its parameters |
//! | `place.rs`, `shards.rs` | the keys of the parameters; the position of a bit |
//! | `create.rs`, `maker.rs` | creating a filter atomically, or finding it; deleting it |
//! | `round.rs`, `batch.rs` | commands for digests and their replies; batches in rounds |
//! | `coalesce.rs` | single calls of many tasks, coalesced into pipelines |
//! | `info.rs`, `life.rs` | counts of bits; expiry |
//! | `bulk.rs`, `union.rs` | large batches and other filters, merged shard by shard |
//! | `upload.rs`, `download.rs` | transfer of whole filters |
//! | `swap.rs`, `orphans.rs` | switching to a rebuilt filter; shards that a switch left when a failover undid it |
//! | `rename.rs` | another name for a filter |
//! | `wire.rs` | commands, scripts and replies |
//!
//! `LAYOUT.md`, beside this crate's README, specifies the layout.

mod batch;
mod bulk;
mod coalesce;
mod create;
mod download;
mod filter;
mod generation;
mod handle;
mod info;
mod life;
mod maker;
mod meta;
mod options;
mod orphans;
mod place;
mod rename;
mod resolve;
mod round;
mod shards;
mod swap;
mod union;
mod upload;
mod wire;

#[cfg(test)]
mod lost;
#[cfg(test)]
mod tests;

pub use download::Download;
pub use filter::NativeFilter;
#[doc(hidden)]
pub use meta::Meta;
pub use options::NativeOptions;
pub use orphans::Orphan;
pub use rename::IfTaken;
pub(crate) use rename::rename;
pub use union::{Merge, Union};
pub use upload::Upload;
