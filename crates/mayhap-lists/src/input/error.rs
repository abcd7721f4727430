//! What can go wrong while a list is read.

use super::NotAList;
use mayhap_units::number::format_bytes;
use std::{fmt, io};

/// Why a list was not read, or not to its end. `Display` says what, bound and value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open or read something.
    Io {
        /// What was tried: `read`, `open` …
        action: &'static str,
        /// The file.
        name: String,
        /// The error of the system, or of a decoder that found damage.
        source: io::Error,
    },
    /// The input is no list of keys.
    NotAList {
        /// The file.
        name: String,
        /// Whether it is standard input, which has no name to type.
        is_stdin: bool,
        /// What it is.
        what: NotAList,
    },
    /// A file cannot be searched as a sorted list.
    NotSearchable {
        /// The file.
        name: String,
        /// Why not.
        why: NotSearchable,
    },
    /// A line is longer than allowed.
    LineTooLong {
        /// The file.
        name: String,
        /// Number of the line in the whole input, from 1.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// There is no memory for a line.
    OutOfMemory {
        /// Bytes that were needed.
        bytes: u64,
    },
    /// A signal came.
    Stopped {
        /// The signal's number.
        signal: i32,
    },
}

/// Why a file cannot be searched as a sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSearchable {
    /// It is a pipe or the like.
    NoRegularFile,
    /// It is compressed.
    Compressed,
    /// The line that begins at byte `at` has no key.
    NoKey {
        /// Where.
        at: u64,
    },
    /// The line that begins at byte `at` is longer than allowed.
    LineTooLong {
        /// Where.
        at: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// The line that begins at byte `at` is out of order.
    NotSorted {
        /// Where.
        at: u64,
        /// The byte that ends a line.
        separator: u8,
    },
}

impl Error {
    /// Turns an I/O error into one that names what was tried; a signal keeps its own meaning.
    pub(crate) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let stopped = source.get_ref().and_then(|inner| inner.downcast_ref());
            match stopped {
                Some(StoppedBySignal(signal)) => Self::Stopped { signal: *signal },
                None => Self::Io { action, name: name.into(), source },
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, name, source } => write!(f, "cannot {action} {name}: {source}"),
            Self::NotAList { name, what, .. } => write!(f, "{name} is {what}, not a list of keys"),
            Self::NotSearchable { name, why } => match why {
                NotSearchable::NoRegularFile => {
                    write!(f, "{name} is not a regular file and cannot be searched")
                }
                NotSearchable::Compressed => {
                    write!(f, "{name} is compressed and cannot be searched")
                }
                NotSearchable::NoKey { at } => {
                    write!(f, "{name}: the line at byte {at} has no key")
                }
                NotSearchable::LineTooLong { at, limit } => {
                    let limit = format_bytes(*limit as u64);
                    write!(f, "{name}: the line at byte {at} is longer than {limit}")
                }
                NotSearchable::NotSorted { at, .. } => write!(
                    f,
                    "{name} is not sorted by its keys: the line at byte {at} is out of order"
                ),
            },
            Self::LineTooLong { name, line, limit } => {
                let limit = format_bytes(*limit as u64);
                write!(f, "{name}: line {line} is longer than the limit of {limit}")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "no memory for a line of {}", format_bytes(*bytes))
            }
            Self::Stopped { signal } => write!(f, "stopped by signal {signal}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What a read that a signal ended carries through decoders, inside an [`io::Error`].
#[derive(Debug)]
pub(super) struct StoppedBySignal(pub(super) i32);

impl fmt::Display for StoppedBySignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped by signal {}", self.0)
    }
}

impl std::error::Error for StoppedBySignal {}
