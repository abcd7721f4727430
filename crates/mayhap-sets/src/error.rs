//! What can go wrong with a set, and what its kind refuses.

use mayhap::native::Kind;
use std::fmt;

/// Why a set did not do what it was called for. `Display` says what, bound and value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The filter cannot do that, or has no memory for it.
    Filter(mayhap::Error),
    /// Its file could not be used, or was changed by others meanwhile.
    Store(mayhap_store::Error),
    /// The key options of its file make no sense.
    Keys(mayhap_keys::Error),
    /// Its kind never does that.
    Refused {
        /// The file.
        name: String,
        /// Why.
        why: Refusal,
    },
    /// A file of another system could not be used: the error of what opened it.
    Foreign(Box<dyn std::error::Error + Send + Sync>),
    /// A filter on a server could not be used.
    Server {
        /// What is wrong, with the URL but without the password.
        message: String,
        /// The next step, if there is one.
        hint: Option<String>,
    },
}

/// What keeps a filter from being used as one set of keys, or from being added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It was built from all its keys at once.
    NeverChanges,
    /// It is open to be read only.
    ReadOnly,
    /// It is a window of time whose unit is that of the program that created it.
    ForeignTime,
    /// It holds many sets.
    ManySets,
    /// Keys are hashed where it is, so that it takes no digests.
    TakesKeys,
    /// It is one of several segments of a filter.
    OneSegment,
    /// It is of a kind that a newer version writes.
    UnknownKind(Kind),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverChanges => f.write_str("is a fuse filter, which never changes"),
            Self::ReadOnly => f.write_str("is open read-only"),
            Self::ForeignTime => f.write_str("is a time window with an unknown unit"),
            Self::ManySets => f.write_str("is a matrix, which holds many sets"),
            Self::TakesKeys => f.write_str("hashes keys itself and accepts no digests"),
            Self::OneSegment => f.write_str("is one segment of a filter"),
            Self::UnknownKind(kind) => write!(f, "is a {} filter, unknown here", kind.name()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(source) => source.fmt(f),
            Self::Store(source) => source.fmt(f),
            Self::Keys(source) => source.fmt(f),
            Self::Refused { name, why } => write!(f, "{name} {why}"),
            Self::Foreign(source) => source.fmt(f),
            Self::Server { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<mayhap::Error> for Error {
    fn from(source: mayhap::Error) -> Self {
        Self::Filter(source)
    }
}

impl From<mayhap_store::Error> for Error {
    fn from(source: mayhap_store::Error) -> Self {
        Self::Store(source)
    }
}

impl From<mayhap_keys::Error> for Error {
    fn from(source: mayhap_keys::Error) -> Self {
        Self::Keys(source)
    }
}
