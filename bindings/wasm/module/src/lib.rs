//! mayhap in the browser: the part that is Rust.
//!
//! Thin: `keys.rs` is the batch that JavaScript wrote into the module's memory, `open.rs` turns
//! bytes into a filter, `contents.rs` is what every filter can do here, `native.rs` (with
//! `kinds.rs`) and `foreign.rs` are the filters, `filter.rs` is the class that JavaScript sees,
//! `info.rs` what a filter reports of itself, `fault.rs` errors as fields. With the feature `full`
//! also `create.rs` (create, fill, unite, write), `planner.rs` and `rates.rs` (sizing), and
//! `parse.rs` (numbers as people type them).
//!
//! `package/` is the JavaScript in front of it, which pages call.

mod contents;
#[cfg(feature = "full")]
mod create;
mod fault;
mod filter;
mod foreign;
mod info;
mod keys;
#[cfg(feature = "full")]
mod kinds;
mod native;
mod open;
#[cfg(feature = "full")]
mod parse;
#[cfg(feature = "full")]
mod planner;
#[cfg(feature = "full")]
mod rates;

pub use fault::Fault;
pub use filter::Filter;
use info::Info;
#[cfg(feature = "full")]
pub use parse::{parse_bytes, parse_count, parse_fpp};
#[cfg(feature = "full")]
pub use planner::{Candidate, Needs, Plan, plan};
#[cfg(feature = "full")]
pub use rates::{cost_of, expected_fpp, hash_set_bytes, num_hashes_for, textbook_fpp};
