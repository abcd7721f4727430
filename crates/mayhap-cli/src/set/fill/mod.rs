//! Filling a set with the keys of lines, with an eye on its room.
//!
//! `input.rs` reads lines to the end and `inserter.rs` inserts a batch of them: `capacity.rs`
//! decides when the set is full, `loss.rs` counts new keys that it took for repeats, and
//! `clearing.rs` decides when it is cleared. `batch_keys.rs` has the keys of lines, for sets that
//! hash them; `distinct.rs` counts the keys of an input.

mod batch_keys;
mod capacity;
mod clearing;
mod distinct;
mod input;
mod inserter;
mod loss;

pub use input::{Counted, Counts, count_distinct, fill};
pub use inserter::Inserter;
