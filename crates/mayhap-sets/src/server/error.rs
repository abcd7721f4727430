//! Errors of filters on servers.

use mayhap_formats::Format;
use mayhap_redis::Error as Redis;
use std::io;

/// Why a filter on a server could not be used. `Display` says what, bound and value; the next step
/// depends on the program and its words for options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server, or the connection to it.
    #[error("{}", problem(url, source))]
    Redis {
        /// The URL of the filter, without the password.
        url: String,
        /// The error of the client.
        source: Redis,
    },
    /// The thread that sends and receives could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A URL that is not UTF-8.
    #[error("{shown} is not UTF-8")]
    NotText {
        /// The text, without the password.
        shown: String,
        /// The expected target of the URL.
        wanted: Wanted,
    },
    /// Something other than the URL of a server.
    #[error("{shown} is not the URL of a server")]
    NotAUrl {
        /// The text, without the password.
        shown: String,
        /// The expected target of the URL.
        wanted: Wanted,
    },
    /// A URL that cannot be read.
    #[error(transparent)]
    Url(Redis),
    /// A URL of a server, where that of a filter is needed.
    #[error("{url} names a server but no filter")]
    NoName {
        /// The URL, without the password.
        url: String,
    },
    /// A URL of a filter, where that of a server is needed.
    #[error("{url} names a filter, not the server alone")]
    HasName {
        /// The URL, without the password.
        url: String,
    },
    /// A format that no server has.
    #[error("{url}: filters of {} are files alone", format.name())]
    FilesOnly {
        /// The URL, without the password.
        url: String,
        /// The format.
        format: Format,
    },
    /// A string that may be a bitmap, without its m and k.
    #[error("{url}: this is a string, maybe a bare bitmap, which does not record its m and k")]
    BareBitmap {
        /// The URL, without the password.
        url: String,
    },
    /// The m and k of a bitmap of Java-BloomFilter are needed, and not given.
    #[error("a bitmap of Java-BloomFilter does not record its m and k")]
    NoShape,
    /// More bits than a bitmap of Java-BloomFilter can have.
    #[error("m is {num_bits}, above the limit of {}", i32::MAX)]
    TooManyBits {
        /// The m that was given.
        num_bits: i64,
    },
    /// A type of keys that the scheme does not have.
    #[error("{url}: {source}")]
    KeyType {
        /// The URL, without the password.
        url: String,
        /// The types that it has.
        source: mayhap_formats::Error,
    },
    /// A secret key, where the server hashes the keys with its own.
    #[error("{url}: a secret key is given, but the server hashes the keys")]
    ServerHashes {
        /// The URL, without the password.
        url: String,
    },
    /// A filter is already there, and is not to be replaced.
    #[error("{url} exists already")]
    Exists {
        /// The URL, without the password.
        url: String,
    },
}

/// The expected target of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A filter.
    Filter,
    /// A server, or a cluster.
    Server,
}

impl Error {
    /// Whether there is no filter of this name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Redis { source: Redis::NotFound { .. }, .. })
    }
}

/// The message for a filter of this name.
pub fn problem(name: &str, source: &Redis) -> String {
    match source {
        // They name the server.
        Redis::Unavailable { .. }
        | Redis::Unauthorized { .. }
        | Redis::BadUrl { .. }
        | Redis::Certificates { .. }
        | Redis::Broken { .. } => source.to_string(),
        _ => format!("{name}: {source}"),
    }
}

/// The error of a filter with this URL.
pub(super) fn failed(url: &str, source: impl Into<Redis>) -> Error {
    Error::Redis { url: url.to_owned(), source: source.into() }
}
