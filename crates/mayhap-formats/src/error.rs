//! The errors of this crate: each reports the field, the bound and the value found.

use crate::KeyType;
use std::fmt;

/// Why a foreign filter could not be opened, queried, changed or written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not of this format.
    NotThisFormat {
        /// The format that was tried.
        format: &'static str,
        /// The mismatch.
        reason: &'static str,
    },
    /// The bytes end too early.
    Truncated {
        /// What was being read.
        field: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes remaining.
        left: u64,
    },
    /// Bytes follow the end of the filter.
    TrailingBytes {
        /// How many.
        found: u64,
    },
    /// A number is above its limit.
    TooLarge {
        /// The name of the number.
        field: &'static str,
        /// The limit.
        limit: u64,
        /// The number found.
        found: u64,
    },
    /// A number is 0 (or negative) and must not be.
    Zero {
        /// The name of the number.
        field: &'static str,
    },
    /// A field has an invalid value.
    BadField {
        /// The name of the field.
        field: &'static str,
        /// The allowed values.
        allowed: &'static str,
        /// The value found, as text.
        found: String,
    },
    /// Two filters are incompatible.
    Incompatible {
        /// The name of the parameter that differs.
        parameter: &'static str,
        /// Its value on the left.
        left: String,
        /// Its value on the right.
        right: String,
    },
    /// A text cannot be a key of this type.
    BadKey {
        /// The type.
        key_type: &'static str,
        /// The problem.
        reason: &'static str,
    },
    /// The keys of this filter are never of this type.
    WrongKeyType {
        /// The format.
        format: &'static str,
        /// The type that was given.
        given: KeyType,
        /// The types that it may have.
        known: &'static [KeyType],
    },
    /// The parameters are not valid for a filter; with the message of the system that rejects them.
    Refused {
        /// Its message.
        message: String,
    },
    /// The operation does not exist for this format.
    Unsupported {
        /// The format.
        format: &'static str,
        /// The requested operation.
        operation: &'static str,
        /// The reason, and what to do instead.
        reason: &'static str,
    },
    /// A file could not be read.
    Io {
        /// The system's message.
        message: String,
    },
    /// The allocator refused this many bytes.
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
}

impl Error {
    /// An [`Error::BadField`].
    pub(crate) fn bad(
        field: &'static str,
        allowed: &'static str,
        found: impl fmt::Display,
    ) -> Self {
        let found =
            if cfg!(feature = "values") { found.to_string() } else { "another value".into() };
        Self::BadField { field, allowed, found }
    }

    /// An [`Error::Refused`].
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::Refused { message: message.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThisFormat { format, reason } => write!(f, "not a {format} filter: {reason}"),
            Self::Truncated { field, needed, left } => {
                write!(
                    f,
                    "{field} needs {needed} bytes, but {left} are left: the file is truncated"
                )
            }
            Self::TrailingBytes { found } => {
                write!(f, "{found} bytes follow the end of the filter")
            }
            Self::TooLarge { field, limit, found } => {
                write!(f, "{field} is {found}, above the limit of {limit}")
            }
            Self::Zero { field } => write!(f, "{field} is 0"),
            Self::BadField { field, allowed, found } => {
                write!(f, "{field} is {found}, allowed is {allowed}")
            }
            Self::Incompatible { parameter, left, right } => {
                write!(f, "the filters differ in {parameter}: {left} and {right}")
            }
            Self::BadKey { key_type, reason } => write!(f, "no key of type {key_type}: {reason}"),
            Self::WrongKeyType { format, given, known } => {
                let known: Vec<&str> = known.iter().map(|known| known.name()).collect();
                write!(
                    f,
                    "this {format} filter has no keys of type {}, its keys are of type {}",
                    given.name(),
                    known.join(", ")
                )
            }
            Self::Refused { message } | Self::Io { message } => f.write_str(message),
            Self::Unsupported { format, operation, reason } => {
                write!(f, "{operation} is not possible with a {format} filter: {reason}")
            }
            Self::OutOfMemory { bytes } => write!(f, "no memory for {bytes} bytes"),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io { message: error.to_string() }
    }
}
