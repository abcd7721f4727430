//! The calls that wait, and for how long: queries for no replica, callers not beyond their own
//! deadline.

use crate::native::{connect, connect_with, digests, params};
use mayhap::Layout;
use mayhap_redis::{
    Error, NativeFilter, NativeOptions, RemoteFilter, ServerOptions, Trouble, WaitReplicas, find,
};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn start() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

fn options(layout: Layout) -> NativeOptions {
    NativeOptions::new(params(layout, 300_000, 0.001))
}

/// After every failover the new master has no replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_wait_for_no_replica() {
    let Some(redis) = start() else { return };
    let timeout = Duration::from_millis(100);
    let wait_replicas = Some(WaitReplicas { replicas: 1, timeout });
    let deadline = Duration::from_millis(400);
    let patient = connect(&redis).await;
    let waiting = ServerOptions { wait_replicas, deadline, ..ServerOptions::default() };
    let server = connect_with(&redis, waiting).await;
    for layout in [Layout::Blocked, Layout::Standard] {
        let name = layout.name();
        let writer = NativeFilter::create(&patient, name, &options(layout)).await.unwrap();
        writer.insert(b"there").await.unwrap();
        writer.insert_digests(&digests(0..10_000)).await.unwrap();
        redis.cli(&["CONFIG", "RESETSTAT"]).unwrap();
        let filter = NativeFilter::attach(&server, name, None).await.unwrap();
        assert!(filter.contains(b"there").await.unwrap());
        assert!(!filter.contains(b"absent").await.unwrap());
        let keys: [&[u8]; 2] = [b"there", b"absent"];
        assert_eq!(filter.contains_batch(&keys).await.unwrap().count_ones(), 1);
        assert!(filter.info().await.unwrap().count_ones > 0);
        assert!(filter.glance().await.unwrap().count_ones > 0);
        assert!(filter.download().await.unwrap().next().await.unwrap().is_some());
        find(&server, name, None).await.unwrap();
        let stats = redis.cli(&["INFO", "commandstats"]).unwrap();
        assert!(!stats.contains("cmdstat_wait"), "{stats}");
        // A write is refused, as before.
        let inserted = filter.insert(b"new").await;
        assert!(matches!(inserted, Err(Error::NotReplicated { .. })), "{inserted:?}");
    }
}

/// Four pipelines of 100 keys are in flight; the others must not be sent once their callers have
/// given up, or have been told that there was no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_no_caller_waits_for_are_not_sent() {
    const CALLERS: u64 = 2_000;
    const ATTEMPTS: u64 = 5;
    let Some(redis) = start() else { return };
    let server = connect_with(
        &redis,
        ServerOptions {
            response_timeout: Duration::from_secs(60),
            deadline: Duration::from_millis(500),
            ..ServerOptions::default()
        },
    )
    .await;
    let filter = NativeFilter::create(&server, "a", &options(Layout::Blocked)).await.unwrap();
    for gives_up in [false, true] {
        // On a busy machine some callers come so late that they still wait when the first are told:
        // their keys may be sent, and other callers try again.
        let mut sent = Vec::new();
        for attempt in 0..ATTEMPTS {
            let first = (u64::from(gives_up) * ATTEMPTS + attempt) * CALLERS;
            let keys: Vec<_> = (first..first + CALLERS).map(u64::to_le_bytes).collect();
            redis.pause().unwrap();
            let callers: Vec<_> =
                keys.iter().map(|&key| tokio::spawn(call(filter.clone(), key, gives_up))).collect();
            for caller in callers {
                caller.await.unwrap();
            }
            redis.resume().unwrap();
            // Behind all that was sent before.
            connect(&redis).await;
            while filter.insert(b"last").await.is_err() {}
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let there = filter.contains_batch(&keys).await.unwrap().count_ones();
            sent.push(there);
            if (1..=450).contains(&there) {
                break;
            }
        }
        let last = sent.last().copied().unwrap_or_default();
        assert!((1..=450).contains(&last), "{sent:?} of {CALLERS} were sent ({gives_up})");
    }
}

/// A caller that gives up, or waits and is told that there was no answer.
async fn call(filter: NativeFilter, key: [u8; 8], gives_up: bool) {
    let insert = filter.insert(&key);
    if gives_up {
        let _ = tokio::time::timeout(Duration::from_millis(50), insert).await;
        return;
    }
    let inserted = insert.await;
    let silent = matches!(inserted, Err(Error::Unavailable { trouble: Trouble::Silent, .. }));
    assert!(silent, "{inserted:?}");
}
