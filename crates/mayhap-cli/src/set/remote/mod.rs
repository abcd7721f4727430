//! Filters on a Redis or Valkey server, beyond what every set does.
//!
//! `connect.rs` connects where more than one filter's keys is wanted; `create.rs` creates a filter,
//! and `union.rs` moves whole ones.

mod connect;
pub mod create;
pub mod union;

pub use connect::{Connection, hear};
