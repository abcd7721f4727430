//! The log against a disk that loses, tears and refuses what it is told.
//!
//! `disk.rs` is that disk, `model.rs` filters that are sets, `run.rs` what is done to a log, `told.rs`
//! what has to be there afterwards. `crash.rs` cuts the power at every operation, `errors.rs` fails
//! every call, `damage.rs` flips every byte, `plants.rs` shows that bugs are found, `refused.rs`
//! what clients are told, `real.rs` the file system.

mod crash;
mod damage;
pub(crate) mod disk;
mod errors;
mod model;
mod plants;
mod real;
mod refused;
pub(crate) mod run;
pub(crate) mod told;
