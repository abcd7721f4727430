//! One server or a cluster of them: by the crate `redis`, behind one small trait.
//!
//! `address.rs` reads URLs, `command.rs` has commands with the slots of their keys, `backend.rs`
//! the trait; `single.rs`, `cluster.rs` and `sentinel.rs` connect, `node.rs` is one connection,
//! `topology.rs` the assignment of slots to nodes. `calls.rs` sends commands and retries them until
//! they are done; `call.rs` is their state meanwhile, including lost replies. `options.rs` has the
//! time-outs and replicas, `certificates.rs` the files for TLS.
//!
//! Protocol, connections, TLS and time-outs are from that crate. Its cluster client is not used: it
//! hides the replies of a whole pipeline behind one `MOVED`, and a silent node blocks all others.

mod address;
mod backend;
mod call;
mod calls;
mod certificates;
mod cluster;
mod command;
mod node;
mod options;
mod sentinel;
mod single;
mod topology;

pub use address::Address;
pub(crate) use call::text_of;
pub use calls::Server;
pub use certificates::Certificates;
pub(crate) use command::{Command, NUM_SLOTS, Reply, slot_of, words};
pub use options::{Persistence, ServerOptions, WaitReplicas};

#[cfg(test)]
pub(crate) mod tests;
