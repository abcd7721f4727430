//! How filters outlive the process: one log of digests for the data folder, and images.

mod replay;

pub use replay::{Filters, Replay, Saved, Snapshot};

use mayhap::Digest;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The contents of an image.
pub type Image = dyn std::io::Read;

/// What is done to filters as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A filter of this name.
    Create { id: u64, name: &'a [u8], spec: &'a [u8], expires_at: u64 },
    /// A part of its contents.
    Load { id: u64, part: u64, bytes: &'a [u8] },
    /// It is gone.
    Remove { id: u64 },
    /// It has another name.
    Rename { id: u64, name: &'a [u8] },
    /// It ends at this time.
    Expire { id: u64, expires_at: u64 },
    /// All filters are gone.
    Clear,
}

/// The log of a data folder.
#[derive(Debug)]
pub struct Log {}

impl Log {
    /// Writes an operation.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub fn now(&self, operation: &Operation<'_>) -> Result<Ticket, Refused> {
        let _ = operation;
        Ok(Ticket(0))
    }
}

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
    pub fn commit(&mut self) -> Result<Option<Ticket>, Refused> {
        Ok(None)
    }

    /// Digests that were inserted into a filter.
    pub fn insert(&mut self, count: &Arc<AtomicU64>, filter: u64, digests: &[Digest]) {
        let _ = (count, filter, digests);
    }

    /// Keys that were inserted into a filter that cannot take digests.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub fn keys<'a>(
        &mut self,
        count: &Arc<AtomicU64>,
        filter: u64,
        keys: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Refused> {
        let _ = (count, filter, keys.count());
        Ok(())
    }

    /// Digests for a filter to which everything has to be done once, and no more.
    pub fn ordered(&mut self, filter: u64, order: u64, what: u64, digests: &[Digest]) {
        let _ = (filter, order, what, digests);
    }
}
