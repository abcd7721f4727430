//! The log against a disk that loses, tears and refuses writes.
//!
//! `disk.rs` is that disk, `cache.rs` what of it survives, `model.rs` filters that are sets,
//! `run.rs` what is done to a log, `note.rs` and `client.rs` what has to be there afterwards.
//! `crash.rs` cuts the power at every operation, `errors.rs` fails every call, `damage.rs` flips
//! every byte, `packs.rs` has many small filters and `lists.rs` their names, `harness.rs` the runs
//! by which planted bugs are found, `refused.rs` the replies to clients, `room.rs` a disk with
//! little room, `real.rs` the file system, `displaced.rs` what is taken away, `copies.rs` what is
//! copied, `leases.rs` while a server goes on. `schedules.rs` and `schedules_refused.rs` are for
//! model checkers (`checker.rs`), which try the orders of threads.

mod cache;
#[cfg(any(loom, shuttle))]
mod checker;
pub(crate) mod disk;
pub(crate) mod note;
#[cfg(any(loom, shuttle))]
mod schedules;
#[cfg(any(loom, shuttle))]
mod schedules_refused;

#[cfg(not(any(loom, shuttle)))]
mod client;
#[cfg(not(any(loom, shuttle)))]
mod copies;
#[cfg(not(any(loom, shuttle)))]
mod crash;
#[cfg(not(any(loom, shuttle)))]
mod damage;
#[cfg(not(any(loom, shuttle)))]
mod displaced;
#[cfg(not(any(loom, shuttle)))]
mod errors;
#[cfg(not(any(loom, shuttle)))]
mod harness;
#[cfg(not(any(loom, shuttle)))]
mod leases;
#[cfg(not(any(loom, shuttle)))]
mod lists;
#[cfg(not(any(loom, shuttle)))]
mod model;
#[cfg(not(any(loom, shuttle)))]
mod packs;
#[cfg(not(any(loom, shuttle)))]
mod real;
#[cfg(not(any(loom, shuttle)))]
mod refused;
#[cfg(not(any(loom, shuttle)))]
mod room;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod run;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use crash::soak_rounds;
