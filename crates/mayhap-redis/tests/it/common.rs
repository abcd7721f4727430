//! Shared parts of the tests of all layouts.

use crate::golden::{self, Key, Names};
use mayhap_redis::{Address, Inserted, RemoteFilter, Server, ServerOptions};
use redis::{Connection, FromRedisValue, cmd};
use serde_json::Value;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer};

/// A server, a filter's connection to it, and a second one.
pub(crate) struct Single {
    pub(crate) server: Server,
    raw: Connection,
    process: RedisServer,
}

impl Single {
    pub(crate) async fn start() -> Self {
        let process = RedisServer::start(&RedisOptions::default()).unwrap();
        let server = connect(&process.url()).await;
        let raw = redis::Client::open(process.url()).unwrap().get_connection().unwrap();
        Self { server, raw, process }
    }

    pub(crate) fn url(&self) -> String {
        self.process.url()
    }

    /// Sends a command without a filter.
    pub(crate) fn raw<T: FromRedisValue>(&mut self, words: &[&[u8]]) -> T {
        let mut command = cmd(std::str::from_utf8(words[0]).unwrap());
        command.arg(&words[1..]);
        command.query(&mut self.raw).unwrap()
    }

    /// The bytes of a string; none if it does not exist.
    pub(crate) fn get(&mut self, key: &str) -> Vec<u8> {
        self.raw(&[b"GET", key.as_bytes()])
    }

    /// `PTTL`: −1 forever, −2 not there.
    pub(crate) fn pttl(&mut self, key: &str) -> i64 {
        self.raw(&[b"PTTL", key.as_bytes()])
    }

    /// The commands called since the last time, with their counts, without this function's own.
    pub(crate) fn calls(&mut self) -> Vec<(String, u64)> {
        let info: String = self.raw(&[b"INFO", b"commandstats"]);
        let mut calls = Vec::new();
        for line in info.lines() {
            let Some((name, rest)) = line.strip_prefix("cmdstat_").and_then(|l| l.split_once(':'))
            else {
                continue;
            };
            let count = rest.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
            if !name.starts_with("config") && name != "info" {
                calls.push((name.to_owned(), count.unwrap().parse().unwrap()));
            }
        }
        calls.sort();
        let _: () = self.raw(&[b"CONFIG", b"RESETSTAT"]);
        calls
    }
}

pub(crate) async fn connect(url: &str) -> Server {
    let address = Address::parse(url).unwrap();
    Server::connect(&address, ServerOptions::default()).await.unwrap()
}

/// Three masters and a connection to them.
pub(crate) async fn cluster() -> (RedisCluster, Server) {
    let options = ClusterOptions { masters: 3, replicas: 0, redis: RedisOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let urls = cluster.urls();
    let hosts: Vec<&str> = urls.iter().map(|url| url.trim_start_matches("redis://")).collect();
    let server = connect(&format!("redis+cluster://{}/", hosts.join(","))).await;
    (cluster, server)
}

/// A golden filter's keys, encoded, with whether each was new and whether each is found.
pub(crate) struct Replay {
    pub(crate) members: Vec<(Vec<u8>, bool)>,
    pub(crate) probes: Vec<(Vec<u8>, bool)>,
}

impl Replay {
    /// `encode` is passed whether the key is an explicit member.
    pub(crate) fn of(json: &Value, names: Names, encode: impl Fn(&Key, bool) -> Vec<u8>) -> Self {
        let num_explicit = json["members_explicit"].as_array().unwrap().len();
        let members = golden::keys(json, "members", names.inserted, names.not_new_at, false);
        let probes = golden::keys(json, "probes", names.found, names.found_at, true);
        let members = members.iter().enumerate();
        Self {
            members: members.map(|(i, (key, new))| (encode(key, i < num_explicit), *new)).collect(),
            probes: probes.iter().map(|(key, found)| (encode(key, false), *found)).collect(),
        }
    }

    /// Every key is answered as by the other side: in batches, the first 40 of each also alone.
    pub(crate) async fn ask(&self, filter: &impl RemoteFilter) {
        let members = self.members.iter().map(|(key, _)| (key, true));
        let probes = self.probes.iter().map(|(key, found)| (key, *found));
        let all: Vec<_> = members.chain(probes).collect();
        for keys in all.chunks(1_000) {
            let bytes: Vec<&[u8]> = keys.iter().map(|(key, _)| key.as_slice()).collect();
            let found = filter.contains_batch(&bytes).await.unwrap();
            for (i, (key, answer)) in keys.iter().enumerate() {
                assert_eq!(found.get(i), *answer, "{}: {key:?}", filter.name());
                if i < 40 {
                    assert_eq!(filter.contains(key).await.unwrap(), *answer, "{key:?} alone");
                }
            }
        }
    }

    /// Every member is new exactly if it was for the other side: the first 40 singly, then in
    /// batches.
    pub(crate) async fn insert(&self, filter: &impl RemoteFilter) {
        let (first, rest) = self.members.split_at(self.members.len().min(40));
        let became = |new| if new { Inserted::New } else { Inserted::Present };
        for (key, new) in first {
            assert_eq!(filter.insert(key).await.unwrap(), became(*new), "{key:?} alone");
        }
        for keys in rest.chunks(1_000) {
            let bytes: Vec<&[u8]> = keys.iter().map(|(key, _)| key.as_slice()).collect();
            let batch = filter.insert_batch(&bytes).await.unwrap();
            for (i, (key, new)) in keys.iter().enumerate() {
                assert_eq!(batch.get(i), became(*new), "{}: {key:?}", filter.name());
            }
        }
    }
}

/// `prefix0`, `prefix1`, …
pub(crate) fn keys(prefix: &str, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("{prefix}{i}").into_bytes()).collect()
}

pub(crate) fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}
