//! Filters that change over time: an image, and a log of what changed since.
//!
//! | file | what |
//! |---|---|
//! | `log_file.rs` | where the log of a filter is, and when it is removed |
//! | `relation.rs` | what a log is to an image: its records, stale, another's, missing |
//! | `snapshot.rs` | reading both at one moment, without a lock |
//! | `memory.rs` | the filter in memory, and how records come back into it |
//! | `session.rs`, `options.rs` | changing a state in turns with other processes |
//! | `catch_up.rs` | what others have changed between two turns |
//! | `begin.rs` | how a log begins: the order in which image and log are written |
//! | `pending.rs` | what is in memory and not yet in the log |
//! | `live.rs` | a session with its filter, for one process alone |

mod begin;
mod catch_up;
mod live;
mod log_file;
mod memory;
mod options;
mod pending;
mod relation;
mod session;
mod snapshot;

pub use live::LiveFilter;
pub(crate) use log_file::remove_log_of;
pub use log_file::{Recovery, log_path};
#[cfg(test)]
pub(crate) use memory::Held;
pub use memory::{Insert, Memory, apply};
pub use options::{Finished, Found, SessionOptions};
pub use relation::LogFound;
pub use session::{Opening, Session};
pub use snapshot::{Snapshot, load_live, load_live_as};
