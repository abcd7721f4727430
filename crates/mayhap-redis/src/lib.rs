//! Bloom filters whose bits live in Redis, Valkey or a cluster of them, shared by many processes.

pub mod blocking;
mod error;
mod filter;
mod native;
mod server;

pub use error::Error;
pub use filter::{FilterInfo, Inserted, InsertedBatch, RemoteFilter};
#[doc(hidden)]
pub use native::Meta;
pub use native::{Download, NativeFilter, NativeOptions, Union, Upload};
pub use server::{Address, Persistence, Server, ServerOptions, WaitReplicas};
