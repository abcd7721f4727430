//! `Server::run` against real servers: its guarantees when they fail.

mod cluster;
pub(crate) mod fake;
mod faults;
mod losses;
mod proxy;
pub(crate) mod script;
mod single;

use super::{Address, Command, Reply, Server, ServerOptions, WaitReplicas};
use redis::{Value, cmd};
use std::time::{Duration, Instant};
use test_servers::{RedisCluster, RedisOptions, RedisServer, ready};

/// No test asserts a time: this is for calls that must not hang.
const NEVER: Duration = Duration::from_secs(100);

fn start(options: &RedisOptions) -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(options).unwrap())
}

fn start_cluster(options: &RedisOptions) -> Option<RedisCluster> {
    let options = test_servers::ClusterOptions { redis: options.clone(), ..Default::default() };
    ready(&["redis-server", "redis-cli"]).then(|| RedisCluster::start(&options).unwrap())
}

async fn connect(url: &str, options: ServerOptions) -> Server {
    Server::connect(&Address::parse(url).unwrap(), options).await.unwrap()
}

fn cluster_url(cluster: &RedisCluster) -> String {
    let urls = cluster.urls();
    let hosts: Vec<&str> = urls.iter().filter_map(|url| url.strip_prefix("redis://")).collect();
    format!("redis+cluster://{}", hosts.join(","))
}

/// Short times, so that a fault is over soon.
fn quick(deadline_ms: u64) -> ServerOptions {
    ServerOptions {
        response_timeout: Duration::from_millis(300),
        deadline: Duration::from_millis(deadline_ms),
        ..ServerOptions::default()
    }
}

fn waiting(deadline_ms: u64) -> ServerOptions {
    let timeout = Duration::from_millis(500);
    let wait_replicas = Some(WaitReplicas { replicas: 1, timeout });
    ServerOptions { wait_replicas, ..quick(deadline_ms) }
}

/// Sets a bit and returns its old value.
fn set(key: &str, bit: u32) -> Command {
    let mut set = cmd("BITFIELD");
    set.arg(key).arg("SET").arg("u1").arg(bit).arg(1);
    Command::write(key, set)
}

fn get(key: &str, bit: u32) -> Command {
    let mut get = cmd("GETBIT");
    get.arg(key).arg(bit);
    Command::read(key, get)
}

/// The integer of a reply, or of its only element.
fn int(reply: &Reply) -> i64 {
    match reply.value.as_ref().unwrap() {
        Value::Int(int) => *int,
        Value::Array(values) => match values[..] {
            [Value::Int(int)] => int,
            _ => panic!("{values:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn ints(replies: &[Reply]) -> Vec<i64> {
    replies.iter().map(int).collect()
}

fn repeated(replies: &[Reply]) -> usize {
    replies.iter().filter(|reply| reply.repeated).count()
}

/// A number of `INFO`.
fn info(server: &RedisServer, section: &str, name: &str) -> u64 {
    let text = server.cli(&["INFO", section]).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse().unwrap()
}

/// The number of times that a server has run a command, successful or refused.
fn calls(server: &RedisServer, command: &str) -> u64 {
    let text = server.cli(&["INFO", "commandstats"]).unwrap();
    let line = text.lines().find_map(|line| {
        line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls=")
    });
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// Waits until a condition holds. A hang is a failure.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + NEVER;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: never");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
