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

/// How safe what was written up to a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As safe as the policy promises.
    Safe,
    /// Not yet.
    Waiting,
    /// It never will be.
    Refused,
}

impl Log {
    /// What one thread records with.
    pub fn recorder(&self) -> Recorder {
        Recorder {}
    }

    /// How safe what was written up to this place is.
    pub fn state(&self, ticket: Ticket) -> State {
        let _ = ticket;
        State::Safe
    }

    /// Calls this whenever the state of a ticket may have changed.
    pub fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>) {
        drop(wake);
    }
}

impl Recorder {
    /// Hands what was recorded to the kernel.
    ///
    /// # Errors
    ///
    /// [`Refused`] if nothing can be written.
    pub fn commit(&mut self) -> Result<Option<Ticket>, Refused> {
        Ok(None)
    }

    /// Digests that were inserted into a filter.
    pub fn insert(&mut self, filter: u64, digests: &[Digest]) {
        let _ = (filter, digests);
    }
}
