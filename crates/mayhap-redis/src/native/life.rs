//! Time to live, deletion, and information about a filter.

use super::extent::{Extent, Piece};
use super::filter::{Current, NativeFilter};
use super::generation::{Generation, Target};
use super::maker::forget;
use super::meta::{Meta, State};
use super::options::millis;
use super::resolve::Look;
use super::round::Trailer;
use super::wire::{bytes, eval, int, items, meta_of, read_meta, value_of, word, words};
use crate::observe::scaled;
use crate::server::Command;
use crate::{Error, FilterInfo, Server};
use mayhap::sizing::estimated_fpp;
use mayhap::{Estimate, Layout};
use redis::Value;
use std::time::{Duration, Instant};

/// Keys: the parameters. Arguments: generation, time to live or 0. Returns the current and the new
/// expiry; it never delays the expiry of the filter.
const WHEN: &str = "\
local old = redis.call('HMGET', KEYS[1], 'generation', 'expires_at_ms')
if old[1] ~= ARGV[1] then return {'lost'} end
if ARGV[2] == '0' then return {'ok', old[2], '0'} end
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
return {'ok', old[2], string.format('%.0f', at)}";

/// Keys: the parameters. Arguments: generation, expiry, time to live.
const EXPIRE: &str = "\
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'expires_at_ms', ARGV[2], 'ttl_ms', ARGV[3])
if ARGV[2] == '0' then redis.call('PERSIST', KEYS[1])
else redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 'ok'";

/// Keys: the parameters. Arguments: generation.
const CONDEMN: &str = "\
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'state', 'deleting')
return 'ok'";

impl NativeFilter {
    /// Sets the expiry of all keys of the filter, counted from now; `None`: never.
    ///
    /// The parameters never outlive the shards: they are the last to be extended and the first to
    /// be shortened.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`]; [`Error::Filter`] for a time below 1 ms; those of the connection, after
    /// which some of the keys may have the new time and the others the old one: set it again.
    pub async fn refresh_ttl(&self, ttl: Option<Duration>) -> Result<(), Error> {
        let ttl = ttl.map_or(Ok(0), millis)?;
        let until = Instant::now() + self.inner.server.options().deadline;
        loop {
            let made = self.fresh().await?;
            let result = self.set_ttl(&made, ttl).await;
            if !matches!(result, Err(Error::Gone { .. })) || Instant::now() >= until {
                return result;
            }
            // For a filter that was switched to meanwhile, the time to live counts.
            match self.fresh().await {
                Ok(now) if now.meta.generation != made.meta.generation => {}
                _ => return result,
            }
        }
    }

    async fn set_ttl(&self, made: &Generation, ttl: u64) -> Result<(), Error> {
        let key = self.place().meta_key();
        let generation = format!("{:016x}", made.meta.generation);
        let mut when = eval(WHEN, &[&key]);
        when.arg(&generation).arg(ttl);
        let reply = self.inner.server.one(Command::write(&key, when)).await?;
        let value = value_of(reply, &key, "the expiry of the filter")?;
        let Some([_, before, at]) = items(&value) else {
            return Err(self.gone("it was deleted"));
        };
        let number = |value: &Value| word(value).parse::<u64>().unwrap_or(0);
        let never_is_last = |at: u64| at.wrapping_sub(1);
        let at = number(at);
        let is_longer = never_is_last(at) >= never_is_last(number(before));
        if is_longer {
            self.expire_shards(made, at).await?;
        }
        let mut expire = eval(EXPIRE, &[&key]);
        expire.arg(&generation).arg(at).arg(ttl);
        let reply = self.inner.server.one(Command::write(&key, expire)).await?;
        if word(&value_of(reply, &key, "the expiry of the filter")?) != "ok" {
            return Err(self.gone("it was deleted"));
        }
        if is_longer {
            return Ok(());
        }
        let result = self.expire_shards(made, at).await;
        match &result {
            // All of it may have expired at once, as intended.
            Err(Error::Gone { .. }) if self.fresh().await.is_err() => Ok(()),
            _ => result,
        }
    }

    pub(super) async fn expire_shards(&self, made: &Generation, at: u64) -> Result<(), Error> {
        let at = at.to_string();
        let commands = made.keys.iter().enumerate().flat_map(|(shard, (key, _))| {
            let expire = ["PEXPIREAT", key, &at];
            let expire = if at == "0" { words(&["PERSIST", key]) } else { words(&expire) };
            [made.write(shard, expire), made.write(shard, made.get_trailer(shard))]
        });
        let replies = self.inner.server.run(commands.collect()).await?;
        for (i, reply) in replies.into_iter().enumerate() {
            let value = value_of(reply, &made.keys[i / 2].0, "the expiry of a shard")?;
            if i % 2 == 1 && bytes(&value).is_none_or(|bytes| bytes.len() != 8) {
                return Err(self.gone("part of it was evicted or deleted by another program"));
            }
        }
        Ok(())
    }

