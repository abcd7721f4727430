//! The allocator of the command: memory that a server frees is returned to the system.
//!
//! glibc's keeps it. Measured with a million filters of `BF.ADD`: after `FLUSHALL` 5.4 GiB of 5.4
//! stayed resident, here 0.1. Huge pages are left to filters, which ask for their own
//! (`mayhap::OwnedBlocks`): for small objects each command took 13 MB more, and filling a server
//! with a million small filters was a fifth slower.
#![expect(unsafe_code, reason = "options of a library in C, and what runs before main")]

use libmimalloc_sys::{mi_option_set, mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use std::ffi::c_long;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay`, in milliseconds; numbers as in `mimalloc.h` of version 3.
const PURGE_DELAY: mi_option_t = 15;
/// `mi_option_arena_reserve`, in KiB.
const ARENA_RESERVE: mi_option_t = 23;
/// `mi_option_arena_max_object_size`, in KiB.
const ARENA_MAX_OBJECT_SIZE: mi_option_t = 45;

/// Larger ones are allocated by the system, which zeroes them lazily, and are returned to it when
/// they are freed.
const LARGEST_KIB: c_long = 4 << 10;

/// Address space of the first arena; later ones are larger. Its tables are written when it is made,
/// and those of the library's 1 GiB are 160 KiB, a tenth of the time of a command of one key.
const FIRST_ARENA_KIB: c_long = 64 << 10;

/// Sets the options that differ from the defaults, unless the environment (`MIMALLOC_PURGE_DELAY`)
/// sets them. To be called before there are other threads, and before the
/// first allocation, which makes an arena.
extern "C" fn configure() {
    // SAFETY: the options exist, and no other thread reads them while they are written.
    unsafe {
        // At once: after a delay only the next large request would return memory, and a server may
        // have none for days.
        mi_option_set_default(PURGE_DELAY, 0);
        mi_option_set_default(ARENA_RESERVE, FIRST_ARENA_KIB);
        mi_option_set_default(ARENA_MAX_OBJECT_SIZE, LARGEST_KIB);
    }
}

// SAFETY: the section holds pointers to functions without required arguments or results, each
// called once by the loader. This one sets words of the allocator, which needs no part of the
// standard library.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static CONFIGURE: extern "C" fn() = configure;

/// Keeps memory that is freed from now on: the process is about to end and returns all of it at
/// once, where one system call for each page took a tenth of a command of one key.
pub(crate) fn stop_purging() {
    // SAFETY: the option exists, and is one aligned word, which the library rereads for each page
    // and fills in itself from whichever thread reads it first: a thread that still runs finds the
    // old value or this one, and either is valid.
    unsafe { mi_option_set(PURGE_DELAY, -1) }
}
