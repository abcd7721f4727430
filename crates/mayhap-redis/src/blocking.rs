//! The same filters for programs without async: each call blocks.
//!
//! A [`Client`] has a connection and its runtime; [`Filter`] has the calls common to all filters.
//! For other calls, [`Client::wait`] waits for any async one.
//!
//! ```
//! use mayhap_redis::blocking::Client;
//! use mayhap_redis::{Address, Inserted, NativeFilter, NativeOptions, ServerOptions};
//! # use test_servers::{RedisOptions, RedisServer, ready};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if !ready(&["redis-server"]) {
//! #     return Ok(());
//! # }
//! # let redis = RedisServer::start(&RedisOptions::default())?;
//! # let url = format!("{}/0/seen", redis.url());
//! let address = Address::parse(&url)?; // such as redis://127.0.0.1:6379/0/seen
//! let client = Client::connect(&address, ServerOptions::default())?;
//! let options = NativeOptions::for_items(100_000, 0.001)?;
//! let seen = client.filter(NativeFilter::create(client.server(), "seen", &options))?;
//! assert_eq!(seen.insert(b"https://example.org/")?, Inserted::New);
//! client.wait(seen.inner().refresh_ttl(None))?;
//! assert!(seen.contains(b"https://example.org/")?);
//! # Ok(())
//! # }
//! ```

use crate::{Address, Error, FilterInfo, Inserted, InsertedBatch, RemoteFilter, Server};
use mayhap::Bitmap;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A connection, with the runtime that drives it while a call waits. Cheap to clone; threads may
/// share it.
///
/// # Panics
///
/// All calls of this module panic within async code, which must not block.
#[derive(Debug, Clone)]
pub struct Client {
    runtime: Arc<Runtime>,
    server: Server,
}

impl Client {
    /// [`Server::connect`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn connect(address: &Address, options: crate::ServerOptions) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Refused {
            what: "to wait for a connection".into(),
            reason: error.to_string(),
        })?;
        let server = runtime.block_on(Server::connect(address, options))?;
        Ok(Self { runtime: Arc::new(runtime), server })
    }

    /// The connection, for calls that need it.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Waits for an async call.
    pub fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Waits for a filter, for use with blocking calls.
    ///
    /// # Errors
    ///
    /// The errors of the call.
    pub fn filter<F: RemoteFilter>(
        &self,
        call: impl Future<Output = Result<F, Error>>,
    ) -> Result<Filter<F>, Error> {
        Ok(Filter { inner: self.wait(call)?, client: self.clone() })
    }
}

/// A filter with blocking versions of the calls of [`RemoteFilter`].
#[derive(Debug, Clone)]
pub struct Filter<F> {
    client: Client,
    inner: F,
}

impl<F: RemoteFilter> Filter<F> {
    /// The filter with its async calls.
    pub fn inner(&self) -> &F {
        &self.inner
    }

    /// [`RemoteFilter::name`].
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// [`RemoteFilter::insert`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn insert(&self, key: &[u8]) -> Result<Inserted, Error> {
        self.client.wait(self.inner.insert(key))
    }

    /// [`RemoteFilter::insert_batch`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn insert_batch(&self, keys: &[&[u8]]) -> Result<InsertedBatch, Error> {
        self.client.wait(self.inner.insert_batch(keys))
    }

    /// [`RemoteFilter::contains`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.client.wait(self.inner.contains(key))
    }

    /// [`RemoteFilter::contains_batch`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn contains_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        self.client.wait(self.inner.contains_batch(keys))
    }

    /// [`RemoteFilter::info`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn info(&self) -> Result<FilterInfo, Error> {
        self.client.wait(self.inner.info())
    }

    /// [`RemoteFilter::delete`].
    ///
    /// # Errors
    ///
    /// See that method.
    pub fn delete(&self) -> Result<bool, Error> {
        self.client.wait(self.inner.delete())
    }
}
