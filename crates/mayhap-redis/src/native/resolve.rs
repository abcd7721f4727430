//! How a handle deals with missing or fenced shards: the filter expired, was deleted or evicted, is
//! being switched to another one, or has been.

use super::generation::{Generation, Trailer};
use super::handle::{Current, Handle, Until};
use super::meta::{Meta, State};
use super::place::Target;
use super::wire::{read_meta, trailer_bytes};
use crate::{Error, Loss};
use std::collections::BTreeSet;
use std::time::Duration;

/// Deletes a value created by a late writer in place of a missing shard. Arguments: the position of
/// the trailer.
const SWEEP: &str = "\
local t = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
if #t < 8 or t == string.rep('\\0', 8) then redis.call('UNLINK', KEYS[1]) end
return 'ok'";

/// Replaces a trailer by another one and sets the expiry, 0 for never. Arguments: the position of
/// the trailer, the old one, the new one, the expiry.
pub(super) const TRADE: &str = "\
if redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2]) == ARGV[3] then
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[4])
if ARGV[5] == '0' then redis.call('PERSIST', KEYS[1])
else redis.call('PEXPIREAT', KEYS[1], ARGV[5]) end end
return 'ok'";

/// Fences a shard, unless it is fenced already, and lets it expire. Arguments: the position of the
/// trailer, the generation, the fence, the milliseconds.
const RETIRE: &str = "\
if redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2]) == ARGV[3] then
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'ok'";

/// The fence of shards that were never fenced by a switch: of a generation that a failover undid.
const RETIRED: i64 = -1;
/// How long replaced shards stay in a cluster: a failover may take the parameters back.
const RETIRED_MS: u64 = 60_000;

const POLL: Duration = Duration::from_millis(5);

/// The operation that found missing or fenced shards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) is_query: bool,
    /// A replica may have answered, which may lag behind the master.
    pub(super) from_replica: bool,
}

impl Look {
    /// A write, which waits for the end of a switch.
    pub(super) const WRITE: Self = Self { is_query: false, from_replica: false };
}

impl Handle {
    /// Finds out whether the current filter still has its name, and continues with another one that
    /// has.
    pub(super) async fn confirm(&self) -> Result<(), Error> {
        let current = self.current();
        let (meta, _) = read_meta(&self.server, self.place_of(&current)).await?;
        let own = current.made.meta.generation;
        if meta.is_some_and(|meta| meta.generation == own && meta.state == State::Ready) {
            return Ok(());
        }
        let look = Look { is_query: true, from_replica: false };
        self.resolve(&current, &[], look, self.until_switched()).await.map(drop)
    }

    /// Finds out why shards are missing or fenced. When it returns, the call can be repeated; with
    /// `true`, data read from fenced shards was valid at that time.
    pub(super) async fn resolve(
        &self,
        current: &Current,
        bad: &[(usize, Trailer)],
        look: Look,
        until: Until<'_>,
    ) -> Result<bool, Error> {
        let (server, made) = (&self.server, &current.made);
        loop {
            let (meta, token) = read_meta(server, self.place_of(current)).await?;
            let own = made.meta.generation;
            match meta {
                Some(meta) if meta.generation == own && meta.state == State::Ready => {
                    if look.from_replica && bad.iter().any(|(_, trailer)| *trailer == Trailer::Gone)
                    {
                        return Ok(false);
                    }
                    self.check_not_gone(made, bad).await?;
                    let lifted = self.lift_fences(made, &meta, bad, token).await;
                    if look.is_query {
                        // The answer is valid. A user who may not write leaves the fences.
                        if let Err(error) = lifted {
                            log::debug!("{}: {error}", self.name);
                        }
                        return Ok(true);
                    }
                    // An insertion has to wait for the switch.
                    if lifted? {
                        return Ok(true);
                    }
                }
                _ if current.is_next && self.has_become_live(current).await? => return Ok(false),
                Some(meta) if meta.generation != own && meta.state == State::Ready => {
                    if !meta.is_of(self.digest_function) {
                        return Err(self.gone(Loss::OtherDigest));
                    }
                    self.switch(Generation::new(meta, &self.name), current.is_next);
                    self.retire(made).await;
                    return Ok(false);
                }
                Some(meta)
                    if matches!(meta.state, State::Creating | State::Keeping)
                        && meta.generation != own => {}
                _ => {
                    self.sweep_all(made).await;
                    return Err(self.gone(Loss::ExpiredOrDeleted));
                }
            }
            until.pause(POLL).await?;
        }
    }

