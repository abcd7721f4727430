//! The filters by name.
//!
//! `names.rs` is names to filters, `entry.rs` one filter with what belongs to it, `spec.rs` what it
//! was asked to be, `filter.rs` the kinds; `insert.rs` is the way in, `info.rs` what a filter knows
//! of itself.

mod entry;
mod error;
mod filter;
mod fixed;
mod glob;
mod info;
mod insert;
mod names;
mod options;
mod redisbloom;
mod scan;
mod spec;

pub use entry::Entry;
pub use error::{ChangeError, CreateError, InsertError, TooLarge};
pub use glob::matches;
pub use info::{Info, Measured};
pub use names::Keyspace;
pub use options::Options;
pub use scan::{MAX_PATTERN_BYTES, Page};
pub use spec::{Hash, MAX_EXPANSION, SPEC_BYTES, Shape, Spec};
