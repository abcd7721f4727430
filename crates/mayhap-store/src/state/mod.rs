//! Filters that change over time: an image, and a log of the changes since.
//!
//! | file | contents |
//! |---|---|
//! | `log_file.rs` | the path of a filter's log, and when it is removed |
//! | `relation.rs` | the relation of a log to an image: current, stale, another's, missing |
//! | `snapshot.rs` | reading both at one moment, without a lock |
//! | `memory.rs` | the filter in memory, and how records are applied to it |
//! | `session.rs`, `parts.rs`, `options.rs` | changing a state in turns with other processes |
//! | `catch_up.rs` | changes by others between two turns |
//! | `begin.rs` | how a log begins: the order in which image and log are written; kept digests |
//! | `pending.rs` | digests in memory that are not yet in the log |
//! | `live.rs` | a session with its filter, for one process alone |

mod begin;
mod catch_up;
mod live;
mod log_file;
mod memory;
mod options;
mod parts;
mod pending;
mod relation;
mod session;
mod snapshot;
#[cfg(test)]
mod tests;

pub use live::LiveFilter;
pub(crate) use log_file::remove_log_of;
pub use log_file::{Recovery, log_path};
#[cfg(test)]
pub(crate) use memory::Held;
pub use memory::{Memory, apply};
pub use options::{Finished, Found, SessionOptions};
pub use relation::LogFound;
pub use session::{Opening, Session};
pub use snapshot::Snapshot;
