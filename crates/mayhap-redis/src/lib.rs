//! Bloom filters whose bits live in Redis, Valkey or a cluster of them, shared by many processes.

mod error;
mod filter;
pub mod guard;
mod server;

pub use error::Error;
pub use filter::{FilterInfo, Inserted, InsertedBatch, RemoteFilter};
pub use server::{Address, Persistence, Server, ServerOptions, WaitReplicas};
