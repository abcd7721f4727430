//! Filters of mayhap's own kinds.
//!
//! An [`OwnSet`](crate::OwnSet) is one of any kind in memory; `details.rs` has what only one kind
//! reports, `clock.rs` the unit of a window's times. `mapped_set.rs` has a plain one that is only
//! read, where it lies; `matrix.rs` the state of many sets. `load.rs` loads any of them into
//! memory, `read.rs` opens any with its log to be queried.

pub(crate) mod clock;
pub(crate) mod details;
mod load;
mod mapped_set;
mod matrix;
mod read;

pub use details::matrix_details;
pub use load::load;
pub use mapped_set::MappedSet;
pub use matrix::matrix_state;
pub use read::{ReadFile, open_snapshot};
