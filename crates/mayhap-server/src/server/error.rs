//! Why a server could not start or end.

use crate::config::KeyFileError;
use crate::durable::{self, Refused};
use crate::keyspace::RecoveryError;
use crate::net;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why a server could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen for Redis clients, or the certificate cannot be used.
    Network(net::Error),
    /// It cannot listen for HTTP.
    Http {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// The data folder cannot be opened.
    Data(durable::Error),
    /// The file of the secret key cannot be used.
    Key(KeyFileError),
    /// The filters of the data folder cannot be brought back.
    Restore(RecoveryError),
    /// The system has no random bytes for a secret key.
    Random(io::Error),
    /// The system has no thread.
    Thread {
        /// What the thread was for.
        purpose: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

/// Why a server did not end as it should have.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShutdownError {
    /// A loop thread had failed.
    Loops(net::Error),
    /// There is no last checkpoint.
    Checkpoint(durable::Error),
    /// What was written last may not be on the disk.
    Log(Refused),
}

impl StartError {
    pub(super) fn thread(purpose: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Thread { purpose, source }
    }

    pub(super) fn http((address, source): (SocketAddr, io::Error)) -> Self {
        Self::Http { address, source }
    }
}

impl From<net::Error> for StartError {
    fn from(error: net::Error) -> Self {
        Self::Network(error)
    }
}

impl From<durable::Error> for StartError {
    fn from(error: durable::Error) -> Self {
        Self::Data(error)
    }
}

impl From<net::Error> for ShutdownError {
    fn from(error: net::Error) -> Self {
        Self::Loops(error)
    }
}

impl From<durable::Error> for ShutdownError {
    fn from(error: durable::Error) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<Refused> for ShutdownError {
    fn from(refused: Refused) -> Self {
        Self::Log(refused)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => error.fmt(f),
            Self::Http { address, source } => {
                write!(f, "cannot listen on {address} for HTTP: {source}")
            }
            Self::Data(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
            Self::Restore(error) => error.fmt(f),
            Self::Random(error) => write!(f, "cannot create a secret key: {error}"),
            Self::Thread { purpose, source } => write!(f, "cannot start {purpose}: {source}"),
        }
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loops(error) => error.fmt(f),
            Self::Checkpoint(error) => error.fmt(f),
            Self::Log(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Network(error) => error.source(),
            Self::Data(error) => error.source(),
            Self::Key(error) => error.source(),
            Self::Http { source, .. } | Self::Thread { source, .. } | Self::Random(source) => {
                Some(source)
            }
            Self::Restore(error) => Some(error),
        }
    }
}

impl std::error::Error for ShutdownError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Loops(error) => error.source(),
            Self::Checkpoint(error) => error.source(),
            Self::Log(_) => None,
        }
    }
}
