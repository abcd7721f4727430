//! Masters that are killed while four tasks insert without waiting for replicas: a key that was
//! acknowledged after its client had seen the failure is not lost.
//!
//! `make failovers` runs many rounds, with `FAILOVERS`; `make check` one.

use crate::cluster::{connect, connect_with};
use crate::native::{digests, params};
use mayhap::Layout;
use mayhap_redis::{Error, NativeFilter, NativeOptions, RemoteFilter, ServerOptions};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use test_servers::{ClusterOptions, RedisCluster, ready};
use tokio::time::sleep;

const TASKS: u64 = 4;
const BATCH: u64 = 1_000;
/// Keys of a round.
const MOST_KEYS: u64 = 4_000_000;
/// After a kill on loopback the client has seen the end of its connection by then.
const SEEN: Duration = Duration::from_secs(1);
/// A longer time is a hang.
const NEVER: Duration = Duration::from_secs(120);

/// Keys, and when they were acknowledged.
type Acknowledged = Arc<Mutex<Vec<(Range<u64>, Instant)>>>;

/// The keys of one round, and the lost ones among them.
#[derive(Debug, Default)]
struct Round {
    acknowledged: u64,
    after_it_was_seen: u64,
    lost_before: u64,
    lost_after: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_acknowledged_after_a_failure_was_seen_is_lost_without_waiting_for_replicas() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let rounds = std::env::var("FAILOVERS").map_or(1, |rounds| rounds.parse().unwrap());
    let cluster = RedisCluster::start(&ClusterOptions::default()).unwrap();
    let mut all = Round::default();
    for number in 0..rounds {
        let round = run(&cluster, number).await;
        all.acknowledged += round.acknowledged;
        all.after_it_was_seen += round.after_it_was_seen;
        all.lost_before += round.lost_before;
        all.lost_after += round.lost_after;
        println!("round {}: {round:?}; all: {all:?}", number + 1);
        assert!(round.after_it_was_seen > 0, "{round:?}");
        assert_eq!(round.lost_after, 0, "{round:?}");
    }
}

async fn run(cluster: &RedisCluster, number: u16) -> Round {
    let options = ServerOptions { deadline: NEVER, ..ServerOptions::default() };
    let server = connect_with(cluster, options).await;
    let name = format!("failover-{number}");
    let options = NativeOptions::new(params(Layout::Blocked, MOST_KEYS, 1e-6));
    let filter = NativeFilter::create(&server, &name, &options).await.unwrap();
    cluster.wait_ok().unwrap();
    let (done, stop) = (Acknowledged::default(), Arc::new(AtomicBool::new(false)));
    let next = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (filter, done, stop, next) =
                (filter.clone(), done.clone(), stop.clone(), next.clone());
            tokio::spawn(async move { insert(&filter, &next, &done, &stop).await })
        })
        .collect();
    let acknowledged = || done.lock().unwrap().len();
    until("the load", || acknowledged() > 50).await;
    let slot = [0, 16_383, 8_000][usize::from(number % 3)];
    let master = cluster.master_of_slot(slot).unwrap();
    let killed = Instant::now();
    cluster.kill(master);
    let is_replaced = || cluster.master_of_slot(slot).is_ok_and(|now| now != master);
    until("another master", is_replaced).await;
    let before = acknowledged();
    until("keys for the new master", || acknowledged() > before + 50).await;
    stop.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    cluster.restart(master).unwrap();
    cluster.wait_ok().unwrap();
    let round = query(cluster, &name, &done, killed + SEEN).await;
    filter.delete().await.unwrap();
    round
}

/// Inserts until it is stopped.
async fn insert(filter: &NativeFilter, next: &AtomicU64, done: &Acknowledged, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let first = next.fetch_add(BATCH, Ordering::SeqCst);
        assert!(first < MOST_KEYS, "the failover took too long");
        let keys = digests(first..first + BATCH);
        // After an error nothing was acknowledged.
        match filter.insert_digests(&keys).await {
            Ok(_) => done.lock().unwrap().push((first..first + BATCH, Instant::now())),
            Err(Error::Unavailable { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
        // A load that leaves the servers time for their failover.
        sleep(Duration::from_millis(5)).await;
    }
}

/// Queries all acknowledged keys, by a client of its own.
async fn query(cluster: &RedisCluster, name: &str, done: &Acknowledged, seen: Instant) -> Round {
    let server = connect(cluster).await;
    let filter = NativeFilter::attach(&server, name, None).await.unwrap();
    let mut round = Round::default();
    let batches = std::mem::take(&mut *done.lock().unwrap());
    for (batch, at) in batches {
        let found = filter.contains_digests(&digests(batch.clone())).await.unwrap().count_ones();
        let lost = BATCH - found as u64;
        round.acknowledged += BATCH;
        if at > seen {
            round.after_it_was_seen += BATCH;
            round.lost_after += lost;
        } else {
            round.lost_before += lost;
        }
    }
    round
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + NEVER;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: never");
        sleep(Duration::from_millis(10)).await;
    }
}
