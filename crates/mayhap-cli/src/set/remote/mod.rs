//! Filters on a Redis or Valkey server, beyond what every set does.
//!
//! `connect.rs` connects where more than one filter's keys is wanted; `create.rs` creates a filter,
//! `bits.rs` moves whole ones in pieces, and `union.rs` merges them in memory; `model.rs` is a
//! filter like which another one is made, `place.rs` the two ends of a move, `target.rs` a name on
//! a server to which bits go: `served.rs` and `dump.rs` are those on `mayhap serve`; `flat.rs`
//! makes a growing filter a plain one.

pub mod bits;
mod connect;
pub mod create;
mod dump;
mod flat;
pub mod model;
pub mod place;
pub mod served;
pub mod target;
pub mod union;

pub use connect::{Connection, hear};
