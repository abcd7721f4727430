//! The file system as this crate uses it, so that tests can stop, kill and cut it at each call.
//!
//! `interface.rs` is the trait, `real.rs` the operating system, `calls.rs` the functions on top of
//! the trait. `double.rs` is the operating system with errors and events of a test. The model of
//! `crate::model` is a file system in memory with several processes.

mod calls;
#[cfg(test)]
mod double;
mod interface;
mod real;
#[cfg(test)]
mod tests;

pub(crate) use calls::{is_at, look_for, open_regular, protect, read_exact_at, sync_folder};
pub use calls::{read_up_to, sync_names, write_all_at};
#[cfg(test)]
pub(crate) use double::{Call, Double, plain};
pub use interface::Positioned;
pub(crate) use interface::{Disk, DiskFile, Entry, How, Lock, folder_of};
pub(crate) use real::Real;
pub use real::make_private;

use std::sync::Arc;

/// The operating system.
pub(crate) fn real() -> Arc<dyn Disk> {
    Arc::new(Real)
}
