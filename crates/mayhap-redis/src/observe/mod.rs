//! A server's contents, for monitoring: the names of its filters (`list.rs`), its own numbers
//! (`status.rs`), its clients and slow requests (`people.rs`), and filters at a glance
//! (`sample.rs`), all without blocking it (`server.rs`).

mod list;
mod people;
mod sample;
mod server;
mod status;

pub use list::{FilterScheme, Listed, NamedFilter};
pub use people::{Client, SlowRequest};
pub(crate) use sample::{scaled, windows};
pub use status::Status;
