//! Sending commands until they are done.

use super::backend::Backend;
use super::call::{Call, Fatal};
use super::cluster::Cluster;
use super::command::{Command, Reply, words};
use super::sentinel::Sentinel;
use super::single::Single;
use super::{Address, Persistence, ServerOptions};
use crate::replies::text;
use crate::trouble::reason;
use crate::{Error, Trouble};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, poll};
use redis::{ErrorKind, Pipeline, RedisError, ServerErrorKind, Value};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The pauses before a retry: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// A connection to one server or a cluster, cheap to clone; all clones share it.
///
/// Commands of many tasks are sent together, and their replies arrive as they are ready. Lost
/// connections are replaced and moved slots followed; a call is retried until it is done or
/// [`ServerOptions::deadline`] has passed.
#[derive(Debug, Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    options: ServerOptions,
    backend: Box<dyn Backend>,
}

impl Server {
    /// Connects: a server that refuses connections, is silent or loads its data is tried again
    /// until [`ServerOptions::deadline`]. Logs a warning if the server has no persistence.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`], [`Error::Unauthorized`]; [`Error::Certificates`] where there are
    /// some and no TLS.
    pub async fn connect(address: &Address, options: ServerOptions) -> Result<Self, Error> {
        if !address.is_tls() && !options.certificates.is_empty() {
            let reason = format!("{} is without TLS, which rediss:// has", address.server());
            return Err(Error::Certificates { reason });
        }
        #[cfg(feature = "tls")]
        if address.is_tls() {
            // Fails if the program has already chosen another one, which is just as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let name = address.server();
        let backend = connect_in_time(address, &options, &name).await?;
        let server = Self { inner: Arc::new(Inner { name, options, backend }) };
        if server.persistence_now().await == Persistence::Nothing {
            log::warn!(
                "{} keeps nothing when it is killed (save is empty, appendonly is no): its \
                 filters will be empty then, and forget keys they were given",
                server.name()
            );
        }
        Ok(server)
    }

    /// The address, without password and name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The options it was connected with.
    pub fn options(&self) -> &ServerOptions {
        &self.inner.options
    }

    /// The data that the servers keep when they are killed: the minimum over the masters.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    pub async fn persistence(&self) -> Result<Persistence, Error> {
        let settings = self.settings(["appendonly", "save"]).await?;
        Ok(least(&settings))
    }

    /// The same by a single attempt: a proxy may close the connection on `CONFIG`.
    async fn persistence_now(&self) -> Persistence {
        let backend = &self.inner.backend;
        let mut settings = Vec::new();
        for slot in self.masters() {
            let mut get = Pipeline::new();
            let names = ["appendonly", "save"];
            for name in names {
                get.add_command(words(&["CONFIG", "GET", name]));
            }
            let node = backend.place(slot, false).node;
            let Ok(values) = backend.send(&node, &get, false).await else {
                return Persistence::Unknown;
            };
            settings
                .extend(values.as_chunks::<2>().0.iter().map(|pair| pair.each_ref().map(setting)));
        }
        least(&settings)
    }

