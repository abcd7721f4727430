//! The machine's memory as a limit: a filter beyond it would only be found out by the OOM killer.

use crate::error::Error;

/// Refuses `needed` bytes above `limit`.
///
/// # Errors
///
/// [`Error::TooMuchMemory`].
pub fn check(needed: u64, limit: u64) -> Result<(), Error> {
    if needed > limit { Err(Error::TooMuchMemory { needed, limit }) } else { Ok(()) }
}

/// The limit that was requested, or the machine's memory.
pub fn limit(requested: Option<u64>) -> u64 {
    requested.or_else(physical_bytes).unwrap_or(u64::MAX)
}

/// The machine's memory, if `/proc/meminfo` has it.
pub fn physical_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}
