//! A master that sentinels name.

use super::backend::{Backend, How, Route};
use super::node::{Failure, Losses, Node, Sent};
use super::{Address, ServerOptions};
use crate::replies::text;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use redis::{ErrorKind, Pipeline, RedisError, RedisResult, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub(crate) struct Sentinel {
    address: Address,
    options: ServerOptions,
    sentinels: Vec<Node>,
    /// The masters so far, by `host:port`.
    nodes: Mutex<HashMap<Arc<str>, Arc<Node>>>,
    master: RwLock<Master>,
    losses: Losses,
    /// The number of the last change of the master.
    moved_at: AtomicU64,
    looking: tokio::sync::Mutex<()>,
}

/// The master that the sentinels named last.
#[derive(Default)]
struct Master {
    name: Arc<str>,
    /// It failed since: the sentinels are queried again before it is used. A former master that is
    /// back takes commands until they make it a replica.
    is_doubtful: bool,
}

impl Sentinel {
    pub(crate) async fn connect(address: &Address, options: &ServerOptions) -> RedisResult<Self> {
        let sentinel = |name: String| Node::sentinel(address, &name, options);
        let sentinel = Self {
            sentinels: address.node_names().map(sentinel).collect::<RedisResult<_>>()?,
            address: address.clone(),
            options: options.clone(),
            nodes: Mutex::default(),
            master: RwLock::default(),
            losses: Losses::default(),
            moved_at: AtomicU64::default(),
            looking: tokio::sync::Mutex::default(),
        };
        sentinel.look().await?;
        Ok(sentinel)
    }

    fn node(&self, name: &Arc<str>) -> RedisResult<Arc<Node>> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = nodes.get(name) {
            return Ok(node.clone());
        }
        let node = Node::master(&self.address, name, &self.options, &self.losses)?;
        Ok(nodes.entry(name.clone()).or_insert(Arc::new(node)).clone())
    }

    /// Takes the first master that a sentinel names and that is one.
    async fn look(&self) -> RedisResult<()> {
        let mut names: FuturesUnordered<_> =
            self.sentinels.iter().map(|at| self.query(at)).collect();
        let mut reason = None;
        while let Some(name) = names.next().await {
            let named = async {
                let name = name?;
                let mut ping = Pipeline::new();
                ping.cmd("PING");
                // Its connection checks that it is a master.
                match self.node(&name)?.send(&ping, false).await {
                    Ok(_) => Ok(name),
                    Err(Failure::Unsent(error) | Failure::Lost(error)) => Err(error),
                }
            };
            match named.await {
                Ok(name) => {
                    self.learn(name);
                    return Ok(());
                }
                Err(error) => reason = Some(error),
            }
        }
        Err(reason.unwrap_or_else(|| (ErrorKind::Client, "there are no sentinels").into()))
    }

    /// The master that a sentinel names.
    async fn query(&self, sentinel: &Node) -> RedisResult<Arc<str>> {
        let mut get = Pipeline::new();
        let name = self.address.master().unwrap_or_default();
        get.cmd("SENTINEL").arg("get-master-addr-by-name").arg(name);
        let answer = match sentinel.send(&get, false).await {
            Ok(mut values) => values.pop().unwrap_or(Value::Nil).extract_error()?,
            Err(Failure::Unsent(error) | Failure::Lost(error)) => return Err(error),
        };
        let place = match &answer {
            Value::Array(place) => place.iter().map(text).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let Some([host, port]) = place.as_deref() else {
            let what = format!("the sentinels know no master {name:?}");
            return Err((ErrorKind::InvalidClientConfig, "no master", what).into());
        };
        let host = if host.contains(':') { format!("[{host}]") } else { (*host).to_owned() };
        Ok(format!("{host}:{port}").into())
    }

    fn learn(&self, name: Arc<str>) {
        let mut master = self.master.write().unwrap_or_else(PoisonError::into_inner);
        if master.name != name && !master.name.is_empty() {
            self.losses.note(&self.moved_at);
        }
        *master = Master { name, is_doubtful: false };
    }

    /// The last attempt on this master failed.
    fn doubt(&self, name: &str) {
        let mut master = self.master.write().unwrap_or_else(PoisonError::into_inner);
        master.is_doubtful |= *master.name == *name;
    }

    fn current(&self) -> (Arc<str>, bool) {
        let master = self.master.read().unwrap_or_else(PoisonError::into_inner);
        (master.name.clone(), master.is_doubtful)
    }
}

impl Backend for Sentinel {
    fn place(&self, _slot: u16, _replica: bool) -> Route {
        Route { node: self.current().0, how: How::Plain }
    }

    fn losses(&self) -> u64 {
        self.losses.count()
    }

    fn lost_at(&self, _slot: u16) -> u64 {
        // ORDERING: SeqCst, as in [`Losses`].
        let moved_at = self.moved_at.load(Ordering::SeqCst);
        self.node(&self.current().0).map_or(moved_at, |node| node.lost_at().max(moved_at))
    }

    fn send<'a>(
        &'a self,
        node: &Arc<str>,
        pipeline: &'a Pipeline,
        waits: bool,
    ) -> BoxFuture<'a, Sent> {
        let name = node.clone();
        async move {
            if self.current() == (name.clone(), true) {
                let error = (ErrorKind::Io, "the sentinels have not named its successor yet");
                return Err(Failure::Unsent(RedisError::from(error)));
            }
            let node = self.node(&name).map_err(Failure::Unsent)?;
            let sent = node.send(pipeline, waits).await;
            if sent.is_err() {
                self.doubt(&name);
            }
            sent
        }
        .boxed()
    }

    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>> {
        async {
            let _looking = self.looking.lock().await;
            self.look().await
        }
        .boxed()
    }
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sentinel")
    }
}
