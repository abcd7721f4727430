//! Filters on Redis, Valkey or a cluster, for the clients of this server: the setting `store`.
//!
//! The filters are in mayhap's own layout, so the command, the library and other servers use them
//! at the same time. Nothing about them is kept here except handles, which find out by themselves
//! that a filter was replaced or deleted, and within seconds that it has lost its name. An answer
//! is given once the store has replied: a key that was acknowledged is there, and without a reply
//! the answer is an error.
//!
//! `store.rs` connects; `known.rs` has the handles, `create.rs` the parameters of new filters,
//! `list.rs` their names, `rename.rs` gives them others, `look.rs` has their numbers, `items.rs`
//! takes keys or their digests; `breaker.rs` fails requests at once while the store is away,
//! `error.rs` has the errors.

mod breaker;
mod create;
mod error;
mod items;
mod known;
mod list;
mod look;
mod rename;
mod store;

pub(crate) use create::{ONE_SIZE, Unfit, fitting};
pub use error::{ConnectError, Error};
pub(crate) use error::{NOT_SERVED, name_of};
pub(crate) use items::{Items, contains_items, digests, insert_or_create};
pub(crate) use list::{List, MAX_NAMES};
pub(crate) use look::{Bits, Look};
pub(crate) use rename::rename;

use crate::config::{Config, read_key_file_of};
use crate::lock::lock;
use breaker::Breakers;
use known::Known;
use list::Names;
use mayhap::{DigestFunction, SecretKey};
use mayhap_engine::Count;
use mayhap_redis::{
    Certificates, Inserted, NativeFilter, NativeOptions, RemoteFilter, ServerOptions, Trouble,
    WaitReplicas,
};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use store::Store;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The variable of the environment with the password of the store, as for the command.
const PASSWORD: &str = "REDISCLI_AUTH";
/// Connecting may take this long, within `store_timeout`.
const CONNECT: Duration = Duration::from_secs(5);
/// A reply may take this part of `store_timeout`, so that a silent node is tried again.
const TRIES: u32 = 3;
/// Replicas may take this long to confirm a write.
const REPLICAS: Duration = Duration::from_millis(500);
/// The longest time to live, in milliseconds: scripts of the store count in doubles.
pub(crate) const MAX_TTL_MS: u64 = 1 << 52;
/// A call that ends by itself knows more about the failure than one that is cut off.
pub(crate) const GRACE: Duration = Duration::from_millis(200);
/// The store may take this long to tell whether a filter still has its name.
const CONFIRM: Duration = Duration::from_millis(500);

/// The filters of a store, as this server's clients see them.
#[derive(Debug)]
pub struct Front {
    store: Arc<Store>,
    secret_key: Option<SecretKey>,
    known: Mutex<Known>,
    names: Names,
    handle: Handle,
    /// Dropped with the front: the thread of the store ends.
    _stop: oneshot::Sender<()>,
    is_reached: AtomicBool,
    breakers: Breakers,
    /// Requests that had no answer of the store.
    unanswered: Count,
}

