//! A cluster: a connection to each node, and the owners of the slots.

use super::backend::{Backend, How, Route};
use super::command::NUM_SLOTS;
use super::node::{Failure, Losses, Node, Sent};
use super::topology::{Topology, target};
use super::{Address, ServerOptions};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use redis::{ErrorKind, Pipeline, RedisError, RedisResult, ServerError, ServerErrorKind};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The number of nodes queried at once for the slots: the first answer is used.
const QUERIED_AT_ONCE: usize = 3;

pub(crate) struct Cluster {
    address: Address,
    options: ServerOptions,
    /// The nodes contacted so far, by `host:port`.
    nodes: Mutex<HashMap<Arc<str>, Arc<Node>>>,
    /// `None` only before the first lookup.
    topology: RwLock<Option<Arc<Topology>>>,
    losses: Losses,
    /// For each slot, the number of the last event by which it got another master.
    moved_at: Box<[AtomicU64]>,
    /// The node that was named as the new master of a slot, and is to be queried first.
    hint: Mutex<Option<Arc<str>>>,
    looking: tokio::sync::Mutex<()>,
    looks: AtomicUsize,
    reads: AtomicUsize,
}

impl Cluster {
    pub(crate) async fn connect(address: &Address, options: &ServerOptions) -> RedisResult<Self> {
        let cluster = Self {
            address: address.clone(),
            options: options.clone(),
            nodes: Mutex::default(),
            topology: RwLock::default(),
            losses: Losses::default(),
            moved_at: (0..NUM_SLOTS).map(|_| AtomicU64::default()).collect(),
            hint: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            looks: AtomicUsize::default(),
            reads: AtomicUsize::default(),
        };
        cluster.look().await?;
        Ok(cluster)
    }

    fn known(&self) -> Option<Arc<Topology>> {
        self.topology.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn node(&self, name: &Arc<str>) -> RedisResult<Arc<Node>> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = nodes.get(name) {
            return Ok(node.clone());
        }
        let node = Arc::new(Node::of(&self.address, name, &self.options, &self.losses)?);
        nodes.insert(name.clone(), node.clone());
        Ok(node)
    }

    /// Queries the known nodes for the slots, beginning after the nodes that were first the last
    /// time.
    async fn look(&self) -> RedisResult<()> {
        let mut names: Vec<Arc<str>> = self.address.node_names().map(Arc::from).collect();
        names.extend(self.known().iter().flat_map(|known| known.nodes().cloned()));
        names.sort_unstable();
        names.dedup();
        // ORDERING: Relaxed. It only selects the first node.
        let first = self.looks.load(Ordering::Relaxed) % names.len().max(1);
        names.rotate_left(first);
        // The others may not know of the new master yet.
        let hint = self.hint.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(hint) = hint
            && let Ok(topology) = self.query(&hint).await
        {
            self.learn(topology, &names);
            return Ok(());
        }
        let queries = names.clone().into_iter().map(|name| async move {
            let answer = self.query(&name).await;
            (name, answer)
        });
        let mut answers = stream::iter(queries).buffer_unordered(QUERIED_AT_ONCE);
        let mut reason: Option<RedisError> = None;
        while let Some((name, answer)) = answers.next().await {
            match answer {
                Ok(topology) => {
                    log::debug!("{name} has answered which node has which slots");
                    self.learn(topology, &names);
                    return Ok(());
                }
                // Prefer the permanent error.
                Err(error) if error.kind() == ErrorKind::AuthenticationFailed => return Err(error),
                Err(error) => reason = Some(error),
            }
        }
        Err(reason.unwrap_or_else(|| (ErrorKind::Client, "there are no nodes").into()))
    }

