//! The system's statistics of this process.

/// The system's statistics of this process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    /// Bytes of memory that it has now.
    pub resident: u64,
    /// The most of it since the start.
    pub peak: u64,
    /// Seconds of processor time in the program.
    pub user: f64,
    /// Seconds of processor time in the kernel.
    pub system: f64,
}

/// Ticks per second of the times in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

impl Process {
    /// The current values; `None` if the system has no `/proc`.
    pub fn now() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        Self::parse(&status, &stat)
    }

    fn parse(status: &str, stat: &str) -> Option<Self> {
        let bytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kib << 10)
        };
        // The name is in parentheses, and may contain some.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut seconds = || Some(fields.next()?.parse::<f64>().ok()? / TICKS);
        let (user, system) = (seconds()?, seconds()?);
        Some(Self { resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")?, user, system })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_proc_are_read_for_any_process_name() {
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 1";
        let found = Process::parse(status, stat);
        let wanted = Process { resident: 1 << 20, peak: 2 << 20, user: 2.5, system: 0.5 };
        assert_eq!(found, Some(wanted));
        assert_eq!(Process::parse(status, "7"), None);
        assert_eq!(Process::parse("", stat), None);
    }
}
