//! The errors of this crate: each reports the field, the bound and the value found.

use crate::key_type::KeyType;
use std::fmt;

/// Why a foreign filter could not be opened, queried, changed or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not of this format.
    #[error("not a {format} filter: {reason}")]
    NotThisFormat {
        /// The format that was tried.
        format: &'static str,
        /// The mismatch.
        reason: &'static str,
    },
    /// The bytes end too early.
    #[error("{field} needs {needed} bytes, but {left} are left: the file is truncated")]
    Truncated {
        /// The part that was being read.
        field: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes remaining.
        left: u64,
    },
    /// Bytes follow the end of the filter.
    #[error("{found} bytes follow the end of the filter")]
    TrailingBytes {
        /// The number of bytes.
        found: u64,
    },
    /// A number is above its limit.
    #[error("{field} is {found}, above the limit of {limit}")]
    TooLarge {
        /// The name of the number.
        field: &'static str,
        /// The limit.
        limit: u64,
        /// The number found.
        found: u64,
    },
    /// A number is 0 (or negative) and must not be.
    #[error("{field} is 0")]
    Zero {
        /// The name of the number.
        field: &'static str,
    },
    /// A field has an invalid value.
    #[error("{field} is {found}, allowed is {allowed}")]
    BadField {
        /// The name of the field.
        field: &'static str,
        /// The allowed values.
        allowed: &'static str,
        /// The value found, as text.
        found: String,
    },
    /// Two filters are incompatible.
    #[error("the filters differ in {parameter}: {left} and {right}")]
    Incompatible {
        /// The name of the parameter that differs.
        parameter: &'static str,
        /// Its value on the left.
        left: String,
        /// Its value on the right.
        right: String,
    },
    /// A text cannot be a key of this type.
    #[error("no key of type {key_type}: {reason}")]
    BadKey {
        /// The type.
        key_type: &'static str,
        /// The problem.
        reason: &'static str,
    },
    /// The keys of this filter are never of this type.
    #[error(
        "this {format} filter has no keys of type {}, its keys are of type {}",
        .given.name(),
        names(.known)
    )]
    WrongKeyType {
        /// The format.
        format: &'static str,
        /// The type that was given.
        given: KeyType,
        /// The types that it may have.
        known: &'static [KeyType],
    },
    /// How the keys of this filter become bytes is not known, so that only these can be given.
    #[error("how the keys of this {format} filter become bytes is not known")]
    UnknownKeys {
        /// The format.
        format: &'static str,
    },
    /// The parameters are not valid for a filter; with the message of the system that rejects them.
    #[error("{message}")]
    Refused {
        /// Its message.
        message: String,
    },
    /// The operation does not exist for this format.
    #[error("{operation} is not possible with a {format} filter: {reason}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// The requested operation.
        operation: &'static str,
        /// The reason, and the alternative.
        reason: &'static str,
    },
    /// A file could not be read.
    #[error("{message}")]
    Io {
        /// Its kind.
        kind: std::io::ErrorKind,
        /// The system's message.
        message: String,
    },
    /// The allocator refused this many bytes.
    #[error("no memory for {bytes} bytes")]
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

    /// [`Error::NotThisFormat`] for bytes of another one.
    pub(crate) fn check_format(
        is_this: bool,
        format: &'static str,
        reason: &'static str,
    ) -> Result<(), Self> {
        if is_this { Ok(()) } else { Err(Self::NotThisFormat { format, reason }) }
    }

    /// [`Error::BadField`] where a field breaks its rule.
    #[inline(always)]
    pub(crate) fn check(
        keeps_rule: bool,
        field: &'static str,
        allowed: &'static str,
        found: impl fmt::Display,
    ) -> Result<(), Self> {
        if keeps_rule { Ok(()) } else { Err(Self::bad(field, allowed, found)) }
    }

    /// [`Error::TooLarge`] above the limit.
    #[inline(always)]
    pub(crate) fn check_limit(field: &'static str, limit: u64, found: u64) -> Result<(), Self> {
        if found <= limit { Ok(()) } else { Err(Self::TooLarge { field, limit, found }) }
    }

    /// [`Error::Truncated`] where less is left than a field needs.
    #[inline(always)]
    pub(crate) fn check_left(field: &'static str, needed: u64, left: u64) -> Result<(), Self> {
        if left >= needed { Ok(()) } else { Err(Self::Truncated { field, needed, left }) }
    }

    /// [`Error::Truncated`] or [`Error::TrailingBytes`] unless a field takes all that is left.
    pub(crate) fn check_length(field: &'static str, needed: u64, left: u64) -> Result<(), Self> {
        Self::check_left(field, needed, left)?;
        if left == needed { Ok(()) } else { Err(Self::TrailingBytes { found: left - needed }) }
    }

    /// Checks a number against others in the same file: a flipped bit in it would make keys absent.
    pub(crate) fn check_twice(
        field: &'static str,
        found: u64,
        computed: impl IntoIterator<Item = u64>,
    ) -> Result<(), Self> {
        let is_computed = computed.into_iter().any(|computed| computed == found);
        Self::check(is_computed, field, "what the other numbers of the file give", found)
    }

    /// An [`Error::Refused`].
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::Refused { message: message.to_string() }
    }

    /// [`Error::Refused`] unless the parameters keep a rule of their system.
    pub(crate) fn require(keeps_rule: bool, message: impl fmt::Display) -> Result<(), Self> {
        if keeps_rule { Ok(()) } else { Err(Self::refused(message)) }
    }
}

fn names(types: &[KeyType]) -> String {
    types.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ")
}

/// Checks that a parameter of two filters is equal.
pub(crate) fn same<T: PartialEq + fmt::Display + ?Sized>(
    parameter: &'static str,
    left: &T,
    right: &T,
) -> Result<(), Error> {
    if left == right {
        return Ok(());
    }
    Err(Error::Incompatible { parameter, left: left.to_string(), right: right.to_string() })
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io { kind: error.kind(), message: error.to_string() }
    }
}