    /// The policy by which a server evicts keys once its memory is full, if it may: the policy of
    /// the first master with a limit and a policy other than `noeviction`. `None` also where the
    /// servers do not report it.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    pub async fn eviction(&self) -> Result<Option<String>, Error> {
        let settings = self.settings(["maxmemory", "maxmemory-policy"]).await?;
        let mut policies = settings.into_iter().filter_map(|[limit, policy]| {
            let is_limited = limit? != "0";
            policy.filter(|policy| is_limited && policy != "noeviction")
        });
        Ok(policies.next())
    }

    /// Settings of each master; `None` where it does not report them.
    async fn settings(&self, names: [&str; 2]) -> Result<Vec<[Option<String>; 2]>, Error> {
        let masters = self.masters();
        let gets = masters.iter().flat_map(|&slot| {
            names.map(|name| Command::write_to(slot, words(&["CONFIG", "GET", name])))
        });
        // Not through WAIT: nothing is written.
        let replies = self.run_unconfirmed(gets.collect()).await?;
        let value = |reply: &Reply| reply.value.as_ref().ok().and_then(setting);
        Ok(replies.as_chunks::<2>().0.iter().map(|pair| pair.each_ref().map(value)).collect())
    }

    /// Whether all keys of a command have to be in one slot.
    pub(crate) fn is_cluster(&self) -> bool {
        self.inner.backend.is_cluster()
    }

    /// One slot of each master.
    pub(crate) fn masters(&self) -> Vec<u16> {
        self.inner.backend.masters()
    }

    /// The number of times that a node was lost or a slot changed its master.
    pub(crate) fn losses(&self) -> u64 {
        self.inner.backend.losses()
    }

    /// Whether one of them, after the first `since`, concerned the master of one of these slots:
    /// the master of now may lack what was acknowledged before.
    pub(crate) fn has_lost(&self, mut slots: impl Iterator<Item = u16>, since: u64) -> bool {
        self.losses() != since && slots.any(|slot| self.lost_at(slot) > since)
    }

    /// The number of the last loss of the master of a slot.
    pub(crate) fn lost_at(&self, slot: u16) -> u64 {
        self.inner.backend.lost_at(slot)
    }

    /// The error of an operation during which masters were lost again and again.
    pub(crate) fn broken(&self, what: &'static str) -> Error {
        Error::Broken { server: self.name().into(), what }
    }

    /// Sends one command.
    pub(crate) async fn one(&self, command: Command) -> Result<Reply, Error> {
        let mut replies = self.run(vec![command]).await?;
        replies.pop().ok_or_else(|| self.unavailable(Instant::now(), (Trouble::Silent, None)))
    }

    /// Sends commands, all commands for one node in one pipeline and in order, and resends the ones
    /// that were lost, temporarily refused, or have not reached the replicas. The replies are in
    /// the order of the commands; errors in them are final.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] and [`Error::NotReplicated`] at the deadline,
    /// [`Error::Unauthorized`]; any of the commands may have been executed then.
    pub(crate) async fn run(&self, commands: Vec<Command>) -> Result<Vec<Reply>, Error> {
        self.run_until(commands, true, self.deadline()).await
    }

    /// Like [`Server::run`], for commands that go to masters but write nothing that must be
    /// durable: they do not wait for replicas.
    pub(crate) async fn run_unconfirmed(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, Error> {
        self.run_until(commands, false, self.deadline()).await
    }

    /// The end of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.options().deadline
    }

    /// Like [`Server::run`], or [`Server::run_unconfirmed`] if nothing `lasts`, with the end of the
    /// call.
    pub(crate) async fn run_until(
        &self,
        commands: Vec<Command>,
        lasts: bool,
        until: Instant,
    ) -> Result<Vec<Reply>, Error> {
        let started = Instant::now();
        let options = &self.inner.options;
        let mut call = Call::new(commands, options.wait_replicas, lasts);
        match tokio::time::timeout_at(until.into(), self.rounds(&mut call)).await {
            Ok(Ok(())) => return Ok(call.replies()),
            Ok(Err(Fatal::Unauthorized(reason))) => return Err(self.unauthorized(&reason)),
            Ok(Err(Fatal::Other(error))) => return Err(error),
            Err(_) => {}
        }
        if let (Some(confirmed), Some(wait)) = (call.unconfirmed(), options.wait_replicas) {
            return Err(Error::NotReplicated { wanted: wait.replicas, confirmed });
        }
        let (mut trouble, node) = call.trouble();
        if matches!(&trouble, Trouble::Other { reason } if reason.starts_with("READONLY ")) {
            trouble = Trouble::Replica { master: self.master_of_replica().await };
        }
        Err(self.unavailable(started, (trouble, node)))
    }

    /// The master of a single server that is a replica, as it says.
    async fn master_of_replica(&self) -> Option<String> {
        let [slot] = self.masters()[..] else { return None };
        let node = self.inner.backend.place(slot, false).node;
        let mut role = Pipeline::new();
        role.cmd("ROLE");
        let values = self.inner.backend.send(&node, &role, false).await.ok()?;
        let Value::Array(role) = values.first()? else { return None };
        let [_, host, Value::Int(port), ..] = &role[..] else { return None };
        Some(format!("{}:{port}", text(host)?))
    }

    /// In each round one pipeline for each node.
    async fn rounds(&self, call: &mut Call) -> Result<(), Fatal> {
        let backend = &*self.inner.backend;
        let mut pause = FIRST_PAUSE;
        loop {
            let groups = call.next_round(backend);
            if groups.is_empty() {
                return Ok(());
            }
            // For one node in order: each is sent before the next is written.
            let mut sent = FuturesUnordered::new();
            for (i, group) in groups.into_iter().enumerate() {
                if i > 0 {
                    tokio::task::yield_now().await;
                }
                let pipeline = call.pipeline(&group);
                sent.push(async move {
                    let sent = backend.send(&group.place.node, &pipeline, group.waits).await;
                    (group, pipeline, sent)
                });
                if let Poll::Ready(Some((group, pipeline, sent))) = poll!(sent.next()) {
                    call.note(backend, group, pipeline, sent)?;
                }
            }
            while let Some((group, pipeline, sent)) = sent.next().await {
                call.note(backend, group, pipeline, sent)?;
            }
            let advanced = call.has_advanced();
            if advanced && !call.has_failed() {
                continue;
            }
            pause = if advanced { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
            tokio::time::sleep(pause).await;
            if let Err(error) = backend.refresh().await {
                log::debug!("{}: {error}", self.name());
            }
        }
    }

    fn unauthorized(&self, reason: &str) -> Error {
        Error::Unauthorized { server: self.name().into(), reason: reason.into() }
    }

    fn unavailable(&self, started: Instant, last: (Trouble, Option<Arc<str>>)) -> Error {
        let server = self.name().to_owned();
        // A standalone server is already named.
        let node = last.1.filter(|node| !server.ends_with(&**node)).map(|node| node.to_string());
        Error::Unavailable { server, node, after: started.elapsed(), trouble: last.0 }
    }
}

