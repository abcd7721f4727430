//! Why filters could not be opened or closed.

use crate::durable::{self, Refused};
use crate::keyspace::RecoveryError;
use std::io;

/// Why the filters of a folder could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The data folder cannot be opened.
    #[error(transparent)]
    Data(#[from] durable::Error),
    /// The filters of the data folder cannot be restored.
    #[error("{0}")]
    Restore(#[source] RecoveryError),
    /// The system has no thread left.
    #[error("cannot start {purpose}: {source}")]
    Thread {
        /// The purpose of the thread.
        purpose: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// Why filters were not closed properly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// The last checkpoint failed.
    #[error(transparent)]
    Checkpoint(#[from] durable::Error),
    /// The last changes may not be on the disk.
    #[error(transparent)]
    Log(#[from] Refused),
}

impl OpenError {
    pub(super) fn thread(purpose: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Thread { purpose, source }
    }
}
