//! Replies of servers, and their errors with the key concerned.

use crate::Error;
use crate::server::{Command, Reply, words};
use redis::Value;
use std::time::Duration;

impl Error {
    /// The error with the details known only to the caller.
    ///
    /// Servers before Redis 7 wrap the errors of commands in scripts: their codes are in the words.
    pub(crate) fn about(self, key: &str, what: &str) -> Self {
        match self {
            Self::WrongType { .. } => Self::WrongType { key: key.into() },
            Self::Refused { reason, .. } if reason.contains("WRONGTYPE ") => {
                Self::WrongType { key: key.into() }
            }
            Self::Refused { reason, .. } if reason.contains("OOM ") => Self::ServerFull { reason },
            Self::Refused { reason, .. } => Self::Refused { what: what.into(), reason },
            other => other,
        }
    }

    /// A reply that no server gives to this command.
    pub(crate) fn strange(what: &str, value: &Value) -> Self {
        let mut reason = format!("it answered {value:?}");
        if let Some((end, _)) = reason.char_indices().nth(200) {
            reason.truncate(end);
        }
        Self::Refused { what: what.into(), reason }
    }
}

impl Reply {
    /// The value, or the error with its key.
    pub(crate) fn of(self, key: &str, what: &str) -> Result<Value, Error> {
        self.value.map_err(|error| error.about(key, what))
    }

    /// A number.
    pub(crate) fn int(self, key: &str, what: &str) -> Result<i64, Error> {
        match self.of(key, what)? {
            Value::Int(number) => Ok(number),
            Value::Boolean(answer) => Ok(answer.into()),
            other => Err(Error::strange(what, &other)),
        }
    }

    /// A count.
    pub(crate) fn count(self, key: &str, what: &str) -> Result<u64, Error> {
        let number = self.int(key, what)?;
        u64::try_from(number).map_err(|_| Error::strange(what, &Value::Int(number)))
    }
}

/// A text, if it is one.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Text, whatever its bytes: names of clients and words of requests are untrusted.
pub(crate) fn lossy(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        Value::Int(number) => number.to_string(),
        value => text(value).unwrap_or_default().to_owned(),
    }
}

/// Milliseconds for a server: at least one.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Sets when a key expires, from now on; `None`: never.
pub(crate) fn expiry(key: &str, after: Option<Duration>) -> Command {
    Command::write(
        key,
        match after {
            Some(after) => words(&["PEXPIRE", key, &millis(after).to_string()]),
            None => words(&["PERSIST", key]),
        },
    )
}
