//! The filters by name.
//!
//! `names.rs` is names to filters, `entry.rs` one filter with what belongs to it, `spec.rs` what it
//! was asked to be, `filter.rs` the kinds; `insert.rs` is the way in, `info.rs` what a filter knows
//! of itself. `contents.rs` is a filter as bytes, `load.rs` dumps that go out and come in,
//! `recovery.rs` filters that come back at start, `files.rs` those that lie in the data folder, `scan.rs` a part of all names at a
//! time.

mod contents;
mod entry;
mod error;
mod files;
mod filter;
mod fixed;
mod glob;
mod info;
mod insert;
mod load;
mod loading;
mod names;
mod options;
mod recovery;
mod redisbloom;
mod scan;
mod spec;

pub use entry::Entry;
pub use error::{ChangeError, CreateError, InsertError, TooLarge};
pub use filter::FEWEST_ITEMS;
pub use glob::matches;
pub use info::{Info, Measured};
pub use load::{CHUNK_BYTES, LoadError};
pub use names::Keyspace;
pub use options::Options;
pub use recovery::Recovery;
pub use scan::{MAX_PATTERN_BYTES, Page};
pub use spec::{Hash, MAX_EXPANSION, SPEC_BYTES, Shape, Spec};
