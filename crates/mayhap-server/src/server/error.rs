//! Why a server could not start or stop.

use crate::config::KeyFileError;
use crate::front::ConnectError;
use crate::net;
use mayhap_engine::{CloseError, OpenError};
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Why a server could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen for Redis clients, or the certificate cannot be used.
    #[error(transparent)]
    Network(#[from] net::Error),
    /// It cannot listen for HTTP.
    #[error("cannot listen on {address} for HTTP: {source}")]
    Http {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The filters cannot be opened.
    #[error(transparent)]
    Filters(#[from] OpenError),
    /// The store of the filters cannot be used.
    #[error(transparent)]
    Store(#[from] ConnectError),
    /// The file of the secret key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The system has no random bytes for a secret key.
    #[error("cannot create a secret key: {0}")]
    Random(#[source] io::Error),
}

/// Why a server did not stop properly.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShutdownError {
    /// A loop thread had failed.
    #[error(transparent)]
    Loops(#[from] net::Error),
    /// The filters were not closed properly.
    #[error(transparent)]
    Filters(#[from] CloseError),
}
