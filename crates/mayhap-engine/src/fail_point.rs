//! Named points at which tests end the process, to check the state that it leaves behind.
//!
//! With the feature `fail-points`, `FAIL_POINT=name` in the environment ends the process by SIGKILL
//! when it reaches the point of this name, `FAIL_POINT=name*3` when it does so for the third time.
//! Without the feature the program contains none of this.

#[cfg(all(feature = "fail-points", not(debug_assertions)))]
compile_error!("`fail-points` is for tests: no variable may end a server that was released");

#[cfg(feature = "fail-points")]
pub(crate) use on::{fail_point, fail_point_of};

#[cfg(not(feature = "fail-points"))]
#[inline(always)]
pub(crate) const fn fail_point(_name: &str) {}

#[cfg(not(feature = "fail-points"))]
#[inline(always)]
pub(crate) const fn fail_point_of(_name: &str, _path: &str) {}

#[cfg(feature = "fail-points")]
mod on {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The point of the environment, and the remaining number of times to reach it.
    static CHOSEN: LazyLock<Option<(String, AtomicU64)>> = LazyLock::new(|| {
        let chosen = std::env::var("FAIL_POINT").ok()?;
        let (name, times) = chosen.split_once('*').unwrap_or((&chosen, "1"));
        Some((name.to_owned(), AtomicU64::new(times.parse().unwrap_or(1))))
    });

    pub(crate) fn fail_point(name: &str) {
        fail_point_of(name, "");
    }

    /// The point `name:folder`, or `name:file` for a file at the top level.
    pub(crate) fn fail_point_of(name: &str, path: &str) {
        let Some((chosen, left)) = &*CHOSEN else { return };
        let of = path.split('/').next().unwrap_or_default();
        let (point, file) = chosen.split_once(':').unwrap_or((chosen, ""));
        // ORDERING: Relaxed. The number stands for itself.
        if (point, file) == (name, of) && left.fetch_sub(1, Ordering::Relaxed) == 1 {
            eprintln!("fail point {chosen}");
            end();
        }
    }

    fn end() -> ! {
        #[cfg(unix)]
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort()
    }
}
