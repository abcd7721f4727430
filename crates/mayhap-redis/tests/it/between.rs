//! A switch to another filter between any two steps of a call, placed deterministically.

use crate::native::{connect, digests, params};
use mayhap::{AnyFilter, Block, Layout};
use mayhap_redis::{
    Address, Error, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use test_servers::{Line, RedisOptions, RedisServer, ready};

/// The new filter has another size, so that a mix of both would be noticed.
const OLD: u64 = 20_000;
const NEW: u64 = 200_000;

fn options(items: u64) -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, items, 0.001))
}

/// A filter with the keys below 1,000 and a line to its server.
async fn start() -> Option<(Arc<RedisServer>, Line, Server)> {
    if !ready(&["redis-server"]) {
        return None;
    }
    let redis = Arc::new(RedisServer::start(&RedisOptions::default()).unwrap());
    let line = Line::start(redis.port(), Duration::ZERO).unwrap();
    put(&redis, OLD, 1_000).await;
    let address = Address::parse(&line.url()).unwrap();
    let far = Server::connect(&address, ServerOptions::default()).await.unwrap();
    Some((redis, line, far))
}

/// Replaces the filter by one with the keys below `keys`, bypassing the line.
async fn put(redis: &RedisServer, items: u64, keys: u64) {
    let server = connect(redis).await;
    let hold = Duration::from_secs(60);
    let next = NativeFilter::rebuild(&server, "f", &options(items), hold).await.unwrap();
    next.insert_digests(&digests(0..keys)).await.unwrap();
    next.swap().await.unwrap();
}

