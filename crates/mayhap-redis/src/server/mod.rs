//! One server or a cluster of them: by the crate `redis`, behind one small trait.
//!
//! `address.rs` reads URLs, `command.rs` has commands with the slots of their keys, `backend.rs`
//! the trait; `single.rs` and `cluster.rs` are what connects, `node.rs` one connection,
//! `topology.rs` who has which slots. `calls.rs` sends commands and repeats them until they are
//! done; `call.rs` is what is known of them meanwhile, and which replies were lost on the way.
//! `options.rs` has the time-outs and repeats.
//!
//! Protocol, connections, their TLS and time-outs are the crate's. Its cluster client is not used:
//! it hides the replies of a whole pipeline behind one `MOVED`, and stops all nodes for one that
//! is silent.

mod address;
mod backend;
mod call;
mod calls;
mod cluster;
mod command;
mod node;
mod options;
mod single;
mod topology;

pub use address::Address;
pub(crate) use call::words;
pub use calls::Server;
pub(crate) use command::{Command, NUM_SLOTS, Reply, slot_of};
pub use options::{Persistence, ServerOptions, WaitReplicas};

#[cfg(test)]
mod tests;
