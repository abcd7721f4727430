//! The assignment of slots to nodes.

use super::command::NUM_SLOTS;
use redis::{ServerError, Value};
use std::sync::Arc;

/// The reply of `CLUSTER SLOTS`.
#[derive(Debug)]
pub(crate) struct Topology {
    shards: Vec<Shard>,
    /// The index of the shard of each slot; unassigned slots get the first shard, whose nodes
    /// report it.
    of_slot: Vec<u16>,
}

/// A master and its replicas, as `host:port`.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) master: Arc<str>,
    pub(crate) replicas: Vec<Arc<str>>,
    /// One of its slots.
    pub(crate) slot: u16,
}

impl Topology {
    /// Parses the reply of the node `from`: arrays of first slot, last slot, master and replicas.
    /// `None` if no slot has a node.
    pub(crate) fn parse(answer: &Value, from: &str) -> Option<Self> {
        let mut topology = Self { shards: Vec::new(), of_slot: vec![0; usize::from(NUM_SLOTS)] };
        let Value::Array(ranges) = answer else { return None };
        for range in ranges {
            let Value::Array(range) = range else { continue };
            let [Value::Int(first), Value::Int(last), master, replicas @ ..] = range.as_slice()
            else {
                continue;
            };
            let (Ok(first), Ok(last)) = (u16::try_from(*first), u16::try_from(*last)) else {
                continue;
            };
            let Some(master) = name(master, from) else { continue };
            let Some(slots) = topology.of_slot.get_mut(usize::from(first)..=usize::from(last))
            else {
                continue;
            };
            let known = topology.shards.iter().position(|shard| *shard.master == *master);
            let shard = known.unwrap_or(topology.shards.len());
            slots.fill(shard as u16);
            if known.is_none() {
                let replicas = replicas.iter().filter_map(|node| name(node, from)).map(Arc::from);
                let (master, replicas) = (master.into(), replicas.collect());
                topology.shards.push(Shard { master, replicas, slot: first });
            }
        }
        (!topology.shards.is_empty()).then_some(topology)
    }

    pub(crate) fn shard(&self, slot: u16) -> &Shard {
        let shard = self.of_slot.get(usize::from(slot)).map_or(0, |&shard| usize::from(shard));
        &self.shards[shard]
    }

    pub(crate) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.shards.iter().flat_map(|shard| std::iter::once(&shard.master).chain(&shard.replicas))
    }
}

/// An array of host and port. A node that does not know its own host has that of the replying node;
/// `?` is an unknown node.
fn name(node: &Value, from: &str) -> Option<String> {
    let Value::Array(node) = node else { return None };
    let [host, Value::Int(port), ..] = node.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) => str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        Value::Nil => "",
        _ => return None,
    };
    join(host, u16::try_from(*port).ok()?, from)
}

fn join(host: &str, port: u16, from: &str) -> Option<String> {
    match host {
        "?" => None,
        "" => Some(format!("{}:{port}", from.rsplit_once(':')?.0)),
        host if host.contains(':') && !host.starts_with('[') => Some(format!("[{host}]:{port}")),
        host => Some(format!("{host}:{port}")),
    }
}

/// The slot and the node of `MOVED 3999 host:port` or `ASK 3999 host:port` in a reply of the node
/// `from`.
pub(crate) fn target(error: &ServerError, from: &str) -> Option<(u16, String)> {
    let (slot, node) = error.details()?.split_once(' ')?;
    let (host, port) = node.rsplit_once(':')?;
    Some((slot.parse().ok()?, join(host, port.parse().ok()?, from)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.into()), Value::Int(port)])
    }

    fn range(first: i64, last: i64, nodes: &[Value]) -> Value {
        let slots = [Value::Int(first), Value::Int(last)];
        Value::Array(slots.iter().chain(nodes).cloned().collect())
    }

    #[test]
    fn slots_have_the_master_and_replicas_that_the_cluster_says() {
        let answer = Value::Array(vec![
            range(0, 99, &[node("a", 1), node("", 9)]),
            range(100, 16_382, &[node("::1", 2), node("?", 8)]),
            range(16_383, 16_383, &[node("a", 1), node("", 9)]),
        ]);
        let topology = Topology::parse(&answer, "h:7").unwrap();
        let of = |slot| &*topology.shard(slot).master;
        assert_eq!((of(0), of(99), of(100)), ("a:1", "a:1", "[::1]:2"));
        assert_eq!((of(16_382), of(16_383)), ("[::1]:2", "a:1"));
        assert_eq!(topology.shards().len(), 2);
        assert_eq!(&*topology.shards()[0].replicas[0], "h:9");
        assert!(topology.shards()[1].replicas.is_empty());
        assert!(topology.nodes().map(|name| &**name).eq(["a:1", "h:9", "[::1]:2"]));
    }

    #[test]
    fn ranges_that_no_cluster_has_are_left_out() {
        let strange = vec![
            range(-1, 5, &[node("a", 1)]),
            range(9, 99_999, &[node("a", 1)]),
            range(9, 8, &[node("a", 99_999)]),
            Value::Nil,
        ];
        assert!(Topology::parse(&Value::Array(strange), "h:7").is_none());
        let backwards = Value::Array(vec![range(9, 5, &[node("a", 1)])]);
        assert!(Topology::parse(&backwards, "h:7").is_none());
    }

    #[test]
    fn a_redirection_names_a_node() {
        let parse = |text: &str| {
            let Ok(Value::ServerError(error)) = redis::parse_redis_value(text.as_bytes()) else {
                panic!("{text}");
            };
            target(&error, "[::1]:7000").map(|(slot, node)| (slot == 3999).then_some(node).unwrap())
        };
        assert_eq!(parse("-MOVED 3999 127.0.0.1:6381\r\n").unwrap(), "127.0.0.1:6381");
        assert_eq!(parse("-ASK 3999 host:6381\r\n").unwrap(), "host:6381");
        assert_eq!(parse("-MOVED 3999 :6381\r\n").unwrap(), "[::1]:6381");
        assert_eq!(parse("-MOVED 3999 2001:db8::1:6381\r\n").unwrap(), "[2001:db8::1]:6381");
        assert_eq!(parse("-MOVED 3999 ?:6381\r\n"), None);
        assert_eq!(parse("-MOVED 3999\r\n"), None);
    }
}
