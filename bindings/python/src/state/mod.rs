//! States: filters that are kept in files while they change, in turns with other processes.
//!
//! `class.rs` is the class, `set.rs` what the class `Filter` holds, `turns.rs` the lock of the file
//! and the records made while it is held, `kept.rs` the filter in memory as the store sees it.

mod class;
mod kept;
mod set;
mod turns;

pub(crate) use class::State;
pub(crate) use set::StateSet;
pub(crate) use turns::leave_to_parent;
