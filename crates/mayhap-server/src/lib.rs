//! A server of Bloom filters: `BF.*` for every Redis client, HTTP for people, nothing lost.
//!
//! ```text
//!  socket ─► net/ ─► resp/ ─► command/ ─► keyspace/ ─► bits
//!  bytes     loops   words    what to do   name → filter
//!                                 └─► durable/ ─► log, images
//! ```
//!
//! [`Server::start`] is all of it, from the settings to the end.
//!
//! A loop thread takes what its sockets have, carries out whole pipelines, writes what they changed
//! to the log with one call, and only then sends the answers. [`net`] is that loop, [`command`]
//! what a request does, [`keyspace`] the filters by name, [`durable`] how they outlive the process,
//! [`http`] the same filters for people, [`config`] what an operator may say.
//!
//! Under `--cfg loom` only [`durable`] is built, which loom then runs: the network's libraries know
//! that flag too, and do without sockets.
#![cfg_attr(any(loom, shuttle), allow(dead_code, reason = "checkers run a part of it"))]

#[cfg(not(loom))]
mod answer;
mod clock;
#[cfg(not(loom))]
pub mod command;
#[cfg(not(loom))]
pub mod config;
mod count;
pub mod durable;
mod fail_point;
#[cfg(not(loom))]
mod guesses;
#[cfg(not(loom))]
pub mod http;
#[cfg(not(loom))]
pub mod keyspace;
pub mod metrics;
#[cfg(not(loom))]
pub mod net;
#[cfg(not(loom))]
mod periodic;
#[cfg(not(loom))]
mod reservation;
#[cfg(not(loom))]
pub mod resp;
#[cfg(not(loom))]
mod server;
#[cfg(not(loom))]
mod session;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod slow_log;
mod sync;
#[cfg(not(loom))]
mod turn;

#[cfg(not(loom))]
pub use config::Config;
#[cfg(not(loom))]
pub use server::{Event, Running, Server, ShutdownError, StartError};
#[cfg(not(loom))]
pub use session::Session;
#[cfg(not(loom))]
pub use shared::{ReloadError, Shared};
#[cfg(not(loom))]
pub use turn::Turn;
