//! Sets of keys that verbs query and fill, wherever they are: `key_set.rs` is what they know.
//!
//! `kind/` has the kinds of mayhap's own, `foreign/` filters of other systems, `remote/` those on a
//! server; `file.rs` opens files that are read, `session/` changes them in turns with others,
//! `open.rs` opens any of them to be queried. `inserter.rs` fills one with an eye on its `room.rs`
//! and `fullness.rs`, `fill.rs` from input; `sieve.rs` and `named.rs` query many. `exact.rs` and
//! `confirm.rs` know what filters only may know. `state.rs` has the numbers of all, `summary.rs`
//! what a verb reports at its end.

pub mod confirm;
pub mod exact;
pub mod file;
pub mod fill;
pub mod foreign;
pub mod fullness;
pub mod inserter;
pub mod key_set;
pub mod kind;
pub mod named;
pub mod open;
pub mod remote;
pub mod room;
pub mod session;
pub mod sieve;
pub mod state;
pub mod summary;
