//! What a key is: how it is cut out of a line, kept in a filter's header so that every command
//! cuts alike. `docs/keys.md` has the rules and the names in the header.
//!
//! line → record (the line, fields, a JSON value) → trim → hex bytes, normal URL, domain or
//! expression → lower or folded case → SHA-1; fields of one key each for itself
//!
//! No I/O. `options.rs` is what can be chosen and `header.rs` its form in a file, with what can be
//! wrong with both in `error.rs`; `cutter.rs` cuts one line: `fields.rs`, `csv.rs` and `json.rs`
//! find the record, `form.rs` gives it its form, by `normal.rs`, `domain.rs`, `expressions.rs` and
//! `fold.rs`. `line_end.rs` is about carriage returns; `table.rs` holds the keys of many lines;
//! `keyless.rs` is for lines without one, `escape.rs` for bytes as text.

#![forbid(unsafe_code)]

mod csv;
mod cutter;
mod domain;
mod error;
mod escape;
mod expressions;
mod fields;
mod fold;
mod form;
mod header;
mod json;
mod keyless;
mod line_end;
mod normal;
mod options;
mod table;
#[cfg(test)]
mod tests;

pub use csv::CsvRecords;
pub use cutter::Cutter;
pub use error::{Error, Mismatch, ValueError, WrongOption};
pub use escape::{escape, parse_delim};
pub use expressions::for_each_expression;
pub use fields::Fields;
pub use json::JsonPointer;
pub use keyless::{Keyless, NoKey};
pub use line_end::LineEnd;
pub use normal::{push_hex, push_url};
pub use options::KeyOptions;
pub use table::KeyTable;
