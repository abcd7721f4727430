//! One server, by one connection that all callers share and that reconnects by itself.

use super::backend::{Backend, Values};
use super::{Address, ServerOptions, command::Command};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Pipeline, RedisResult};
use std::fmt;

pub(crate) struct Single {
    connection: ConnectionManager,
}

impl Single {
    pub(crate) async fn connect(address: &Address, options: &ServerOptions) -> RedisResult<Self> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            .set_response_timeout(Some(options.response_timeout))
            // Repetition is ours: a reply that was lost has to be known of.
            .set_number_of_retries(1);
        let url = address.node_urls().next().unwrap_or_default();
        let connection = Client::open(url)?.get_connection_manager_with_config(config).await?;
        Ok(Self { connection })
    }
}

impl Backend for Single {
    fn groups(&self, commands: &[Command]) -> Vec<Vec<usize>> {
        vec![(0..commands.len()).collect()]
    }

    fn groups_again(&self, _commands: &[Command], left: &[usize]) -> Vec<Vec<usize>> {
        // In parts, so that some arrive where the whole takes longer than a reply may.
        left.chunks(256).map(<[usize]>::to_vec).collect()
    }

    fn follows(&self) -> bool {
        false
    }

    fn masters(&self) -> Vec<u16> {
        vec![0]
    }

    fn send(&self, pipeline: Pipeline, _slot: u16, _read: bool) -> BoxFuture<'_, Values> {
        let mut connection = self.connection.clone();
        async move {
            let len = pipeline.len();
            connection.req_packed_commands(&pipeline, 0, len).await
        }
        .boxed()
    }

    fn follow(&self, pipeline: Pipeline, slot: u16, read: bool) -> BoxFuture<'_, Values> {
        self.send(pipeline, slot, read)
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
