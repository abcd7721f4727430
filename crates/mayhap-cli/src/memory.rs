//! The memory that there is, as a limit: a filter beyond it would only be noticed by the OOM
//! killer. In a container it is the container's, which `cgroup.rs` reads.

mod cgroup;

use crate::error::Error;
use mayhap_units::number::format_bytes;
use std::fmt;
use std::path::Path;

/// Refuses `needed` bytes above `limit`.
///
/// # Errors
///
/// [`Error::TooMuchMemory`].
pub fn check(needed: u64, limit: u64) -> Result<(), Error> {
    if needed > limit { Err(Error::TooMuchMemory { needed, limit }) } else { Ok(()) }
}

/// The limit that was requested, or [`usable_bytes`].
pub fn limit(requested: Option<u64>) -> u64 {
    requested.or_else(usable_bytes).unwrap_or(u64::MAX)
}

/// The default memory limit of one filter, in bytes: the machine's, or three quarters of the
/// container's, which nothing swaps; `None` if neither is known.
pub fn usable_bytes() -> Option<u64> {
    Memory::found().map(|memory| match memory.holder {
        Holder::Machine => memory.bytes,
        Holder::Container => memory.three_quarters(),
    })
}

/// The available memory, and the origin of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of it.
    pub bytes: u64,
    /// The origin of the limit.
    pub holder: Holder,
}

/// The approximate memory of a server besides filters and their copies.
const BESIDE_COPIES: u64 = 64 << 20;

/// The origin of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The machine's memory.
    Machine,
    /// The container, or another limit of this process's control group.
    Container,
}

impl Memory {
    /// The machine's memory or the container's, whichever is less; `None` if neither is known.
    pub fn found() -> Option<Self> {
        Self::found_below(Path::new("/"))
    }

    fn found_below(root: &Path) -> Option<Self> {
        let machine = physical_bytes(root).map(|bytes| Self { bytes, holder: Holder::Machine });
        let container = cgroup::limit(root).map(|bytes| Self { bytes, holder: Holder::Container });
        [machine, container].into_iter().flatten().min_by_key(|memory| memory.bytes)
    }

    /// The default limit for all filters of a server: the rest is for buffers, the system and the
    /// copies of a checkpoint.
    pub const fn three_quarters(self) -> u64 {
        self.bytes / 4 * 3
    }

    /// The default limit for one filter of a server: a checkpoint copies a filter, and in a
    /// container the copy has to fit beside all of them, or the server is killed. `None` on a
    /// machine, which can swap.
    pub fn for_one_filter(self) -> Option<u64> {
        let rest = self.bytes - self.three_quarters();
        let is_container = self.holder == Holder::Container;
        is_container.then(|| rest.saturating_sub(BESIDE_COPIES).max(rest / 2))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = match self.holder {
            Holder::Machine => "machine",
            Holder::Container => "container",
        };
        write!(f, "the {holder}'s {}", format_bytes(self.bytes))
    }
}

/// The machine's memory, if `/proc/meminfo` reports it.
fn physical_bytes(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_smaller_of_machine_and_container_holds_and_is_named() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let found = || Memory::found_below(root.path());
        assert_eq!(found(), None);
        write("sys/fs/cgroup/memory.max", "268435456\n");
        let container = Memory { bytes: 256 << 20, holder: Holder::Container };
        assert_eq!(found(), Some(container), "also where the machine's is not known");
        write("proc/meminfo", "MemTotal:       24641536 kB\nMemFree: 1 kB\n");
        assert_eq!(found(), Some(container));
        assert_eq!(container.three_quarters(), 192 << 20);
        assert_eq!(container.to_string(), "the container's 256 MiB");
        assert_eq!(container.for_one_filter(), Some(32 << 20));
        let large = Memory { bytes: 2 << 30, ..container };
        assert_eq!(large.for_one_filter(), Some(448 << 20));
        // Version 1 writes such a number for no limit.
        write("sys/fs/cgroup/memory.max", "9223372036854771712\n");
        let machine = found().unwrap();
        assert_eq!((machine.bytes, machine.holder), (24_641_536 << 10, Holder::Machine));
        assert_eq!(machine.to_string(), "the machine's 23.5 GiB");
        assert_eq!(machine.for_one_filter(), None);
    }
}
