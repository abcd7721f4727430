//! States: filters that are kept in files while they change, in turns with other processes.
//!
//! `class.rs` is the class, `set.rs` what the class `Filter` sees of one, `turns.rs` when the lock
//! of its file is held and what is recorded meanwhile, `kept.rs` the filter in memory as the store
//! sees it.

mod class;
mod kept;
mod set;
mod turns;

pub(crate) use class::State;
pub(crate) use kept::{Kept, keep};
pub(crate) use set::StateSet;
pub(crate) use turns::leave_to_parent;