impl Front {
    /// Connects to the store of these settings, if they name one. A store that is not reached
    /// within `store_timeout` is tried again until it is; requests fail meanwhile.
    ///
    /// # Errors
    ///
    /// [`ConnectError`], for what does not pass by itself: the store refuses the user or the
    /// database, certificates cannot be used, it is no store.
    pub fn connect(config: &Config) -> Result<Option<Self>, ConnectError> {
        let Some(address) = &config.store else { return Ok(None) };
        let address = match std::env::var(PASSWORD) {
            Ok(password) if !password.is_empty() => address.clone().or_password(&password),
            _ => address.clone(),
        };
        let (options, secret_key) = (options(config)?, read_key_file_of(config)?);
        let breakers = Breakers::new(address.is_cluster());
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ConnectError::Thread)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            // The sender is never used: its end is the signal.
            let _ = runtime.block_on(stopped);
        };
        thread::Builder::new().name("store".into()).spawn(run).map_err(ConnectError::Thread)?;
        let store = Store::connect(&handle, address, options)?;
        let (known, unanswered) = (Mutex::default(), Count::default());
        Ok(Some(Self {
            store,
            secret_key,
            known,
            names: Names::default(),
            handle,
            _stop: stop,
            is_reached: AtomicBool::new(true),
            breakers,
            unanswered,
        }))
    }

    /// The address of the store, without its password.
    pub fn name(&self) -> &str {
        self.store.name()
    }

    /// Whether its filters have a secret key.
    pub(crate) fn is_keyed(&self) -> bool {
        self.secret_key.is_some()
    }

    /// Whether the last request to the store was answered by it.
    pub fn is_reached(&self) -> bool {
        // ORDERING: Relaxed. A flag that stands for itself.
        self.store.is_connected() && self.is_reached.load(Ordering::Relaxed)
    }

    /// The number of requests that the store has not answered.
    pub fn unanswered(&self) -> u64 {
        self.unanswered.get()
    }

    /// Runs a request on the thread of the store.
    pub(crate) fn spawn(&self, request: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(request);
    }

    /// Waits for a request on this filter within `store_timeout`, and notes whether the store has
    /// answered. Where it has not answered several in a row, one a second is sent.
    ///
    /// # Errors
    ///
    /// The errors of the request; [`mayhap_redis::Error::Unavailable`] if it takes longer,
    /// [`Error::NotSent`].
    pub(crate) async fn ask<T>(
        &self,
        name: &str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.ask_together(name, 1, request).await
    }

    /// Like [`Front::ask`], for this number of clients' requests that are sent as one.
    ///
    /// # Errors
    ///
    /// As [`Front::ask`].
    pub(crate) async fn ask_together<T>(
        &self,
        name: &str,
        requests: usize,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.guarded(name, requests, self.in_time(request)).await
    }

    /// Like [`Front::ask_together`], for requests that take as long as they take.
    ///
    /// # Errors
    ///
    /// The errors of the request; [`Error::NotSent`].
    async fn guarded<T>(
        &self,
        name: &str,
        requests: usize,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if let Err(error) = self.store.server() {
            self.unanswered.add(requests as u64);
            return Err(error);
        }
        if let Err(unanswered) = self.breakers.check(name, Instant::now()) {
            self.unanswered.add(requests as u64);
            return Err(Error::NotSent { store: self.name().into(), unanswered });
        }
        let result = request.await;
        match &result {
            Err(error) if error.is_unanswered() => {
                // One is counted already.
                self.unanswered.add(requests as u64 - 1);
                self.breakers.note(name, requests, Instant::now());
            }
            Err(error) if error.is_of_server() => {}
            _ => self.breakers.close(name),
        }
        result
    }

    /// Notes that requests on this filter were not sent in time, since those before them had no
    /// reply; returns their error.
    pub(crate) fn note_silence(&self, name: &str, requests: usize) -> Error {
        self.unanswered.add(requests as u64);
        self.breakers.note(name, requests, Instant::now());
        self.unavailable(Trouble::Silent)
    }

    /// How long a request waits for the store.
    pub(crate) fn deadline(&self) -> Duration {
        self.store.deadline()
    }

    /// Like [`Front::ask`], for requests that are always sent.
    ///
    /// # Errors
    ///
    /// As [`Front::ask`], except for [`Error::NotSent`].
    pub(crate) async fn in_time<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let deadline = self.store.deadline();
        let result = tokio::time::timeout(deadline + GRACE, request).await;
        self.noted(result.unwrap_or_else(|_| Err(self.unavailable(Trouble::Silent))))
    }

    /// Notes whether the store has answered.
    fn noted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if matches!(&result, Err(error) if error.is_of_server()) {
            return result;
        }
        let is_reached = !matches!(&result, Err(error) if error.is_unanswered());
        // ORDERING: Relaxed, as in `is_reached`.
        self.is_reached.store(is_reached, Ordering::Relaxed);
        if !is_reached {
            self.unanswered.add(1);
        }
        result
    }

    fn unavailable(&self, trouble: Trouble) -> Error {
        let (server, after) = (self.name().into(), self.store.deadline());
        mayhap_redis::Error::Unavailable { server, node: None, after, trouble }.into()
    }

    /// Whether the store answers now.
    ///
    /// # Errors
    ///
    /// Why it does not. A user that may not call `INFO` has an answer.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        let server = self.store.server()?.clone();
        // Connections belong to the thread that makes them.
        let status = self.handle.spawn(async move { server.status().await });
        let status = async {
            match status.await {
                Ok(Ok(_) | Err(mayhap_redis::Error::Refused { .. })) => Ok(()),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(self.unavailable("the request was given up".to_owned().into())),
            }
        };
        self.in_time(status).await
    }

    /// Creates a filter; `false` if there is one of this name with these parameters.
    pub(crate) async fn create(&self, name: &str, options: NativeOptions) -> Result<bool, Error> {
        let digest_function =
            self.secret_key.map_or_else(DigestFunction::default, DigestFunction::sip13);
        let options = NativeOptions { digest_function, ..options };
        let filter = Box::pin(NativeFilter::create(self.store.server()?, name, &options)).await?;
        let was_created = filter.was_created();
        self.names.change();
        self.keep(name, filter);
        Ok(was_created)
    }

    /// Inserts keys: for each whether it was new, or may have been.
    pub(crate) async fn insert(&self, name: &str, keys: &[&[u8]]) -> Result<Vec<bool>, Error> {
        let kept = self.kept_for(name, keys).await?;
        match insert(&kept, keys).await {
            Err(mayhap_redis::Error::Gone { .. }) => {
                Ok(insert(&self.attach(name).await?, keys).await?)
            }
            result => Ok(result?),
        }
    }

    /// Queries keys: for each whether it may be in the filter.
    pub(crate) async fn contains(&self, name: &str, keys: &[&[u8]]) -> Result<Vec<bool>, Error> {
        let kept = self.kept_for(name, keys).await?;
        match contains(&kept, keys).await {
            Err(mayhap_redis::Error::Gone { .. }) => {
                Ok(contains(&self.attach(name).await?, keys).await?)
            }
            result => Ok(result?),
        }
    }

    /// Whether there is a filter of this name.
    pub(crate) async fn exists(&self, name: &str) -> Result<bool, Error> {
        Ok(self.find(name).await?.is_some())
    }

    /// The filter that has this name now, if there is one.
    async fn find(&self, name: &str) -> Result<Option<NativeFilter>, Error> {
        match Box::pin(NativeFilter::attach(self.store.server()?, name, self.secret_key)).await {
            Ok(filter) => Ok(Some(filter)),
            Err(mayhap_redis::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a filter; `false` if there is none.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool, Error> {
        Ok(self.delete_all(&[name]).await? > 0)
    }

    /// Deletes filters; returns how many there were. If one cannot be deleted, none is; without an
    /// answer of the store, some may have been.
    pub(crate) async fn delete_all(&self, names: &[&str]) -> Result<usize, Error> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.find(name).await?);
        }
        let mut deleted = 0;
        for filter in found {
            deleted += usize::from(Box::pin(filter.delete()).await?);
        }
        for name in names {
            lock(&self.known).remove(name);
        }
        self.names.change();
        Ok(deleted)
    }

    /// Sets the time to live of a filter, or that it does not expire; `false` if there is none.
    /// After an error some of its keys may have the new time and others the old one.
    pub(crate) async fn expire(&self, name: &str, after: Option<Duration>) -> Result<bool, Error> {
        let Some(filter) = self.find(name).await? else { return Ok(false) };
        Box::pin(filter.refresh_ttl(after)).await?;
        Ok(true)
    }

    /// The filter for these keys. Without keys no call would find that the filter is gone.
    async fn kept_for(&self, name: &str, keys: &[&[u8]]) -> Result<NativeFilter, Error> {
        if keys.is_empty() { self.attach(name).await } else { self.kept(name).await }
    }

    /// The filter of this name by its kept handle, which may find that the filter is gone and
    /// another one has its name.
    async fn kept(&self, name: &str) -> Result<NativeFilter, Error> {
        let now = Instant::now();
        let kept = lock(&self.known).get(name, now);
        let Some((filter, is_due)) = kept else { return self.attach(name).await };
        if is_due {
            let most = CONFIRM.min(self.store.deadline() / TRIES);
            match tokio::time::timeout(most, Box::pin(filter.confirm())).await {
                Ok(Err(mayhap_redis::Error::Gone { .. })) => return self.attach(name).await,
                // Without an answer its bits may still have one.
                told => lock(&self.known).note(name, now, matches!(told, Ok(Ok(())))),
            }
        }
        checked(filter)
    }

    /// The filter that has this name now.
    async fn attach(&self, name: &str) -> Result<NativeFilter, Error> {
        lock(&self.known).remove(name);
        let filter =
            Box::pin(NativeFilter::attach(self.store.server()?, name, self.secret_key)).await?;
        self.keep(name, filter.clone());
        checked(filter)
    }

    fn keep(&self, name: &str, filter: NativeFilter) {
        lock(&self.known).put(name, filter);
    }
}

