//! Keys: the options by which they are cut out of lines, kept in a filter's header so that every
//! command cuts alike. `docs/keys.md` has the rules, `HEADER.md` the names in the header.
//!
//! line → record (the line, fields, a JSON value) → trim → hex bytes, normal URL, domain or
//! expression → lower or folded case → SHA-1; fields of one key each for itself
//!
//! No I/O. `options.rs` has the options and `header.rs` their form in a file, with the errors of
//! both in `error.rs`; `cutter.rs` cuts one line: `fields.rs`, `csv.rs` and `json.rs` find the
//! record, `form.rs` gives it its form, by `normal.rs`, `domain.rs`, `expressions.rs` and
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