    pub(super) fn place(&self) -> Target<'_> {
        self.place_of(&self.current())
    }

    fn place_of(&self, current: &Current) -> Target<'_> {
        Target { name: &self.inner.name, is_next: current.is_next }
    }

    /// The current filter, after switches.
    pub(super) async fn fresh(&self) -> Result<Generation, Error> {
        let place = self.place();
        let server = &self.inner.server;
        let (meta, _) = read_meta(server, &place.meta_key(), &place.swap_key()).await?;
        match meta {
            Some(meta) if meta.state == State::Ready => Ok(Generation::new(meta, &self.inner.name)),
            _ => Err(self.gone("it expired or was deleted")),
        }
    }

    pub(super) async fn delete_all(&self) -> Result<bool, Error> {
        let place = self.place();
        let server = &self.inner.server;
        let (meta, _) = read_meta(server, &place.meta_key(), &place.swap_key()).await?;
        match meta {
            Some(meta) => Self::remove(server, place.meta_key(), place.name, &meta).await,
            None => Ok(false),
        }
    }

    /// Deletes a filter: marks it, so that no client attaches and the next one finishes the
    /// deletion if this one dies, then deletes the shards, then the parameters. Returns whether it
    /// existed.
    pub(super) async fn remove(
        server: &Server,
        key: String,
        name: &str,
        meta: &Meta,
    ) -> Result<bool, Error> {
        let mut condemn = eval(CONDEMN, &[&key]);
        condemn.arg(format!("{:016x}", meta.generation));
        let reply = server.one(Command::write(&key, condemn)).await?;
        if word(&value_of(reply, &key, "to delete the filter")?) != "ok" {
            return Ok(false);
        }
        Generation::new(meta.clone(), name).unlink(server).await?;
        forget(server, &key, meta.generation).await?;
        Ok(true)
    }

    /// Counts the bits of one generation: if it is switched to another one meanwhile, those of the
    /// new one.
    pub(super) async fn read_info(&self, extent: Extent) -> Result<FilterInfo, Error> {
        let until = Instant::now() + self.inner.server.options().deadline;
        loop {
            let current = self.current();
            let pieces = extent.pieces(&current.made.meta);
            let (seen, bad) = self.look(&current, &pieces).await?;
            let is_own = |meta: &Meta| {
                meta.generation == current.made.meta.generation && meta.state == State::Ready
            };
            if let Some(meta) = seen.meta.as_ref().filter(|meta| is_own(meta) && bad.is_empty()) {
                let counted = pieces.iter().map(|(_, bytes)| bytes.end - bytes.start).sum();
                let ones = match extent {
                    Extent::All => seen.count_ones,
                    Extent::Sample => scaled(seen.count_ones, counted, meta.params.num_bits()),
                };
                return Ok(info(meta, ones, seen.ttl));
            }
            let look = Look { is_query: true, from_replica: false };
            self.resolve(&current, &bad, look, until).await?;
        }
    }

    /// Counts the bits of these pieces on the server and reads the parameters: all in one round
    /// trip unless there are more than 256. Reports which of their shards are missing.
    async fn look(
        &self,
        current: &Current,
        pieces: &[Piece],
    ) -> Result<(Seen, Vec<(usize, Trailer)>), Error> {
        let (made, key) = (&current.made, self.place_of(current).meta_key());
        let (mut seen, mut bad) = (Seen::default(), Vec::new());
        for (i, pieces) in pieces.chunks(256).enumerate() {
            let mut commands = Vec::with_capacity(2 * pieces.len() + 2);
            if i == 0 {
                // Not as a read: a replica may lag behind.
                commands.push(Command::write(&key, words(&["HGETALL", &key])));
                commands.push(Command::write(&key, words(&["PTTL", &key])));
            }
            commands.extend(pieces.iter().flat_map(|(shard, bytes)| {
                let [from, end] = [bytes.start, bytes.end - 1].map(|byte| byte.to_string());
                let count = words(&["BITCOUNT", &made.keys[*shard].0, &from, &end]);
                [made.write(*shard, count), made.write(*shard, made.get_trailer(*shard))]
            }));
            let mut replies = self.inner.server.run_unconfirmed(commands).await?.into_iter();
            let mut next = |key: &str, what| match replies.next() {
                Some(reply) => value_of(reply, key, what),
                None => Ok(Value::Nil),
            };
            if i == 0 {
                seen.meta = meta_of(&next(&key, "the parameters of the filter")?, &key)?;
                seen.ttl = int(&next(&key, "the expiry of the filter")?);
            }
            for &(shard, _) in pieces {
                let key = &made.keys[shard].0;
                let count = next(key, "to count bits")?;
                seen.count_ones += int(&count).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                // A fenced shard is complete: it is being switched.
                if !made.is_there(&next(key, "to look at a shard")?) {
                    bad.push((shard, Trailer::Gone));
                }
            }
        }
        Ok((seen, bad))
    }
}

/// The findings about a filter.
#[derive(Default)]
struct Seen {
    meta: Option<Meta>,
    /// Milliseconds until it expires; negative if it never does.
    ttl: Option<i64>,
    count_ones: u64,
}

/// The information computed from the numbers of a filter.
fn info(meta: &Meta, count_ones: u64, ttl: Option<i64>) -> FilterInfo {
    let (params, cut) = (meta.params, meta.cut);
    let items = Estimate::from_ones(&params, count_ones).items;
    let fpp = match params.layout() {
        Layout::Standard => estimated_fpp(count_ones, params.num_bits(), params.num_hashes()),
        _ if items.is_finite() => params.expected_fpp(items.round() as u64),
        _ => 1.0,
    };
    FilterInfo {
        layout: params.layout().name(),
        num_bits: params.num_bits(),
        num_hashes: params.num_hashes(),
        expected_items: Some(params.expected_items()),
        grows: false,
        target_fpp: Some(params.target_fpp()),
        count_ones,
        estimated_items: items.is_finite().then_some(items),
        estimated_fpp: fpp,
        num_shards: cut.num_shards(),
        num_bytes: params.num_bytes() + cut.num_shards() * 8,
        ttl_ms: ttl.and_then(|ttl| u64::try_from(ttl).ok()),
    }
}
