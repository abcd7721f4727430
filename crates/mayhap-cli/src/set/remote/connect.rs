//! Connections, and what waits for them.

use crate::args::url::redacted;
use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use log::{Level, LevelFilter, Log, Metadata, Record};
use mayhap::SecretKey;
use mayhap_redis::{Address, Found, NativeFilter, Server, ServerOptions, WaitReplicas, find};
use mayhap_remote::{Origin, wait};
use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a connection may take, within the time that is given.
const CONNECT: Duration = Duration::from_secs(5);
/// A reply may take this part of it, so that a silent node is tried again, or its replica.
const TRIES: u32 = 3;
/// How long replicas may take before a write is sent again.
const REPLICAS: Duration = Duration::from_millis(500);

const SERVER_EXAMPLE: &str = "for example: redis://127.0.0.1:6379";

/// Where a filter is.
#[derive(Debug)]
pub struct Place {
    address: Address,
    /// The URL, without the password.
    pub name: String,
    /// The name of the filter there.
    pub filter: String,
}

impl Place {
    /// Reads the URL of a filter.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it is none, or names no filter.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let example = "for example: redis://127.0.0.1:6379/0/seen";
        let address = parse(path, example)?;
        let name = address.to_string();
        let Some(filter) = address.name().map(str::to_owned) else {
            return Err(Error::usage(
                format!("{name} names a server but no filter"),
                format!("append the name of the filter; {example}"),
            ));
        };
        Ok(Self { address, name, filter })
    }

    /// Reads a URL of one server as a whole.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it is none, or names a cluster or a filter.
    #[cfg(feature = "server")]
    pub fn of_server(path: &Path) -> Result<Self, Error> {
        let place = Self::without_filter(path)?;
        if place.address.is_cluster() {
            let problem = format!("{} is a cluster, not a server", place.name);
            return Err(Error::usage(problem, SERVER_EXAMPLE));
        }
        Ok(place)
    }

    /// Reads a URL of a server or a cluster as a whole.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it is none, or names a filter.
    pub fn without_filter(path: &Path) -> Result<Self, Error> {
        let address = parse(path, SERVER_EXAMPLE)?;
        let name = address.to_string();
        if address.name().is_some() {
            let problem = format!("{name} names a filter, not the server alone");
            return Err(Error::usage(problem, SERVER_EXAMPLE));
        }
        Ok(Self { address, name, filter: String::new() })
    }

    /// Whether the connection is encrypted.
    #[cfg(feature = "server")]
    pub fn is_tls(&self) -> bool {
        self.address.is_tls()
    }
}

/// The address that a URL stands for. Where it has no password, that of the environment is taken.
fn parse(path: &Path, example: &str) -> Result<Address, Error> {
    let url = path.to_str().ok_or_else(|| {
        Error::usage(format!("{} is not UTF-8", redacted(&path.to_string_lossy())), example)
    })?;
    if !crate::args::url::is_url(path) {
        return Err(Error::usage(format!("{} is not the URL of a server", redacted(url)), example));
    }
    let address = Address::parse(url).map_err(|error| Error::usage(error.to_string(), ""))?;
    Ok(match std::env::var("REDISCLI_AUTH") {
        Ok(password) if !password.is_empty() => address.or_password(&password),
        _ => address,
    })
}

/// A connection, for calls that wait.
#[derive(Debug)]
pub struct Connection {
    /// Where to.
    pub place: Place,
    /// The server.
    pub server: Server,
    /// Where warnings go.
    pub talk: Talk,
    round_trip: Cell<Duration>,
}

