//! Rebuilding a filter while the old one is in use, and switching in one step.
//!
//! 1. The new one gets its final expiry.
//! 2. A key with a random number, the token, is set unless it exists; it expires soon.
//! 3. The trailers of the old shards are set to the token. Writers see that and wait.
//! 4. A script checks the token and renames the parameters of the new filter to those of the old.
//! 5. The old shards are deleted. Clients that reach one find the new parameters.
//!
//! A switch that dies before step 4 leaves fences whose token soon expires: the next writer removes
//! them, and step 4 of a client that was only slow fails.

use super::extent::Extent;
use super::filter::{Current, NativeFilter};
use super::generation::{Generation, Target};
use super::maker::Maker;
use super::meta::State;
use super::options::{NativeOptions, millis, random};
use super::shards::check_name;
use super::wire::{eval, read_meta, trailer_bytes, value_of, word};
use crate::server::Command;
use crate::{Error, Server};
use mayhap::Block;
use std::time::{Duration, Instant};

/// How long a switch may take before others ignore it.
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

impl NativeFilter {
    /// Begins, or joins, the building of a filter that will replace the one of this name.
    ///
    /// It is invisible until [`NativeFilter::swap`]. It has its own parameters; the digest function
    /// should be the same, or handles of the old one return [`Error::Gone`] after the switch. It
    /// expires after `hold` if it is not switched to; the time to live of the options counts from
    /// the switch. Keys that others insert meanwhile go only into the old filter: insert into both
    /// during a rebuild.
    ///
    /// # Errors
    ///
    /// As [`NativeFilter::create`]; [`Error::Exists`] if one with other parameters is being built.
    pub async fn rebuild(
        server: &Server,
        name: &str,
        options: &NativeOptions,
        hold: Duration,
    ) -> Result<Self, Error> {
        check_name(name)?;
        Self::create_at(server, Target::next(name), options, Some(millis(hold)?)).await
    }

    /// Switches to an empty filter with the parameters of this one, which expires when this one
    /// would.
    pub(super) async fn switch_to_empty(&self) -> Result<(), Error> {
        let (server, name) = (&self.inner.server, &self.inner.name);
        let left = self.read_info(Extent::All).await?.ttl_ms;
        let meta = &self.current().made.meta;
        let options = NativeOptions {
            digest_function: self.inner.digest_function,
            key_options: meta.key_options.clone(),
            ttl: left.map(|left| Duration::from_millis(left.max(1))),
            // As large as they are, if that is more than usual: `standard` needs one value.
            max_shard_bytes: Some(
                (meta.cut.body_bytes(0) + 2 * Block::BYTES as u64).clamp(4 << 20, 512 << 20),
            ),
            ..NativeOptions::new(meta.params)
        };
        let hold = server.options().deadline.max(Duration::from_secs(60));
        Self::rebuild(server, name, &options, hold).await?.swap().await
    }

    /// Deletes an unfinished [`NativeFilter::rebuild`] or [`NativeFilter::upload`]; returns whether
    /// there was one.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`], [`Error::WrongType`], [`Error::Damaged`], those of the connection.
    pub async fn discard(server: &Server, name: &str) -> Result<bool, Error> {
        check_name(name)?;
        let place = Target::next(name);
        match read_meta(server, &place.meta_key(), &place.swap_key()).await?.0 {
            Some(meta) => Self::remove(server, place.meta_key(), name, &meta).await,
            None => Ok(false),
        }
    }

