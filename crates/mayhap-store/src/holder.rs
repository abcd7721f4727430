//! The holder of a lock.

use std::fmt;

/// The holder of a lock, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The id of the process.
    pub process: u32,
    /// Its purpose: the verb.
    pub verb: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verb.is_empty() {
            write!(f, "process {}", self.process)
        } else {
            write!(f, "process {} ({})", self.process, self.verb)
        }
    }
}
