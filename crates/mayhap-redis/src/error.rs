//! The errors of filters on a server.

use crate::Trouble;
use std::fmt;
use std::time::Duration;

/// An error of a filter on a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The address is not a `redis://`, `rediss://`, `redis+cluster://` or `rediss+cluster://` URL.
    BadUrl {
        /// The URL, without its password.
        url: String,
        /// The problem.
        reason: String,
    },
    /// An invalid filter name.
    BadName {
        /// The name.
        name: String,
        /// The problem.
        reason: &'static str,
    },
    /// The bits do not fit into values on a server.
    Layout {
        /// What does not fit, and what to do instead.
        reason: String,
    },
    /// The server cannot be reached, or did not reply before the deadline.
    Unavailable {
        /// The server, without its password.
        server: String,
        /// The last node tried, if it is a cluster.
        node: Option<String>,
        /// The time spent trying.
        after: Duration,
        /// The last failure.
        trouble: Trouble,
    },
    /// The server requires a different password or user.
    Unauthorized {
        /// The server.
        server: String,
        /// The server's message.
        reason: String,
    },
    /// The server's memory is full: nothing was written.
    ServerFull {
        /// The server's message.
        reason: String,
    },
    /// The server refused a command.
    Refused {
        /// The requested operation or value.
        what: String,
        /// The server's message.
        reason: String,
    },
    /// A key holds something that is not part of a filter.
    WrongType {
        /// The key.
        key: String,
    },
    /// There is no filter of this name.
    NotFound {
        /// The name.
        name: String,
    },
    /// There is a different filter of this name.
    Exists {
        /// The name.
        name: String,
        /// The parameter that differs.
        parameter: &'static str,
        /// Its value.
        has: String,
        /// The requested operation or value.
        wanted: String,
    },
    /// Part of the filter is gone: it expired, was evicted, or was deleted by another program.
    Gone {
        /// The name.
        name: String,
        /// Details, if known.
        reason: String,
    },
    /// The filter was switched to another one during a call that reads or writes all of it: start
    /// over.
    Switched {
        /// The name.
        name: String,
    },
    /// The filter accepts no more new keys: it is full and does not grow.
    Full {
        /// The name.
        name: String,
        /// The server's message.
        reason: String,
    },
    /// A reply was lost, and the command must not be sent again: it may have been executed.
    Lost {
        /// The command.
        what: String,
    },
    /// The connection broke in the middle of what has to be done over one.
    Broken {
        /// The server, without its password.
        server: String,
        /// What was being done.
        what: &'static str,
    },
    /// The scheme of the filter, or its server, has no such operation.
    Unsupported {
        /// The name.
        name: String,
        /// The scheme.
        scheme: &'static str,
        /// The operation, as in "it cannot be …".
        what: &'static str,
        /// Why not, and what works instead.
        reason: &'static str,
    },
    /// Another client is creating or switching this filter, and did not finish in time.
    Busy {
        /// The name.
        name: String,
        /// What it is doing.
        what: &'static str,
    },
    /// Fewer replicas than requested confirmed a write, which is on the master.
    NotReplicated {
        /// The number requested.
        wanted: u32,
        /// The number that confirmed.
        confirmed: u32,
    },
    /// The keys do not hold a filter that this version supports.
    Damaged {
        /// The key.
        key: String,
        /// The problem.
        reason: String,
    },
    /// An error of the filter: its parameters, its secret key.
    Filter(mayhap::Error),
    /// An error of another system's scheme.
    Format(mayhap_formats::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadUrl { url, reason } => write!(
                f,
                "{url} is not the address of a server: {reason}; for example \
                 redis://127.0.0.1:6379/0/name"
            ),
            Self::BadName { name, reason } => {
                write!(f, "{name:?} cannot be the name of a filter: {reason}")
            }
            Self::Layout { reason } => write!(f, "the filter does not fit: {reason}"),
            Self::Unavailable { server, node, after, trouble } => {
                write!(f, "{server} {trouble}")?;
                if let Some(node) = node {
                    write!(f, " (last tried: {node})")?;
                }
                // An immediate failure needs no time.
                match after.as_secs_f64() {
                    seconds if seconds >= 0.1 => write!(f, ", tried for {seconds:.1} s"),
                    _ => Ok(()),
                }
            }
            Self::Unauthorized { server, reason } => {
                write!(f, "{server} refuses this user or password: {reason}")
            }
            Self::ServerFull { reason } => write!(
                f,
                "the server is full, nothing was written: {reason}; raise its maxmemory, or create \
                 a smaller filter"
            ),
            Self::Refused { what, reason } => write!(f, "the server refused {what}: {reason}"),
            Self::WrongType { key } => {
                write!(f, "the key {key} holds something other than a filter; use another name")
            }
            Self::NotFound { name } => write!(f, "there is no filter {name}; create it first"),
            Self::Exists { name, parameter, has, wanted } => write!(
                f,
                "the filter {name} exists with {parameter} {has}, not {wanted}; attach to it with \
                 its own parameters, or use another name"
            ),
            Self::Gone { name, reason } => write!(f, "the filter {name} is gone: {reason}"),
            Self::Switched { name } => {
                write!(f, "the filter {name} was switched to another one meanwhile; start again")
            }
            Self::Full { name, reason } => write!(
                f,
                "the filter {name} accepts no more keys: {reason}; create a larger one, or one \
                 that grows"
            ),
            Self::Lost { what } => write!(
                f,
                "the reply to {what} was lost, and sending it again may do harm: it may or may not \
                 have been executed"
            ),
            Self::Broken { server, what } => {
                write!(f, "the connection to {server} broke, and {what} with it; run it again")
            }
            Self::Unsupported { name, scheme, what, reason } => {
                write!(f, "{name} is a filter of {scheme} and cannot be {what}: {reason}")
            }
            Self::Busy { name, what } => {
                write!(f, "another client {what} the filter {name}; try again")
            }
            Self::NotReplicated { wanted, confirmed } => write!(
                f,
                "{confirmed} of {wanted} replicas confirmed the write; it is on the master, and \
                 writing it again does no harm"
            ),
            Self::Damaged { key, reason } => write!(f, "the key {key} is damaged: {reason}"),
            Self::Filter(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Filter(error) => Some(error),
            Self::Format(error) => Some(error),
            _ => None,
        }
    }
}

impl From<mayhap::Error> for Error {
    fn from(error: mayhap::Error) -> Self {
        Self::Filter(error)
    }
}

impl From<mayhap_formats::Error> for Error {
    fn from(error: mayhap_formats::Error) -> Self {
        Self::Format(error)
    }
}
