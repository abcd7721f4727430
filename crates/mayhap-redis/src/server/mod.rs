//! One server or a cluster of them: by the crate `redis`, behind one small trait.
//!
//! `address.rs` reads URLs, `command.rs` has commands with the slots of their keys, `backend.rs`
//! the trait; `single.rs` and `cluster.rs` are what connects. `calls.rs` sends commands, repeats
//! them until they are done, and knows which replies were lost on the way.

mod address;
mod backend;
mod calls;
mod cluster;
mod command;
mod options;
mod single;

pub use address::Address;
pub use calls::Server;
pub(crate) use command::{Command, NUM_SLOTS, Reply, slot_of};
pub use options::{Persistence, ServerOptions, WaitReplicas};
