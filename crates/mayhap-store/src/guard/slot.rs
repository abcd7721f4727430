//! An entry of the table, which a handler of signals reads at any moment: a sequence lock.
//!
//! The writer makes the version odd, and with a Release fence behind that writes the range. A
//! reader that sees any of the writes after the fence sees, behind its own Acquire fence, the
//! version written before it, or a later one, which is not the one that it began with. So a reader
//! that finds the same odd version before and after has the start and the end of one range. Checked
//! with loom: `crates/mayhap-store/tests/loom.rs`.

use super::sync::{AtomicBool, AtomicUsize, Ordering, fence};

/// An entry of the table: free while `version` is even.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) version: AtomicUsize,
    /// 0 if there is no range.
    pub(super) start: AtomicUsize,
    pub(super) end: AtomicUsize,
    pub(super) lost: AtomicBool,
}

impl Slot {
    /// Takes it, if it is free.
    pub(super) fn take(&self, start: usize, end: usize) -> bool {
        // ORDERING: Relaxed. The exchange below decides.
        let version = self.version.load(Ordering::Relaxed);
        // ORDERING: Acquire, with the Release of `free`: its previous user has finished with it.
        let taken = version.is_multiple_of(2)
            && self
                .version
                .compare_exchange(version, version + 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if taken {
            // ORDERING: Release, with the Acquire fence of `range_of`: a handler that reads any of
            // the next writes sees this version too, and so another one than before. The exchange
            // itself would not do: later writes may be seen before it, as on ARM.
            fence(Ordering::Release);
            self.lost.store(false, Ordering::Relaxed);
            self.end.store(end, Ordering::Relaxed);
            // ORDERING: Release, with the Acquire of `range_of`: with the start, which makes it a
            // range, the end is seen.
            self.start.store(start, Ordering::Release);
        }
        taken
    }

    pub(super) fn free(&self) {
        // ORDERING: Relaxed. No thread faults in the range any more, and a later range in this slot
        // has another version.
        self.start.store(0, Ordering::Relaxed);
        // ORDERING: Release, with the Acquire of `take`.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The range, if it is a range now, and this address is in it.
    pub(super) fn range_of(&self, address: usize) -> Option<(usize, usize)> {
        // ORDERING: Acquire, and the fence before the second read, with the fence of `take`: start
        // and end have the same version.
        let version = self.version.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let is_range = self.version.load(Ordering::Relaxed) == version
            && !version.is_multiple_of(2)
            && start != 0;
        (is_range && (start..end).contains(&address)).then_some((start, end))
    }
}