    async fn query(&self, name: &Arc<str>) -> RedisResult<Topology> {
        let mut slots = Pipeline::new();
        slots.cmd("CLUSTER").arg("SLOTS");
        let answer = match self.node(name)?.send(&slots, false).await {
            Ok(mut values) => values.pop(),
            Err(Failure::Unsent(error) | Failure::Lost(error)) => return Err(error),
        };
        let answer = match answer {
            Some(value) => value.extract_error()?,
            None => return Err((ErrorKind::UnexpectedReturnType, "no slots").into()),
        };
        let nobody = || (ErrorKind::UnexpectedReturnType, "no node of the cluster has slots");
        Topology::parse(&answer, name).ok_or_else(|| nobody().into())
    }

    /// Keeps the topology and only the nodes in it, plus the configured ones.
    fn learn(&self, topology: Topology, given: &[Arc<str>]) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|name, _| given.contains(name) || topology.nodes().any(|node| node == name));
        let mut known = self.topology.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &*known {
            for (slot, moved_at) in (0..NUM_SLOTS).zip(&self.moved_at) {
                if before.shard(slot).master != topology.shard(slot).master {
                    self.losses.note(moved_at);
                }
            }
        }
        *known = Some(Arc::new(topology));
    }
}

impl Backend for Cluster {
    fn place(&self, slot: u16, replica: bool) -> Route {
        let known = self.known();
        let Some(shard) = known.as_ref().map(|known| known.shard(slot)) else {
            return Route { node: "".into(), how: How::Plain };
        };
        if replica && self.options.read_replicas && !shard.replicas.is_empty() {
            // ORDERING: Relaxed. It only spreads the load.
            let node = &shard.replicas[self.reads.load(Ordering::Relaxed) % shard.replicas.len()];
            return Route { node: node.clone(), how: How::ReadOnly };
        }
        Route { node: shard.master.clone(), how: How::Plain }
    }

    fn redirected(&self, from: &Route, error: &ServerError) -> Option<Route> {
        let (slot, node) = target(error, &from.node)?;
        let node: Arc<str> = node.into();
        if error.kind() == Some(ServerErrorKind::Ask) {
            return Some(Route { node, how: How::Asking });
        }
        if let Some(moved_at) = self.moved_at.get(usize::from(slot)) {
            self.losses.note(moved_at);
        }
        *self.hint.lock().unwrap_or_else(PoisonError::into_inner) = Some(node.clone());
        Some(Route { node, how: How::Plain })
    }

    fn is_cluster(&self) -> bool {
        true
    }

    fn masters(&self) -> Vec<u16> {
        let known = self.known();
        known.iter().flat_map(|known| known.shards()).map(|shard| shard.slot).collect()
    }

    fn losses(&self) -> u64 {
        self.losses.count()
    }

    fn lost_at(&self, slot: u16) -> u64 {
        // ORDERING: SeqCst, as in [`Losses`].
        let moved_at =
            self.moved_at.get(usize::from(slot)).map_or(0, |at| at.load(Ordering::SeqCst));
        let known = self.known();
        let node = known.and_then(|known| self.node(&known.shard(slot).master).ok());
        node.map_or(moved_at, |node| node.lost_at().max(moved_at))
    }

    fn send<'a>(
        &'a self,
        node: &Arc<str>,
        pipeline: &'a Pipeline,
        waits: bool,
    ) -> BoxFuture<'a, Sent> {
        // Another replica for the next call.
        // ORDERING: Relaxed. It only spreads the load.
        self.reads.fetch_add(1, Ordering::Relaxed);
        let node = self.node(node);
        async move { node.map_err(Failure::Unsent)?.send(pipeline, waits).await }.boxed()
    }

    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>> {
        async {
            // ORDERING: Relaxed, here and below. The result of a lookup is handed over by the locks
            // of `looking` and `topology`; the number only shows whether one happened meanwhile.
            let looks = self.looks.load(Ordering::Relaxed);
            let _looking = self.looking.lock().await;
            // One lookup is enough for all waiters.
            if self.looks.load(Ordering::Relaxed) != looks {
                return Ok(());
            }
            let found = self.look().await;
            self.looks.fetch_add(1, Ordering::Relaxed);
            found
        }
        .boxed()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cluster")
    }
}
