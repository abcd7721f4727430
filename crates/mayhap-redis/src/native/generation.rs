//! One generation of a filter: its parameters and the keys of its values.

use super::meta::Meta;
use super::shards::{TRAILER_BYTES, meta_key, next_key, shard_keys, swap_key};
use super::wire::words;
use crate::server::Command;
use crate::{Error, Server};
use redis::Cmd;
use std::sync::Arc;

/// The key of the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) name: &'a str,
    pub(super) is_next: bool,
}

impl<'a> Target<'a> {
    pub(super) fn live(name: &'a str) -> Self {
        Self { name, is_next: false }
    }

    pub(super) fn next(name: &'a str) -> Self {
        Self { name, is_next: true }
    }

    pub(super) fn meta_key(&self) -> String {
        if self.is_next { next_key(self.name) } else { meta_key(self.name) }
    }

    pub(super) fn swap_key(&self) -> String {
        swap_key(self.name)
    }
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
