//! One server.

use super::backend::{Backend, How, Route};
use super::node::{Failure, Losses, Node, Sent};
use super::{Address, ServerOptions};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::{Pipeline, RedisResult, Value};
use std::fmt;
use std::sync::Arc;

pub(crate) struct Single {
    node: Node,
    place: Route,
    losses: Losses,
}

impl Single {
    pub(crate) async fn connect(address: &Address, options: &ServerOptions) -> RedisResult<Self> {
        let name = address.node_names().next().unwrap_or_default();
        let losses = Losses::default();
        let node = Node::of(address, &name, options, &losses)?;
        let mut ping = Pipeline::new();
        ping.cmd("PING");
        match node.send(&ping, false).await {
            // A user who may not do anything gets an error too, but not this one.
            Ok(values) => match values.into_iter().next() {
                Some(Value::ServerError(error)) if error.code() == "NOAUTH" => Err(error.into()),
                _ => Ok(Self { node, place: Route { node: name.into(), how: How::Plain }, losses }),
            },
            Err(Failure::Lost(error)) if error.is_connection_dropped() => {
                Err(node.first_word().await.unwrap_or(error))
            }
            Err(Failure::Unsent(error) | Failure::Lost(error)) => Err(error),
        }
    }
}

impl Backend for Single {
    fn place(&self, _slot: u16, _replica: bool) -> Route {
        self.place.clone()
    }

    fn losses(&self) -> u64 {
        self.losses.count()
    }

    fn lost_at(&self, _slot: u16) -> u64 {
        self.node.lost_at()
    }

    fn send<'a>(
        &'a self,
        _node: &Arc<str>,
        pipeline: &'a Pipeline,
        waits: bool,
    ) -> BoxFuture<'a, Sent> {
        async move { self.node.send(pipeline, waits).await }.boxed()
    }

    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>> {
        async { Ok(()) }.boxed()
    }
}

impl fmt::Debug for Single {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Single")
    }
}