impl Connection {
    /// Connects; what the library warns of is said.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn open(
        place: Place,
        args: &ServerArgs,
        replicas: ReplicaArgs,
        talk: Talk,
    ) -> Result<Self, Error> {
        hear(talk);
        let wait_replicas = replicas.wait_replicas.map(|count| WaitReplicas {
            replicas: count.get(),
            timeout: REPLICAS.min(args.timeout),
        });
        let options = ServerOptions {
            connect_timeout: CONNECT.min(args.timeout),
            response_timeout: args.timeout / TRIES,
            deadline: args.timeout,
            wait_replicas,
            ..ServerOptions::default()
        };
        let server = wait(Server::connect(&place.address, options))?;
        let server = server.map_err(|source| error(&place.name, &source))?;
        Ok(Self { place, server, talk, round_trip: Cell::default() })
    }

    /// Where the filter is.
    pub fn origin(&self) -> Origin {
        let (server, url) = (self.server.clone(), self.place.name.clone());
        Origin { server, url, name: self.place.filter.clone() }
    }

    /// The filter that the URL names, in mayhap's own layout.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::Usage`] for one of another scheme.
    pub fn attach(&self, key: Option<SecretKey>) -> Result<NativeFilter, Error> {
        let name = || self.place.filter.clone();
        let missing = || self.error(&mayhap_redis::Error::NotFound { name: name() });
        self.find(key)?.ok_or_else(missing)
    }

    /// How long the last search for the filter took, which is a round trip.
    pub fn round_trip(&self) -> Duration {
        self.round_trip.get()
    }

    /// [`Connection::attach`] where the filter may not be there.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn find(&self, key: Option<SecretKey>) -> Result<Option<NativeFilter>, Error> {
        let found = self.timed(find(&self.server, &self.place.filter, key))?;
        let (scheme, hint) = match found {
            Found::Native(filter) => return Ok(Some(filter)),
            Found::Nothing { filters_only: false } => return Ok(None),
            Found::Bf(filter) if filter.kind().is_none() => (
                "a filter of RedisBloom or valkey-bloom, which cannot merge filters",
                "add the keys themselves with mayhap add, or query both filters: mayhap check -f \
                 ONE -f OTHER",
            ),
            Found::Bf(_) | Found::Nothing { .. } => (
                "managed by its server through BF commands",
                "merge filters there: BF.MERGE NEW ONE OTHER; or mayhap pull them, and merge the \
                 files",
            ),
            Found::Redisson(_) => (
                "one of Redisson, whose bit positions are not mayhap's",
                "merge two of them as files: mayhap pull, mayhap merge --format redisson",
            ),
            _ => (
                "a string, not a filter in mayhap's own layout",
                "merge bitmaps of Java-BloomFilter as files: mayhap pull, mayhap merge --format \
                 magnuss-redis",
            ),
        };
        Err(Error::usage(format!("{} is {scheme}", self.place.name), hint))
    }

    /// [`Connection::wait`] for a search for the filter, whose time is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn timed<T>(
        &self,
        search: impl Future<Output = Result<T, mayhap_redis::Error>>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let found = self.wait(search);
        self.round_trip.set(started.elapsed());
        found
    }

    /// Waits for a call.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, mayhap_redis::Error>>,
    ) -> Result<T, Error> {
        wait(call)?.map_err(|source| self.error(&source))
    }

    /// Warns if the server may evict a filter that is made there, with this time to live.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn warn_of_eviction(&self, ttl: Option<Duration>) -> Result<(), Error> {
        let policy = self.wait(self.server.eviction())?;
        let evicts = |policy: &String| ttl.is_some() || !policy.starts_with("volatile-");
        if let Some(policy) = policy.filter(evicts) {
            self.talk.warn(&format!(
                "{}: this server evicts keys once its memory is full (maxmemory-policy {policy}): \
                 the filter may be gone then, which is an error and never \"surely not\"; keep it \
                 on a server with noeviction",
                self.place.name
            ));
        }
        Ok(())
    }

    /// An error of the library, with the name of the filter.
    pub fn error(&self, source: &mayhap_redis::Error) -> Error {
        error(&self.place.name, source)
    }
}

/// The error of a filter with this name.
pub(super) fn error(name: &str, source: &mayhap_redis::Error) -> Error {
    let (message, hint) = mayhap_remote::problem(name, source);
    Error::Remote { message, hint }
}

/// Prints what the library warns of, each text once.
struct Warnings {
    talk: OnceLock<Talk>,
    said: Mutex<Vec<String>>,
}

static WARNINGS: Warnings = Warnings { talk: OnceLock::new(), said: Mutex::new(Vec::new()) };

fn hear(talk: Talk) {
    // Fails if it was done before, which is as good.
    let _ = WARNINGS.talk.set(talk);
    if log::set_logger(&WARNINGS).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("mayhap_redis")
    }

    fn log(&self, record: &Record<'_>) {
        let Some(talk) = self.talk.get().filter(|_| self.enabled(record.metadata())) else {
            return;
        };
        let text = record.args().to_string();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.contains(&text) {
            talk.warn(&text);
            said.push(text);
        }
    }

    fn flush(&self) {}
}
