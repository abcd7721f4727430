//! A master and a replica behind three sentinels.

use crate::native::{digests, params};
use mayhap::Layout;
use mayhap_redis::{
    Address, Error, NativeFilter, NativeOptions, Server, ServerOptions, WaitReplicas,
};
use std::time::{Duration, Instant};
use test_servers::{RedisOptions, RedisSentinels, RedisServer, ready};

const BATCH: u64 = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn insertions_go_on_through_a_failover_by_sentinels() {
    if !ready(&["redis-server"]) {
        return;
    }
    let master = RedisServer::start(&RedisOptions::default()).unwrap();
    let config = vec![format!("replicaof 127.0.0.1 {}", master.port())];
    let replica = RedisServer::start(&RedisOptions { config, ..Default::default() }).unwrap();
    let sentinels = RedisSentinels::start(&master, "main").unwrap();
    let url = |name| format!("redis+sentinel://{}/{name}/seen", sentinels.addresses().join(","));
    let timeout = Duration::from_millis(500);
    let patient = ServerOptions { deadline: Duration::from_secs(90), ..Default::default() };
    let waiting = ServerOptions {
        wait_replicas: Some(WaitReplicas { replicas: 1, timeout }),
        ..patient.clone()
    };
    let address = Address::parse(&url("main")).unwrap();
    let server = Server::connect(&address, patient).await.unwrap();
    let options = NativeOptions::new(params(Layout::Blocked, 1_000_000, 1e-6));
    let filter = NativeFilter::create(&server, "seen", &options).await.unwrap();
    // Confirmed by the replica: none of these may be lost.
    let safe = Server::connect(&address, waiting).await.unwrap();
    let safe = NativeFilter::attach(&safe, "seen", None).await.unwrap();
    safe.insert_digests(&digests(0..BATCH)).await.unwrap();

    master.kill();
    let killed = Instant::now();
    // Acknowledged after the failure was seen: none of these either.
    let mut batches = 1;
    while batches < 20 {
        filter.insert_digests(&digests(batches * BATCH..(batches + 1) * BATCH)).await.unwrap();
        batches += 1;
    }
    println!("the first 19 batches after the kill took {:?}", killed.elapsed());
    let role = replica.cli(&["ROLE"]).unwrap();
    assert!(role.starts_with("master"), "{role}");
    let fresh = Server::connect(&address, ServerOptions::default()).await.unwrap();
    let fresh = NativeFilter::attach(&fresh, "seen", None).await.unwrap();
    let found = fresh.contains_digests(&digests(0..batches * BATCH)).await.unwrap();
    assert_eq!(found.count_ones() as u64, batches * BATCH);

    // The old master is back, with nothing: it is not used.
    master.restart().unwrap();
    let found = filter.contains_digests(&digests(0..batches * BATCH)).await.unwrap();
    assert_eq!(found.count_ones() as u64, batches * BATCH);

    let unknown = Address::parse(&url("other")).unwrap();
    let error = Server::connect(&unknown, ServerOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("know no master \"other\""), "{error}");
}
