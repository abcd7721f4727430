//! Errors. `Debug` is `Display`, so that an `unwrap` in a test prints the log readably.

use std::process::ExitStatus;
use std::{fmt, io};

/// Why a server could not be started or did not answer.
#[non_exhaustive]
pub enum Error {
    /// The system reported an error.
    Io {
        /// The attempted action.
        action: String,
        /// The system's error.
        source: io::Error,
    },
    /// A program ended unexpectedly.
    Died {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Its output, on both streams.
        log: String,
    },
    /// A condition was not reached in time.
    Slow {
        /// The condition.
        what: String,
        /// The limit in seconds.
        seconds: u64,
        /// The state at the end: a log, or the last answer.
        state: String,
    },
    /// The server answered with an error.
    Refused {
        /// The command.
        command: String,
        /// The answer.
        answer: String,
    },
    /// The server has no process now: it was killed, or died.
    NotRunning {
        /// Its port.
        port: u16,
    },
    /// No node of the cluster matches the request.
    NoSuchNode {
        /// The request.
        what: String,
        /// `CLUSTER NODES` of a living node.
        nodes: String,
    },
    /// A program is not installed.
    Missing(String),
}

impl Error {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, source } => write!(f, "cannot {action}: {source}"),
            Self::Died { program, status, log } => {
                write!(f, "{program} ended ({status}); its log:\n{log}")
            }
            Self::Slow { what, seconds, state } => {
                write!(f, "{what}: not within {seconds} s; the last state:\n{state}")
            }
            Self::Refused { command, answer } => write!(f, "`{command}` was refused: {answer}"),
            Self::NotRunning { port } => {
                write!(f, "the server of port {port} is not running; restart it first")
            }
            Self::NoSuchNode { what, nodes } => {
                write!(f, "the cluster has no {what}; its nodes:\n{nodes}")
            }
            Self::Missing(message) => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
