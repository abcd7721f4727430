//! Rebuilding a filter while the old one is in use, and switching in one step.
//!
//! 1. The new one gets its final expiry.
//! 2. A key with a random number, the token, is set unless it exists; it expires soon.
//! 3. The trailers of the old shards are set to the token. Writers see that and wait.
//! 4. A script checks the token and renames the parameters of the new filter to the name of the old
//!    ones.
//! 5. The old shards are deleted, in a cluster after a minute. Clients that reach one find the new
//!    parameters.
//!
//! In a cluster a failover may undo step 4 alone. Then the fences of the old shards have no token,
//! and are removed, with the expiry that the shards got; the shards of the new one are retired.
//!
//! A switch that dies before step 4 leaves fences whose token soon expires: the next writer removes
//! them, and step 4 of a client that was only slow fails.

use super::create::create;
use super::generation::Generation;
use super::handle::{Current, Handle};
use super::info::{self, Extent};
use super::life::expire_shards;
use super::maker::{Maker, remove};
use super::meta::State;
use super::options::{NativeOptions, millis, random};
use super::place::Target;
use super::wire::{eval, read_meta, run, trailer_bytes, word};
use crate::{Error, Loss, Server};
use mayhap::Block;
use std::time::Duration;

/// The time that a switch may take before others ignore it.
const TOKEN_MS: &str = "10000";
const POLL: Duration = Duration::from_millis(20);

/// Keys: the parameters. Arguments: generation. Returns the expiry of the filter.
const KEEP: &str = "\
local own = redis.call('HMGET', KEYS[1], 'generation', 'ttl_ms')
if own[1] ~= ARGV[1] then return 'lost' end
if own[2] == '0' then
redis.call('HSET', KEYS[1], 'expires_at_ms', '0')
redis.call('PERSIST', KEYS[1])
return '0' end
local time = redis.call('TIME')
local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + own[2])
redis.call('HSET', KEYS[1], 'expires_at_ms', at)
redis.call('PEXPIREAT', KEYS[1], at)
return at";

/// Keys: the token. Arguments: a number, its time to live.
const TAKE: &str = "\
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 'ok' end
if redis.call('GET', KEYS[1]) == ARGV[1] then return 'ok' end
return 'busy'";

/// Keys: a shard. Arguments: the position of the trailer, the fence. Values that are not shards are
/// left alone.
const FENCE: &str = "\
local t = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
if #t == 8 and t ~= string.rep('\\0', 8) then redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[3]) end
return 'ok'";

/// Keys: the parameters of the old and the new one, the token. Arguments: the token, the generation
/// of the new and the old one.
const SWITCH: &str = "\
local old = redis.call('HGET', KEYS[1], 'generation') or ''
if old == ARGV[2] then return 'ok' end
if redis.call('GET', KEYS[3]) ~= ARGV[1] or old ~= ARGV[3] then return 'late' end
if redis.call('HGET', KEYS[2], 'generation') ~= ARGV[2] then return 'lost' end
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('UNLINK', KEYS[3])
return 'ok'";

/// Keys: the token. Arguments: a number. A token of others stays.
const GIVE_UP: &str = "\
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return 'ok'";

/// Switches to an empty filter with the parameters of this one, which expires when this one would.
pub(super) async fn switch_to_empty(handle: &Handle) -> Result<(), Error> {
    let server = &handle.server;
    let left = info::read(handle, Extent::All).await?.ttl_ms;
    let meta = &handle.current().made.meta;
    let options = NativeOptions {
        digest_function: handle.digest_function,
        key_options: meta.key_options.clone(),
        ttl: left.map(|left| Duration::from_millis(left.max(1))),
        // As large as they are, if that is more than usual: `standard` needs one value.
        max_shard_bytes: Some(
            (meta.cut.body_bytes(0) + 2 * Block::BYTES as u64).clamp(4 << 20, 512 << 20),
        ),
        ..NativeOptions::new(meta.params)
    };
    let hold = server.options().deadline.max(Duration::from_secs(60));
    let place = Target::next(&handle.name);
    let (made, _) = create(server, place, &options, Some(millis(hold)?)).await?;
    swap(&Handle::new(server, place, handle.digest_function, made)).await
}