    /// Whether the filter that was meant to replace another one has done so.
    async fn has_become_live(&self, current: &Current) -> Result<bool, Error> {
        let (meta, _) = read_meta(&self.server, Target::live(&self.name)).await?;
        let meta = meta.filter(|meta| meta.generation == current.made.meta.generation);
        let Some(meta) = meta else { return Ok(false) };
        self.switch(Generation { meta, keys: current.made.keys.clone() }, false);
        Ok(true)
    }

    /// Deletes values created by late writers in place of missing shards, and returns the error.
    async fn check_not_gone(
        &self,
        made: &Generation,
        bad: &[(usize, Trailer)],
    ) -> Result<(), Error> {
        let gone = || bad.iter().filter(|(_, trailer)| *trailer == Trailer::Gone);
        let Some((first, _)) = gone().next() else { return Ok(()) };
        let sweep = gone().map(|&(shard, _)| {
            made.write(shard, made.script(SWEEP, shard, &[&made.keys[shard].0]))
        });
        if let Err(error) = self.server.run(sweep.collect()).await {
            log::debug!("{}: {error}", self.name);
        }
        let (missing, of) = (gone().count(), made.keys.len());
        Err(self.gone(Loss::Values { missing, of, key: made.keys[*first].0.clone() }))
    }

    /// Releases writers from a switch that was abandoned, or undone by a failover of the
    /// parameters: its number is not the token. All shards get the expiry of the filter back, as
    /// they may have been retired. Returns whether no fence remains.
    async fn lift_fences(
        &self,
        made: &Generation,
        meta: &Meta,
        bad: &[(usize, Trailer)],
        token: Option<i64>,
    ) -> Result<bool, Error> {
        let fence = |&(_, trailer): &(usize, Trailer)| match trailer {
            Trailer::Fenced(fence) => Some(fence),
            Trailer::Ours | Trailer::Gone => None,
        };
        let fences: BTreeSet<i64> = bad.iter().filter_map(fence).collect();
        if token.is_some_and(|token| fences.contains(&token)) {
            return Ok(false);
        }
        let shards = 0..made.keys.len();
        let lifts = shards.flat_map(|shard| {
            fences.iter().map(move |&fence| {
                let mut lift = made.script(TRADE, shard, &[&made.keys[shard].0]);
                lift.arg(&trailer_bytes(fence)).arg(&made.own_trailer()).arg(meta.expires_at_ms);
                made.write(shard, lift)
            })
        });
        for reply in self.server.run(lifts.collect()).await? {
            reply.of(&self.name, "to go on after a switch that was given up")?;
        }
        Ok(true)
    }

    /// Deletes the shards of a replaced generation. In a cluster they expire instead: a failover of
    /// the master of the parameters alone may undo the switch.
    pub(super) async fn retire(&self, made: &Generation) {
        if self.server.masters().len() <= 1 {
            return self.sweep_all(made).await;
        }
        let retire = |shard: usize| {
            let mut retire = made.script(RETIRE, shard, &[&made.keys[shard].0]);
            retire.arg(&made.own_trailer()).arg(&trailer_bytes(RETIRED)).arg(RETIRED_MS);
            made.write(shard, retire)
        };
        let retired = self.server.run((0..made.keys.len()).map(retire).collect()).await;
        if let Err(error) = retired {
            log::debug!("{}: {error}", self.name);
        }
    }

    /// Deletes all shards of a generation.
    pub(super) async fn sweep_all(&self, made: &Generation) {
        if let Err(error) = made.unlink(&self.server).await {
            log::debug!("{}: {error}", self.name);
        }
    }
}
