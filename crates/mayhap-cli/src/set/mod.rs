//! Sets of keys that verbs query and fill, wherever they are: [`mayhap_sets::KeySet`] is what they
//! know, and that crate has mayhap's own kinds.
//!
//! `create/` makes new ones; `foreign.rs` opens filters of other systems, `remote/` has those on a
//! server;
//! `file.rs` opens files that are read, `session/` changes them in turns with others, `open.rs`
//! opens any of them to be queried. `inserter.rs` fills one with an eye on its room, `fill.rs` from
//! input, `spilling.rs` goes on where a counted file has grown, `clearing.rs` says when one forgets
//! all; `filters.rs` sorts filters from lists, `sieve.rs` and `named.rs` query many, `aged.rs` one
//! for ages. `expressions.rs` is for lines of many keys, `with_cr.rs` for carriage returns in the
//! keys of old filters, `confirm.rs` knows what filters only may know. `kept.rs` has the digests of
//! the keys of a new filter, `batch_keys.rs` the keys of lines. `summary.rs` is what a verb reports
//! at its end.

pub mod aged;
mod batch_keys;
pub mod clearing;
pub mod confirm;
pub mod create;
pub mod expressions;
pub mod file;
pub mod fill;
pub mod filters;
pub mod foreign;
pub mod inserter;
pub mod kept;
pub mod named;
pub mod open;
pub mod remote;
pub mod session;
pub mod sieve;
pub mod spilling;
pub mod summary;
pub mod with_cr;
