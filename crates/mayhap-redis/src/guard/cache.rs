//! Redis as the cache.

use super::{Cache, CacheError};
use crate::server::{Command, slot_of};
use crate::{Error, Server};
use redis::{Cmd, Value, cmd};
use std::time::Duration;

/// Servers reject an expiry that does not fit into their clock; this one is 285,000 years.
const MAX_TTL_MS: u64 = 1 << 53;

/// A [`Cache`] in Redis, Valkey or a cluster: a string value per entry, with a prefix before its
/// key.
///
/// Use a separate server, or one whose `maxmemory-policy` is `volatile-*`: with `allkeys-*` a full
/// server also evicts the shards of a filter.
#[derive(Debug, Clone)]
pub struct RedisCache {
    server: Server,
    prefix: String,
}

impl RedisCache {
    /// Stores entries on this server, under keys that begin with `prefix`.
    ///
    /// A guard has its own time-out, but [`crate::ServerOptions::deadline`] limits how long
    /// [`super::Guard::invalidate`] tries.
    pub fn new(server: Server, prefix: impl Into<String>) -> Self {
        Self { server, prefix: prefix.into() }
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_bytes(), key].concat()
    }

    async fn run(&self, key: &[u8], command: Command) -> Result<Value, CacheError> {
        let value = self.server.one(command).await?.value;
        Ok(value.map_err(|error| match error {
            Error::WrongType { .. } => {
                Error::WrongType { key: String::from_utf8_lossy(key).into_owned() }
            }
            error => error,
        })?)
    }
}

impl Cache for RedisCache {
    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CacheError> {
        let key = self.key(key);
        match self.run(&key, Command::read_from(slot_of(&key), Cmd::get(&key))).await? {
            Value::BulkString(entry) => Ok(Some(entry)),
            _ => Ok(None),
        }
    }

    async fn set(&self, key: &[u8], entry: &[u8], ttl: Duration) -> Result<(), CacheError> {
        let key = self.key(key);
        let mut set = cmd("SET");
        // Rounded up: no entry may be kept for 0 ms.
        let ttl_ms = ttl.as_nanos().div_ceil(1_000_000).clamp(1, MAX_TTL_MS.into()) as u64;
        set.arg(&key).arg(entry).arg("PX").arg(ttl_ms);
        self.run(&key, Command::write_to(slot_of(&key), set)).await.map(drop)
    }

    async fn remove(&self, key: &[u8]) -> Result<(), CacheError> {
        let key = self.key(key);
        self.run(&key, Command::write_to(slot_of(&key), Cmd::unlink(&key))).await.map(drop)
    }
}
