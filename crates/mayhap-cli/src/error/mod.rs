//! The errors of the command, their codes and their hints.
//!
//! `full.rs` is for filters without room; `crate::hints` has the next step after an error of a
//! library.

mod full;

use crate::hints;
use mayhap_lists::Error as ListError;
use mayhap_sets::Refusal;
use mayhap_sets::file::Error as Foreign;
use mayhap_units::number::{format_bytes, grouped};
use std::io;

pub use full::{End, Full, Limit, MORE_COPIES, Useless, WhenFull, over_full};

/// The reason why a command stopped. `Display` gives the problem, the bound and the value,
/// [`Error::hint`] the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The reader of our output went away, as `head` does: no error to report.
    #[error("the output pipe was closed")]
    BrokenPipe,
    /// SIGINT or SIGTERM arrived.
    #[error("stopped by signal {signal}")]
    Stopped {
        /// The signal's number.
        signal: i32,
    },
    /// The system refused to read, write or open something.
    #[error("cannot {action} {name}: {source}")]
    Io {
        /// The operation: `read`, `write`, `open` …
        action: &'static str,
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A filter file could not be used.
    #[error("{}", hints::message_of_store(.0))]
    Store(#[from] mayhap_store::Error),
    /// A filter could not be sized or made.
    #[error("cannot create the filter: {0}")]
    Filter(#[from] mayhap::Error),
    /// The library refuses a number of the command line.
    #[error("cannot {doing}: {source}")]
    Number {
        /// The purpose: `plan`, `draw` …
        doing: &'static str,
        /// The problem with it.
        source: mayhap::Error,
        /// The right usage.
        hint: &'static str,
    },
    /// A file of another system could not be used.
    #[error("{name}: {source}")]
    Foreign {
        /// The file.
        name: String,
        /// The problem with it.
        source: mayhap_formats::Error,
    },
    /// A filter on a server could not be used.
    #[cfg(feature = "redis")]
    #[error("{}", hints::server::message(.0))]
    Remote(Box<mayhap_sets::server::Error>),
    /// A list of keys could not be read.
    #[error("{0}")]
    List(ListError),
    /// Keys would be read from a terminal, where nobody may be waiting to type them.
    #[error("standard input is a terminal")]
    Terminal,
    /// The filter holds as many keys as it was made for, or as it has memory for.
    #[error("{0}")]
    Full(Full),
    /// A filter could not keep a rate that is of use.
    #[error("{0}")]
    Useless(Useless),
    /// A filter would be larger than the memory.
    #[error("the filter needs {}", above(*.needed, *.limit))]
    TooMuchMemory {
        /// Bytes that it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The keys of an exact set would take more memory than allowed.
    #[error("the keys need {}; stopped at line {}", above(*.needed, *.limit), grouped(*.line))]
    TooManyKeys {
        /// Bytes that they need.
        needed: u64,
        /// The limit.
        limit: u64,
        /// The first line that was not handled, from 1.
        line: u64,
    },
    /// Two arguments name one file, which one of them would write.
    #[error("{first} and {second} are the same file: {}", harm(*.is_read))]
    SameFile {
        /// An argument with its file.
        first: String,
        /// The other one.
        second: String,
        /// Whether one of them is read; else both are written.
        is_read: bool,
    },
    /// The key options of a filter cannot be used, or differ from the given ones.
    #[error("{}", hints::message_of_keys(.0))]
    Keys(#[from] mayhap_keys::Error),
    /// The kind of a filter cannot do that.
    #[error("{name} {why}")]
    Refused {
        /// The file.
        name: String,
        /// Why.
        why: Refusal,
    },
    /// The arguments contradict each other or a file.
    #[error("{problem}")]
    Usage {
        /// The contradiction.
        problem: String,
        /// The right usage.
        hint: String,
    },
}

/// Whether an error, or one of its sources, is that there are too many open files.
pub fn is_out_of_files(error: &(dyn std::error::Error + 'static)) -> bool {
    // ENFILE of the system, EMFILE of the process.
    const NO_FILES: [i32; 2] = [23, 24];
    let sources = std::iter::successors(Some(error), |error| error.source());
    let codes = sources.filter_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error());
    codes.into_iter().any(|code| NO_FILES.contains(&code))
}

impl Error {
    /// An [`Error::Usage`].
    pub fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { problem: problem.into(), hint: hint.into() }
    }

    /// Turns an I/O error into one that names the operation; a closed pipe keeps its own meaning.
    pub fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::BrokenPipe if action == "write" => Self::BrokenPipe,
            _ => Self::Io { action, name: name.into(), source },
        }
    }

    /// Whether the output failed, so that it is unknown how much of it was written.
    pub fn is_about_output(&self) -> bool {
        matches!(self, Self::BrokenPipe | Self::Io { action: "write", .. })
    }

    /// Whether a filter on a server failed, so that nobody knows how much of a batch is in it.
    pub fn is_of_server(&self) -> bool {
        #[cfg(feature = "redis")]
        return matches!(self, Self::Remote(_));
        #[cfg(not(feature = "redis"))]
        false
    }

    /// The next step for the user of this verb, if there is one.
    pub fn hint(&self, verb: &str) -> Option<String> {
        Some(match self {
            Self::Usage { hint, .. } if !hint.is_empty() => hint.clone(),
            Self::Io { source, .. } if is_out_of_files(source) => hints::MORE_FILES.into(),
            Self::List(source) if is_out_of_files(source) => hints::MORE_FILES.into(),
            Self::Keys(source) => return hints::of_keys(source),
            #[cfg(feature = "redis")]
            Self::Remote(source) => return hints::server::hint(source),
            Self::List(source) => return hints::list::hint(source, verb),
            Self::Terminal => {
                format!("name a file, or pipe lines in: some-command | mayhap {verb}")
            }
            Self::Refused { name, why } => return hints::of_refusal(name, *why),
            Self::SameFile { is_read: true, .. } => "write to another file, and rename that".into(),
            Self::SameFile { .. } => "name two different files".into(),
            Self::Number { hint, .. } => (*hint).into(),
            Self::Full(full) => full.hint(),
            Self::Filter(mayhap::Error::Full { .. }) => MORE_COPIES.into(),
            Self::Useless(useless) => useless.hint(),
            Self::TooMuchMemory { .. } => hints::LESS_MEMORY.into(),
            Self::TooManyKeys { .. } => hints::FEWER_KEYS.into(),
            Self::Store(source) => return hints::of_store(source).map(Into::into),
            Self::Foreign { source, .. } => return hints::file::of_format(source).map(Into::into),
            _ => return None,
        })
    }

    /// The message, with `as_typed` for a number that the library refused.
    pub fn message(&self, as_typed: impl Fn(&mayhap::Error) -> String) -> String {
        match self {
            Self::Filter(source) => format!("cannot create the filter: {}", as_typed(source)),
            Self::Number { doing, source, .. } => format!("cannot {doing}: {}", as_typed(source)),
            _ => self.to_string(),
        }
    }

    /// The exit code: 2, except where a signal or a closed pipe ended the run.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Stopped { signal } => (128 + signal) as u8,
            _ => 2,
        }
    }
}

