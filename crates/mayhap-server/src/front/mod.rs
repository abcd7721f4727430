//! Filters on Redis, Valkey or a cluster, for the clients of this server: the setting `store`.
//!
//! The filters are in mayhap's own layout, so the command, the library and other servers use them
//! at the same time. Nothing about them is kept here except handles, which find out by themselves
//! that a filter was replaced or deleted. An answer is given once the store has replied: a key that
//! was acknowledged is there, and without a reply the answer is an error. Single keys of all
//! clients share pipelines ([`NativeFilter::insert`]).

mod breaker;
mod error;

pub use error::{ConnectError, Error};

use crate::config::{Config, read_key_file_of};
use crate::lock::lock;
use breaker::Breakers;
use mayhap::{DigestFunction, SecretKey};
use mayhap_engine::Count;
use mayhap_redis::{
    Certificates, FilterInfo, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server,
    ServerOptions, Trouble, WaitReplicas,
};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
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
/// A call that ends by itself knows more about the failure than one that is cut off.
const GRACE: Duration = Duration::from_millis(200);
/// The number of filters whose handles are kept.
const MAX_KNOWN: usize = 10_000;
/// Bits of larger filters are sampled to estimate their number of keys: counting all of them would
/// hold up the other clients of the store.
const COUNTED_BYTES: u64 = 16 << 20;

/// The filters of a store, as this server's clients see them.
#[derive(Debug)]
pub struct Front {
    server: Server,
    secret_key: Option<SecretKey>,
    known: Mutex<HashMap<Box<str>, NativeFilter>>,
    handle: Handle,
    /// Dropped with the front: the thread of the store ends.
    _stop: oneshot::Sender<()>,
    is_reached: AtomicBool,
    breakers: Breakers,
    /// Requests that had no answer of the store.
    unanswered: Count,
}

impl Front {
    /// Connects to the store of these settings, if they name one.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]; a store that cannot be reached is tried again until `store_timeout`.
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
        let (sender, receiver) = std::sync::mpsc::channel();
        handle.spawn(async move {
            // The receiver waits.
            let _ = sender.send(Server::connect(&address, options).await);
        });
        let ended = |_| ConnectError::Thread(std::io::Error::other("the thread has ended"));
        let server = receiver.recv().map_err(ended)??;
        let (known, unanswered) = (Mutex::default(), Count::default());
        Ok(Some(Self {
            server,
            secret_key,
            known,
            handle,
            _stop: stop,
            is_reached: AtomicBool::new(true),
            breakers,
            unanswered,
        }))
    }

    /// The address of the store, without its password.
    pub fn name(&self) -> &str {
        self.server.name()
    }

    /// Whether the last request to the store was answered by it.
    pub fn is_reached(&self) -> bool {
        // ORDERING: Relaxed. A flag that stands for itself.
        self.is_reached.load(Ordering::Relaxed)
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
        if let Err(unanswered) = self.breakers.check(name, Instant::now()) {
            self.unanswered.add(1);
            return Err(Error::NotSent { store: self.name().into(), unanswered });
        }
        let result = self.in_time(request).await;
        let is_answered = !matches!(&result, Err(error) if error.is_unanswered());
        self.breakers.note(name, is_answered, Instant::now());
        result
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
        let deadline = self.server.options().deadline;
        let result = tokio::time::timeout(deadline + GRACE, request).await;
        let result = result.unwrap_or_else(|_| Err(self.unavailable(Trouble::Silent)));
        let is_reached = !matches!(&result, Err(error) if error.is_unanswered());
        // ORDERING: Relaxed, as in `is_reached`.
        self.is_reached.store(is_reached, Ordering::Relaxed);
        if !is_reached {
            self.unanswered.add(1);
        }
        result
    }

    fn unavailable(&self, trouble: Trouble) -> Error {
        let (server, after) = (self.name().into(), self.server.options().deadline);
        mayhap_redis::Error::Unavailable { server, node: None, after, trouble }.into()
    }

    /// Whether the store answers now.
    ///
    /// # Errors
    ///
    /// Why it does not. A user that may not call `INFO` has an answer.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        let server = self.server.clone();
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
        let filter = NativeFilter::create(&self.server, name, &options).await?;
        let was_created = filter.was_created();
        self.keep(name, filter);
        Ok(was_created)
    }

    /// Inserts keys: for each whether it was new, or may have been.
    pub(crate) async fn insert(&self, name: &str, keys: &[&[u8]]) -> Result<Vec<bool>, Error> {
        let kept = self.kept(name).await?;
        match insert(&kept, keys).await {
            Err(mayhap_redis::Error::Gone { .. }) => {
                Ok(insert(&self.attach(name).await?, keys).await?)
            }
            result => Ok(result?),
        }
    }

    /// Queries keys: for each whether it may be in the filter.
    pub(crate) async fn contains(&self, name: &str, keys: &[&[u8]]) -> Result<Vec<bool>, Error> {
        let kept = self.kept(name).await?;
        match contains(&kept, keys).await {
            Err(mayhap_redis::Error::Gone { .. }) => {
                Ok(contains(&self.attach(name).await?, keys).await?)
            }
            result => Ok(result?),
        }
    }

    /// Describes a filter.
    pub(crate) async fn info(&self, name: &str) -> Result<FilterInfo, Error> {
        let kept = self.kept(name).await?;
        match info(&kept).await {
            Err(mayhap_redis::Error::Gone { .. }) => Ok(info(&self.attach(name).await?).await?),
            result => Ok(result?),
        }
    }

    /// Whether there is a filter of this name.
    pub(crate) async fn exists(&self, name: &str) -> Result<bool, Error> {
        match NativeFilter::attach(&self.server, name, self.secret_key).await {
            Ok(_) => Ok(true),
            Err(mayhap_redis::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a filter; `false` if there is none.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool, Error> {
        let deleted = match NativeFilter::attach(&self.server, name, self.secret_key).await {
            Ok(filter) => filter.delete().await?,
            Err(mayhap_redis::Error::NotFound { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        lock(&self.known).remove(name);
        Ok(deleted)
    }

    /// The filter of this name by its kept handle, which may find that the filter is gone and
    /// another one has its name.
    async fn kept(&self, name: &str) -> Result<NativeFilter, Error> {
        let kept = lock(&self.known).get(name).cloned();
        match kept {
            Some(filter) => checked(filter),
            None => self.attach(name).await,
        }
    }

    /// The filter that has this name now.
    async fn attach(&self, name: &str) -> Result<NativeFilter, Error> {
        lock(&self.known).remove(name);
        let filter = NativeFilter::attach(&self.server, name, self.secret_key).await?;
        self.keep(name, filter.clone());
        checked(filter)
    }

    fn keep(&self, name: &str, filter: NativeFilter) {
        let mut known = lock(&self.known);
        if known.len() >= MAX_KNOWN {
            // They are found again, in one round trip each.
            known.clear();
        }
        known.insert(name.into(), filter);
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
    let inserted = filter.insert_batch(keys).await?;
    Ok((0..keys.len()).map(|i| is_new(inserted.get(i))).collect())
}

async fn contains(filter: &NativeFilter, keys: &[&[u8]]) -> Result<Vec<bool>, mayhap_redis::Error> {
    if let &[key] = keys {
        return Ok(vec![filter.contains(key).await?]);
    }
    Ok(filter.contains_batch(keys).await?.iter().collect())
}

async fn info(filter: &NativeFilter) -> Result<FilterInfo, mayhap_redis::Error> {
    if filter.params().num_bytes() <= COUNTED_BYTES {
        filter.info().await
    } else {
        filter.glance().await
    }
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
