//! A switch that a failover of the parameters' master undoes: they are as before, while the other
//! masters have done their part.

use crate::cluster::connect_with;
use crate::native::{digests, params};
use mayhap::{AnyFilter, Layout};
use mayhap_redis::{NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer, ready};

const META: &str = "{a}:meta";
const ITEMS: u64 = 100_000;

fn options() -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, ITEMS, 1e-6))
}

async fn start() -> Option<(RedisCluster, Server)> {
    if !ready(&["redis-server", "redis-cli"]) {
        return None;
    }
    let redis = RedisOptions::default();
    let cluster = RedisCluster::start(&ClusterOptions { masters: 3, replicas: 0, redis }).unwrap();
    let server = connect_with(&cluster, ServerOptions::default()).await;
    Some((cluster, server))
}

/// The master of the parameters.
fn master(cluster: &RedisCluster) -> &RedisServer {
    let slot = cluster.nodes()[0].cli(&["CLUSTER", "KEYSLOT", META]).unwrap();
    &cluster.nodes()[cluster.master_of_slot(slot.parse().unwrap()).unwrap()]
}

/// The shards on all masters: those that expire, and the others.
fn shards(cluster: &RedisCluster) -> (Vec<String>, Vec<String>) {
    let (mut expire, mut stay) = (Vec::new(), Vec::new());
    for node in cluster.nodes() {
        for key in node.cli(&["KEYS", "{a:*"]).unwrap().lines() {
            let ttl: i64 = node.cli(&["PTTL", key]).unwrap().parse().unwrap();
            assert!(ttl <= 60_000, "{key}: {ttl}");
            if ttl < 0 { stay.push(key.to_owned()) } else { expire.push(key.to_owned()) }
        }
    }
    (expire, stay)
}

/// A filter with the keys below 1,000 is replaced by an empty one; then its parameters are back.
async fn undo(cluster: &RedisCluster, server: &Server, way: &str) -> NativeFilter {
    let old = NativeFilter::create(server, "a", &options()).await.unwrap();
    old.insert_digests(&digests(0..1_000)).await.unwrap();
    let fields = master(cluster).cli(&["HGETALL", META]).unwrap();
    let by = NativeFilter::attach(server, "a", None).await.unwrap();
    match way {
        "clear" => by.clear().await.unwrap(),
        "upload" => {
            let local: AnyFilter = AnyFilter::builder()
                .layout(Layout::Blocked)
                .num_bits(old.params().num_bits())
                .num_hashes(old.params().num_hashes())
                .expected_items(ITEMS)
                .build()
                .unwrap();
            let mut upload = NativeFilter::upload(server, "a", &options()).await.unwrap();
            upload.write(local.blocks()).await.unwrap();
            upload.finish().await.unwrap();
        }
        _ => {
            let hold = std::time::Duration::from_secs(60);
            let next = NativeFilter::rebuild(server, "a", &options(), hold).await.unwrap();
            next.swap().await.unwrap();
        }
    }
    let (expire, stay) = shards(cluster);
    assert_eq!(expire.len(), stay.len(), "{way}: the old shards expire");
    let mut words = vec!["HSET", META];
    words.extend(fields.split('\n'));
    // `key_options` is empty, and a line of its own.
    assert_eq!(words.len() % 2, 0, "{words:?}");
    master(cluster).cli(&["DEL", META]).unwrap();
    master(cluster).cli(&words).unwrap();
    old
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_is_undone_finds_the_old_filter_and_leaves_no_orphans() {
    let Some((cluster, server)) = start().await else { return };
    for (way, queries) in [("upload", true), ("rebuild", false), ("clear", false)] {
        let old = undo(&cluster, &server, way).await;
        let other = connect_with(&cluster, ServerOptions::default()).await;
        let fresh = NativeFilter::attach(&other, "a", None).await.unwrap();
        if queries {
            let found = fresh.contains_digests(&digests(0..1_000)).await.unwrap();
            assert_eq!(found.count_ones(), 1_000, "{way}");
        } else {
            fresh.insert_digests(&digests(1_000..2_000)).await.unwrap();
        }
        // The old filter stays; the new one belongs to no filter.
        let (expire, stay) = shards(&cluster);
        let num_shards = old.info().await.unwrap().num_shards as usize;
        assert_eq!((expire.len(), stay.len()), (0, 2 * num_shards), "{way}");
        let orphans = other.orphans(10).await.unwrap();
        let [orphan] = &orphans[..] else { panic!("{way}: {orphans:?}") };
        assert_eq!((orphan.name(), orphan.keys().len()), ("a", num_shards));
        assert_eq!(other.delete_orphan(orphan).await.unwrap(), num_shards as u64);
        assert_eq!(other.orphans(10).await.unwrap(), []);
        let found = old.contains_digests(&digests(0..1_000)).await.unwrap();
        assert_eq!((found.count_ones(), shards(&cluster).1.len()), (1_000, num_shards), "{way}");
        assert!(old.delete().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_of_the_undone_filter_goes_back_and_lets_its_shards_expire() {
    let Some((cluster, server)) = start().await else { return };
    let old = NativeFilter::create(&server, "a", &options()).await.unwrap();
    let num_shards = old.info().await.unwrap().num_shards as usize;
    let fields = master(&cluster).cli(&["HGETALL", META]).unwrap();
    let handle = NativeFilter::attach(&server, "a", None).await.unwrap();
    handle.clear().await.unwrap();
    let old_generation = handle.generation();
    handle.insert(b"new").await.unwrap();
    let new = handle.generation();
    assert_ne!(new, old_generation);
    master(&cluster).cli(&["DEL", META]).unwrap();
    let words: Vec<&str> = ["HSET", META].into_iter().chain(fields.split('\n')).collect();
    master(&cluster).cli(&words).unwrap();
    // Its shards are whole, so it learns of it where it reads the parameters.
    handle.info().await.unwrap();
    assert_eq!(handle.generation(), old_generation);
    handle.insert_digests(&digests(0..1_000)).await.unwrap();
    assert_eq!(old.contains_digests(&digests(0..1_000)).await.unwrap().count_ones(), 1_000);
    let (expire, stay) = shards(&cluster);
    assert_eq!((expire.len(), stay.len()), (num_shards, num_shards));
    assert_eq!(server.orphans(10).await.unwrap(), []);
}
