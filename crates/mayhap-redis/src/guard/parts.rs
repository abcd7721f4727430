//! The parts of a guard: a filter, a cache, a loader.

use crate::{Error, RemoteFilter};
use mayhap::{Filter, LayoutKind, SharedBlocks};
use std::future::Future;
use std::time::Duration;

/// A filter for a guard: every [`RemoteFilter`], and the concurrent filters of the crate `mayhap`,
/// whose bits are in this process.
pub trait GuardFilter: Send + Sync + 'static {
    /// Whether the key may be in it: `false` is certain, so a filter that has lost its bits returns
    /// an error instead of `false`.
    fn contains(&self, key: &[u8]) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Inserts a key.
    fn insert(&self, key: &[u8]) -> impl Future<Output = Result<(), Error>> + Send;
}

impl<F: RemoteFilter> GuardFilter for F {
    async fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        RemoteFilter::contains(self, key).await
    }

    async fn insert(&self, key: &[u8]) -> Result<(), Error> {
        RemoteFilter::insert(self, key).await.map(drop)
    }
}

impl<L: LayoutKind + 'static> GuardFilter for Filter<L, SharedBlocks> {
    async fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(Self::contains(self, key))
    }

    async fn insert(&self, key: &[u8]) -> Result<(), Error> {
        Self::insert(self, key);
        Ok(())
    }
}

/// The error of a cache.
pub type CacheError = Box<dyn std::error::Error + Send + Sync>;

/// A cache for a guard: any store of bytes with a time to live.
///
/// An entry is one byte, `+` for a value that follows or `-` for an absence, and the value;
/// anything else is overwritten. A cache may drop an entry early.
pub trait Cache: Send + Sync + 'static {
    /// The entry of a key.
    fn get(&self, key: &[u8]) -> impl Future<Output = Result<Option<Vec<u8>>, CacheError>> + Send;

    /// Stores an entry for `ttl`, which is never zero.
    fn set(
        &self,
        key: &[u8],
        entry: &[u8],
        ttl: Duration,
    ) -> impl Future<Output = Result<(), CacheError>> + Send;

    /// Forgets an entry, if there is one.
    fn remove(&self, key: &[u8]) -> impl Future<Output = Result<(), CacheError>> + Send;
}

/// The source of all values, such as a database. Any `Fn(Vec<u8>) -> impl Future` is a loader.
///
/// It runs in a separate task, which continues if the callers give up: limit its time and
/// concurrency (a connection pool does both).
pub trait Loader: Send + Sync + 'static {
    /// The error of the loader.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The value of a key; `None` if there is none.
    fn load(
        &self,
        key: Vec<u8>,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Self::Error>> + Send;
}

impl<L, T, E> Loader for L
where
    L: Fn(Vec<u8>) -> T + Send + Sync + 'static,
    T: Future<Output = Result<Option<Vec<u8>>, E>> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    type Error = E;

    async fn load(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, E> {
        self(key).await
    }
}
