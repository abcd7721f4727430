//! `mayhap serve` as a process that is killed, starved, cut off and deceived.
//!
//! `server.rs` starts it, `client.rs` is its client, `load.rs` records its acknowledgements outside
//! of it. `MAYHAP_SOAK=1` (`make soak`) makes the runs long. `points.rs` is only built with the
//! feature `fail-points` (`make points`).
#![cfg(target_os = "linux")]

mod backup;
mod client;
mod compact;
mod container;
mod cut_short;
mod damage;
mod descriptors;
mod displaced;
mod file_systems;
mod flood;
mod full;
mod imports;
mod kill;
mod little_room;
mod load;
mod mixed;
#[cfg(feature = "fail-points")]
mod mover;
mod order;
#[cfg(feature = "fail-points")]
mod points;
mod refused;
mod reload;
mod server;
mod shim;
mod store;
mod strike;
mod term;
mod unread;

/// Whether the long runs are requested.
fn soak() -> bool {
    std::env::var_os("MAYHAP_SOAK").is_some_and(|value| value != "0")
}

/// The seed of this run: `SEED`, or one that is always the same.
fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}
