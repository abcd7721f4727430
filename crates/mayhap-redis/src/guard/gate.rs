//! The guard itself.

use super::breaker::CircuitBreaker;
use super::counts::Counters;
use super::error::Shared;
use super::single_flight::{Leader, SingleFlight};
use super::{Cache, Failing, GuardCounts, GuardError, GuardFilter, GuardOptions, Loader};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first byte of a cache's entry.
const VALUE: u8 = b'+';
const ABSENT: u8 = b'-';

type Answer<L> = Result<Option<Vec<u8>>, GuardError<<L as Loader>::Error>>;

/// Answers `get` from a filter, a cache and a loader, in this order: see [`crate::guard`].
///
/// Cheap to clone; clones share everything. A filter's digest should be keyed
/// ([`mayhap::DigestFunction::sip13`]) if untrusted clients choose the keys: for a public digest
/// they can compute keys that pass, which makes the guard useless.
pub struct Guard<F, C, L: Loader> {
    inner: Arc<Inner<F, C, L>>,
}

struct Inner<F, C, L: Loader> {
    filter: F,
    cache: C,
    loader: L,
    options: GuardOptions,
    warmed: AtomicBool,
    to_filter: CircuitBreaker,
    to_cache: CircuitBreaker,
    single_flight: Arc<SingleFlight<Answer<L>>>,
    counters: Counters,
}

/// The filter's answer for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    SurelyNot,
    Maybe,
    Nothing,
}

