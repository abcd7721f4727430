//! Our own layout: the blocks of a filter in string values, as they stand in memory and in files.
//!
//! `shards.rs` says where a bit is, `meta.rs` what the hash of the parameters holds; `create.rs`
//! and `maker.rs` make or find a filter; `filter.rs` is the handle, `batch.rs` and `round.rs` insert
//! and ask, `resolve.rs` is
//! for shards that are gone or being switched; `life.rs` has expiry, deletion and counts; `bulk.rs`
//! merges whole shards, `swap.rs` switches to a rebuilt filter, `transfer.rs` sends and reads whole
//! ones. `wire.rs` is commands, scripts and answers. The layout is described in `docs/redis.md`.

mod batch;
mod bulk;
mod create;
mod filter;
mod life;
mod maker;
mod meta;
mod options;
mod resolve;
mod round;
mod shards;
mod swap;
mod together;
mod transfer;
mod union;
mod wire;

pub use filter::NativeFilter;
#[doc(hidden)]
pub use meta::Meta;
pub use options::NativeOptions;
pub use transfer::{Download, Upload};
pub use union::Union;
