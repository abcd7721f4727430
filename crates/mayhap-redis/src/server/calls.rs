//! Sending commands until they are done.

use super::backend::{Backend, Values};
use super::cluster::Cluster;
use super::command::{Command, CommandKind, Reply};
use super::single::Single;
use super::{Address, Persistence, ServerOptions};
use crate::Error;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use redis::{ErrorKind, Pipeline, RedisError, ServerError, ServerErrorKind, Value, cmd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pipelines that are on their way at once when commands are sent again.
const SENT_AT_ONCE: usize = 64;
/// Waits before a repetition: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// A connection to one server or a cluster, cheap to clone; all clones share it.
///
/// Commands of many tasks go out together, and their replies come back as they can. Lost
/// connections are made again, moved slots followed; a call is repeated until it is done or
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
    /// Connects. Logs a warning if the server keeps nothing when it is killed.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`], [`Error::Unauthorized`].
    pub async fn connect(address: &Address, options: ServerOptions) -> Result<Self, Error> {
        #[cfg(feature = "tls")]
        if address.is_tls() {
            // Fails if the program has chosen another one before, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let name = address.server();
        let connect = async {
            Ok::<Box<dyn Backend>, RedisError>(if address.is_cluster() {
                Box::new(Cluster::connect(address, &options).await?)
            } else {
                Box::new(Single::connect(address, &options).await?)
            })
        };
        let limit = options.connect_timeout;
        let backend = match tokio::time::timeout(limit, connect).await {
            Ok(Ok(backend)) => backend,
            Ok(Err(error)) => return Err(no_connection(&name, limit, &error)),
            Err(_) => {
                let reason = "no connection could be made".into();
                return Err(Error::Unavailable { server: name, after: limit, reason });
            }
        };
        let server = Self { inner: Arc::new(Inner { name, options, backend }) };
        if server.persistence().await? == Persistence::Nothing {
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

    /// What the servers keep when they are killed: the least of the masters.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`].
    pub async fn persistence(&self) -> Result<Persistence, Error> {
        let get = |slot, name| {
            let mut get = cmd("CONFIG");
            get.arg("GET").arg(name);
            Command { cmd: get, slot, kind: CommandKind::Write }
        };
        let masters = self.inner.backend.masters();
        let gets = masters.iter().flat_map(|&slot| [get(slot, "appendonly"), get(slot, "save")]);
        // Not through WAIT: nothing is written.
        let replies = self.run_with(gets.collect(), false).await?;
        let least = replies.chunks_exact(2).map(|pair| match (&pair[0].value, &pair[1].value) {
            (Ok(log), _) if setting(log).as_deref() == Some("yes") => Persistence::Log,
            (Ok(log), Ok(save)) => match (setting(log), setting(save).as_deref()) {
                (Some(_), Some("")) => Persistence::Nothing,
                (Some(_), Some(_)) => Persistence::Snapshots,
                _ => Persistence::Unknown,
            },
            _ => Persistence::Unknown,
        });
        Ok(least.min().unwrap_or(Persistence::Unknown))
    }

    /// Sends one command.
    pub(crate) async fn one(&self, command: Command) -> Result<Reply, Error> {
        let mut replies = self.run(vec![command]).await?;
        replies.pop().ok_or_else(|| self.unavailable(Instant::now(), "no reply"))
    }

    /// Sends commands, those of one node in one pipeline and in their order, and again whatever
    /// was lost, refused for a moment, or has not reached the replicas. The replies are in the
    /// order of the commands; errors in them are final.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] and [`Error::NotReplicated`] at the deadline, [`Error::Unauthorized`];
    /// any of the commands may have been carried out then.
    pub(crate) async fn run(&self, commands: Vec<Command>) -> Result<Vec<Reply>, Error> {
        self.run_with(commands, true).await
    }

    /// [`Server::run`] for commands that are sent to masters but write nothing that matters: they
    /// do not wait for replicas.
    pub(crate) async fn run_unconfirmed(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Reply>, Error> {
        self.run_with(commands, false).await
    }

    async fn run_with(&self, commands: Vec<Command>, wait: bool) -> Result<Vec<Reply>, Error> {
        let started = Instant::now();
        let mut call = Call {
            outcomes: commands.iter().map(|_| Outcome::default()).collect(),
            commands,
            reason: String::new(),
            confirmed: None,
            wait,
        };
        let until = tokio::time::Instant::from_std(started + self.inner.options.deadline);
        let rounds = self.rounds(&mut call);
        if let Ok(result) = tokio::time::timeout_at(until, rounds).await {
            result?;
            return Ok(call.replies());
        }
        if let (Some(confirmed), Some(wait)) = (call.confirmed, self.inner.options.wait_replicas) {
            return Err(Error::NotReplicated { wanted: wait.replicas, confirmed });
        }
        Err(self.unavailable(started, &call.reason))
    }

    async fn rounds(&self, call: &mut Call) -> Result<(), Error> {
        let backend = &*self.inner.backend;
        // One pipeline for each node.
        let sent = backend.groups(&call.commands).into_iter().map(|group| {
            let (pipeline, slot, read) = self.pipeline(call, &group);
            async move { (group, backend.send(pipeline, slot, read).await) }
        });
        for (group, values) in join_all(sent).await {
            self.note(call, &group, values)?;
        }
        let mut pause = FIRST_PAUSE;
        loop {
            if call.left().next().is_none() {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
            if let Err(error) = backend.refresh().await {
                log::debug!("{}: {error}", self.name());
            }
            // Together what has one slot, so that a slot on the move holds up none of the others,
            let left: Vec<usize> = call.left().collect();
            self.send_all(call, backend.groups_again(&call.commands, &left), false).await?;
            if backend.follows() {
                // and then each by itself, so that a redirection is about one key.
                let left = call.left().map(|i| vec![i]).collect();
                self.send_all(call, left, true).await?;
            }
        }
    }

    /// Sends groups of commands, many at once.
    async fn send_all(
        &self,
        call: &mut Call,
        groups: Vec<Vec<usize>>,
        follow: bool,
    ) -> Result<(), Error> {
        let backend = &*self.inner.backend;
        let sent = groups.into_iter().map(|group| {
            let (pipeline, slot, read) = self.pipeline(call, &group);
            async move {
                let sent = if follow {
                    backend.follow(pipeline, slot, read)
                } else {
                    backend.send(pipeline, slot, read)
                };
                (group, sent.await)
            }
        });
        let sent: Vec<_> = stream::iter(sent).buffer_unordered(SENT_AT_ONCE).collect().await;
        for (group, values) in sent {
            self.note(call, &group, values)?;
        }
        Ok(())
    }

    /// The commands, and `WAIT` if there is a write among them.
    fn pipeline(&self, call: &Call, group: &[usize]) -> (Pipeline, u16, bool) {
        let mut pipeline = Pipeline::with_capacity(group.len() + 1);
        let mut read = true;
        for &i in group {
            pipeline.add_command(call.commands[i].cmd.clone());
            read &= call.commands[i].kind == CommandKind::Read;
        }
        if let (false, true, Some(wait)) = (read, call.wait, self.inner.options.wait_replicas) {
            let millis = u64::try_from(wait.timeout.as_millis()).unwrap_or(u64::MAX).max(1);
            pipeline.cmd("WAIT").arg(wait.replicas).arg(millis);
        }
        let slot = group.first().map_or(0, |&i| call.commands[i].slot);
        (pipeline, slot, read)
    }

    /// Keeps what came back for a group of commands.
    fn note(&self, call: &mut Call, group: &[usize], values: Values) -> Result<(), Error> {
        let values = match values {
            Ok(values) => values,
            Err(error) => {
                if is_final(&error) {
                    return Err(self.final_error(&error));
                }
                call.reason = error.to_string();
                for &i in group {
                    // All of them: an error of one command hides the replies of the others.
                    call.outcomes[i].repeated = true;
                }
                return Ok(());
            }
        };
        let confirmed = match (self.inner.options.wait_replicas, values.get(group.len())) {
            (Some(wait), Some(Value::Int(count))) => {
                let count = u32::try_from(*count).unwrap_or(0);
                let enough = count >= wait.replicas;
                if !enough {
                    call.confirmed = Some(count);
                    call.reason = format!("{count} of {} replicas confirmed", wait.replicas);
                }
                enough
            }
            _ => true,
        };
        for (&i, value) in group.iter().zip(values) {
            let done = confirmed || call.commands[i].kind == CommandKind::Read;
            match value {
                Value::ServerError(error) if is_for_a_moment(&error) => {
                    call.reason = words(&error);
                }
                Value::ServerError(error) if error.code() == "NOAUTH" => {
                    return Err(self.unauthorized(&words(&error)));
                }
                Value::ServerError(error) => call.outcomes[i].end(Err(refused(&error)), true),
                value => call.outcomes[i].end(Ok(value), done),
            }
        }
        Ok(())
    }

    fn final_error(&self, error: &RedisError) -> Error {
        match error.kind() {
            ErrorKind::AuthenticationFailed => self.unauthorized(&error.to_string()),
            _ => Error::Refused { what: "a command".into(), reason: error.to_string() },
        }
    }

    fn unauthorized(&self, reason: &str) -> Error {
        Error::Unauthorized { server: self.name().into(), reason: reason.into() }
    }

    fn unavailable(&self, started: Instant, reason: &str) -> Error {
        let reason = if reason.is_empty() { "it is silent" } else { reason };
        let server = self.name().to_owned();
        Error::Unavailable { server, after: started.elapsed(), reason: reason.into() }
    }
}

/// A call on its way.
struct Call {
    commands: Vec<Command>,
    outcomes: Vec<Outcome>,
    /// What failed last.
    reason: String,
    /// How many replicas confirmed, if they were too few.
    confirmed: Option<u32>,
    wait: bool,
}

/// What is known of a command.
#[derive(Default)]
struct Outcome {
    /// The first reply: a later one tells of bits that the first attempt set.
    value: Option<Result<Value, Error>>,
    /// Nothing is left to do.
    done: bool,
    repeated: bool,
}

impl Outcome {
    fn end(&mut self, value: Result<Value, Error>, done: bool) {
        self.value.get_or_insert(value);
        self.done |= done;
    }
}

impl Call {
    fn left(&self) -> impl Iterator<Item = usize> {
        self.outcomes.iter().enumerate().filter(|(_, outcome)| !outcome.done).map(|(i, _)| i)
    }

    fn replies(self) -> Vec<Reply> {
        let outcomes = self.outcomes.into_iter();
        outcomes
            .map(|outcome| Reply {
                value: outcome.value.unwrap_or(Ok(Value::Nil)),
                repeated: outcome.repeated,
            })
            .collect()
    }
}

/// `CONFIG GET` of one setting: a map, or an array of name and value.
fn setting(value: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    };
    match value {
        Value::Array(pair) => text(pair.get(1)?),
        Value::Map(pairs) => text(&pairs.first()?.1),
        _ => None,
    }
}

/// Refusals that pass: the server has done nothing.
fn is_for_a_moment(error: &ServerError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    matches!(
        error.kind(),
        Some(Ask | BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain)
    )
}

/// Errors of a connection that trying again will not mend.
fn is_final(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::Client
    )
}

/// A refusal that stays, without the key, which only the caller knows.
fn refused(error: &ServerError) -> Error {
    match error.code() {
        "OOM" => Error::ServerFull { reason: words(error) },
        "WRONGTYPE" => Error::WrongType { key: String::new() },
        _ => Error::Refused { what: "a command".into(), reason: words(error) },
    }
}

/// The error as the server wrote it.
fn words(error: &ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().into(),
    }
}

fn no_connection(server: &str, after: Duration, error: &RedisError) -> Error {
    let (server, reason) = (server.to_owned(), error.to_string());
    match error.kind() {
        ErrorKind::AuthenticationFailed => Error::Unauthorized { server, reason },
        _ => Error::Unavailable { server, after, reason },
    }
}
