//! Sets of keys that verbs query and fill, wherever they are: [`mayhap_sets::KeySet`] is what they
//! know, and that crate opens them.
//!
//! `create/` makes new ones, `remote/` those on a server; `open.rs` opens any of them to be queried
//! and `notes.rs` prints the notes about it, `session/` changes files in turns with others.
//! `fill/` fills one from input, `spilling.rs` goes on where a counted file has grown; `filters.rs`
//! sorts filters from lists, `sieve.rs` and `named.rs` query many, `aged.rs` one for ages.
//! `expressions.rs` is for lines of many keys, `with_cr.rs` for carriage returns in the keys of old
//! filters, `confirm.rs` knows what filters only may know. `kept.rs` has the digests of the keys of
//! a new filter, `short.rs` knows which filters fit into a short file. `summary.rs` is what a verb
//! reports at its end.

pub mod aged;
pub mod confirm;
pub mod create;
pub mod expressions;
pub mod fill;
pub mod filters;
pub mod kept;
pub mod named;
pub mod notes;
pub mod open;
#[cfg(feature = "redis")]
pub mod remote;
pub mod session;
pub mod short;
pub mod sieve;
pub mod spilling;
pub mod summary;
pub mod with_cr;
