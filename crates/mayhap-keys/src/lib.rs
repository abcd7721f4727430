//! What a key is: how it is cut out of a line, kept in a filter's header so that every command
//! cuts alike. `docs/keys.md` has the rules and the names in the header.
//!
//! line → record (the line, a field, a JSON value) → trim → hex bytes or normal URL → lower case
//!
//! No I/O. `options.rs` is what can be chosen and `header.rs` its form in a file, with what can be
//! wrong with both in `error.rs`; `cutter.rs` cuts one line, by `json.rs` and `normal.rs`, and
//! `table.rs` holds the keys of many; `keyless.rs` is for lines without one, `escape.rs` for bytes
//! as text.

#![forbid(unsafe_code)]

mod cutter;
mod error;
mod escape;
mod header;
mod json;
mod keyless;
mod normal;
mod options;
mod table;
#[cfg(test)]
mod tests;

pub use cutter::Cutter;
pub use error::{Error, Mismatch, ValueError, WrongOption};
pub use escape::{escape, parse_delim};
pub use json::JsonPointer;
pub use keyless::{Keyless, NoKey};
pub use normal::{push_hex, push_url};
pub use options::{KeyOptions, parse_field};
pub use table::KeyTable;
