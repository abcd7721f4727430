//! What `slot.rs` is made of; a model checker gives it others.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