fn harm(is_read: bool) -> &'static str {
    if is_read {
        "it would be overwritten while it is read"
    } else {
        "each would overwrite the other"
    }
}

/// A signal ends a run in the same way wherever it is noticed.
impl From<ListError> for Error {
    fn from(source: ListError) -> Self {
        match source {
            ListError::Stopped { signal } => Self::Stopped { signal },
            source => Self::List(source),
        }
    }
}

impl From<mayhap_sets::Error> for Error {
    fn from(source: mayhap_sets::Error) -> Self {
        use mayhap_sets::Error as Set;
        match source {
            Set::Filter(source) => Self::Filter(source),
            Set::Store(source) => Self::Store(source),
            Set::Keys(source) => Self::Keys(source),
            Set::Refused { name, why } => Self::Refused { name, why },
            Set::Foreign(source) => (*source).into(),
            #[cfg(feature = "redis")]
            Set::Server(source) => Self::Remote(source),
            other => Self::usage(other.to_string(), ""),
        }
    }
}

impl From<Foreign> for Error {
    fn from(source: Foreign) -> Self {
        match source {
            Foreign::Io { action, name, source } => Self::Io { action, name, source },
            Foreign::Store(source) => Self::Store(source),
            Foreign::TooLarge { needed, limit } => Self::TooMuchMemory { needed, limit },
            Foreign::Format { name, source } => Self::Foreign { name, source },
            source => Self::usage(source.to_string(), hints::file::hint(&source)),
        }
    }
}

#[cfg(feature = "redis")]
impl From<mayhap_sets::server::Error> for Error {
    fn from(source: mayhap_sets::server::Error) -> Self {
        Self::Remote(Box::new(source))
    }
}

/// Two sizes, of which the first is above the second, also where they are nearly the same.
fn above(needed: u64, limit: u64) -> String {
    let mut shown = [needed, limit].map(format_bytes);
    if shown[0] == shown[1] {
        shown = [needed, limit].map(|bytes| format!("{} B", grouped(bytes)));
    }
    format!("{}, above the limit of {}", shown[0], shown[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_never_shown_as_the_limit() {
        let shown = |needed, limit| Error::TooMuchMemory { needed, limit }.to_string();
        let mib = 2 << 20;
        assert_eq!(
            shown(mib + 1, mib),
            "the filter needs 2,097,153 B, above the limit of 2,097,152 B"
        );
        assert_eq!(shown(2 * mib, mib), "the filter needs 4.00 MiB, above the limit of 2.00 MiB");
    }
}
