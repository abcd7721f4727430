//! The errors of a guard.

use std::sync::Arc;
use std::time::Duration;

/// An error shared by all tasks that wait for one answer.
pub(super) type Shared = Arc<dyn std::error::Error + Send + Sync>;

/// The reason why a guard has no answer. `E` is the loader's error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError<E> {
    /// The filter did not answer, and the guard fails closed; or an insertion failed.
    #[error("the filter gave no answer: {0}")]
    Filter(#[source] Shared),
    /// The cache did not answer, and the guard fails closed; or dropping an entry failed.
    #[error("the cache gave no answer: {0}")]
    Cache(#[source] Shared),
    /// The loader failed.
    #[error("the value could not be loaded: {0}")]
    Load(#[source] Arc<E>),
    /// The loader ended without an answer: it panicked, or the runtime is shut down.
    #[error("the load ended without an answer: it panicked")]
    NoAnswer,
}

impl<E> Clone for GuardError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Filter(error) => Self::Filter(error.clone()),
            Self::Cache(error) => Self::Cache(error.clone()),
            Self::Load(error) => Self::Load(error.clone()),
            Self::NoAnswer => Self::NoAnswer,
        }
    }
}

/// There was no answer before the timeout.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub(super) struct TimedOut(pub(super) Duration);
