//! The log against a disk that loses, tears and refuses writes.
//!
//! `disk.rs` is that disk, `cache.rs` the part of it that survives, `model.rs` filters that are
//! sets, `run.rs` random operations on a log, `note.rs` and `client.rs` the contents required
//! afterwards. `crash.rs` cuts the power at every operation, `errors.rs` fails every call,
//! `damage.rs` flips every byte, `packs.rs` has many small filters and `lists.rs` their names,
//! `harness.rs` the runs that find planted bugs, `refused.rs` the replies to clients, `room.rs` a
//! disk with little space, `real.rs` the file system, `displaced.rs` files that are taken away,
//! `copies.rs` copies, `leases.rs` copies of a running server. `schedules.rs` and
//! `schedules_refused.rs` are for model checkers (`checker.rs`), which try the orders of threads.

mod cache;
#[cfg(any(loom, shuttle))]
mod checker;
pub(crate) mod disk;
pub(crate) mod note;
#[cfg(any(loom, shuttle))]
mod schedules;
#[cfg(any(loom, shuttle))]
mod schedules_refused;

mod client;
mod copies;
mod crash;
mod damage;
mod displaced;
mod errors;
mod harness;
mod leases;
mod lists;
mod model;
mod packs;
mod real;
mod refused;
mod room;
pub(crate) mod run;

pub(crate) use crash::soak_rounds;
