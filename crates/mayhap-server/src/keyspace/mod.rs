//! The filters by name.
//!
//! `names.rs` is names to filters, `scan.rs` goes over all of them. `entry.rs` is one filter with
//! what belongs to it, `spec.rs` what it was asked to be, `filter.rs` the kinds, `fixed.rs` and
//! `redisbloom.rs` two of them, `insert.rs` the way in, `info.rs` what a filter knows of itself.
//! `growth.rs` makes layers before they are needed. `contents.rs` is a filter as bytes, `load.rs` and `loading.rs` dumps that go out and come in,
//! `sizes.rs` sizes that were worked out, `files.rs` filters that lie in the data folder, `recovery.rs` those that come back at start.

mod contents;
mod entry;
mod error;
mod files;
mod filter;
mod fixed;
mod glob;
mod growth;
mod info;
mod insert;
mod layers;
mod load;
mod loading;
mod lock;
mod names;
mod options;
mod recovery;
mod redisbloom;
mod scan;
mod sizes;
mod spec;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod upkeep;

pub use entry::Entry;
pub use error::{ChangeError, CreateError, InsertError, TooLarge, Unreadable};
pub use filter::FEWEST_ITEMS;
pub use glob::matches;
pub use growth::Growing;
pub use info::{Info, Measured};
pub use layers::LayerInfo;
pub use load::{CHUNK_BYTES, LoadError};
pub use names::Keyspace;
pub use options::Options;
pub use recovery::Recovery;
pub use scan::{MAX_PATTERN_BYTES, Page};

pub use spec::{Hash, MAX_EXPANSION, SPEC_BYTES, Shape, Spec};
pub use upkeep::Upkeep;
