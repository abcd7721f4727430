//! One node, over connections that all callers share and that are replaced when they fail.

use super::{Address, ServerOptions};
use crate::Trouble;
use crate::replies::text;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, Pipeline, RedisError,
    RedisResult, ServerErrorKind, Value,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The reason why there are no replies.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There was no connection: nothing was sent.
    Unsent(RedisError),
    /// The commands may have been executed.
    Lost(RedisError),
}

/// The replies of a pipeline, errors of single commands among them.
pub(crate) type Sent = Result<Vec<Value>, Failure>;

/// Counts the events after which a master may lack what it, or its predecessor, acknowledged: a
/// connection broke, or a slot got another master. Shared by all nodes of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losses(Arc<AtomicU64>);

impl Losses {
    /// The number of events.
    pub(crate) fn count(&self) -> u64 {
        // ORDERING: SeqCst, here and below. Events are rare, and each has one place among all.
        self.0.load(Ordering::SeqCst)
    }

    /// Counts an event, and stores its number where it belongs.
    pub(crate) fn note(&self, last: &AtomicU64) {
        last.fetch_max(self.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    }
}

/// A standalone server, or a node of a cluster.
pub(crate) struct Node {
    client: Client,
    losses: Losses,
    /// The last loss of a connection to it.
    lost_at: AtomicU64,
    plain: Line,
    /// `WAIT` blocks a connection, so nothing else may be queued behind it (head-of-line blocking).
    waiting: Line,
    /// For the same reason, one pipeline at a time: its time-out begins when it is sent.
    turn: tokio::sync::Mutex<()>,
}

impl Node {
    fn new(
        url: &str,
        options: &ServerOptions,
        losses: &Losses,
        must_be_master: bool,
    ) -> RedisResult<Self> {
        let replicas = options.wait_replicas.map_or(Duration::ZERO, |wait| wait.timeout);
        // Twice: a WAIT of a cancelled caller may be queued before it.
        let longest = options.response_timeout.saturating_add(replicas.saturating_mul(2));
        let info = url.into_connection_info()?;
        // Proxies may close the connection on `CLIENT SETINFO`.
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        let client = options.certificates.client(info.set_redis_settings(settings))?;
        Ok(Self {
            plain: Line::new(
                &client,
                options.connect_timeout,
                options.response_timeout,
                must_be_master,
            ),
            waiting: Line::new(&client, options.connect_timeout, longest, must_be_master),
            turn: tokio::sync::Mutex::new(()),
            client,
            losses: losses.clone(),
            lost_at: AtomicU64::default(),
        })
    }

    /// A node of a server or cluster, by `host:port`.
    pub(crate) fn of(
        address: &Address,
        name: &str,
        options: &ServerOptions,
        losses: &Losses,
    ) -> RedisResult<Self> {
        Self::new(&address.node_url(name), options, losses, false)
    }

    /// A node that is used only while it says that it is a master.
    pub(crate) fn master(
        address: &Address,
        name: &str,
        options: &ServerOptions,
        losses: &Losses,
    ) -> RedisResult<Self> {
        Self::new(&address.node_url(name), options, losses, true)
    }

    /// A sentinel.
    pub(crate) fn sentinel(
        address: &Address,
        name: &str,
        options: &ServerOptions,
    ) -> RedisResult<Self> {
        Self::new(&address.sentinel_url(name), options, &Losses::default(), false)
    }

    /// The number of the last loss of a connection to it; 0 if none was lost.
    pub(crate) fn lost_at(&self) -> u64 {
        // ORDERING: SeqCst, as in [`Losses`].
        self.lost_at.load(Ordering::SeqCst)
    }

    /// The error of a server that is none of Redis and spoke first, or that requires a client's
    /// certificate: a connection of which a reply is expected at once reports its words.
    pub(crate) async fn first_word(&self) -> Option<RedisError> {
        let info = self.client.get_connection_info();
        let settings = info.redis_settings().clone().set_lib_name("mayhap", "0");
        let client = Client::open(info.clone().set_redis_settings(settings)).ok()?;
        let connected = client.get_multiplexed_async_connection_with_config(&self.plain.config);
        let is_telling = |error: &RedisError| {
            error.kind() == ErrorKind::Parse || matches!(Trouble::of(error), Trouble::Tls { .. })
        };
        connected.await.err().filter(is_telling)
    }

