//! Bloom filters whose bits live in Redis, Valkey or a cluster of them, shared by many processes.

mod bf;
mod bitfield;
pub mod blocking;
mod error;
mod filter;
pub mod guard;
mod magnus;
mod native;
mod redisson;
mod replies;
mod server;

pub use bf::{BfGrowth, BfOptions, RemoteBf};
pub use error::Error;
pub use filter::{FilterInfo, Inserted, InsertedBatch, RemoteFilter};
pub use magnus::{MagnusOptions, MagnusParams, RemoteMagnus};
#[doc(hidden)]
pub use native::Meta;
pub use native::{Download, NativeFilter, NativeOptions, Upload};
pub use redisson::RemoteRedisson;
pub use server::{Address, Persistence, Server, ServerOptions, WaitReplicas};
