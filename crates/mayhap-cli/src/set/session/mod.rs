//! Changing filter files in turns with other processes: one place for all verbs that do.
//!
//! A verb that creates or replaces a file takes its lock for that ([`Waiting::save`] in
//! `waiting.rs`). A verb that adds keys or removes them uses a [`Writer`] (`writer.rs`), which
//! holds the lock while there is something to do, and gives it up while its input pauses or when
//! others have waited for a second. Our files have a log; those of other systems are saved as a
//! whole (`whole.rs`). A verb that replaces a filter by one of the same keys, from their digests,
//! uses [`Rebuilt`] (`rebuilt.rs`).

mod rebuilt;
mod waiting;
mod whole;
mod writer;

pub use rebuilt::Rebuilt;
pub use waiting::Waiting;
pub use writer::{Due, Recording, Writer};
