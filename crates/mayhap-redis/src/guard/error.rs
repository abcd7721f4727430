//! The errors of a guard.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An error shared by all tasks that wait for one answer.
pub(super) type Shared = Arc<dyn std::error::Error + Send + Sync>;

/// The reason why a guard has no answer. `E` is the loader's error.
#[derive(Debug)]
#[non_exhaustive]
pub enum GuardError<E> {
    /// The filter did not answer, and the guard fails closed; or an insertion failed.
    Filter(Shared),
    /// The cache did not answer, and the guard fails closed; or dropping an entry failed.
    Cache(Shared),
    /// The loader failed.
    Load(Arc<E>),
    /// The loader ended without an answer: it panicked, or the runtime is shut down.
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

impl<E: fmt::Display> fmt::Display for GuardError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(error) => write!(f, "the filter gave no answer: {error}"),
            Self::Cache(error) => write!(f, "the cache gave no answer: {error}"),
            Self::Load(error) => write!(f, "the value could not be loaded: {error}"),
            Self::NoAnswer => f.write_str("the load ended without an answer: it panicked"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for GuardError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Filter(error) | Self::Cache(error) => Some(&**error),
            Self::Load(error) => Some(&**error),
            Self::NoAnswer => None,
        }
    }
}

/// No answer came before the timeout.
#[derive(Debug)]
pub(super) struct TimedOut(pub(super) Duration);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.0)
    }
}

impl std::error::Error for TimedOut {}
