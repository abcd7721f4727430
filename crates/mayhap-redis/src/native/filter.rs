//! The handle of a filter on a server.

use super::meta::Meta;
use super::round::Act;
use super::shards::{TRAILER_BYTES, meta_key, next_key, shard_keys, swap_key};
use super::together::Together;
use super::wire::words;
use crate::server::Command;
use crate::{Error, FilterInfo, Inserted, InsertedBatch, RemoteFilter, Server};
use mayhap::{Bitmap, Digest, DigestFunction, FilterParams};
use redis::Cmd;
use std::sync::{Arc, PoisonError, RwLock};

/// A filter of ours on a server: blocks in string values, the bits of a key all in one of them.
///
/// Cheap to clone; clones share what they learn. A call costs one round trip. An insertion is one
/// `BITFIELD`, so "new" is decided by the server, once for each key; a query is a `GETRANGE` of the
/// key's block. Single calls of many tasks go out together: while two pipelines of them are on
/// their way, the keys of others wait for one of these to come back.
/// Many tasks, processes and machines may use one filter at once.
///
/// If it was switched to a rebuilt one, a handle notices and goes on with that. If keys of it are
/// gone, because they expired, were evicted or deleted, calls end with [`Error::Gone`], never with
/// "absent".
///
/// # Examples
///
/// ```no_run
/// use mayhap_redis::{
///     Address, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
/// };
///
/// # async fn run() -> Result<(), mayhap_redis::Error> {
/// let address = Address::parse("redis://127.0.0.1:6379/0/seen")?;
/// let server = Server::connect(&address, ServerOptions::default()).await?;
/// let options = NativeOptions::for_items(1_000_000, 0.001)?;
/// let seen = NativeFilter::create(&server, "seen", &options).await?;
/// assert_eq!(seen.insert(b"https://example.org/").await?, Inserted::New);
/// assert!(seen.contains(b"https://example.org/").await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct NativeFilter {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) server: Server,
    pub(super) name: String,
    pub(super) digest_function: DigestFunction,
    pub(super) together: Together,
    was_created: bool,
    current: RwLock<Arc<Current>>,
}

/// What a handle believes is there.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) made: Made,
    /// Whether it is to take the place of the filter of this name, and has not yet.
    pub(super) is_next: bool,
}

/// Under which key the parameters are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    pub(super) is_next: bool,
}

impl<'a> Place<'a> {
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

/// Parameters, and the keys of shards that follow from them.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) meta: Meta,
    pub(super) keys: Arc<[(String, u16)]>,
}

impl Made {
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

impl NativeFilter {
    pub(super) fn of(
        server: &Server,
        place: Place<'_>,
        digest_function: DigestFunction,
        made: Made,
        was_created: bool,
    ) -> Self {
        let current = Current { made, is_next: place.is_next };
        let inner = Inner {
            server: server.clone(),
            name: place.name.into(),
            digest_function,
            together: Together::default(),
            was_created,
            current: RwLock::new(Arc::new(current)),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn current(&self) -> Arc<Current> {
        self.inner.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with another generation.
    pub(super) fn switch(&self, current: Current) {
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(current);
    }

    /// The numbers of the filter, as this handle knows it.
    pub fn params(&self) -> FilterParams {
        self.current().made.meta.params
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> DigestFunction {
        self.inner.digest_function
    }

    /// How keys are cut out of input lines, as in a file.
    pub fn key_options(&self) -> String {
        self.current().made.meta.key_options.clone()
    }

    /// Whether this handle made the filter, and did not find it.
    pub fn was_created(&self) -> bool {
        self.inner.was_created
    }

    /// The connection.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    fn digests(&self, keys: &[&[u8]]) -> Vec<Digest> {
        let mut digests = vec![Digest::default(); keys.len()];
        self.inner.digest_function.digest_batch(keys, &mut digests);
        digests
    }
}

impl RemoteFilter for NativeFilter {
    fn name(&self) -> &str {
        &self.inner.name
    }

    async fn insert(&self, key: &[u8]) -> Result<Inserted, Error> {
        let answer = self.answer(self.inner.digest_function.digest(key), Act::Insert).await?;
        Ok(match (answer.yes, answer.repeated) {
            (true, _) => Inserted::New,
            (false, true) => Inserted::Unsure,
            (false, false) => Inserted::Present,
        })
    }

    async fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        self.insert_digests(&self.digests(keys)).await
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.answer(self.inner.digest_function.digest(key), Act::Ask).await?.yes)
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        self.contains_digests(&self.digests(keys)).await
    }

    async fn info(&self) -> Result<FilterInfo, Error> {
        self.read_info().await
    }

    async fn delete(&self) -> Result<bool, Error> {
        self.delete_all().await
    }
}