/// Puts a filter with the keys below 3,000 in its place, from a thread without a runtime.
fn switch(redis: &Arc<RedisServer>) -> impl FnOnce() + Send + 'static {
    let redis = Arc::clone(redis);
    move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(put(&redis, NEW, 3_000));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attaching_and_looking_begin_again_at_a_switch() {
    let Some((redis, line, far)) = start().await else { return };
    // Before the parameters are read, and between them and the bits.
    for (word, skip) in [("HGETALL", 0), ("BITCOUNT", 0)] {
        put(&redis, OLD, 1_000).await;
        let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
        line.before(word, skip, switch(&redis));
        let info = filter.info().await.unwrap();
        assert!(line.is_done(), "{word} was not sent");
        assert_eq!(info.expected_items, Some(NEW), "{word}");
        let items = info.estimated_items.unwrap();
        assert!((2_900.0..3_100.0).contains(&items), "{word}: {items}");
        assert_eq!(filter.params().expected_items(), NEW, "the handle continues with the new one");
        let found = filter.contains_digests(&digests(0..3_000)).await.unwrap();
        assert_eq!(found.count_ones(), 3_000, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_insertions_and_expiry_begin_again_at_a_switch() {
    let Some((redis, line, far)) = start().await else { return };
    for (word, step) in [("GETRANGE", "query"), ("BITFIELD", "insert"), ("PEXPIREAT", "expire")] {
        put(&redis, OLD, 1_000).await;
        let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
        line.before(word, 0, switch(&redis));
        match step {
            "query" => {
                let found = filter.contains_digests(&digests(0..3_000)).await.unwrap();
                assert_eq!(found.count_ones(), 3_000);
            }
            "insert" => {
                filter.insert_digests(&digests(5_000..5_100)).await.unwrap();
                let found = filter.contains_digests(&digests(5_000..5_100)).await.unwrap();
                assert_eq!(found.count_ones(), 100, "acknowledged keys are in the new one");
            }
            _ => {
                filter.refresh_ttl(Some(Duration::from_secs(1_000))).await.unwrap();
                let ttl = filter.info().await.unwrap().ttl_ms.unwrap();
                assert!((900_000..=1_000_000).contains(&ttl), "{ttl}");
                filter.refresh_ttl(None).await.unwrap();
            }
        }
        assert!(line.is_done(), "{word} was not sent");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_filters_that_meet_a_switch_say_so() {
    let Some((redis, line, far)) = start().await else { return };
    let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
    let mut download = filter.download().await.unwrap();
    line.before("GETRANGE", 0, switch(&redis));
    let error = download.next().await.unwrap_err();
    assert!(matches!(error, Error::Switched { .. }) && line.is_done(), "{error}");
    // A fresh start reads the new one.
    let mut download = filter.download().await.unwrap();
    assert_eq!(download.params().expected_items(), NEW);
    while download.next().await.unwrap().is_some() {}
    // A filter that is really gone is not a switch.
    let mut download = filter.download().await.unwrap();
    redis.cli(&["FLUSHALL"]).unwrap();
    let error = download.next().await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");
    put(&redis, OLD, 1_000).await;
    let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
    let params = filter.params();
    let other = AnyFilter::builder().layout(Layout::Blocked).num_bits(params.num_bits());
    let other = other.num_hashes(params.num_hashes()).expected_items(OLD).build().unwrap();
    let mut union = filter.union(&other).unwrap();
    line.before("EVAL", 0, switch(&redis));
    let error = union.next().await.unwrap_err();
    assert!(matches!(error, Error::Switched { .. }) && line.is_done(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shards_that_are_gone_are_no_switch() {
    let Some((redis, _line, far)) = start().await else { return };
    let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
    let keys = redis.cli(&["KEYS", "*"]).unwrap();
    let is_shard = |key: &&str| redis.cli(&["TYPE", key]).unwrap() == "string";
    let shard = keys.lines().find(is_shard).unwrap();
    redis.cli(&["DEL", shard]).unwrap();
    let error = filter.info().await.unwrap_err();
    assert!(error.to_string().contains("were evicted or deleted"), "{error}");
    redis.cli(&["FLUSHALL"]).unwrap();
    let error = filter.info().await.unwrap_err();
    assert!(error.to_string().contains("it expired, was deleted or was renamed"), "{error}");
}

/// At several places of a call of three parts: all its keys are in the current filter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_keys_of_a_call_are_in_the_filter_that_is_there_at_its_end() {
    let Some((redis, line, far)) = start().await else { return };
    for skip in [0, 5, 20, 60] {
        put(&redis, OLD, 1_000).await;
        let filter = NativeFilter::attach(&far, "f", None).await.unwrap();
        let before = filter.generation();
        line.before("BITFIELD", skip, switch(&redis));
        let keys = digests(5_000..45_000);
        filter.insert_digests(&keys).await.unwrap();
        assert!(line.is_done(), "{skip}: this many were not sent");
        let found = filter.contains_digests(&keys).await.unwrap();
        assert_eq!(found.count_ones(), keys.len(), "{skip}");
        assert_ne!(filter.generation(), before);
    }
}

/// The old parameters change before the last step: the next attempt need not wait for the token of
/// this one to expire.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_comes_too_late_gives_its_token_back() {
    let Some((redis, line, _far)) = start().await else { return };
    let options = ServerOptions { deadline: Duration::from_secs(5), ..ServerOptions::default() };
    let address = Address::parse(&line.url()).unwrap();
    let far = Server::connect(&address, options).await.unwrap();
    let hold = Duration::from_secs(60);
    let next = NativeFilter::rebuild(&far, "f", &self::options(NEW), hold).await.unwrap();
    let server = Arc::clone(&redis);
    line.before("RENAME", 0, move || {
        server.cli(&["DEL", "{f}:meta"]).unwrap();
    });
    next.swap().await.unwrap();
    assert!(line.is_done());
    assert_eq!(redis.cli(&["EXISTS", "{f}:swap"]).unwrap(), "0");
    assert_eq!(next.info().await.unwrap().expected_items, Some(NEW));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_expired_during_an_upload_is_not_made_again() {
    let Some((redis, _line, far)) = start().await else { return };
    let all = || {
        let keys = redis.cli(&["KEYS", "*"]).unwrap();
        keys.lines().map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let before = all();
    let mut upload = NativeFilter::upload(&far, "g", &options(NEW)).await.unwrap();
    let params = options(NEW).params;
    let blocks = vec![Block::default(); params.num_blocks() as usize];
    let (first, rest) = blocks.split_at(blocks.len() / 2);
    upload.write(first).await.unwrap();
    let of_upload: Vec<String> = all().difference(&before).cloned().collect();
    assert!(of_upload.len() > 1, "{of_upload:?}");
    for key in of_upload {
        redis.cli(&["DEL", &key]).unwrap();
    }
    let error = upload.write(rest).await.unwrap_err();
    assert!(matches!(&error, Error::Gone { .. }), "{error}");
    assert!(error.to_string().contains("expired before it was whole"), "{error}");
    assert_eq!(all(), before);
}