#[cfg(test)]
impl Server {
    /// A connection to a test's double.
    pub(crate) fn on(backend: Box<dyn Backend>, options: ServerOptions) -> Self {
        let name = "test".into();
        Self { inner: Arc::new(Inner { name, options, backend }) }
    }
}

/// Connects, again and again until the deadline where that may help.
async fn connect_in_time(
    address: &Address,
    options: &ServerOptions,
    name: &str,
) -> Result<Box<dyn Backend>, Error> {
    let started = Instant::now();
    let until = started + options.deadline;
    let mut pause = FIRST_PAUSE;
    let mut has_warned = false;
    loop {
        let connect = async {
            Ok::<Box<dyn Backend>, RedisError>(if address.is_cluster() {
                Box::new(Cluster::connect(address, options).await?)
            } else if address.master().is_some() {
                Box::new(Sentinel::connect(address, options).await?)
            } else {
                Box::new(Single::connect(address, options).await?)
            })
        };
        let limit = options.connect_timeout.min(until.saturating_duration_since(Instant::now()));
        let error = match tokio::time::timeout(limit, connect).await {
            Ok(Ok(backend)) => return Ok(backend),
            Ok(Err(error)) => no_connection(name, started.elapsed(), &error),
            Err(_) => {
                let (server, after, trouble) = (name.into(), started.elapsed(), Trouble::Silent);
                Error::Unavailable { server, node: None, after, trouble }
            }
        };
        if !may_pass(&error) || Instant::now() + pause >= until {
            return Err(error);
        }
        if !has_warned && started.elapsed() >= LAST_PAUSE {
            log::warn!("{error}; trying again for up to {:.0} s", options.deadline.as_secs_f64());
            has_warned = true;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Whether a later attempt to connect may succeed: the server is about to start, loads its data, or
/// holds its clients.
fn may_pass(error: &Error) -> bool {
    let loads = |reason: &str| {
        ["LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY"]
            .iter()
            .any(|code| reason.contains(code))
    };
    match error {
        Error::Unavailable { trouble: Trouble::Refused | Trouble::Silent, .. } => true,
        Error::Unavailable { trouble: Trouble::Other { reason }, .. }
        | Error::Refused { reason, .. } => loads(reason),
        _ => false,
    }
}

/// The least that these masters keep.
fn least(settings: &[[Option<String>; 2]]) -> Persistence {
    let kept = settings.iter().map(|[log, save]| match (log.as_deref(), save.as_deref()) {
        (Some("yes"), _) => Persistence::Log,
        (Some(_), Some("")) => Persistence::Nothing,
        (Some(_), Some(_)) => Persistence::Snapshots,
        _ => Persistence::Unknown,
    });
    kept.min().unwrap_or(Persistence::Unknown)
}

/// `CONFIG GET` of one setting: a map, or an array of name and value.
fn setting(value: &Value) -> Option<String> {
    match value {
        Value::Array(pair) => text(pair.get(1)?).map(str::to_owned),
        Value::Map(pairs) => text(&pairs.first()?.1).map(str::to_owned),
        _ => None,
    }
}

fn no_connection(server: &str, after: Duration, error: &RedisError) -> Error {
    let (server, reason) = (server.to_owned(), reason(error));
    match error.kind() {
        _ if error.code() == Some("NOAUTH") => Error::Unauthorized { server, reason },
        ErrorKind::AuthenticationFailed => Error::Unauthorized { server, reason },
        // Errors that a retry will not fix: no such database, no cluster.
        ErrorKind::Server(ServerErrorKind::ResponseError | ServerErrorKind::NoPerm)
        | ErrorKind::Client
        | ErrorKind::InvalidClientConfig => {
            Error::Refused { what: format!("a connection to {server}"), reason }
        }
        _ => {
            let trouble = Trouble::of(error);
            Error::Unavailable { server, node: None, after, trouble }
        }
    }
}
