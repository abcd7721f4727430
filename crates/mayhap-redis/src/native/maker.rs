//! The five steps of creating a filter (`create.rs`).

use super::generation::Generation;
use super::meta::{Meta, State};
use super::options::NativeOptions;
use super::place::Target;
use super::wire::{bytes, eval, items, meta_of, run, trailer_bytes, word};
use crate::server::words;
use crate::{Damage, Error, Loss, Server};
use redis::cmd;

/// How long the remains of a dead creator block others: this, plus the time that creating the
/// shards may take.
const LEASE_MS: u64 = 60_000;
/// The number of shards created in one pipeline.
const SHARDS_AT_ONCE: usize = 64;

/// Keys: the parameters. Arguments: lease, time to live or 0, then fields and values. Returns
/// `made` and the expiry, or `there` and the fields.
const CLAIM: &str = "\
local t = redis.call('TYPE', KEYS[1]).ok
if t == 'hash' then return {'there', redis.call('HGETALL', KEYS[1])} end
if t ~= 'none' then return {'wrong'} end
local time = redis.call('TIME')
local at = 0
if ARGV[2] ~= '0' then at = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2] end
at = string.format('%.0f', at)
redis.call('HSET', KEYS[1], 'state', 'creating', 'expires_at_ms', at, unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {'made', at}";

/// Keys: the parameters. Arguments: generation, expiry, `keeping` or `ready`.
const MARK: &str = "\
local was = redis.call('HMGET', KEYS[1], 'generation', 'state')
if was[1] ~= ARGV[1] or was[2] == 'deleting' then return 'lost' end
if was[2] == 'ready' then return 'ok' end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'expires_at_ms', ARGV[2])
if ARGV[2] == '0' then redis.call('PERSIST', KEYS[1])
else redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 'ok'";

/// Keys: the parameters. Arguments: generation.
const FORGET: &str = "\
if redis.call('HGET', KEYS[1], 'generation') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return 'ok'";

/// Keys: the parameters. Arguments: generation. A server that is full refuses a script whose first
/// write may need memory, so this is the second one; the expiry is as it was.
const CONDEMN: &str = "\
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then return 'lost' end
local left = redis.call('PTTL', KEYS[1])
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'state', 'deleting')
if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
return 'ok'";

/// The outcome of the attempt to write the parameters.
pub(super) enum Claim {
    /// They are ours.
    Generation,
    /// They belong to another creator.
    There(Meta),
}

