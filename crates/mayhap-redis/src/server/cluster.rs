//! A cluster: pipelines by node, and by single commands where keys are on the move.

use super::backend::{Backend, Values};
use super::command::NUM_SLOTS;
use super::{Address, ServerOptions, command::Command};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_read_routing::RandomReplicaStrategy;
use redis::cluster_routing::{Route, SingleNodeRoutingInfo, SlotAddr};
use redis::{Pipeline, RedisResult, Value, cmd};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::Duration;

pub(crate) struct Cluster {
    /// Repeats nothing: a reply that was lost has to be known of.
    once: ClusterConnection,
    /// Follows redirections and repeats.
    following: ClusterConnection,
    /// The number of the master of each slot, as the cluster said last.
    masters: RwLock<Arc<[u16]>>,
}

impl Cluster {
    pub(crate) async fn connect(address: &Address, options: &ServerOptions) -> RedisResult<Self> {
        let builder = || {
            let builder = ClusterClientBuilder::new(address.node_urls())
                .connection_timeout(options.connect_timeout)
                .response_timeout(options.response_timeout)
                .overall_response_timeout(Some(options.deadline));
            if options.read_replicas {
                builder.read_routing_strategy(RandomReplicaStrategy)
            } else {
                builder
            }
        };
        let connect = async |client: ClusterClient| client.get_async_connection().await;
        let once = connect(builder().retries(0).build()?).await?;
        let following = builder().retries(16).min_retry_wait(20).max_retry_wait(500);
        let following = connect(following.build()?).await?;
        let masters = RwLock::new(vec![0; usize::from(NUM_SLOTS)].into());
        let cluster = Self { once, following, masters };
        cluster.look().await?;
        Ok(cluster)
    }

    async fn look(&self) -> RedisResult<()> {
        let mut slots = cmd("CLUSTER");
        slots.arg("SLOTS");
        let answer: Value = slots.query_async(&mut self.following.clone()).await?;
        let masters = masters_of(&answer).into();
        *self.masters.write().unwrap_or_else(std::sync::PoisonError::into_inner) = masters;
        Ok(())
    }

    fn known(&self) -> Arc<[u16]> {
        self.masters.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn route(slot: u16, read: bool) -> SingleNodeRoutingInfo {
        let node = if read { SlotAddr::ReplicaOptional } else { SlotAddr::Master };
        SingleNodeRoutingInfo::SpecificNode(Route::new(slot, node))
    }
}

/// `CLUSTER SLOTS`: arrays of first slot, last slot, master and replicas. Nodes are numbered as
/// they come.
fn masters_of(answer: &Value) -> Vec<u16> {
    let mut masters = vec![0; usize::from(NUM_SLOTS)];
    let mut nodes: Vec<&Value> = Vec::new();
    let Value::Array(ranges) = answer else { return masters };
    for range in ranges {
        let Value::Array(range) = range else { continue };
        let [Value::Int(first), Value::Int(last), master, ..] = range.as_slice() else { continue };
        let number = nodes.iter().position(|&node| node == master).unwrap_or_else(|| {
            nodes.push(master);
            nodes.len() - 1
        });
        let (Ok(first), Ok(last)) = (usize::try_from(*first), usize::try_from(*last)) else {
            continue;
        };
        if let Some(range) = masters.get_mut(first..=last) {
            range.fill(number as u16);
        }
    }
    masters
}

impl Backend for Cluster {
    fn groups(&self, commands: &[Command]) -> Vec<Vec<usize>> {
        let masters = self.known();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (i, command) in commands.iter().enumerate() {
            let master = usize::from(masters[usize::from(command.slot)]);
            if groups.len() <= master {
                groups.resize(master + 1, Vec::new());
            }
            groups[master].push(i);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// By slots.
    fn groups_again(&self, commands: &[Command], left: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for &i in left {
            groups.entry(commands[i].slot).or_default().push(i);
        }
        groups.into_values().collect()
    }

    fn follows(&self) -> bool {
        true
    }

    fn masters(&self) -> Vec<u16> {
        let masters = self.known();
        let mut firsts: Vec<u16> = Vec::new();
        for slot in 0..NUM_SLOTS {
            let is_of = |&first: &u16| masters[usize::from(first)] == masters[usize::from(slot)];
            if !firsts.iter().any(is_of) {
                firsts.push(slot);
            }
        }
        firsts
    }

    fn send(&self, pipeline: Pipeline, slot: u16, read: bool) -> BoxFuture<'_, Values> {
        let mut connection = self.once.clone();
        async move {
            let len = pipeline.len();
            connection.route_pipeline(pipeline, 0, len, Self::route(slot, read)).await
        }
        .boxed()
    }

    fn follow(&self, pipeline: Pipeline, slot: u16, read: bool) -> BoxFuture<'_, Values> {
        let mut connection = self.following.clone();
        async move {
            let len = pipeline.len();
            connection.route_pipeline(pipeline, 0, len, Self::route(slot, read)).await
        }
        .boxed()
    }

    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>> {
        async {
            // A node that is down keeps the rest waiting: look again after the next failure then.
            let look = tokio::time::timeout(Duration::from_secs(2), self.look());
            look.await.unwrap_or(Ok(()))
        }
        .boxed()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cluster")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_are_numbered_by_their_address() {
        let node = |port| Value::Array(vec![Value::BulkString(b"h".to_vec()), Value::Int(port)]);
        let range = |first, last, port, replica| {
            Value::Array(vec![Value::Int(first), Value::Int(last), node(port), node(replica)])
        };
        let answer = Value::Array(vec![
            range(0, 99, 1, 9),
            range(100, 16_382, 2, 8),
            range(16_383, 16_383, 1, 9),
        ]);
        let masters = masters_of(&answer);
        assert_eq!((masters[0], masters[99], masters[100]), (0, 0, 1));
        assert_eq!((masters[16_382], masters[16_383]), (1, 0));
        // Ranges that no cluster has change nothing.
        let answer = Value::Array(vec![range(-1, 5, 1, 1), range(9, 99_999, 1, 1), Value::Nil]);
        assert!(masters_of(&answer).iter().all(|&master| master == 0));
    }
}