    /// Replaces the old filter, if there is one, by a rebuilt one in one step.
    ///
    /// Clients see either the old filter or the new one, never parts of both. An insertion
    /// acknowledged after the switch is in the new one; handles of the old one continue with the
    /// new one automatically. Writers wait for the two round trips that it takes.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if others keep switching or creating, [`Error::Gone`] if the rebuilt filter
    /// no longer exists, [`Error::Refused`] for a filter that was not created by
    /// [`NativeFilter::rebuild`]; those of the connection, after which either filter may be in
    /// place.
    pub async fn swap(&self) -> Result<(), Error> {
        let until = Instant::now() + self.inner.server.options().deadline;
        let current = self.current();
        if !current.is_next {
            let reason = "this filter is in its place; rebuild() makes one that can be switched to";
            return Err(Error::Refused { what: "to switch".into(), reason: reason.into() });
        }
        let at = self.keep(&current).await?;
        loop {
            if self.try_swap(&current, at).await? {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Error::Busy { name: self.inner.name.clone(), what: "switches" });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Step 1.
    async fn keep(&self, current: &Current) -> Result<u64, Error> {
        let key = Target::next(&self.inner.name).meta_key();
        let mut keep = eval(KEEP, &[&key]);
        keep.arg(format!("{:016x}", current.made.meta.generation));
        let reply = self.inner.server.one(Command::write(&key, keep)).await?;
        let value = value_of(reply, &key, "to keep the rebuilt filter")?;
        let gone = || self.gone("what was rebuilt expired, was deleted or is in its place already");
        let at = word(&value).parse().map_err(|_| gone())?;
        self.expire_shards(&current.made, at).await?;
        Ok(at)
    }

    /// Steps 2 to 5; `false` if another switch was in progress. A token that led to no switch is
    /// given back, so that the next attempt need not wait until it expires.
    async fn try_swap(&self, current: &Current, at: u64) -> Result<bool, Error> {
        let (server, swap_key) = (&self.inner.server, Target::live(&self.inner.name).swap_key());
        let token = random()?;
        let mut take = eval(TAKE, &[&swap_key]);
        take.arg(token).arg(TOKEN_MS);
        let reply = server.one(Command::write(&swap_key, take)).await?;
        if word(&value_of(reply, &swap_key, "to begin a switch")?) != "ok" {
            return Ok(false);
        }
        let switched = self.swap_with(token, current, at).await;
        if matches!(switched, Ok(false) | Err(Error::Gone { .. })) {
            self.give_up(&swap_key, token).await?;
        }
        switched
    }

    /// Steps 3 to 5; `false` if something else came first.
    async fn swap_with(&self, token: i64, current: &Current, at: u64) -> Result<bool, Error> {
        let (server, name) = (&self.inner.server, self.inner.name.as_str());
        let (live, next) = (Target::live(name), Target::next(name));
        let (live_key, next_key, swap_key) = (live.meta_key(), next.meta_key(), live.swap_key());
        let old = match read_meta(server, &live_key, &swap_key).await?.0 {
            Some(meta) if meta.state == State::Ready => Some(Generation::new(meta, name)),
            Some(meta) => {
                match meta.state {
                    State::Deleting => {
                        Self::remove(server, live_key, name, &meta).await?;
                    }
                    State::Keeping => Maker::finish_for(server, live, meta).await?,
                    State::Creating | State::Ready => {}
                }
                return Ok(false);
            }
            None => None,
        };
        if let Some(old) = &old {
            self.fence(old, token).await?;
        }
        let mut switch = eval(SWITCH, &[&live_key, &next_key, &swap_key]);
        switch.arg(token).arg(format!("{:016x}", current.made.meta.generation));
        switch.arg(
            old.as_ref().map(|old| format!("{:016x}", old.meta.generation)).unwrap_or_default(),
        );
        let reply = server.one(Command::write(&live_key, switch)).await?;
        match word(&value_of(reply, &live_key, "to switch")?) {
            "ok" => {
                let mut made = current.made.clone();
                made.meta.expires_at_ms = at;
                self.switch(Current { made, is_next: false });
                if let Some(old) = old {
                    self.sweep_all(&old).await;
                }
                Ok(true)
            }
            "late" => Ok(false),
            _ => Err(self.gone("what was rebuilt expired or was deleted")),
        }
    }

    /// Step 3.
    async fn fence(&self, old: &Generation, token: i64) -> Result<(), Error> {
        let fences = (0..old.keys.len()).map(|shard| {
            let (start, end) = old.trailer_range(shard);
            let mut fence = eval(FENCE, &[&old.keys[shard].0]);
            fence.arg(start).arg(end).arg(&trailer_bytes(token));
            old.write(shard, fence)
        });
        let replies = self.inner.server.run(fences.collect()).await?;
        for (reply, (key, _)) in replies.into_iter().zip(old.keys.iter()) {
            value_of(reply, key, "to fence a shard")?;
        }
        Ok(())
    }

    async fn give_up(&self, swap_key: &str, token: i64) -> Result<(), Error> {
        let mut give_up = eval(GIVE_UP, &[swap_key]);
        give_up.arg(token);
        let reply = self.inner.server.one(Command::write(swap_key, give_up)).await?;
        value_of(reply, swap_key, "to give up a switch").map(drop)
    }
}

/// Creates the destination of an upload, to which no other client writes.
pub(super) async fn claim_next<'a>(
    server: &'a Server,
    name: &'a str,
    options: &NativeOptions,
) -> Result<(Maker<'a>, Generation), Error> {
    check_name(name)?;
    let mut maker = Maker::new(server, Target::next(name), options, None)?;
    // Plus a second per MiB.
    maker.lease_ms += (maker.meta.params.num_bytes() >> 20) * 1000;
    maker.hold_ms = Some(maker.lease_ms);
    if !maker.claim_alone().await? {
        return Err(Error::Busy { name: name.into(), what: "uploads or rebuilds" });
    }
    let made = Generation::new(maker.meta.clone(), name);
    Ok((maker, made))
}
