//! The failure of a connection, from its last error.

use redis::{ErrorKind, RedisError};
use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The failure of the last attempt on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// No process listens there: the connection was refused.
    Refused,
    /// The name of the host has no address.
    UnknownHost,
    /// No reply arrived in time.
    Silent,
    /// The server closed the connection.
    Closed,
    /// Its reply is not the Redis protocol.
    OtherProtocol,
    /// It replied with a TLS alert: it requires TLS.
    NeedsTls,
    /// It is a replica, which takes no writes.
    Replica {
        /// Its master, as `host:port`, if it says so.
        master: Option<String>,
    },
    /// The TLS handshake failed.
    Tls {
        /// The library's message.
        reason: String,
    },
    /// Something else.
    Other {
        /// The message of the system, the server or the library.
        reason: String,
    },
}

type Shared = Arc<dyn std::error::Error + Send + Sync>;

/// The record type of a TLS alert, which the parser of replies reports as the unexpected byte.
const TLS_ALERT: &str = "Unexpected `21`";

impl Trouble {
    /// Classifies a connection error.
    pub(crate) fn of(error: &RedisError) -> Self {
        // The library shares its errors.
        let shared = error.source().and_then(|source| source.downcast_ref::<Shared>());
        let io = shared.and_then(|source| source.downcast_ref::<io::Error>());
        match error.kind() {
            _ if error.is_timeout() => Self::Silent,
            _ if error.is_connection_refusal() => Self::Refused,
            ErrorKind::Parse if error.to_string().contains(TLS_ALERT) => Self::NeedsTls,
            ErrorKind::Parse => Self::OtherProtocol,
            // An error of rustls.
            _ if io.is_some_and(|io| io.kind() == io::ErrorKind::InvalidData) => {
                Self::Tls { reason: reason(error) }
            }
            _ if error.to_string().contains("lookup address") => Self::UnknownHost,
            _ if error.is_connection_dropped() => Self::Closed,
            _ => Self::Other { reason: reason(error) },
        }
    }
}

/// The text of an error as the server or the system wrote it, without the names that the client
/// library has for its kinds.
pub(crate) fn reason(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        // `Password authentication failed - AuthenticationFailed`.
        _ => error.to_string().replacen(&format!(" - {:?}", error.kind()), "", 1),
    }
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Other { reason }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refuses connections",
            Self::UnknownHost => "has a host of no known address",
            Self::Silent => "gives no answer",
            Self::Closed => "closed the connection",
            Self::OtherProtocol => "does not speak the protocol of Redis",
            Self::NeedsTls => "wants TLS",
            Self::Replica { master: None } => {
                "is a replica, which takes no writes: name its master"
            }
            Self::Replica { master: Some(master) } => {
                return write!(f, "is a replica, which takes no writes: name its master, {master}");
            }
            Self::Tls { reason } => {
                return write!(f, "speaks no TLS that can be trusted: {reason}");
            }
            Self::Other { reason } => return write!(f, "is not available: {reason}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_distinguished() {
        let of = |kind: io::ErrorKind| Trouble::of(&RedisError::from(io::Error::from(kind)));
        assert_eq!(of(io::ErrorKind::ConnectionRefused), Trouble::Refused);
        assert_eq!(of(io::ErrorKind::TimedOut), Trouble::Silent);
        for closed in [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset] {
            assert_eq!(of(closed), Trouble::Closed);
        }
        assert_eq!(of(io::ErrorKind::UnexpectedEof), Trouble::Closed);
        assert!(matches!(of(io::ErrorKind::InvalidData), Trouble::Tls { .. }));
        assert!(matches!(of(io::ErrorKind::PermissionDenied), Trouble::Other { .. }));
        // The message of the standard library, which has no error kind for it.
        let unknown = "failed to lookup address information: Name or service not known";
        let unknown = Trouble::of(&RedisError::from(io::Error::other(unknown)));
        assert_eq!(unknown, Trouble::UnknownHost);
        assert_eq!(unknown.to_string(), "has a host of no known address");
    }

    #[test]
    fn reasons_do_not_name_kinds_of_the_client_library() {
        let refused = (ErrorKind::AuthenticationFailed, "Password authentication failed");
        assert_eq!(reason(&refused.into()), "Password authentication failed");
        let kind = ErrorKind::Server(redis::ServerErrorKind::ResponseError);
        let detail = "DB index is out of range".to_owned();
        assert_eq!(reason(&(kind, "no database", detail).into()), "ERR DB index is out of range");
    }
}
