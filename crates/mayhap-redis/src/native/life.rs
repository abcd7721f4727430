//! Time to live.

use super::generation::Generation;
use super::handle::Handle;
use super::wire::{bytes, eval, items, run, word};
use crate::{Error, Loss};
use redis::Value;
use std::time::Duration;

/// After this a millisecond has passed on the server too.
const PASSED: Duration = Duration::from_millis(2);

/// Keys: the parameters. Arguments: generation, time to live or 0. Returns the current and the new
/// expiry; it never delays the expiry of the filter.
pub(super) const WHEN: &str = "\
local old = redis.call('HMGET', KEYS[1], 'generation', 'expires_at_ms')
if old[1] ~= ARGV[1] then return {'lost'} end
if ARGV[2] == '0' then return {'ok', old[2], '0'} end
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
return {'ok', old[2], string.format('%.0f', at)}";

/// Keys: the parameters. Arguments: generation, expiry, time to live. A server that is full refuses
/// a script whose first write may need memory, so the fields are the second one; and they come
/// before the expiry, which may be now.
pub(super) const EXPIRE: &str = "\
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then return 'lost' end
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'expires_at_ms', ARGV[2], 'ttl_ms', ARGV[3])
if ARGV[2] ~= '0' then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 'ok'";

/// Sets the expiry of all keys of the filter to `ttl` milliseconds from now; 0: never.
pub(super) async fn refresh_ttl(handle: &Handle, ttl: u64) -> Result<(), Error> {
    let until = handle.until_switched();
    loop {
        let made = handle.fresh().await?;
        let result = set_ttl(handle, &made, ttl).await;
        if !matches!(result, Err(Error::Gone { .. })) || until.is_over() {
            return result;
        }
        // For a filter that was switched to meanwhile, the time to live counts.
        match handle.fresh().await {
            Ok(now) if now.meta.generation != made.meta.generation => {}
            _ => return result,
        }
    }
}

/// No shard outlives the parameters, also where this is cut off: they are the first to be extended
/// and the last to be shortened. Without parameters another filter could take the name, while
/// handles of this one still answered from what is left of it; without a shard there is an error,
/// until the next call or the end of the parameters.
async fn set_ttl(handle: &Handle, made: &Generation, ttl: u64) -> Result<(), Error> {
    const WHAT: &str = "the expiry of the filter";
    let (key, server) = (handle.place().meta_key(), &handle.server);
    let mut when = eval(WHEN, &[&key]);
    when.arg(made.meta.tag()).arg(ttl);
    let value = run(server, &key, when, WHAT).await?;
    let Some([_, before, at]) = items(&value) else {
        return Err(handle.gone(Loss::Deleted));
    };
    let number = |value: &Value| word(value).parse::<u64>().unwrap_or(0);
    let never_is_last = |at: u64| at.wrapping_sub(1);
    let at = number(at);
    let is_longer = never_is_last(at) >= never_is_last(number(before));
    let early = if is_longer { None } else { Some(expire_shards(handle, made, at).await) };
    if let Some(Err(error)) = early.as_ref().filter(|early| !is_gone(early)) {
        return Err(error.clone());
    }
    let mut expire = eval(EXPIRE, &[&key]);
    expire.arg(made.meta.tag()).arg(at).arg(ttl);
    if word(&run(server, &key, expire, WHAT).await?) != "ok" {
        return Err(handle.gone(Loss::Deleted));
    }
    let Some(result) = early else { return expire_shards(handle, made, at).await };
    if !is_gone(&result) {
        return result;
    }
    // All of it may have expired at once, as intended: a shard that gets the time of now is deleted
    // at once, and the parameters are not before the millisecond has passed.
    tokio::time::sleep(PASSED).await;
    match handle.fresh().await {
        Ok(_) => result,
        Err(Error::Gone { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_gone(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::Gone { .. }))
}

pub(super) async fn expire_shards(
    handle: &Handle,
    made: &Generation,
    at: u64,
) -> Result<(), Error> {
    let is_there = |trailer: &_| bytes(trailer).is_some_and(|bytes| bytes.len() == 8);
    if made.expire(&handle.server, at, "the expiry of a shard", is_there).await? {
        return Ok(());
    }
    Err(handle.gone(Loss::Part))
}
