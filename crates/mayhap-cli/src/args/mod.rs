//! Arguments that several verbs share, as clap reads them.
//!
//! `size.rs` says how big a filter is and of which kind, `digest.rs` how keys
//! become digests (with `secret_key.rs`), `lines.rs` how keys are cut; `open.rs` how a filter is
//! opened, `filters.rs` names those that
//! are queried, `foreign.rs` where one is, or is to be, of another system, `server.rs` and `url.rs`
//! where it is on a server, and `lock.rs` how others that change it are waited for. `existing.rs`
//! compares them with a filter that is there, `typed.rs` names the library's parameters as they
//! were typed. `messages.rs` is for all verbs.

mod digest;
mod existing;
mod filters;
mod foreign;
pub mod lines;
mod lock;
mod messages;
mod open;
pub mod secret_key;
mod server;
mod size;
pub mod typed;
pub mod url;

pub use digest::{DigestArgs, secret_key};
pub use existing::{Existing, conflict};
pub use filters::FilterArgs;
pub use foreign::{ForeignArgs, HashesError, NEW_FORMAT, SystemArgs, key_types, parse_hashes};
pub use lines::LineArgs;
pub use lock::LockArgs;
pub use messages::MessageArgs;
pub use open::{OpenArgs, how_of};
pub use server::{ReplicaArgs, ServerArgs, WholeArgs};
pub use size::{DEFAULT_FPP, MAX_DEFAULT_FPP, SizeArgs, parse_window};
