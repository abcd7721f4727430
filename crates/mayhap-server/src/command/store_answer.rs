//! Answers of commands on filters in a store, before they are written.

use super::call::Fault;
use crate::front::{Error, name_of};
use crate::resp::{Reply, Value};

/// An answer before it is written.
pub(super) enum Answer {
    Done,
    /// For each key.
    Each(Vec<bool>),
    Number(i64),
    Word(&'static str),
    Bytes(Vec<u8>),
    /// Names of filters; of a page of them, with the cursor of the next one.
    Names(Vec<String>, Option<u64>),
    /// Fields of a filter, and whether it is the only one that was requested.
    Fields(Vec<(&'static str, Value)>, bool),
}

impl Answer {
    /// A number of things.
    pub(super) fn count(number: impl TryInto<i64>) -> Self {
        Self::Number(number.try_into().unwrap_or(i64::MAX))
    }

    pub(super) fn write(&self, reply: &mut Reply<'_>) {
        match self {
            Self::Done => reply.simple("OK"),
            Self::Each(all) => {
                reply.array(all.len());
                for &yes in all {
                    reply.boolean(yes);
                }
            }
            &Self::Number(number) => reply.integer(number),
            Self::Word(word) => reply.simple(word),
            Self::Bytes(bytes) => reply.bulk(bytes),
            Self::Names(names, next) => {
                if let Some(next) = next {
                    reply.array(2);
                    reply.bulk(next.to_string().as_bytes());
                }
                reply.list(names.iter().map(String::as_bytes));
            }
            Self::Fields(fields, is_one) => {
                if *is_one && !reply.is_resp3() {
                    reply.array(1);
                } else {
                    reply.map(fields.len());
                }
                for (name, value) in fields {
                    if !is_one || reply.is_resp3() {
                        reply.simple(name);
                    }
                    reply.value(value);
                }
            }
        }
    }
}

/// The name of a filter.
pub(super) fn name(word: &[u8]) -> Result<&str, Fault> {
    name_of(word).map_err(|why| format!("ERR {why}").into())
}

fn not_found() -> Fault {
    "ERR not found; filters in a store do not grow: create it with BF.RESERVE for all its keys"
        .into()
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(mayhap_redis::Error::NotFound { .. }) => not_found(),
            Error::Store(mayhap_redis::Error::Exists { .. }) => "ERR item exists".into(),
            error => format!("ERR {error}").into(),
        }
    }
}
