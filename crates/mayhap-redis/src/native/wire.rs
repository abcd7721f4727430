//! Commands and scripts in the server's form, and its replies.

use super::meta::Meta;
use super::place::Target;
use crate::replies::text;
use crate::server::{Command, words};
use crate::{Error, Server};
use redis::{Cmd, Value, cmd};

/// A trailer as written by `SETRANGE` and read by `GETRANGE`; `BITFIELD` reads it as `i64`.
pub(super) fn trailer_bytes(trailer: i64) -> [u8; 8] {
    trailer.to_be_bytes()
}

/// A script on the keys of one slot. `EVAL` rather than `EVALSHA`: the scripts are short, and a
/// restarted server has none.
pub(super) fn eval(script: &str, keys: &[&str]) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(script).arg(keys.len());
    for key in keys {
        eval.arg(*key);
    }
    eval
}

/// Runs a script on the keys of one slot; `what` is for errors.
pub(super) async fn run(
    server: &Server,
    key: &str,
    script: Cmd,
    what: &str,
) -> Result<Value, Error> {
    server.one(Command::write(key, script)).await?.of(key, what)
}

pub(super) fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        _ => None,
    }
}

pub(super) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        Value::Okay => Some(b"OK"),
        _ => None,
    }
}

pub(super) fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// The one-word reply of a script.
pub(super) fn word(value: &Value) -> &str {
    text(value).unwrap_or_default()
}

/// Name and value in turn, or a map.
fn pairs(value: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    let own = |value: &Value| bytes(value).unwrap_or_default().to_vec();
    match value {
        Value::Map(pairs) => pairs.iter().map(|(name, value)| (own(name), own(value))).collect(),
        Value::Array(items) => {
            items.chunks_exact(2).map(|pair| (own(&pair[0]), own(&pair[1]))).collect()
        }
        _ => Vec::new(),
    }
}

/// The filter described by `HGETALL` of this key, if there is one.
pub(super) fn meta_of(value: &Value, key: &str) -> Result<Option<Meta>, Error> {
    let pairs = pairs(value);
    if pairs.is_empty() {
        return Ok(None);
    }
    let damaged = |damage| Error::Damaged { key: key.into(), damage: Box::new(damage) };
    Meta::parse(&pairs).map(Some).map_err(damaged)
}

/// Reads the parameters of a filter, from the master, and the switch in progress.
pub(super) async fn read_meta(
    server: &Server,
    place: Target<'_>,
) -> Result<(Option<Meta>, Option<i64>), Error> {
    let (key, swap) = (&*place.meta_key(), &*place.swap_key());
    // Not as reading: a replica may not know yet. The token first: where it is gone, the switch was
    // abandoned before the parameters are read, or they are the new ones.
    let commands = vec![
        Command::write(swap, words(&["GET", swap])),
        Command::write(key, words(&["HGETALL", key])),
    ];
    let mut replies = server.run_unconfirmed(commands).await?.into_iter();
    let mut next = |key, what| replies.next().map_or(Ok(Value::Nil), |reply| reply.of(key, what));
    let token = word(&next(swap, "whether the filter is switched")?).parse().ok();
    let meta = meta_of(&next(key, "the parameters of the filter")?, key)?;
    Ok((meta, token))
}
