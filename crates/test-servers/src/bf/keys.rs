//! Commands on names, whatever their values.

use super::call::Call;
use super::dialect::wrong_type;
use super::keyspace::{Left, Value};
use super::reply::{Answer, Reply};
use super::reservation::number;
use std::time::Duration;

/// `EXISTS key …`
pub(super) fn exists(call: &mut Call<'_>) -> Reply {
    let names = &call.words[1..];
    Reply::count(names.iter().filter(|name| call.keys.get(name).is_some()).count() as u64)
}

/// `DEL key …`, `UNLINK key …`
pub(super) fn delete(call: &mut Call<'_>) -> Reply {
    let names = &call.words[1..];
    Reply::count(names.iter().filter(|name| call.keys.remove(name)).count() as u64)
}

/// `TYPE key`
pub(super) fn type_of(call: &mut Call<'_>) -> Reply {
    Reply::Status(match call.keys.get(call.key()) {
        None => "none",
        Some(Value::Text(_)) => "string",
        Some(Value::Filter(_)) => call.dialect.type_name(),
    })
}

/// `SET key value`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let text = call.rest().concat();
    call.keys.insert(call.key(), Value::Text(text));
    Reply::OK
}

/// `GET key`
pub(super) fn get(call: &mut Call<'_>) -> Answer {
    match call.keys.get(call.key()) {
        None => Ok(Reply::Null),
        Some(Value::Text(text)) => Ok(Reply::Bulk(text.clone())),
        Some(Value::Filter(_)) => Err(wrong_type()),
    }
}

/// `HGETALL key`: there are no hashes.
pub(super) fn get_hash(call: &mut Call<'_>) -> Answer {
    match call.keys.get(call.key()) {
        None => Ok(Reply::Array(Vec::new())),
        Some(_) => Err(wrong_type()),
    }
}

/// `RENAME key new`
pub(super) fn rename(call: &mut Call<'_>) -> Answer {
    let to = call.rest().concat();
    if call.keys.rename(call.key(), &to) { Ok(Reply::OK) } else { Err(no_such_key()) }
}

/// `RENAMENX key new`
pub(super) fn rename_if_free(call: &mut Call<'_>) -> Answer {
    let to = call.rest().concat();
    if call.keys.get(call.key()).is_none() {
        return Err(no_such_key());
    }
    let is_free = call.keys.get(&to).is_none();
    if is_free {
        call.keys.rename(call.key(), &to);
    }
    Ok(Reply::is(is_free))
}

fn no_such_key() -> String {
    "ERR no such key".into()
}

/// `EXPIRE key seconds`
pub(super) fn expire(call: &mut Call<'_>) -> Answer {
    expire_after(call, 1_000)
}

/// `PEXPIRE key milliseconds`
pub(super) fn expire_millis(call: &mut Call<'_>) -> Answer {
    expire_after(call, 1)
}

fn expire_after(call: &mut Call<'_>, millis: i64) -> Answer {
    let after = call.rest().first().and_then(|word| number::<i64>(word));
    let after = after.ok_or("ERR value is not an integer or out of range")?;
    let after = u64::try_from(after.saturating_mul(millis)).unwrap_or(0);
    let before = call.keys.expire(call.key(), Some(Duration::from_millis(after)));
    Ok(Reply::is(before != Left::NoValue))
}

/// `PERSIST key`: whether it would have expired.
pub(super) fn persist(call: &mut Call<'_>) -> Reply {
    Reply::is(matches!(call.keys.expire(call.key(), None), Left::For(_)))
}

/// `TTL key`
pub(super) fn left(call: &mut Call<'_>) -> Reply {
    left_in(call, |left| left.as_secs())
}

/// `PTTL key`
pub(super) fn left_millis(call: &mut Call<'_>) -> Reply {
    left_in(call, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
}

fn left_in(call: &mut Call<'_>, unit: fn(Duration) -> u64) -> Reply {
    match call.keys.left(call.key()) {
        Left::NoValue => Reply::Int(-2),
        Left::Forever => Reply::Int(-1),
        Left::For(left) => Reply::count(unit(left)),
    }
}
