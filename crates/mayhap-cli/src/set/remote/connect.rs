//! Connections, and what waits for them.

use crate::args::url::redacted;
use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use log::{Level, LevelFilter, Log, Metadata, Record};
use mayhap::SecretKey;
use mayhap_redis::{Address, NativeFilter, Server, ServerOptions, Trouble, WaitReplicas};
use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// How long a connection may take, within the time that is given.
const CONNECT: Duration = Duration::from_secs(5);
/// A reply may take this part of it, so that a silent node is tried again, or its replica.
const TRIES: u32 = 3;
/// How long replicas may take before a write is sent again.
const REPLICAS: Duration = Duration::from_millis(500);

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
    /// Reads a URL. Where it has no password, that of the environment is taken.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if it is none, or names no filter.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let example = "for example: redis://127.0.0.1:6379/0/seen";
        let url = path.to_str().ok_or_else(|| {
            Error::usage(format!("{} is no UTF-8", redacted(&path.to_string_lossy())), example)
        })?;
        if !crate::args::url::is_url(path) {
            return Err(Error::usage(format!("{} is no URL of a server", redacted(url)), example));
        }
        let address = Address::parse(url).map_err(|error| Error::usage(error.to_string(), ""))?;
        let address = match std::env::var("REDISCLI_AUTH") {
            Ok(password) if !password.is_empty() => address.or_password(&password),
            _ => address,
        };
        let name = address.to_string();
        let Some(filter) = address.name().map(str::to_owned) else {
            return Err(Error::usage(
                format!("{name} names a server, but no filter on it"),
                format!("the name of the filter comes last; {example}"),
            ));
        };
        Ok(Self { address, name, filter })
    }
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

    /// The filter that the URL names.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn attach(&self, key: Option<SecretKey>) -> Result<NativeFilter, Error> {
        let started = Instant::now();
        let filter = self.wait(NativeFilter::attach(&self.server, &self.place.filter, key));
        self.round_trip.set(started.elapsed());
        filter
    }

    /// How long the last search for the filter took, which is a round trip.
    pub fn round_trip(&self) -> Duration {
        self.round_trip.get()
    }

    /// [`Connection::attach`] where the filter may not be there.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn find(&self, key: Option<SecretKey>) -> Result<Option<NativeFilter>, Error> {
        let started = Instant::now();
        let found = wait(NativeFilter::attach(&self.server, &self.place.filter, key))?;
        self.round_trip.set(started.elapsed());
        match found {
            Ok(filter) => Ok(Some(filter)),
            Err(mayhap_redis::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(self.error(&source)),
        }
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

    /// An error of the library, with the name of the filter.
    pub fn error(&self, source: &mayhap_redis::Error) -> Error {
        error(&self.place.name, source)
    }
}

/// Waits for a call; the first one starts what runs them all.
pub(super) fn wait<T>(call: impl Future<Output = T>) -> Result<T, Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = if let Some(runtime) = RUNTIME.get() {
        runtime
    } else {
        // One thread beside this one: it sends and receives while the next batch is made.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(Error::io("start", "a thread"))?;
        RUNTIME.get_or_init(|| runtime)
    };
    Ok(runtime.block_on(call))
}

/// The error of a filter with this name.
pub(super) fn error(name: &str, source: &mayhap_redis::Error) -> Error {
    let (message, hint) = problem(name, source);
    Error::Remote { message, hint }
}

/// What is wrong with a filter of this name, and the next step.
pub(super) fn problem(name: &str, source: &mayhap_redis::Error) -> (String, Option<String>) {
    use mayhap_redis::Error as Redis;
    let hint = match source {
        Redis::NotFound { .. } => {
            "create it with mayhap create URL -n COUNT, or send a file: mayhap push FILE URL"
        }
        Redis::Unauthorized { .. } => {
            "give the password in the environment, REDISCLI_AUTH, or in the URL: \
             redis://user:password@host"
        }
        Redis::Unavailable { trouble, .. } => way_out(trouble),
        Redis::Busy { .. } => {
            "others end soon; what a push that was killed has left expires, or is deleted by \
             mayhap push --discard-unfinished"
        }
        Redis::NotReplicated { .. } => "wait for fewer replicas, or give them more --timeout TIME",
        Redis::Filter(mayhap::Error::WrongKey { .. }) => "give its key with --key-file FILE",
        _ => "",
    };
    let message = match source {
        // They name the server.
        Redis::Unavailable { .. } | Redis::Unauthorized { .. } | Redis::BadUrl { .. } => {
            source.to_string()
        }
        _ => format!("{name}: {source}"),
    };
    (message, (!hint.is_empty()).then(|| hint.into()))
}

/// What to do when a server cannot be reached.
fn way_out(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused => "does it run there? Redis has the port 6379 unless another is named",
        Trouble::UnknownHost => "is the host spelled so? redis://host:port/database/name",
        Trouble::Silent => {
            "is the way to it open, and is it Redis? One with TLS has rediss:// and a cluster \
             redis+cluster://; --timeout TIME waits longer"
        }
        Trouble::Closed => {
            "servers with TLS (rediss://) do so, and those that have too many clients; --timeout \
             TIME tries longer"
        }
        Trouble::OtherProtocol => "is that the port of a web server or of another service?",
        Trouble::NeedsTls => "write rediss:// in place of redis://",
        Trouble::Tls { .. } => {
            "certificates are looked up in those of this machine; without TLS it is redis://"
        }
        _ => "is it not a cluster (redis+cluster://)? --timeout TIME waits longer",
    }
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
