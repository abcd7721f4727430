//! Errors of sets, and the refusals of their kinds.

use crate::file;
#[cfg(feature = "redis")]
use crate::server;

/// Why a set did not do what it was called for. `Display` says what, bound and value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The filter cannot do that, or has no memory for it.
    #[error(transparent)]
    Filter(#[from] mayhap::Error),
    /// Its file could not be used, or was changed by others meanwhile.
    #[error(transparent)]
    Store(#[from] mayhap_store::Error),
    /// The key options of its file make no sense.
    #[error(transparent)]
    Keys(#[from] mayhap_keys::Error),
    /// Its kind never does that.
    #[error("{name} {why}")]
    Refused {
        /// The file.
        name: String,
        /// Why.
        why: Refusal,
    },
    /// A file of another system could not be used.
    #[error(transparent)]
    Foreign(Box<file::Error>),
    /// A filter on a server could not be used.
    #[cfg(feature = "redis")]
    #[error(transparent)]
    Server(Box<server::Error>),
}

/// Reasons that keep a filter from being used as one set of keys, or from being added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It was built from all its keys at once.
    #[error("is a fuse or ribbon filter, which never changes")]
    NeverChanges,
    /// It is open to be read only.
    #[error("is open read-only")]
    ReadOnly,
    /// It is a window of time whose unit is that of the program that created it.
    #[error("is a time window with an unknown unit")]
    ForeignTime,
    /// It holds many sets.
    #[error("is a matrix, which holds many sets")]
    ManySets,
    /// Keys are hashed where it is, so that it takes no digests.
    #[error("hashes keys itself and accepts no digests")]
    TakesKeys,
    /// It is one of several segments of a filter.
    #[error("is one segment of a filter")]
    OneSegment,
    /// It is on a server, and this program was built without the feature `redis`.
    #[error("is on a server, which this program does not support")]
    OnServer,
}

#[cfg(feature = "redis")]
impl From<server::Error> for Error {
    fn from(source: server::Error) -> Self {
        Self::Server(Box::new(source))
    }
}

impl From<file::Error> for Error {
    fn from(source: file::Error) -> Self {
        Self::Foreign(Box::new(source))
    }
}
