//! The handle of a filter on a server.

use super::coalesce::Coalescer;
use super::extent::Extent;
use super::generation::{Generation, Target};
use super::round::Act;
use crate::{Error, FilterInfo, Inserted, InsertedBatch, RemoteFilter, Server};
use mayhap::{Bitmap, Digest, DigestFunction, FilterParams};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A filter in mayhap's own layout on a server: blocks in string values, with all bits of a key in
/// one of them.
///
/// Cheap to clone; clones share their state. A call costs one round trip. An insertion is one
/// `BITFIELD`, so "new" is decided by the server, once for each key; a query is a `GETRANGE` of the
/// key's block. Single calls of many tasks are coalesced: while four pipelines of insertions, or
/// two of queries, are in flight, further keys wait for one of them to complete. Many tasks,
/// processes and machines may use one filter at once.
///
/// If it was switched to a rebuilt one, a handle detects that and continues with the new one. If
/// part of it is missing because it expired, was evicted or was deleted, calls return
/// [`Error::Gone`], never "absent".
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
    pub(super) coalescer: Coalescer,
    was_created: bool,
    current: RwLock<Arc<Current>>,
}

/// The generation that a handle assumes.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) made: Generation,
    /// Whether it is meant to replace the filter of this name, and has not done so yet.
    pub(super) is_next: bool,
}

impl NativeFilter {
    pub(super) fn of(
        server: &Server,
        place: Target<'_>,
        digest_function: DigestFunction,
        made: Generation,
        was_created: bool,
    ) -> Self {
        let current = Current { made, is_next: place.is_next };
        let inner = Inner {
            server: server.clone(),
            name: place.name.into(),
            digest_function,
            coalescer: Coalescer::default(),
            was_created,
            current: RwLock::new(Arc::new(current)),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn current(&self) -> Arc<Current> {
        self.inner.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Continues with another generation.
    pub(super) fn switch(&self, current: Current) {
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(current);
    }

    /// The parameters of the filter, as known to this handle.
    pub fn params(&self) -> FilterParams {
        self.current().made.meta.params
    }

    /// Which of the filters that had this name the handle found last: a random number, and another
    /// one as soon as it has noticed that the filter was replaced. Keys that were inserted under an
    /// earlier one are in the new filter only if it was made with them.
    pub fn generation(&self) -> i64 {
        self.current().made.meta.generation
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> DigestFunction {
        self.inner.digest_function
    }

    /// How keys are extracted from input lines, as in a file.
    pub fn key_options(&self) -> String {
        self.current().made.meta.key_options.clone()
    }

    /// Whether this handle created the filter, rather than finding it.
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
        Ok(self.answer(self.inner.digest_function.digest(key), Act::Query).await?.yes)
    }

    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        self.contains_digests(&self.digests(keys)).await
    }

    async fn info(&self) -> Result<FilterInfo, Error> {
        self.read_info(Extent::All).await
    }

    async fn glance(&self) -> Result<FilterInfo, Error> {
        self.read_info(Extent::Sample).await
    }

    async fn expire(&self, after: Option<Duration>) -> Result<(), Error> {
        self.refresh_ttl(after).await
    }

    /// Switches to an empty filter with the same parameters: readers see the old one or the new
    /// one.
    async fn clear(&self) -> Result<(), Error> {
        self.switch_to_empty().await
    }

    async fn delete(&self) -> Result<bool, Error> {
        self.delete_all().await
    }
}
