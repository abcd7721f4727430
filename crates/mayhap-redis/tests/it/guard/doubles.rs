//! A filter, a cache and a loader in memory that fail on demand.

use mayhap_redis::Error;
use mayhap_redis::guard::{Cache, CacheError, GuardFilter, Loader};
use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Longer than the timeout and the breaker's open time together.
pub(crate) const WAIT: Duration = Duration::from_secs(3);

/// The fault of a double.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Flaw {
    #[default]
    None,
    Error,
    Silence,
    Panic,
}

/// Lets other tasks run until a condition holds.
pub(crate) async fn turn(so: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the condition is never met");
}

/// The behaviour of a double, and the number of its calls.
#[derive(Debug, Default)]
struct Manner {
    calls: AtomicUsize,
    flaw: Mutex<Flaw>,
    held: Mutex<Option<watch::Receiver<()>>>,
}

impl Manner {
    fn enter(&self) -> Flaw {
        self.calls.fetch_add(1, Ordering::SeqCst);
        *self.flaw.lock().unwrap()
    }

    /// Waits until the holder is dropped.
    async fn wait(&self) {
        let held = self.held.lock().unwrap().clone();
        if let Some(mut held) = held {
            while held.changed().await.is_ok() {}
        }
    }

    fn hold(&self) -> watch::Sender<()> {
        let (sender, receiver) = watch::channel(());
        *self.held.lock().unwrap() = Some(receiver);
        sender
    }
}

/// Never wrong, except where a key was added that does not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestFilter(Arc<(Manner, Mutex<HashSet<Vec<u8>>>)>);

impl TestFilter {
    pub(crate) fn add(&self, key: &str) {
        self.0.1.lock().unwrap().insert(key.into());
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.1.lock().unwrap().contains(key.as_bytes())
    }

    pub(crate) fn fail(&self, flaw: Flaw) {
        *self.0.0.flaw.lock().unwrap() = flaw;
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.0.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn hold(&self) -> watch::Sender<()> {
        self.0.0.hold()
    }

    async fn enter(&self) -> Result<(), Error> {
        match self.0.0.enter() {
            Flaw::None => Ok(()),
            Flaw::Silence => pending().await,
            Flaw::Error | Flaw::Panic => Err(Error::NotFound { name: "test".into() }),
        }
    }
}

impl GuardFilter for TestFilter {
    async fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        let found = self.0.1.lock().unwrap().contains(key);
        self.enter().await?;
        self.0.0.wait().await;
        Ok(found)
    }

    async fn insert(&self, key: &[u8]) -> Result<(), Error> {
        self.enter().await?;
        self.0.1.lock().unwrap().insert(key.to_vec());
        Ok(())
    }
}

type Entries = HashMap<Vec<u8>, (Vec<u8>, Instant)>;

#[derive(Debug, Clone, Default)]
pub(crate) struct TestCache(Arc<(Manner, AtomicUsize, Mutex<Entries>)>);

impl TestCache {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        let mut entries = self.0.2.lock().unwrap();
        entries.retain(|_, (_, until)| Instant::now() < *until);
        entries
    }

    pub(crate) fn put(&self, key: &str, entry: &[u8]) {
        self.entries().insert(key.into(), (entry.into(), Instant::now() + WAIT));
    }

    pub(crate) fn entry(&self, key: &str) -> Option<Vec<u8>> {
        self.entries().get(key.as_bytes()).map(|(entry, _)| entry.clone())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.0.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn writes(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }

    pub(crate) fn fail(&self, flaw: Flaw) {
        *self.0.0.flaw.lock().unwrap() = flaw;
    }

    /// Entries are written when the holder is dropped.
    pub(crate) fn hold_writes(&self) -> watch::Sender<()> {
        self.0.0.hold()
    }

    async fn enter(&self) -> Result<(), CacheError> {
        match self.0.0.enter() {
            Flaw::None => Ok(()),
            Flaw::Silence => pending().await,
            Flaw::Error | Flaw::Panic => Err(io::Error::other("the cache is broken").into()),
        }
    }
}

impl Cache for TestCache {
    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CacheError> {
        self.enter().await?;
        Ok(self.entries().get(key).map(|(entry, _)| entry.clone()))
    }

    async fn set(&self, key: &[u8], entry: &[u8], ttl: Duration) -> Result<(), CacheError> {
        assert!(!ttl.is_zero());
        self.enter().await?;
        self.0.1.fetch_add(1, Ordering::SeqCst);
        self.0.0.wait().await;
        self.entries().insert(key.to_vec(), (entry.to_vec(), Instant::now() + ttl));
        Ok(())
    }

    async fn remove(&self, key: &[u8]) -> Result<(), CacheError> {
        self.enter().await?;
        self.entries().remove(key);
        Ok(())
    }
}

type Rows = HashMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone, Default)]
pub(crate) struct TestLoader(Arc<(Manner, Mutex<Rows>)>);

impl TestLoader {
    pub(crate) fn put(&self, key: &str, value: &str) {
        self.0.1.lock().unwrap().insert(key.into(), value.into());
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.0.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn fail(&self, flaw: Flaw) {
        *self.0.0.flaw.lock().unwrap() = flaw;
    }

    /// Rows are read at once, and arrive when the holder is dropped.
    pub(crate) fn hold(&self) -> watch::Sender<()> {
        self.0.0.hold()
    }
}

impl Loader for TestLoader {
    type Error = io::Error;

    async fn load(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, io::Error> {
        let value = self.0.1.lock().unwrap().get(&key).cloned();
        match self.0.0.enter() {
            Flaw::None => {}
            Flaw::Panic => panic!("a loader that panics, as the test wants it"),
            Flaw::Error | Flaw::Silence => return Err(io::Error::other("the row is locked")),
        }
        self.0.0.wait().await;
        Ok(value)
    }
}
