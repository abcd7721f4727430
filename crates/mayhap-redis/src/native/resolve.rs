//! How a handle deals with missing or fenced shards: the filter expired, was deleted or evicted, is
//! being switched to another one, or has been.

use super::generation::{Generation, Trailer};
use super::handle::{Current, Handle, Until};
use super::meta::State;
use super::place::Target;
use super::wire::{read_meta, trailer_bytes};
use crate::Error;
use std::time::Duration;

/// Deletes a value created by a late writer in place of a missing shard. Arguments: the position of
/// the trailer.
const SWEEP: &str = "\
local t = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])
if #t < 8 or t == string.rep('\\0', 8) then redis.call('UNLINK', KEYS[1]) end
return 'ok'";

/// Replaces a trailer by another one. Arguments: its position, the old one, the new one.
pub(super) const TRADE: &str = "\
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

impl Look {
    /// A write, which waits for the end of a switch.
    pub(super) const WRITE: Self = Self { is_query: false, from_replica: false };
}

impl Handle {
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
                    // The answer of a query is valid; an insertion has to wait for the switch.
                    if look.is_query || self.lift_fences(made, bad, token).await? {
                        return Ok(true);
                    }
                }
                _ if current.is_next && self.has_become_live(current).await? => return Ok(false),
                Some(meta) if meta.generation != own && meta.state == State::Ready => {
                    if !meta.is_of(self.digest_function) {
                        return Err(self.gone("it was made again with another digest function"));
                    }
                    self.switch(Generation::new(meta, &self.name), current.is_next);
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
        let (shards, of) = (gone().count(), made.keys.len());
        let key = &made.keys[*first].0;
        Err(self.gone(&format!(
            "{shards} of {of} values, {key} among them, were evicted or deleted by another \
             program; delete the filter and fill it again"
        )))
    }

    /// Releases writers from an abandoned switch, whose number is not the token. Returns whether no
    /// fence remains.
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
            let mut lift = made.script(TRADE, shard, &[&made.keys[shard].0]);
            lift.arg(&trailer_bytes(fence)).arg(&made.own_trailer());
            lifts.push(made.write(shard, lift));
        }
        for reply in self.server.run(lifts).await? {
            reply.of(&self.name, "to go on after a switch that was given up")?;
        }
        Ok(true)
    }

    /// Deletes the shards of a former generation.
    pub(super) async fn sweep_all(&self, made: &Generation) {
        if let Err(error) = made.unlink(&self.server).await {
            log::debug!("{}: {error}", self.name);
        }
    }
}