/// Replaces the old filter, if there is one, by the one of this handle.
pub(super) async fn swap(handle: &Handle) -> Result<(), Error> {
    let until = handle.until_switched();
    let current = handle.current();
    if !current.is_next {
        let reason = "this filter is in its place; rebuild() makes one that can be switched to";
        return Err(Error::Refused { what: "to switch".into(), reason: reason.into() });
    }
    let at = keep(handle, &current).await?;
    while !try_swap(handle, &current, at).await? {
        until.pause(POLL).await?;
    }
    Ok(())
}

/// Step 1.
async fn keep(handle: &Handle, current: &Current) -> Result<u64, Error> {
    let key = Target::next(&handle.name).meta_key();
    let mut keep = eval(KEEP, &[&key]);
    keep.arg(current.made.meta.tag());
    let value = run(&handle.server, &key, keep, "to keep the rebuilt filter").await?;
    let gone = || handle.gone(Loss::RebuiltOrInPlace);
    let at = word(&value).parse().map_err(|_| gone())?;
    expire_shards(handle, &current.made, at).await?;
    Ok(at)
}

/// Steps 2 to 5; `false` if another switch was in progress. A token that led to no switch is
/// given back, so that the next attempt need not wait until it expires.
async fn try_swap(handle: &Handle, current: &Current, at: u64) -> Result<bool, Error> {
    let (server, swap_key) = (&handle.server, Target::live(&handle.name).swap_key());
    let token = random()?;
    let mut take = eval(TAKE, &[&swap_key]);
    take.arg(token).arg(TOKEN_MS);
    if word(&run(server, &swap_key, take, "to begin a switch").await?) != "ok" {
        return Ok(false);
    }
    let switched = swap_with(handle, token, current, at).await;
    if matches!(switched, Ok(false) | Err(Error::Gone { .. })) {
        let mut give_up = eval(GIVE_UP, &[&swap_key]);
        give_up.arg(token);
        run(server, &swap_key, give_up, "to give up a switch").await?;
    }
    switched
}

/// Steps 3 to 5; `false` if another switch was first.
async fn swap_with(handle: &Handle, token: i64, current: &Current, at: u64) -> Result<bool, Error> {
    let (server, name) = (&handle.server, handle.name.as_str());
    let (live, next) = (Target::live(name), Target::next(name));
    let (live_key, next_key, swap_key) = (live.meta_key(), next.meta_key(), live.swap_key());
    let old = match read_meta(server, live).await?.0 {
        Some(meta) if meta.state == State::Ready => Some(Generation::new(meta, name)),
        Some(meta) => {
            match meta.state {
                State::Deleting => {
                    remove(server, live, meta).await?;
                }
                State::Keeping => Maker::finish_for(server, live, meta).await?,
                State::Creating | State::Ready => {}
            }
            return Ok(false);
        }
        None => None,
    };
    if let Some(old) = &old {
        fence(server, old, token).await?;
    }
    let mut switch = eval(SWITCH, &[&live_key, &next_key, &swap_key]);
    switch.arg(token).arg(current.made.meta.tag());
    switch.arg(old.as_ref().map(|old| old.meta.tag()).unwrap_or_default());
    match word(&run(server, &live_key, switch, "to switch").await?) {
        "ok" => {
            let mut made = current.made.clone();
            made.meta.expires_at_ms = at;
            handle.switch(made, false);
            if let Some(old) = old {
                handle.retire(&old).await;
            }
            Ok(true)
        }
        "late" => Ok(false),
        _ => Err(handle.gone(Loss::Rebuilt)),
    }
}

/// Step 3.
async fn fence(server: &Server, old: &Generation, token: i64) -> Result<(), Error> {
    let fences = (0..old.keys.len()).map(|shard| {
        let mut fence = old.script(FENCE, shard, &[&old.keys[shard].0]);
        fence.arg(&trailer_bytes(token));
        old.write(shard, fence)
    });
    let replies = server.run(fences.collect()).await?;
    for (reply, (key, _)) in replies.into_iter().zip(old.keys.iter()) {
        reply.of(key, "to fence a shard")?;
    }
    Ok(())
}
