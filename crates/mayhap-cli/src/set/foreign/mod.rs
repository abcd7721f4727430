//! Filters that other systems made, as the verbs use them.
//!
//! `file.rs` finds out what a file is and opens it (`opener.rs` as the command line says),
//! `table.rs` where it is a column of one; `keys.rs` makes of keys what the system hashes;
//! `numbers.rs` has its state. Everything goes by [`mayhap_formats::Format`], so that a new format
//! needs no change here.

mod file;
mod keys;
mod numbers;
mod opener;
mod table;

pub use file::{ForeignFile, describe, detect_all};
pub use keys::{KeyBytes, NotKeys};
pub use numbers::{FULL_FILL, Numbers};
pub use opener::Opener;
