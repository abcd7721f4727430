//! Connections, and what waits for them.

use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use log::{Level, LevelFilter, Log, Metadata, Record};
use mayhap::SecretKey;
use mayhap_redis::{Found, NativeFilter, find};
use mayhap_sets::server::{Error as ServerError, Origin, ServerUrl, wait};
use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A connection, for calls that wait.
#[derive(Debug)]
pub struct Connection {
    /// The server, and the filter there.
    pub origin: Origin,
    /// Where warnings go.
    pub talk: Reporter,
    round_trip: Cell<Duration>,
}

impl Connection {
    /// Connects; what the library warns of is said.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn open(
        url: ServerUrl,
        args: &ServerArgs,
        replicas: ReplicaArgs,
        talk: Reporter,
    ) -> Result<Self, Error> {
        hear(talk);
        let origin = url.connect(&args.reach(replicas)?)?;
        Ok(Self { origin, talk, round_trip: Cell::default() })
    }

    /// The filter that the URL names, in mayhap's own layout.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], [`Error::Usage`] for one of another scheme.
    pub fn attach(&self, key: Option<SecretKey>) -> Result<NativeFilter, Error> {
        let name = || self.origin.name.clone();
        let missing = || self.error(mayhap_redis::Error::NotFound { name: name() });
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
        self.native(self.timed(find(&self.origin.server, &self.origin.name, key))?)
    }

    /// The filter that was found, if it is in mayhap's own layout.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for other schemes.
    pub fn native(&self, found: Found) -> Result<Option<NativeFilter>, Error> {
        let url = &self.origin.url;
        let (scheme, hint) = match found {
            Found::Native(filter) => return Ok(Some(filter)),
            Found::Nothing { .. } => return Ok(None),
            Found::Bf(filter) => {
                if let Some(kind) = filter.kind() {
                    return Err(Error::usage(
                        format!("{url} is a {kind} filter, and only the bits of plain ones unite"),
                        "merge it with others like it there: BF.MERGE NEW ONE OTHER; or mayhap \
                         pull both, and merge the files; or use another name",
                    ));
                }
                (
                    "a filter of RedisBloom or valkey-bloom, which cannot merge filters",
                    "add the keys themselves with mayhap add, or query both filters: mayhap check \
                     -f ONE -f OTHER; or use another name",
                )
            }
            Found::Redisson(_) => (
                "one of Redisson, whose bit positions are not mayhap's",
                "merge two of them as files: mayhap pull, mayhap merge --format redisson; or use \
                 another name",
            ),
            _ => (
                "a string, not a filter in mayhap's own layout",
                "merge bitmaps of Java-BloomFilter as files: mayhap pull, mayhap merge --format \
                 magnuss-redis; or use another name",
            ),
        };
        Err(Error::usage(format!("{url} is {scheme}"), hint))
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
        wait(call)?.map_err(|source| self.error(source))
    }

    /// Warns if the server may evict a filter that is made there, with this time to live.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn warn_of_eviction(&self, ttl: Option<Duration>) -> Result<(), Error> {
        let policy = self.wait(self.origin.server.eviction())?;
        let evicts = |policy: &String| ttl.is_some() || !policy.starts_with("volatile-");
        if let Some(policy) = policy.filter(evicts) {
            self.talk.warn(&format!(
                "{}: this server evicts keys once its memory is full (maxmemory-policy {policy}): \
                 the filter may be gone then, which is an error and never \"surely not\"; keep it \
                 on a server with noeviction",
                self.origin.url
            ));
        }
        Ok(())
    }

    /// An error of the library, with the name of the filter.
    pub fn error(&self, source: mayhap_redis::Error) -> Error {
        ServerError::Redis { url: self.origin.url.clone(), source }.into()
    }
}

/// Prints what the library warns of, each text once.
struct Warnings {
    talk: OnceLock<Reporter>,
    said: Mutex<Vec<String>>,
}

static WARNINGS: Warnings = Warnings { talk: OnceLock::new(), said: Mutex::new(Vec::new()) };

/// From now on, the warnings of the client are printed there.
pub fn hear(talk: Reporter) {
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
