//! Filters of our own layout on a cluster of three masters.

use crate::native::{digests, params};
use mayhap::{AnyFilter, Layout};
use mayhap_redis::{
    Address, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
};
use std::time::Duration;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, ready};

pub(crate) async fn connect(cluster: &RedisCluster) -> Server {
    connect_with(cluster, ServerOptions::default()).await
}

pub(crate) async fn connect_with(cluster: &RedisCluster, options: ServerOptions) -> Server {
    let hosts: Vec<String> =
        cluster.urls().iter().map(|url| url.trim_start_matches("redis://").to_owned()).collect();
    let address = Address::parse(&format!("redis+cluster://{}", hosts.join(","))).unwrap();
    Server::connect(&address, options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_does_all_that_one_server_does() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options).unwrap();
    let server = connect(&cluster).await;
    let numbers = params(Layout::Blocked, 300_000, 0.001);
    let with_ttl =
        NativeOptions { ttl: Some(Duration::from_secs(900)), ..NativeOptions::new(numbers) };
    let filter = NativeFilter::create(&server, "a", &with_ttl).await.unwrap();
    let again = NativeFilter::create(&server, "a", &with_ttl).await.unwrap();
    assert!(filter.was_created() && !again.was_created());
    for node in cluster.nodes() {
        let keys: usize = node.cli(&["DBSIZE"]).unwrap().parse().unwrap();
        assert!(keys >= 5, "a master has {keys} keys");
    }
    let keys = digests(0..20_000);
    let mut local = AnyFilter::builder()
        .layout(Layout::Blocked)
        .num_bits(numbers.num_bits())
        .num_hashes(numbers.num_hashes())
        .expected_items(300_000)
        .build()
        .unwrap();
    let mut new = mayhap::Bitmap::new();
    local.insert_digests_into(&keys[..10_000], &mut new);
    assert_eq!(filter.insert_digests(&keys[..10_000]).await.unwrap().new, new);
    filter.insert_bulk(&keys[10_000..]).await.unwrap();
    local.insert_digests_into(&keys[10_000..], &mut new);
    assert_eq!(again.contains_digests(&keys).await.unwrap().count_ones(), keys.len());
    let mut read = Vec::new();
    let mut download = again.download().await.unwrap();
    while let Some(part) = download.next().await.unwrap() {
        read.extend(part);
    }
    assert_eq!(read, mayhap::native::body_bytes(local.blocks()).into_owned());
    assert_eq!(filter.insert(b"one").await.unwrap(), Inserted::New);
    assert!(again.contains(b"one").await.unwrap());
    let hold = Duration::from_secs(60);
    let hidden = NativeFilter::rebuild(&server, "a", &with_ttl, hold).await.unwrap();
    hidden.insert(b"two").await.unwrap();
    hidden.swap().await.unwrap();
    assert!(filter.contains(b"two").await.unwrap() && !again.contains(b"one").await.unwrap());
    filter.refresh_ttl(None).await.unwrap();
    assert_eq!(filter.info().await.unwrap().ttl_ms, None);
    assert!(filter.delete().await.unwrap());
    // Only the replaced shards are left, for a minute.
    for node in cluster.nodes() {
        for key in node.cli(&["KEYS", "*"]).unwrap().lines() {
            let ttl: i64 = node.cli(&["PTTL", key]).unwrap().parse().unwrap();
            assert!((0..=60_000).contains(&ttl) || ttl == -2, "{key}: {ttl}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_lost_while_slots_move() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let redis = RedisOptions { appendonly: false, ..RedisOptions::default() };
    let cluster = RedisCluster::start(&ClusterOptions { replicas: 0, redis, masters: 3 }).unwrap();
    let server = connect(&cluster).await;
    let options = NativeOptions::new(params(Layout::Blocked, 300_000, 0.001));
    let filter = NativeFilter::create(&server, "a", &options).await.unwrap();
    let writer = {
        let filter = filter.clone();
        tokio::spawn(async move {
            let keys = digests(0..100_000);
            for part in keys.chunks(500) {
                filter.insert_digests(part).await.unwrap();
                let found = filter.contains_digests(part).await.unwrap();
                assert_eq!(found.count_ones(), part.len());
            }
        })
    };
    let moves = tokio::task::spawn_blocking(move || {
        cluster.reshard(0, 1, 1_500).unwrap();
        cluster.reshard(1, 2, 1_500).unwrap();
        cluster
    });
    let cluster = moves.await.unwrap();
    writer.await.unwrap();
    let found = filter.contains_digests(&digests(0..100_000)).await.unwrap();
    assert_eq!(found.count_ones(), 100_000);
    assert_eq!(filter.info().await.unwrap().num_shards, {
        let keys = cluster.nodes().iter().map(|node| node.cli(&["DBSIZE"]).unwrap());
        keys.map(|keys| keys.parse::<u64>().unwrap()).sum::<u64>() - 1
    });
}
