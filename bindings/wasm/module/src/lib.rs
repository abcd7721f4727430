//! mayhap in the browser: the part that is Rust.
//!
//! Thin: `keys.rs` is the batch that JavaScript wrote into the module's memory, `open.rs` turns
//! bytes into a filter, `contents.rs` has the operations of every filter here, `filter.rs` is the
//! class that JavaScript sees, `info.rs` the info of a filter, `fault.rs` errors as fields.
//!
//! Each module has some of the features: `native.rs` is the common part of all files of ours,
//! `plain.rs` the plain filter, `kinds.rs` the other ones, `create.rs` (feature `write`) creates,
//! fills, unites and writes them, `foreign.rs` are the filters of other systems, `planner.rs` and
//! `rates.rs` (feature `plan`) size them, `list.rs` and `gunzip.rs` (feature `lists`) read lists of
//! keys.
//!
//! `package/` is the JavaScript in front of it, which pages call.

#[cfg(any(feature = "native", feature = "foreign"))]
mod contents;
#[cfg(feature = "write")]
mod create;
mod fault;
#[cfg(any(feature = "native", feature = "foreign"))]
mod filter;
#[cfg(feature = "foreign")]
mod foreign;
#[cfg(feature = "lists")]
mod gunzip;
#[cfg(any(feature = "native", feature = "foreign"))]
mod info;
#[cfg(any(feature = "native", feature = "foreign"))]
mod keys;
#[cfg(feature = "kinds")]
mod kinds;
#[cfg(feature = "lists")]
mod list;
#[cfg(feature = "native")]
mod native;
#[cfg(any(feature = "native", feature = "foreign"))]
mod open;
#[cfg(feature = "plain")]
mod plain;
#[cfg(feature = "plan")]
mod planner;
#[cfg(feature = "plan")]
mod rates;

/// Half the size of the allocator of the standard library.
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

pub use fault::Fault;
#[cfg(any(feature = "native", feature = "foreign"))]
pub use filter::Filter;
#[cfg(any(feature = "native", feature = "foreign"))]
use info::Info;
#[cfg(feature = "lists")]
pub use list::{List, Packed};
#[cfg(feature = "plan")]
pub use planner::plan;
#[cfg(feature = "plan")]
pub use rates::{cost_of, expected_fpp, hash_set_bytes, num_hashes_for, textbook_fpp};
