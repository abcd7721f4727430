//! One command a key, one pipeline a call; servers that are dead or slow; waiting calls.

use crate::native::{connect, connect_with, digests, params};
use mayhap::Layout;
use mayhap_redis::blocking::Client;
use mayhap_redis::{
    Address, Error, Inserted, NativeFilter, NativeOptions, RemoteFilter, ServerOptions,
};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn options(items: u64) -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, items, 0.001))
}

fn start() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

/// Calls of each command since the last look, without the look's own.
fn commands(redis: &RedisServer) -> Vec<(String, u64)> {
    let stats = redis.cli(&["INFO", "commandstats"]).unwrap();
    redis.cli(&["CONFIG", "RESETSTAT"]).unwrap();
    let mut calls: Vec<(String, u64)> = stats
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="))
        .map(|(name, rest)| (name.to_owned(), rest.split(',').next().unwrap().parse().unwrap()))
        .filter(|(name, _)| !name.starts_with("config") && name != "info")
        .collect();
    calls.sort();
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_round_trip_and_a_batch_too() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let filter = NativeFilter::create(&server, "a", &options(300_000)).await.unwrap();
    let shards = filter.info().await.unwrap().num_shards;
    let owned = |name: &str, calls| (name.to_owned(), calls);
    commands(&redis);
    filter.insert(b"x").await.unwrap();
    assert_eq!(commands(&redis), [owned("bitfield", 1)]);
    filter.contains(b"x").await.unwrap();
    // Its block, and in the same pipeline the check that the shard exists.
    assert_eq!(commands(&redis), [owned("getrange", 2)]);
    let many = digests(0..1_000);
    filter.insert_digests(&many).await.unwrap();
    // Four keys of a shard in each.
    let [(name, calls)] = &commands(&redis)[..] else { panic!("one command") };
    assert_eq!(name, "bitfield");
    assert!((250..250 + shards).contains(calls), "{calls}");
    let four = NativeOptions::for_items(300_000, 0.01).unwrap();
    let four = NativeFilter::create(&server, "k = 4", &four).await.unwrap();
    commands(&redis);
    four.insert_digests(&many).await.unwrap();
    // Eight.
    let [(name, calls)] = &commands(&redis)[..] else { panic!("one command") };
    assert_eq!(name, "bitfield");
    assert!((125..125 + shards).contains(calls), "{calls}");
    filter.contains_digests(&many).await.unwrap();
    assert_eq!(commands(&redis), [owned("getrange", 1_000 + shards)]);
    // The number of reads by the server: a batch written at once takes only a few, while one that
    // waited for replies between commands would take one for each.
    let reads = |redis: &RedisServer| -> u64 {
        let stats = redis.cli(&["INFO", "stats"]).unwrap();
        let line = stats.lines().find_map(|line| line.strip_prefix("total_reads_processed:"));
        line.unwrap().trim().parse().unwrap()
    };
    let before = reads(&redis);
    filter.insert_digests(&many).await.unwrap();
    let used = reads(&redis) - before;
    assert!(used < 50, "{used} reads for a batch of 1,000");
    let before = reads(&redis);
    let looked = reads(&redis);
    filter.contains(b"x").await.unwrap();
    assert_eq!(reads(&redis) - looked, looked - before + 1, "a key is one round trip");
    // A whole merge: one script a shard.
    commands(&redis);
    filter.insert_bulk(&many).await.unwrap();
    assert!(commands(&redis).contains(&owned("eval", shards)));
}

