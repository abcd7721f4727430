//! A server of Bloom filters: `BF.*` for every Redis client, HTTP for people, nothing lost.
//!
//! ```text
//!  socket ─► net/ ─► resp/ ─► command/ ─► keyspace/ ─► bits
//!  bytes     loops   words    what to do   name → filter
//!                                 └─► durable/ ─► log, images
//! ```
//!
//! A loop thread takes what its sockets have, carries out whole pipelines, writes what they changed
//! to the log with one call, and only then sends the answers. [`net`] is that loop, [`command`]
//! what a request does, [`keyspace`] the filters by name, [`durable`] how they outlive the process,
//! [`http`] the same filters for people, [`config`] what an operator may say.

pub mod command;
pub mod config;
pub mod durable;
mod fail_point;
pub mod http;
pub mod keyspace;
pub mod metrics;
pub mod net;
pub mod resp;
mod server;
mod session;
mod shared;
mod turn;

pub use config::Config;
pub use server::{Ended, Server};
pub use session::Session;
pub use shared::Shared;
pub use turn::Turn;