    /// Sends a pipeline, once. `waits`: there is a `WAIT` in it.
    pub(crate) async fn send(&self, pipeline: &Pipeline, waits: bool) -> Sent {
        if waits {
            let _turn = self.turn.lock().await;
            return self.waiting.send(self, pipeline).await;
        }
        self.plain.send(self, pipeline).await
    }
}

/// The capacity of the queue of pipelines for the connection. A full queue can reorder waiters,
/// while the pipelines of a call must arrive in order. They take memory only while they wait.
const MOST_WAITING: usize = 1 << 20;

type Connecting = Shared<BoxFuture<'static, RedisResult<MultiplexedConnection>>>;

/// The current connection.
struct Line {
    config: AsyncConnectionConfig,
    response_timeout: Duration,
    must_be_master: bool,
    state: Mutex<State>,
}

struct State {
    /// One attempt to connect, shared by all senders.
    connecting: Connecting,
    /// The number of previous connections.
    age: u64,
    /// The time since which no reply has arrived in time.
    silent: Option<Instant>,
}

impl Line {
    fn new(
        client: &Client,
        connect_timeout: Duration,
        response_timeout: Duration,
        must_be_master: bool,
    ) -> Self {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(connect_timeout))
            .set_response_timeout(Some(response_timeout))
            .set_pipeline_buffer_size(MOST_WAITING);
        let connecting = connect(client, &config, must_be_master);
        let state = Mutex::new(State { connecting, age: 0, silent: None });
        Self { config, response_timeout, must_be_master, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, node: &Node, pipeline: &Pipeline) -> Sent {
        let (connecting, age) = {
            let state = self.state();
            (state.connecting.clone(), state.age)
        };
        let mut connection = match connecting.await {
            Ok(connection) => connection,
            Err(error) => {
                self.replace(&node.client, age, || {});
                return Err(Failure::Unsent(error));
            }
        };
        let sent = connection.req_packed_commands(pipeline, 0, pipeline.len()).await;
        match &sent {
            Err(error) if error.is_timeout() && !self.is_mute() => {}
            Err(_) => self.replace(&node.client, age, || node.losses.note(&node.lost_at)),
            Ok(_) => self.state().silent = None,
        }
        sent.map_err(Failure::Lost)
    }

    /// Whether it has been silent long enough for the other end to be gone: a machine that loses
    /// power closes no connection.
    fn is_mute(&self) -> bool {
        self.state().silent.get_or_insert_with(Instant::now).elapsed() >= self.response_timeout * 2
    }

    /// Reconnects, unless another caller has done so since; calls `note` first.
    fn replace(&self, client: &Client, age: u64, note: impl FnOnce()) {
        let mut state = self.state();
        if state.age == age {
            note();
            *state = State {
                connecting: connect(client, &self.config, self.must_be_master),
                age: age + 1,
                silent: None,
            };
        }
    }
}

/// Begins when it is first awaited. A node that must be a master and is none is an error: as a
/// replica it would answer queries, and may lack the newest keys.
fn connect(client: &Client, config: &AsyncConnectionConfig, must_be_master: bool) -> Connecting {
    let (client, config) = (client.clone(), config.clone());
    async move {
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if must_be_master {
            let role = connection.req_packed_command(&redis::cmd("ROLE")).await?.extract_error()?;
            let is_master = match &role {
                Value::Array(role) => role.first().and_then(text) == Some("master"),
                _ => false,
            };
            if !is_master {
                let what = "the node that the sentinels name is no master yet".to_owned();
                return Err((ServerErrorKind::ReadOnly.into(), "READONLY", what).into());
            }
        }
        Ok(connection)
    }
    .boxed()
    .shared()
}
