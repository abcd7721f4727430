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

#[cfg(not(any(loom, shuttle)))]
mod answer;
mod clock;
#[cfg(not(any(loom, shuttle)))]
pub mod command;
#[cfg(not(any(loom, shuttle)))]
pub mod config;
mod cores;
mod count;
pub mod durable;
mod fail_point;
#[cfg(not(any(loom, shuttle)))]
mod guesses;
#[cfg(not(any(loom, shuttle)))]
pub mod http;
#[cfg(not(any(loom, shuttle)))]
pub mod keyspace;
#[cfg(not(any(loom, shuttle)))]
mod log_lines;
pub mod metrics;
#[cfg(not(any(loom, shuttle)))]
pub mod net;
#[cfg(not(any(loom, shuttle)))]
mod periodic;
#[cfg(not(any(loom, shuttle)))]
mod reservation;
#[cfg(not(any(loom, shuttle)))]
pub mod resp;
#[cfg(not(any(loom, shuttle)))]
mod server;
#[cfg(not(any(loom, shuttle)))]
mod session;
#[cfg(not(any(loom, shuttle)))]
mod shared;
#[cfg(not(any(loom, shuttle)))]
mod slow_log;
mod sync;
#[cfg(not(any(loom, shuttle)))]
mod turn;

#[cfg(not(any(loom, shuttle)))]
pub use config::Config;
#[cfg(not(any(loom, shuttle)))]
pub use log_lines::{LogLines, dropped_lines};
#[cfg(not(any(loom, shuttle)))]
pub use server::{Event, Running, Server, ShutdownError, StartError};
#[cfg(not(any(loom, shuttle)))]
pub use session::Session;
#[cfg(not(any(loom, shuttle)))]
pub use shared::{ReloadError, Shared};
#[cfg(not(any(loom, shuttle)))]
pub use turn::Turn;
