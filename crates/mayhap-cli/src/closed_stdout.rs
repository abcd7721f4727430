//! A standard output that was closed before the program began, as by `>&-`.
//!
//! The standard library opens /dev/null in its place before `main`, where output would be lost and
//! the run a success. `sort` and `grep` fail with "Bad file descriptor", and so do we.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes every write to standard output fail if that was closed when the program began.
///
/// # Errors
///
/// The errors of the system.
pub(crate) fn refuse_writes() -> io::Result<()> {
    // ORDERING: Relaxed. It was set by this thread, before `main`.
    if WAS_CLOSED.load(Ordering::Relaxed) {
        // A descriptor that cannot be written to.
        rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    }
    Ok(())
}

extern "C" fn look() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    if flags == Err(rustix::io::Errno::BADF) {
        // ORDERING: Relaxed. No other thread runs yet.
        WAS_CLOSED.store(true, Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "what runs before main is named by its section")]
mod before_main {
    // SAFETY: the section holds pointers to functions without required arguments or results, each
    // called once by the loader. This one makes a system call and sets a flag; it uses no part of
    // the standard library that `main` would have to set up first.
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = super::look;
}
