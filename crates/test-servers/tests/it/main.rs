//! The servers start, execute the requests of a test, and are gone afterwards.

mod bf;
mod cluster;
mod line;
mod postgres;
mod programs;
mod redis;

use rustix::process::{Pid, test_kill_process};

/// Whether a process with this pid exists, including ended ones that were not waited for.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    test_kill_process(pid).is_ok()
}
