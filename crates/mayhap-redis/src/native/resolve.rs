//! How a handle deals with missing or fenced shards: the filter expired, was deleted or evicted, is
//! being switched to another one, or has been.

use super::filter::{Current, NativeFilter};
use super::generation::{Generation, Target};
use super::meta::State;
use super::round::Trailer;
use super::wire::{eval, read_meta, trailer_bytes, value_of};
use crate::Error;
use std::time::{Duration, Instant};

/// Deletes a value created by a late writer in place of a missing shard. Arguments: the position of
/// the trailer.
const SWEEP: &str = "\
local t = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
if #t < 8 or t == string.rep('\\0', 8) then redis.call('UNLINK', KEYS[1]) end
return 'ok'";

/// Replaces a trailer by another one. Arguments: its position, the old one, the new one.
const TRADE: &str = "\
if redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2]) == ARGV[3] then
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[4]) end
return 'ok'";

const POLL: Duration = Duration::from_millis(5);

/// The operation that found missing or fenced shards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) is_query: bool,
    /// A replica may have answered, which may lag behind the master.
    pub(super) from_replica: bool,
}

impl NativeFilter {
    /// Finds out why shards are missing or fenced. When it returns, the call can be repeated; with
    /// `true`, data read from fenced shards was valid at that time.
    pub(super) async fn resolve(
        &self,
        current: &Current,
        bad: &[(usize, Trailer)],
        look: Look,
        until: Instant,
    ) -> Result<bool, Error> {
        let inner = &self.inner;
        let (server, made) = (&inner.server, &current.made);
        let place = Target { name: &inner.name, is_next: current.is_next };
        loop {
            let (meta, token) = read_meta(server, &place.meta_key(), &place.swap_key()).await?;
            let own = made.meta.generation;
            match meta {
                Some(meta) if meta.generation == own && meta.state == State::Ready => {
                    if look.from_replica && bad.iter().any(|(_, trailer)| *trailer == Trailer::Gone)
                    {
                        return Ok(false);
                    }
                    self.check_not_gone(made, bad).await?;
                    // The answer of a query is valid; an insertion has to wait for the switch.
                    if look.is_query || self.lift_fences(made, bad, token).await? {
                        return Ok(true);
                    }
                }
                _ if current.is_next && self.has_become_live(current).await? => return Ok(false),
                Some(meta) if meta.generation != own && meta.state == State::Ready => {
                    if !meta.is_of(inner.digest_function) {
                        return Err(self.gone("it was made again with another digest function"));
                    }
                    let next = Generation::new(meta, &inner.name);
                    self.switch(Current { made: next, is_next: current.is_next });
                    self.sweep_all(made).await;
                    return Ok(false);
                }
                Some(meta)
                    if matches!(meta.state, State::Creating | State::Keeping)
                        && meta.generation != own => {}
                _ => {
                    self.sweep_all(made).await;
                    return Err(self.gone("it expired or was deleted"));
                }
            }
            if Instant::now() >= until {
                return Err(Error::Busy { name: inner.name.clone(), what: "switches" });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub(super) fn gone(&self, reason: &str) -> Error {
        Error::Gone { name: self.inner.name.clone(), reason: reason.into() }
    }

    /// Whether the filter that was meant to replace another one has done so.
    async fn has_become_live(&self, current: &Current) -> Result<bool, Error> {
        let live = Target::live(&self.inner.name);
        let (meta, _) = read_meta(&self.inner.server, &live.meta_key(), &live.swap_key()).await?;
        let Some(meta) = meta else { return Ok(false) };
        let is_it = meta.generation == current.made.meta.generation;
        if is_it {
            let made = Generation { meta, keys: current.made.keys.clone() };
            self.switch(Current { made, is_next: false });
        }
        Ok(is_it)
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
            let (start, end) = made.trailer_range(shard);
            let mut sweep = eval(SWEEP, &[&made.keys[shard].0]);
            sweep.arg(start).arg(end);
            made.write(shard, sweep)
        });
        if let Err(error) = self.inner.server.run(sweep.collect()).await {
            log::debug!("{}: {error}", self.inner.name);
        }
        let (shards, of) = (gone().count(), made.keys.len());
        let key = &made.keys[*first].0;
        Err(self.gone(&format!(
            "{shards} of {of} values, {key} among them, were evicted or deleted by another \
             program; delete the filter and fill it again"
        )))
    }

    /// Releases writers from an abandoned switch: its number is not the token. Whether no fence
    /// remains.
    async fn lift_fences(
        &self,
        made: &Generation,
        bad: &[(usize, Trailer)],
        token: Option<i64>,
    ) -> Result<bool, Error> {
        let mut lifts = Vec::new();
        for &(shard, trailer) in bad {
            let Trailer::Fenced(fence) = trailer else { continue };
            if token == Some(fence) {
                return Ok(false);
            }
            let (start, end) = made.trailer_range(shard);
            let mut lift = eval(TRADE, &[&made.keys[shard].0]);
            lift.arg(start).arg(end).arg(&trailer_bytes(fence)).arg(&made.own_trailer());
            lifts.push(made.write(shard, lift));
        }
        for reply in self.inner.server.run(lifts).await? {
            value_of(reply, &self.inner.name, "to go on after a switch that was given up")?;
        }
        Ok(true)
    }

    /// Deletes the shards of a former generation.
    pub(super) async fn sweep_all(&self, made: &Generation) {
        if let Err(error) = made.unlink(&self.inner.server).await {
            log::debug!("{}: {error}", self.inner.name);
        }
    }
}
