//! The allocator of the command: what a server lets go of goes back to the system.
//!
//! glibc's keeps it. Measured with a million filters of `BF.ADD`: after `FLUSHALL` 5.4 GiB of 5.4
//! stayed resident, here 0.1. Huge pages are left to filters, which ask for their own
//! (`mayhap::OwnedBlocks`): behind small objects each command took 13 MB more, and a server that
//! was filled with a million small filters was a fifth slower.
#![expect(unsafe_code, reason = "options of a library in C")]

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::ffi::c_long;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay`, in milliseconds; numbers as in `mimalloc.h` of version 3.
const PURGE_DELAY: mi_option_t = 15;
/// `mi_option_arena_max_object_size`, in KiB.
const ARENA_MAX_OBJECT_SIZE: mi_option_t = 45;

/// Larger ones come from the system, zeroed by it and only where they are written to, and go back
/// to it when they are freed.
const LARGEST_KIB: c_long = 4 << 10;

/// Sets what differs from its defaults, where the environment (`MIMALLOC_PURGE_DELAY`) does not.
/// To be called before there are other threads.
pub(crate) fn configure() {
    // SAFETY: both options exist, and no other thread reads them while they are written.
    unsafe {
        // At once: after a delay only the next large request would give anything back, and a server
        // may have none for days.
        mi_option_set_default(PURGE_DELAY, 0);
        mi_option_set_default(ARENA_MAX_OBJECT_SIZE, LARGEST_KIB);
    }
}
