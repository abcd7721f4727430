//! What can go wrong, what it is called and what to do next.
//!
//! `full.rs` is for filters without room, `foreign.rs` for files of other systems, `list.rs` the
//! way out where a list cannot be read.

mod foreign;
mod full;
mod list;

use mayhap_lists::Error as ListError;
use mayhap_sets::Refusal;
use mayhap_units::number::{format_bytes, grouped};
use std::{fmt, io};

pub use full::{End, Full, Limit, Useless, WhenFull, over_full};

/// Why a command stopped. `Display` says what, bound and value; [`Error::hint`] the next step.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The reader of our output went away, as `head` does: not an error to speak of.
    BrokenPipe,
    /// SIGINT or SIGTERM came.
    Stopped {
        /// The signal's number.
        signal: i32,
    },
    /// The system refused to read, write or open something.
    Io {
        /// What was tried: `read`, `write`, `open` …
        action: &'static str,
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A filter file could not be used.
    Store(mayhap_store::Error),
    /// A filter could not be sized or made.
    Filter(mayhap::Error),
    /// The library refuses a number of the command line.
    Number {
        /// What it was for: `plan`, `draw` …
        doing: &'static str,
        /// What is wrong with it.
        source: mayhap::Error,
        /// What to type instead.
        hint: &'static str,
    },
    /// A file of another system could not be used.
    Foreign {
        /// The file.
        name: String,
        /// What is wrong with it.
        source: mayhap_formats::Error,
    },
    /// A filter on a server could not be used.
    Remote {
        /// What is wrong, with the URL but without the password.
        message: String,
        /// The next step, if there is one.
        hint: Option<String>,
    },
    /// A list of keys could not be read.
    List(ListError),
    /// The filter holds as many keys as it was made for, or as it has memory for.
    Full(Full),
    /// A filter could not keep a rate that is of use.
    Useless(Useless),
    /// A filter would be larger than the memory.
    TooMuchMemory {
        /// Bytes that it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The keys of an exact set would take more memory than allowed.
    TooManyKeys {
        /// Bytes that they need.
        needed: u64,
        /// The limit.
        limit: u64,
        /// The first line that was not dealt with, from 1.
        line: u64,
    },
    /// Two arguments name one file, which one of them would write.
    SameFile {
        /// An argument with its file.
        first: String,
        /// The other one.
        second: String,
        /// Whether one of them is read; else both are written.
        is_read: bool,
    },
    /// The key options of a filter cannot be used, or are not those that were given.
    Keys(mayhap_keys::Error),
    /// The kind of a filter cannot do that.
    Refused {
        /// The file.
        name: String,
        /// Why.
        why: Refusal,
    },
    /// The arguments contradict each other or a file.
    Usage {
        /// What contradicts what.
        problem: String,
        /// What to type instead.
        hint: String,
    },
}

/// The way out where a process may open no more files.
pub const MORE_FILES: &str = "raise the limit of open files: ulimit -n 4096, LimitNOFILE=4096 of \
                              systemd, --ulimit nofile=4096 of Docker";

/// Whether an error, or what it came from, is that there are too many open files.
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

    /// Turns an I/O error into one that names what was tried; a closed pipe keeps its own meaning.
    pub fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::BrokenPipe if action == "write" => Self::BrokenPipe,
            _ => Self::Io { action, name: name.into(), source },
        }
    }

    /// Whether the output failed, so that nobody knows how much of it is out.
    pub fn is_about_output(&self) -> bool {
        matches!(self, Self::BrokenPipe | Self::Io { action: "write", .. })
    }

    /// The next step for the user of this verb, if there is one.
    pub fn hint(&self, verb: &str) -> Option<String> {
        Some(match self {
            Self::Usage { hint, .. } if !hint.is_empty() => hint.clone(),
            Self::Io { source, .. } if is_out_of_files(source) => MORE_FILES.into(),
            Self::List(source) if is_out_of_files(source) => MORE_FILES.into(),
            Self::Keys(source) => source.hint(),
            Self::Remote { hint, .. } => return hint.clone(),
            Self::List(source) => return list::hint(source, verb),
            Self::Refused { name, why } => return refusal_hint(name, *why),
            Self::SameFile { is_read: true, .. } => "write to another file, and rename that".into(),
            Self::SameFile { .. } => "name two different files".into(),
            Self::Number { hint, .. } => (*hint).into(),
            Self::Full(full) => full.hint(),
            Self::Useless(useless) => useless.hint(),
            Self::TooMuchMemory { .. } => {
                "choose fewer keys (-n) or a higher rate (-p), or allow more with --max-memory SIZE"
                    .into()
            }
            Self::TooManyKeys { .. } => {
                "all lines before were printed; allow more with --max-memory SIZE, or omit \
                 --exact: a filter takes 2 to 4 bytes a line"
                    .into()
            }
            Self::Store(source) => return store_hint(source).map(Into::into),
            Self::Foreign { source, .. } => return foreign::hint(source).map(Into::into),
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenPipe => f.write_str("the output pipe was closed"),
            Self::Stopped { signal } => write!(f, "stopped by signal {signal}"),
            Self::Io { action, name, source } => write!(f, "cannot {action} {name}: {source}"),
            Self::Store(source) => source.fmt(f),
            Self::Keys(source) => source.fmt(f),
            Self::Filter(source) => write!(f, "cannot create the filter: {source}"),
            Self::Number { doing, source, .. } => write!(f, "cannot {doing}: {source}"),
            Self::Foreign { name, source } => write!(f, "{name}: {source}"),
            Self::List(source) => source.fmt(f),
            Self::Refused { name, why } => write!(f, "{name} {why}"),
            Self::Full(full) => full.fmt(f),
            Self::Useless(useless) => useless.fmt(f),
            Self::TooMuchMemory { needed, limit } => write!(
                f,
                "the filter needs {}, above the limit of {}",
                format_bytes(*needed),
                format_bytes(*limit)
            ),
            Self::TooManyKeys { needed, limit, line } => write!(
                f,
                "the keys need {}, above the limit of {}; stopped at line {}",
                format_bytes(*needed),
                format_bytes(*limit),
                grouped(*line)
            ),
            Self::SameFile { first, second, is_read } => {
                let harm = if *is_read {
                    "it would be overwritten while it is read"
                } else {
                    "each would overwrite the other"
                };
                write!(f, "{first} and {second} are the same file: {harm}")
            }
            Self::Remote { message: problem, .. } | Self::Usage { problem, .. } => {
                f.write_str(problem)
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<mayhap::Error> for Error {
    fn from(source: mayhap::Error) -> Self {
        Self::Filter(source)
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
            Set::Foreign(source) => match source.downcast::<mayhap_foreign::Error>() {
                Ok(source) => (*source).into(),
                Err(source) => Self::usage(source.to_string(), ""),
            },
            Set::Server { message, hint } => Self::Remote { message, hint },
            other => Self::usage(other.to_string(), ""),
        }
    }
}

impl From<mayhap_keys::Error> for Error {
    fn from(source: mayhap_keys::Error) -> Self {
        Self::Keys(source)
    }
}

impl From<mayhap_store::Error> for Error {
    fn from(source: mayhap_store::Error) -> Self {
        Self::Store(source)
    }
}

/// What to do with a filter of a kind that refuses.
fn refusal_hint(name: &str, why: Refusal) -> Option<String> {
    Some(match why {
        Refusal::NeverChanges => {
            format!(
                "build it again from all keys: mayhap build --layout fuse --force -o {name} KEYS"
            )
        }
        Refusal::ReadOnly => "open it for adding: mayhap add".into(),
        Refusal::ForeignTime => {
            "add to it with the program that created it, which set its times".into()
        }
        Refusal::ManySets => {
            format!("list the sets that may contain a line: mayhap which {name} < keys.txt")
        }
        Refusal::OneSegment => {
            format!("put all segments together: mayhap assemble -o FILTER {name} ...")
        }
        Refusal::UnknownKind(_) => "it was created by a newer mayhap; use that version".into(),
        _ => return None,
    })
}

/// The next step, where the store's message has none.
fn store_hint(error: &mayhap_store::Error) -> Option<&'static str> {
    use mayhap_store::Error as Store;
    Some(match error {
        Store::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "create a filter with mayhap build or mayhap create"
        }
        Store::Foreign { .. } => {
            "mayhap build and mayhap create write filters; are the arguments in order? One of \
             another system may need --format FORMAT"
        }
        Store::Exists { .. } => "or replace it with --force",
        Store::Unlike { .. } => {
            "create them with one -n, -p, --layout, digest (--seed, --key-file) and key options"
        }
        Store::SegmentsUnlike { .. } => {
            "build all segments with one -n, -p, digest (--seed, --key-file) and key options"
        }
        Store::SegmentsMissing { .. } => "name the files of all segments",
        Store::SegmentsOverlap { .. } => "name each segment once, all of one --segment .../N",
        Store::NoLocks { .. } => {
            "if nothing else changes the filter: --lock none; if other commands do, all of them \
             with --lock folder"
        }
        Store::Locked { .. } => "try again when it has ended, or wait longer: --lock-timeout TIME",
        Store::MissingLog { .. } => {
            "or use the file alone: --without-log; to drop the lost log for good: mayhap add \
             --without-log FILE /dev/null"
        }
        Store::UnreadLog { .. } => "apply the log with mayhap add FILE /dev/null",
        Store::Replaced { .. } => "add the keys again to the filter that is there now",
        Store::LogLost { .. } => "use the file alone: --without-log",
        Store::Format { source, .. } => match source {
            mayhap::Error::WrongKind { found: "segment", .. } => {
                "put all segments together: mayhap assemble -o FILTER SEGMENT..."
            }
            mayhap::Error::WrongKind { wanted: "segment", .. } => {
                "mayhap build --segment I/N writes segments; mayhap merge unites whole filters"
            }
            mayhap::Error::WrongKey { .. } => "give its key with --key-file FILE",
            mayhap::Error::NotKeyed => {
                "omit --key-file; a filter gets its key when it is created: --new-key-file FILE"
            }
            mayhap::Error::NotAFilter => {
                "mayhap build and mayhap create write filters; are the arguments in order? \
                 One of another system may need --format FORMAT"
            }
            mayhap::Error::WrongLength { .. }
            | mayhap::Error::HeaderDamaged
            | mayhap::Error::IdentityDamaged
            | mayhap::Error::BadField { .. }
            | mayhap::Error::PageDamaged { .. } => "restore it from a backup, or build it again",
            _ => return None,
        },
        _ => return None,
    })
}
