//! Filters that other systems made, as the verbs use them.
//!
//! `options.rs` is what the command line says of them; `file.rs` finds out what a file is and opens
//! it, `table.rs` where it is a column of one; `keys.rs` makes of keys what the system hashes;
//! `turns.rs` changes one in turns with others. Then one file for each verb whose work on them is its own: `add.rs`, `info.rs`, `verify.rs`,
//! `merge.rs`, `convert.rs`. Everything goes by [`mayhap_formats::Format`], so that a new format
//! needs no change here, but for `convert.rs`.

pub mod add;
pub mod convert;
mod file;
pub mod info;
mod keys;
pub mod merge;
mod options;
mod table;
mod turns;
pub mod verify;

pub use file::{ForeignFile, tell_all};
pub use keys::{KeyBytes, NotKeys};
pub use options::{ForeignArgs, Opener, parse_hashes};
