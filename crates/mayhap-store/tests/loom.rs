//! The table of guarded ranges under loom, which tries all orders of two threads, memory that is
//! seen late included:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p mayhap-store --test loom
//! ```
#![cfg(loom)]

/// An entry of the table, with the checker's atomics.
#[path = "../src/guard/slot.rs"]
mod slot;

/// The items that it imports from its parent module.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

use loom::sync::Arc;
use loom::thread;

/// A handler that walks the table finds the range of one user, of the next one, or none, and never
/// the start of one with the end of the other: it would zero the memory of others.
#[test]
fn a_handler_never_sees_half_of_a_range() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let [version, start, end] = [0; 3].map(sync::AtomicUsize::new);
        let lost = sync::AtomicBool::new(false);
        let slot = Arc::new(slot::Slot { version, start, end, lost });
        assert!(slot.take(100, 200));
        let next = {
            let slot = slot.clone();
            thread::spawn(move || {
                slot.free();
                assert!(slot.take(50, 900));
            })
        };
        let found = slot.range_of(150);
        assert!(matches!(found, None | Some((100, 200) | (50, 900))), "{found:?}");
        next.join().unwrap();
        assert_eq!(slot.range_of(150), Some((50, 900)));
    });
}
