//! The cores of this process.

use std::sync::OnceLock;

/// How many cores this process may use, at least 1. The system is queried once: it reads half a
/// dozen files to answer.
pub fn num_cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
