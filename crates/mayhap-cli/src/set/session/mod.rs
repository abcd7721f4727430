//! Changing filter files in turns with other processes: one place for all verbs that do.
//!
//! Whoever makes or replaces a file takes its lock for that ([`Waiting::save`]). Whoever adds to
//! one or removes from it does so through a [`Writer`], which holds the lock while there is
//! something to do, and gives it up while its input pauses or when others have waited for a second.

mod memory;
mod waiting;
mod writer;

pub use waiting::Waiting;
pub use writer::{Due, Recording, Writer, say_foreign};