/// Each of many concurrent tasks gets its own answer, and one that gives up does not affect the
/// others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_calls_of_many_tasks_have_an_answer_each() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let filter = NativeFilter::create(&server, "a", &options(300_000)).await.unwrap();
    let mut tasks = Vec::new();
    for i in 0..3_000u32 {
        // Each key three times.
        let (key, handle) = ((i % 1_000).to_le_bytes(), filter.clone());
        tasks.push(tokio::spawn(async move { handle.insert(&key).await }));
        if i % 7 == 0 {
            let handle = filter.clone();
            tokio::spawn(async move { handle.contains(b"given up").await }).abort();
        }
    }
    let mut new = 0;
    for task in tasks {
        new += u32::from(task.await.unwrap().unwrap() == Inserted::New);
    }
    // 1,000 keys in a filter for 300,000 at 0.1 %: there are no false positives.
    assert_eq!(new, 1_000);
    let asked = (0..2_000u32).map(|i| {
        let filter = filter.clone();
        tokio::spawn(async move { (i, filter.contains(&i.to_le_bytes()).await) })
    });
    for task in asked.collect::<Vec<_>>() {
        let (i, found) = task.await.unwrap();
        assert_eq!(found.unwrap(), i < 1_000, "{i}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_is_an_error_at_the_deadline_and_back_is_back() {
    let ready = ready(&["redis-server"]);
    if !ready {
        return;
    }
    let log = RedisOptions { appendonly: true, ..RedisOptions::default() };
    let redis = RedisServer::start(&log).unwrap();
    let brief = ServerOptions {
        deadline: Duration::from_millis(500),
        response_timeout: Duration::from_millis(200),
        ..ServerOptions::default()
    };
    let server = connect_with(&redis, brief).await;
    let filter = NativeFilter::create(&server, "a", &options(10_000)).await.unwrap();
    filter.insert(b"x").await.unwrap();
    redis.kill();
    for result in [
        filter.insert(b"y").await.map(drop),
        filter.contains(b"x").await.map(drop),
        filter.insert_bulk(&digests(0..10)).await,
        NativeFilter::create(&server, "b", &options(10_000)).await.map(drop),
    ] {
        assert!(matches!(result, Err(Error::Unavailable { .. })), "{result:?}");
    }
    redis.restart().unwrap();
    let patient = connect(&redis).await;
    let patient = NativeFilter::attach(&patient, "a", None).await.unwrap();
    assert!(patient.contains(b"x").await.unwrap());
    // The old handle reconnects by itself.
    while filter.contains(b"x").await.is_err() {
        tokio::task::yield_now().await;
    }
    redis.pause().unwrap();
    let silent = filter.insert(b"z").await;
    redis.resume().unwrap();
    assert!(matches!(silent, Err(Error::Unavailable { .. })), "{silent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insertion_that_a_frozen_server_may_have_seen_is_not_called_old() {
    let Some(redis) = start() else { return };
    let patient =
        ServerOptions { response_timeout: Duration::from_millis(200), ..ServerOptions::default() };
    let server = connect_with(&redis, patient).await;
    let filter = NativeFilter::create(&server, "a", &options(10_000)).await.unwrap();
    redis.pause().unwrap();
    let task = {
        let filter = filter.clone();
        tokio::spawn(async move { filter.insert_digests(&digests(0..100)).await })
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    redis.resume().unwrap();
    let batch = task.await.unwrap().unwrap();
    assert!((0..100).all(|i| batch.get(i) != Inserted::Present), "a new key was called old");
    assert_eq!(filter.contains_digests(&digests(0..100)).await.unwrap().count_ones(), 100);
}

#[test]
fn a_program_without_async_has_the_same_calls() {
    let Some(redis) = start() else { return };
    let address = Address::parse(&redis.url()).unwrap();
    let client = Client::connect(&address, ServerOptions::default()).unwrap();
    let filter =
        client.filter(NativeFilter::create(client.server(), "a", &options(10_000))).unwrap();
    assert_eq!(filter.name(), "a");
    assert_eq!(filter.insert(b"x").unwrap(), Inserted::New);
    std::thread::scope(|scope| {
        for i in 0..4u8 {
            let filter = &filter;
            scope.spawn(move || {
                let keys: Vec<[u8; 2]> = (0..200).map(|j| [i, j]).collect();
                let keys: Vec<&[u8]> = keys.iter().map(<[u8; 2]>::as_slice).collect();
                assert_eq!(filter.insert_batch(&keys).unwrap().new.count_ones(), 200);
                assert_eq!(filter.contains_batch(&keys).unwrap().count_ones(), 200);
            });
        }
    });
    assert!(filter.contains(b"x").unwrap());
    client.wait(filter.inner().refresh_ttl(Some(Duration::from_secs(60)))).unwrap();
    assert!(filter.info().unwrap().ttl_ms.is_some());
    assert!(filter.delete().unwrap());
    assert!(matches!(filter.contains(b"x"), Err(Error::Gone { .. })));
}
