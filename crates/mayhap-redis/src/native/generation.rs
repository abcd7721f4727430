//! One generation of a filter: its parameters and the keys of its values.

use super::meta::Meta;
use super::shards::{TRAILER_BYTES, shard_keys};
use super::wire::{bytes, eval, trailer_bytes};
use crate::server::{Command, words};
use crate::{Error, Server};
use redis::{Cmd, Value};
use std::sync::Arc;

/// The meaning of a shard's trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trailer {
    /// The generation: the shard is complete and no switch is in progress.
    Ours,
    /// Nothing: the shard is missing, and the value was created by a late writer.
    Gone,
    /// The number of a switch to another filter, in progress or done.
    Fenced(i64),
}

/// The parameters, and the keys of shards derived from them.
#[derive(Debug, Clone)]
pub(super) struct Generation {
    pub(super) meta: Meta,
    pub(super) keys: Arc<[(String, u16)]>,
}

impl Generation {
    pub(super) fn new(meta: Meta, name: &str) -> Self {
        let keys = shard_keys(name, meta.generation, meta.cut.num_shards()).into();
        Self { meta, keys }
    }

    pub(super) fn write(&self, shard: usize, cmd: Cmd) -> Command {
        Command::write_to(self.keys[shard].1, cmd)
    }

    pub(super) fn read(&self, shard: usize, cmd: Cmd) -> Command {
        Command::read_from(self.keys[shard].1, cmd)
    }

    /// The trailer of a complete shard, as bytes.
    pub(super) fn own_trailer(&self) -> [u8; 8] {
        trailer_bytes(self.meta.generation)
    }

    pub(super) fn trailer(&self, trailer: i64) -> Trailer {
        match trailer {
            0 => Trailer::Gone,
            own if own == self.meta.generation => Trailer::Ours,
            fence => Trailer::Fenced(fence),
        }
    }

    pub(super) fn trailer_of(&self, value: &Value) -> Trailer {
        match bytes(value).map(<[u8; 8]>::try_from) {
            Some(Ok(bytes)) => self.trailer(i64::from_be_bytes(bytes)),
            _ => Trailer::Gone,
        }
    }

    /// Whether this is the trailer of an existing shard.
    pub(super) fn is_there(&self, trailer: &Value) -> bool {
        self.trailer_of(trailer) != Trailer::Gone
    }

    /// First and last byte of the trailer of a shard.
    pub(super) fn trailer_range(&self, shard: usize) -> (u64, u64) {
        let start = self.meta.cut.body_bytes(shard);
        (start, start + TRAILER_BYTES - 1)
    }

    /// Reads the trailer of a shard.
    pub(super) fn get_trailer(&self, shard: usize) -> Cmd {
        let (start, end) = self.trailer_range(shard);
        words(&["GETRANGE", &self.keys[shard].0, &start.to_string(), &end.to_string()])
    }

    /// A script on a shard, whose first arguments are the position of its trailer.
    pub(super) fn script(&self, script: &str, shard: usize, keys: &[&str]) -> Cmd {
        let (start, end) = self.trailer_range(shard);
        let mut script = eval(script, keys);
        script.arg(start).arg(end);
        script
    }

    /// Whether a master of its shards was lost or replaced after the first `since` losses.
    pub(super) fn has_lost(&self, server: &Server, since: u64) -> bool {
        server.has_lost(self.keys.iter().map(|&(_, slot)| slot), since)
    }

    /// Sets when the shards expire, 0 for never, and reads their trailers: whether all are right.
    pub(super) async fn expire(
        &self,
        server: &Server,
        at: u64,
        what: &str,
        is_right: impl Fn(&Value) -> bool,
    ) -> Result<bool, Error> {
        let at = at.to_string();
        let commands = self.keys.iter().enumerate().flat_map(|(shard, (key, _))| {
            let expire = ["PEXPIREAT", key, &at];
            let expire = if at == "0" { words(&["PERSIST", key]) } else { words(&expire) };
            [self.write(shard, expire), self.write(shard, self.get_trailer(shard))]
        });
        let replies = server.run(commands.collect()).await?;
        for (i, reply) in replies.into_iter().enumerate() {
            let value = reply.of(&self.keys[i / 2].0, what)?;
            if i % 2 == 1 && !is_right(&value) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deletes all shards.
    pub(super) async fn unlink(&self, server: &Server) -> Result<(), Error> {
        for start in (0..self.keys.len()).step_by(1024) {
            let shards = start..self.keys.len().min(start + 1024);
            let unlink = |i: usize| self.write(i, words(&["UNLINK", &self.keys[i].0]));
            server.run(shards.map(unlink).collect()).await?;
        }
        Ok(())
    }
}