/// A key that may have been new is: its client must not take it for a repeat.
const fn is_new(inserted: Inserted) -> bool {
    matches!(inserted, Inserted::New | Inserted::Unsure)
}

async fn insert(filter: &NativeFilter, keys: &[&[u8]]) -> Result<Vec<bool>, mayhap_redis::Error> {
    if let &[key] = keys {
        return Ok(vec![is_new(filter.insert(key).await?)]);
    }
    let inserted = Box::pin(filter.insert_batch(keys)).await?;
    Ok((0..keys.len()).map(|i| is_new(inserted.get(i))).collect())
}

async fn contains(filter: &NativeFilter, keys: &[&[u8]]) -> Result<Vec<bool>, mayhap_redis::Error> {
    if let &[key] = keys {
        return Ok(vec![filter.contains(key).await?]);
    }
    Ok(Box::pin(filter.contains_batch(keys)).await?.iter().collect())
}

/// A filter whose keys are words of requests as they are, not parts of lines.
fn checked(filter: NativeFilter) -> Result<NativeFilter, Error> {
    let options = filter.key_options();
    if options.is_empty() {
        return Ok(filter);
    }
    Err(Error::KeysOfLines { name: filter.name().into(), options: options.replace('\n', " ") })
}

fn options(config: &Config) -> Result<ServerOptions, mayhap_redis::Error> {
    let deadline = Duration::from_millis(config.store_timeout_ms);
    let client = config.store_tls_cert.as_deref().zip(config.store_tls_key.as_deref());
    let wait = |replicas| WaitReplicas { replicas, timeout: REPLICAS.min(deadline) };
    Ok(ServerOptions {
        connect_timeout: CONNECT.min(deadline),
        response_timeout: deadline / TRIES,
        deadline,
        wait_replicas: config.store_wait_replicas.map(wait),
        certificates: Certificates::open(config.store_tls_ca.as_deref(), client)?,
        ..ServerOptions::default()
    })
}
