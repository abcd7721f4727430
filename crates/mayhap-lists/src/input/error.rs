//! The errors of reading a list.

use super::NotAList;
use mayhap_units::number::format_bytes;
use std::io;

/// The reason why a list was not read, or not to its end. `Display` gives the problem, the bound
/// and the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open or read something.
    #[error("cannot {action} {name}: {source}")]
    Io {
        /// The operation: `read`, `open` …
        action: &'static str,
        /// The file.
        name: String,
        /// The error of the system, or of a decoder that found damage.
        source: io::Error,
    },
    /// The input is no list of keys.
    #[error("{name} is {what}, not a list of keys")]
    NotAList {
        /// The file.
        name: String,
        /// Whether it is standard input, which has no name to type.
        is_stdin: bool,
        /// The contents found instead.
        what: NotAList,
    },
    /// A file cannot be searched as a sorted list.
    #[error("{name}{why}")]
    NotSearchable {
        /// The file.
        name: String,
        /// The reason.
        why: NotSearchable,
    },
    /// A line is longer than allowed.
    #[error("{name}: line {line} is longer than the limit of {}", format_bytes(*limit as u64))]
    LineTooLong {
        /// The file.
        name: String,
        /// Number of the line in the whole input, from 1.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// Memory for a line ran out.
    #[error("no memory for a line of {}", format_bytes(*.bytes))]
    OutOfMemory {
        /// Bytes that were needed.
        bytes: u64,
    },
    /// A signal arrived.
    #[error("stopped by signal {signal}")]
    Stopped {
        /// The signal's number.
        signal: i32,
    },
}

/// The reason why a file cannot be searched as a sorted list. `Display` gives what follows the name
/// of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSearchable {
    /// It is a pipe or another special file.
    #[error(" is not a regular file and cannot be searched")]
    NoRegularFile,
    /// It is compressed.
    #[error(" is compressed and cannot be searched")]
    Compressed,
    /// The line that begins at byte `at` has no key.
    #[error(": the line at byte {at} has no key")]
    NoKey {
        /// Where.
        at: u64,
    },
    /// The line that begins at byte `at` is longer than allowed.
    #[error(": the line at byte {at} is longer than {}", format_bytes(*.limit as u64))]
    LineTooLong {
        /// Where.
        at: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// The line that begins at byte `at` is out of order.
    #[error(" is not sorted by its keys: the line at byte {at} is out of order")]
    NotSorted {
        /// Where.
        at: u64,
        /// The byte that ends a line.
        separator: u8,
    },
}

impl Error {
    /// Turns an I/O error into one that names the operation; a signal keeps its own meaning.
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

/// Carried through decoders inside an [`io::Error`], for a read that was ended by a signal.
#[derive(Debug, thiserror::Error)]
#[error("stopped by signal {0}")]
pub(super) struct StoppedBySignal(pub(super) i32);