impl<F: GuardFilter, C: Cache, L: Loader> Guard<F, C, L> {
    /// Creates a guard. It does not trust the filter's "surely absent" until [`Guard::warmed`] is
    /// called.
    pub fn new(filter: F, cache: C, loader: L, options: GuardOptions) -> Self {
        let breaker = || CircuitBreaker::new(options.timeout, options.retry_after);
        let (to_filter, to_cache) = (breaker(), breaker());
        let (warmed, counters) = (AtomicBool::new(false), Counters::default());
        let single_flight = SingleFlight::new();
        let inner = Inner {
            filter,
            cache,
            loader,
            options,
            warmed,
            to_filter,
            to_cache,
            single_flight,
            counters,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Declares that the filter holds every existing key. Until then, keys that the filter denies
    /// go to the loader, and those that it finds are inserted.
    pub fn warmed(&self) {
        // ORDERING: Release, with the Acquire in `get`: a task that sees it sees the insertions
        // before it.
        self.inner.warmed.store(true, Ordering::Release);
    }

    /// The value of a key, or `None` if there is none.
    ///
    /// Concurrent calls for one key share one call of the cache and of the loader (single-flight),
    /// which continues if they are cancelled. Errors are not cached.
    ///
    /// # Errors
    ///
    /// [`GuardError::Load`], [`GuardError::NoAnswer`]; failing closed also [`GuardError::Filter`]
    /// and [`GuardError::Cache`].
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with timers.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, GuardError<L::Error>> {
        let inner = &self.inner;
        inner.counters.requests.add();
        // Before the query: a key may be inserted, and the filter complete, in between.
        // ORDERING: Acquire, with the Release in `warmed`.
        let warmed = inner.warmed.load(Ordering::Acquire);
        let said = inner.query_filter(key).await?;
        if said == Said::SurelyNot && warmed {
            inner.counters.stopped.add();
            return Ok(None);
        }
        let (mut arrival, leader) = inner.single_flight.join(key);
        match leader {
            Some(leader) => drop(tokio::spawn(inner.clone().lead(leader, said))),
            None => inner.counters.joined.add(),
        }
        let landed = arrival.wait_for(Option::is_some).await;
        landed.ok().and_then(|answer| answer.clone()).unwrap_or(Err(GuardError::NoAnswer))
    }

    /// Inserts a key that is about to exist into the filter, and drops its cache entry.
    ///
    /// Call it before the key's row is committed, so that no row is ever unknown to the filter, and
    /// [`Guard::invalidate`] after: an absence may have been cached in between. A key whose row is
    /// not committed after all costs one false positive.
    ///
    /// # Errors
    ///
    /// [`GuardError::Filter`]: do not commit the row, or insert again. [`GuardError::Cache`]: the
    /// key is in the filter, but its cache entry stays until it expires.
    pub async fn insert(&self, key: &[u8]) -> Result<(), GuardError<L::Error>> {
        let inserted = self.inner.filter.insert(key).await;
        inserted.map_err(|error| GuardError::Filter(Arc::new(error)))?;
        self.invalidate(key).await
    }

    /// Drops the cache entry of a key after its value changed or was deleted. Loads in flight in
    /// this process no longer fill the cache; one in another process still may, for at most
    /// [`GuardOptions::value_ttl`].
    ///
    /// # Errors
    ///
    /// [`GuardError::Cache`].
    pub async fn invalidate(&self, key: &[u8]) -> Result<(), GuardError<L::Error>> {
        self.inner.single_flight.outdate(key);
        self.inner.cache.remove(key).await.map_err(|error| GuardError::Cache(error.into()))
    }

    /// The counts so far.
    pub fn counts(&self) -> GuardCounts {
        self.inner.counters.read()
    }

    /// The filter, to insert many keys at once or to read its rate.
    pub fn filter(&self) -> &F {
        &self.inner.filter
    }
}

impl<F: GuardFilter, C: Cache, L: Loader> Inner<F, C, L> {
    async fn query_filter(&self, key: &[u8]) -> Result<Said, GuardError<L::Error>> {
        let query = async { self.filter.contains(key).await.map_err(|e| Arc::new(e) as Shared) };
        match self.to_filter.call(query).await {
            Ok(true) => Ok(Said::Maybe),
            Ok(false) => Ok(Said::SurelyNot),
            Err(error) => {
                self.counters.filter_errors.add();
                self.fail(GuardError::Filter(error)).map(|()| Said::Nothing)
            }
        }
    }

    /// Continues if it fails open.
    fn fail(&self, error: GuardError<L::Error>) -> Result<(), GuardError<L::Error>> {
        match self.options.failing {
            Failing::Open => Ok(()),
            Failing::Closed => {
                self.counters.refused.add();
                Err(error)
            }
        }
    }

    async fn lead(self: Arc<Self>, leader: Leader<Answer<L>>, said: Said) {
        let answer = self.answer(&leader, said).await;
        leader.finish(answer);
    }

    /// The cache's answer, or the loader's, which is put into the cache.
    async fn answer(&self, leader: &Leader<Answer<L>>, said: Said) -> Answer<L> {
        let key = &*leader.key;
        match self.to_cache.call(self.cache.get(key)).await.map(split) {
            Ok(Some((VALUE, value))) => {
                self.counters.cache_hits.add();
                return Ok(Some(value));
            }
            Ok(Some((ABSENT, _))) => {
                self.counters.absent_confirmed.add();
                return Ok(None);
            }
            Ok(_) => {}
            Err(error) => {
                self.counters.cache_errors.add();
                self.fail(GuardError::Cache(error))?;
            }
        }
        self.counters.loads.add();
        let loaded = self.loader.load(key.to_vec()).await.map_err(|error| {
            self.counters.load_errors.add();
            GuardError::Load(Arc::new(error))
        })?;
        match (&loaded, said) {
            (Some(value), _) => {
                let entry = [&[VALUE], value.as_slice()].concat();
                self.keep(leader, &entry, self.options.value_ttl).await;
                if said == Said::SurelyNot {
                    self.complete_filter(key).await;
                }
            }
            (None, Said::Maybe) => {
                self.counters.false_positives.add();
                self.keep(leader, &[ABSENT], self.options.absent_ttl).await;
            }
            // An absence costs memory in the cache: store it only for the few keys that pass the
            // filter.
            (None, Said::SurelyNot | Said::Nothing) => {}
        }
        Ok(loaded)
    }

    /// Puts an entry into the cache, unless the key changed meanwhile.
    async fn keep(&self, leader: &Leader<Answer<L>>, entry: &[u8], ttl: Duration) {
        if ttl.is_zero() || leader.is_outdated() {
            return;
        }
        if self.to_cache.call(self.cache.set(&leader.key, entry, ttl)).await.is_err() {
            self.counters.cache_errors.add();
        }
        // The changing task removed the entry before or after it was set: in the first case it is
        // removed here, even if `set` failed, as it may have been executed.
        if leader.is_outdated() && self.to_cache.call(self.cache.remove(&leader.key)).await.is_err()
        {
            self.counters.cache_errors.add();
        }
    }

    /// Inserts a key that exists into a filter that is still being filled.
    async fn complete_filter(&self, key: &[u8]) {
        let inserted = async { self.filter.insert(key).await.map_err(|e| Arc::new(e) as Shared) };
        if self.to_filter.call(inserted).await.is_err() {
            self.counters.filter_errors.add();
        }
    }
}

/// The first byte of an entry, and the rest.
fn split(entry: Option<Vec<u8>>) -> Option<(u8, Vec<u8>)> {
    let mut entry = entry?;
    if entry.is_empty() {
        return None;
    }
    let kind = entry.remove(0);
    Some((kind, entry))
}

impl<F, C, L: Loader> Clone for Guard<F, C, L> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<F, C, L: Loader> fmt::Debug for Guard<F, C, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("counts", &self.inner.counters.read()).finish_non_exhaustive()
    }
}
