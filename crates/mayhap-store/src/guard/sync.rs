//! The primitives that `slot.rs` uses; a model checker replaces them.

pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
