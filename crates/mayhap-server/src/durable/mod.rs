//! How filters outlive the process: one log of digests for the data folder, and images.

use mayhap::Digest;

/// The log of a data folder.
#[derive(Debug)]
pub struct Log {}

/// What one turn of one thread has changed and not yet written.
#[derive(Debug)]
pub struct Recorder {}

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Why nothing can be written now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl Recorder {
    /// Digests that were inserted into a filter.
    pub fn insert(&mut self, filter: u64, digests: &[Digest]) {
        let _ = (filter, digests);
    }
}