/// A filter that is being created.
pub(super) struct Maker<'a> {
    pub(super) server: &'a Server,
    pub(super) place: Target<'a>,
    pub(super) meta: Meta,
    /// The time after which the keys expire unless the maker continues.
    pub(super) lease_ms: u64,
    /// How long the filter lives if it is not switched to; until its own expiry if `None`.
    pub(super) hold_ms: Option<u64>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        server: &'a Server,
        place: Target<'a>,
        options: &NativeOptions,
        hold_ms: Option<u64>,
    ) -> Result<Self, Error> {
        let meta = options.meta()?;
        // Zeros are written at more than 64 MiB per second.
        let lease_ms = LEASE_MS + (meta.params.num_bytes() >> 26) * 1000;
        Ok(Self { server, place, meta, lease_ms, hold_ms })
    }

    /// Step 1.
    pub(super) async fn claim(&mut self) -> Result<Claim, Error> {
        let key = self.place.meta_key();
        let mut claim = eval(CLAIM, &[&key]);
        claim.arg(self.lease_ms).arg(self.hold_ms.unwrap_or(self.meta.ttl_ms));
        for (field, value) in self.meta.fields() {
            claim.arg(field).arg(value);
        }
        let what = "to write the parameters of the filter";
        let value = run(self.server, &key, claim, what).await?;
        let damaged = || Error::Damaged { key: key.clone(), damage: Damage::Strange.into() };
        let (answer, rest) = items(&value).and_then(<[_]>::split_first).ok_or_else(damaged)?;
        match (word(answer), rest) {
            ("made", [at]) => {
                self.meta.expires_at_ms = word(at).parse().map_err(|_| damaged())?;
                Ok(Claim::Generation)
            }
            ("there", [fields]) => {
                let there = meta_of(fields, &key)?.ok_or_else(damaged)?;
                if there.generation != self.meta.generation {
                    return Ok(Claim::There(there));
                }
                // Ours: the reply to the first attempt was lost.
                self.meta.expires_at_ms = there.expires_at_ms;
                Ok(Claim::Generation)
            }
            _ => Err(Error::WrongType { key }),
        }
    }

    /// Step 1, if finding an existing filter is of no use.
    pub(super) async fn claim_alone(&mut self) -> Result<bool, Error> {
        match self.claim().await? {
            Claim::Generation => Ok(true),
            Claim::There(meta) if meta.state == State::Deleting => {
                remove(self.server, self.place, meta).await?;
                Ok(matches!(self.claim().await?, Claim::Generation))
            }
            Claim::There(_) => Ok(false),
        }
    }

    /// Steps 3 to 5 for a filter whose creator has not completed them.
    pub(super) async fn finish_for(
        server: &'a Server,
        place: Target<'a>,
        meta: Meta,
    ) -> Result<(), Error> {
        let made = Generation::new(meta.clone(), place.name);
        let maker = Self { server, place, meta, lease_ms: 0, hold_ms: None };
        match maker.finish(&made).await {
            Ok(_) => Ok(()),
            // So late that shards have expired: it was never ready.
            Err(Error::Gone { .. }) => maker.take_back(&made).await,
            Err(error) => Err(error),
        }
    }

    /// Steps 2 to 5; deletes the created keys if one fails. `None` if another filter exists
    /// meanwhile.
    pub(super) async fn make(&mut self) -> Result<Option<Generation>, Error> {
        let made = Generation::new(self.meta.clone(), self.place.name);
        let result = async {
            self.make_shards(&made).await?;
            self.finish(&made).await
        };
        match result.await {
            Ok(true) => {
                self.meta.state = State::Ready;
                Ok(Some(Generation { meta: self.meta.clone(), ..made }))
            }
            Ok(false) => self.take_back(&made).await.map(|()| None),
            Err(error) => {
                self.take_back_quietly(&made).await;
                Err(error)
            }
        }
    }

    /// Step 2.
    pub(super) async fn make_shards(&self, made: &Generation) -> Result<(), Error> {
        let lease = self.lease_ms.to_string();
        let shards: Vec<usize> = (0..made.keys.len()).collect();
        for shards in shards.chunks(SHARDS_AT_ONCE) {
            let mut commands = Vec::with_capacity(2 * shards.len());
            for &shard in shards {
                let key = &made.keys[shard].0;
                let mut set = cmd("SETRANGE");
                set.arg(key).arg(made.meta.cut.body_bytes(shard));
                set.arg(&trailer_bytes(made.meta.generation));
                commands.push(made.write(shard, set));
                commands.push(made.write(shard, words(&["PEXPIRE", key, &lease])));
            }
            let replies = self.server.run(commands).await?;
            for (reply, shard) in replies.into_iter().zip(shards.iter().flat_map(|&i| [i, i])) {
                reply.of(&made.keys[shard].0, "to make a shard")?;
            }
        }
        Ok(())
    }

    /// Steps 3 to 5: whether it is ready.
    pub(super) async fn finish(&self, made: &Generation) -> Result<bool, Error> {
        if !self.mark("keeping").await? {
            return Ok(false);
        }
        // Step 4.
        let (own, at) = (made.own_trailer(), self.meta.expires_at_ms);
        let is_own = |trailer: &_| bytes(trailer) == Some(&own);
        if !made.expire(self.server, at, "to keep a shard", is_own).await? {
            return Err(Error::Gone { name: self.place.name.into(), loss: Loss::AtOnce.into() });
        }
        self.mark("ready").await
    }

    /// Steps 3 and 5: whether the parameters are still these.
    async fn mark(&self, state: &str) -> Result<bool, Error> {
        let key = self.place.meta_key();
        let mut mark = eval(MARK, &[&key]);
        mark.arg(self.meta.tag()).arg(self.meta.expires_at_ms).arg(state);
        Ok(word(&run(self.server, &key, mark, "to finish the filter").await?) == "ok")
    }

    /// After an error, which is the one to report.
    pub(super) async fn take_back_quietly(&self, made: &Generation) {
        if let Err(error) = self.take_back(made).await {
            log::debug!("what was made of {} expires: {error}", self.place.name);
        }
    }

    pub(super) async fn take_back(&self, made: &Generation) -> Result<(), Error> {
        made.unlink(self.server).await?;
        forget(self.server, self.place, &self.meta).await
    }
}

/// Deletes a filter: marks it, so that no client attaches and the next one finishes the deletion if
/// this one dies, then deletes the shards, then the parameters. Returns whether it existed.
pub(super) async fn remove(server: &Server, place: Target<'_>, meta: Meta) -> Result<bool, Error> {
    let key = place.meta_key();
    let mut condemn = eval(CONDEMN, &[&key]);
    condemn.arg(meta.tag());
    if word(&run(server, &key, condemn, "to delete the filter").await?) != "ok" {
        return Ok(false);
    }
    let made = Generation::new(meta, place.name);
    made.unlink(server).await?;
    forget(server, place, &made.meta).await?;
    Ok(true)
}

/// Deletes the parameters if they belong to this generation.
async fn forget(server: &Server, place: Target<'_>, meta: &Meta) -> Result<(), Error> {
    let key = place.meta_key();
    let mut forget = eval(FORGET, &[&key]);
    forget.arg(meta.tag());
    run(server, &key, forget, "to delete the parameters of the filter").await.map(drop)
}
