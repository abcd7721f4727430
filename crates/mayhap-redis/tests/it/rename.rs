//! Filters that get another name while they are in use.

use crate::common::cluster;
use crate::native::{connect, digests, params};
use mayhap::{Digest, DigestFunction, Layout, SecretKey};
use mayhap_redis::{
    BfOptions, Error, IfTaken, NativeFilter, NativeOptions, RemoteBf, RemoteFilter, RemoteRedisson,
    Server, rename, rename_native,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use test_servers::{BfServer, Dialect, RedisOptions, RedisServer, ready};

fn options(items: u64) -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, items, 0.001))
}

fn start() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

fn keys(redis: &RedisServer) -> Vec<String> {
    let mut keys: Vec<String> =
        redis.cli(&["KEYS", "*"]).unwrap().lines().map(str::to_owned).collect();
    keys.sort();
    keys
}

async fn create(server: &Server, name: &str, options: &NativeOptions) -> NativeFilter {
    NativeFilter::create(server, name, options).await.unwrap()
}

async fn held(filter: &NativeFilter, keys: &[Digest]) -> usize {
    filter.contains_digests(keys).await.unwrap().count_ones()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_filter_has_its_keys_parameters_and_expiry_and_nothing_is_left() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    for (name, items) in [("small", 10), ("large", 300_000)] {
        let ttl = Some(Duration::from_secs(1000));
        let with_ttl = NativeOptions { ttl, key_options: "trim=yes\n".into(), ..options(items) };
        let old = create(&server, name, &with_ttl).await;
        let all = digests(0..items.min(20_000));
        old.insert_digests(&all).await.unwrap();
        let before = keys(&redis).len();
        rename(&server, name, "new name").await.unwrap();
        assert_eq!(keys(&redis).len(), before);
        let new = NativeFilter::attach(&server, "new name", None).await.unwrap();
        assert_eq!(held(&new, &all).await, all.len());
        assert_eq!((new.params(), new.key_options()), (old.params(), "trim=yes\n".into()));
        let mut times: Vec<String> =
            keys(&redis).iter().map(|key| redis.cli(&["PEXPIRETIME", key]).unwrap()).collect();
        times.dedup();
        assert!(times.len() == 1 && times[0] != "-1", "{times:?}");
        // Neither queries nor insertions of the old handle are answered, and it leaves nothing.
        for answer in [
            old.contains_digests(&all).await.map(drop),
            old.insert_digests(&all).await.map(drop),
            old.insert(b"one").await.map(drop),
            old.insert_bulk(&all).await,
            old.info().await.map(drop),
            old.confirm().await,
        ] {
            assert!(matches!(answer, Err(Error::Gone { .. })), "{answer:?}");
        }
        assert_eq!(keys(&redis).len(), before);
        // It is one like any other: it expires, is switched, and is renamed back.
        new.refresh_ttl(None).await.unwrap();
        rename(&server, "new name", name).await.unwrap();
        assert_eq!(held(&old, &all).await, all.len(), "the old handle finds it again");
        old.clear().await.unwrap();
        assert!(old.delete().await.unwrap());
        assert_eq!(keys(&redis), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_taken_is_refused_and_nothing_has_changed() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let all = digests(0..1_000);
    let filter = create(&server, "a", &options(1_000)).await;
    filter.insert_digests(&all).await.unwrap();
    create(&server, "b", &options(2_000)).await;
    RemoteRedisson::try_init(&server, "c", 100, 0.01).await.unwrap();
    redis.cli(&["SET", "d", "a value"]).unwrap();
    let before = keys(&redis);
    for taken in ["a", "b", "c", "d"] {
        let refused = rename(&server, "a", taken).await;
        assert!(matches!(&refused, Err(Error::NameTaken { name }) if name == taken), "{refused:?}");
        assert_eq!(keys(&redis), before);
    }
    let refused = rename(&server, "c", "a").await;
    assert!(matches!(refused, Err(Error::NameTaken { .. })), "{refused:?}");
    let refused = rename(&server, "a", "x{y").await;
    assert!(matches!(&refused, Err(Error::BadName { name, .. }) if name == "x{y"), "{refused:?}");
    let refused = rename(&server, "none", "e").await;
    assert!(matches!(&refused, Err(Error::NotFound { name }) if name == "none"), "{refused:?}");
    let refused = rename(&server, "d", "e").await;
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    // Either name is being filled.
    for (next, to) in [("a", "e"), ("e", "e")] {
        let upload = NativeFilter::upload(&server, next, &options(500)).await.unwrap();
        let refused = rename(&server, "a", to).await;
        assert!(matches!(&refused, Err(Error::Busy { name, .. }) if name == next), "{refused:?}");
        upload.abort().await.unwrap();
    }
    assert_eq!(keys(&redis), before);
    assert_eq!(held(&filter, &all).await, all.len());
    // Part of it is missing.
    let shard = before.iter().find(|key| key.starts_with("{a:")).unwrap();
    redis.cli(&["DEL", shard]).unwrap();
    let before = keys(&redis);
    let refused = rename(&server, "a", "e").await;
    assert!(matches!(refused, Err(Error::Gone { .. })), "{refused:?}");
    assert_eq!(keys(&redis), before);
}

/// Gives the filter its name, and deletes the one that had it.
async fn replace(server: &Server, name: &str, new: &str) -> Result<(), Error> {
    rename_native(server, name, new, IfTaken::Replace).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_takes_the_place_of_another_and_nothing_of_that_is_left() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    // Of one shard and of several, in either place.
    for (items, of_old) in [(10, 10), (10, 300_000), (300_000, 10), (300_000, 300_000)] {
        let old = create(&server, "live", &options(of_old)).await;
        let [own, theirs] = [digests(0..10), digests(10..20)];
        old.insert_digests(&theirs).await.unwrap();
        old.refresh_ttl(Some(Duration::from_secs(1000))).await.unwrap();
        let with_old = keys(&redis).len();
        let new = create(&server, "fresh", &options(items)).await;
        new.insert_digests(&own).await.unwrap();
        let with_both = keys(&redis).len();
        replace(&server, "fresh", "live").await.unwrap();
        assert_eq!(keys(&redis).len(), with_both - with_old);
        // Handles of the name continue with the renamed filter, which has its own expiry.
        assert_eq!((held(&old, &own).await, held(&old, &theirs).await), (10, 0));
        old.insert(b"word").await.unwrap();
        let found = NativeFilter::attach(&server, "live", None).await.unwrap();
        assert!(found.contains(b"word").await.unwrap());
        assert_eq!((found.params(), old.params()), (new.params(), new.params()));
        assert_eq!(found.info().await.unwrap().ttl_ms, None);
        assert!(matches!(new.insert(b"word").await, Err(Error::Gone { .. })));
        replace(&server, "live", "live").await.unwrap();
        assert_eq!(keys(&redis).len(), with_both - with_old);
        // A free name is as good.
        replace(&server, "live", "other").await.unwrap();
        let found = NativeFilter::attach(&server, "other", None).await.unwrap();
        assert_eq!(held(&found, &own).await, 10);
        found.delete().await.unwrap();
        assert_eq!(keys(&redis), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_others_and_filters_that_are_being_filled_are_not_replaced() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    create(&server, "a", &options(1_000)).await.insert(b"word").await.unwrap();
    create(&server, "b", &options(2_000)).await.insert(b"next").await.unwrap();
    RemoteRedisson::try_init(&server, "c", 100, 0.01).await.unwrap();
    redis.cli(&["SET", "d", "a value"]).unwrap();
    redis.cli(&["SET", "{e}:meta", "a value"]).unwrap();
    let upload = NativeFilter::upload(&server, "b", &options(500)).await.unwrap();
    let before = keys(&redis);
    for name in ["b", "c", "d", "e", "x{y"] {
        let refused = replace(&server, "a", name).await.unwrap_err();
        let is_right = match name {
            "b" => matches!(refused, Error::Busy { .. }),
            "e" => matches!(refused, Error::WrongType { .. }),
            "x{y" => matches!(refused, Error::BadName { .. }),
            _ => matches!(refused, Error::NameTaken { .. }),
        };
        assert!(is_right, "{name}: {refused:?}");
        assert_eq!(keys(&redis), before, "{name}");
    }
    let refused = rename(&server, "a", "e").await;
    assert!(matches!(refused, Err(Error::NameTaken { .. })), "{refused:?}");
    let missing = replace(&server, "none", "b").await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    upload.abort().await.unwrap();
    for (name, key) in [("a", b"word"), ("b", b"next")] {
        let filter = NativeFilter::attach(&server, name, None).await.unwrap();
        assert!(filter.contains(key).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_key_stays_and_is_not_needed() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let key = SecretKey::new([7; 16]);
    let digest_function = DigestFunction::sip13(key);
    let secret = NativeOptions { digest_function, ..options(1_000) };
    create(&server, "a", &secret).await.insert(b"word").await.unwrap();
    rename(&server, "a", "b").await.unwrap();
    assert!(NativeFilter::attach(&server, "b", None).await.is_err());
    let new = NativeFilter::attach(&server, "b", Some(key)).await.unwrap();
    assert!(new.contains(b"word").await.unwrap() && !new.contains(b"other").await.unwrap());
}

/// A switch that was given up left fences, without the token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_is_waited_for_and_one_that_was_given_up_is_no_hindrance() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let filter = create(&server, "a", &options(1_000)).await;
    filter.insert(b"word").await.unwrap();
    redis.cli(&["SET", "{a}:swap", "77", "PX", "500"]).unwrap();
    let shards = keys(&redis).into_iter().filter(|key| key.starts_with("{a:"));
    for shard in shards {
        let bytes: u64 = redis.cli(&["STRLEN", &shard]).unwrap().parse().unwrap();
        let at = (bytes - 8).to_string();
        redis.cli(&["SETRANGE", &shard, &at, "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}M"]).unwrap();
    }
    rename(&server, "a", "b").await.unwrap();
    assert_eq!(redis.cli(&["EXISTS", "{a}:swap"]).unwrap(), "0", "it did not wait");
    let new = NativeFilter::attach(&server, "b", None).await.unwrap();
    assert!(new.contains(b"word").await.unwrap());
    new.insert(b"next").await.unwrap();
}

/// One of the two names, and the keys that were acknowledged under either.
async fn write(
    server: Server,
    (stop, next): (Arc<AtomicBool>, Arc<AtomicU64>),
    bulk: bool,
) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    'other: while !stop.load(Ordering::SeqCst) {
        for name in ["a", "b"] {
            let Ok(filter) = NativeFilter::attach(&server, name, None).await else { continue };
            while !stop.load(Ordering::SeqCst) {
                let key = next.fetch_add(20, Ordering::SeqCst);
                let keys = digests(key..key + 20);
                let inserted = if bulk {
                    filter.insert_bulk(&keys).await
                } else {
                    filter.insert_digests(&keys).await.map(drop)
                };
                match inserted {
                    Ok(()) => acknowledged.push(key),
                    Err(Error::Gone { .. }) => continue 'other,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_is_renamed_while_keys_arrive_loses_none() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    create(&server, "a", &options(200_000)).await;
    let count = keys(&redis).len();
    let mut tasks = Vec::new();
    for bulk in [false, false, true] {
        let shared = (stop.clone(), next.clone());
        tasks.push(tokio::spawn(write(connect(&redis).await, shared, bulk)));
    }
    for round in 0..12 {
        let mark = next.load(Ordering::SeqCst);
        while next.load(Ordering::SeqCst) < mark + 400 {
            assert!(tasks.iter().all(|task| !task.is_finished()), "a writer failed");
            tokio::task::yield_now().await;
        }
        let (from, to) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
        rename(&server, from, to).await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    let filter = NativeFilter::attach(&server, "a", None).await.unwrap();
    let mut batches = 0;
    for task in tasks {
        for key in task.await.unwrap() {
            batches += 1;
            assert_eq!(held(&filter, &digests(key..key + 20)).await, 20, "keys are lost");
        }
    }
    assert!(batches > 100, "{batches}");
    // Late writers have left nothing under the old name.
    assert_eq!(keys(&redis).len(), count, "{:?}", keys(&redis));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_it_is_refused_and_nothing_has_changed() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let (_cluster, server) = cluster().await;
    let filter = create(&server, "a", &options(1_000)).await;
    filter.insert(b"word").await.unwrap();
    let refused = rename(&server, "a", "b").await.unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused:?}");
    assert!(refused.to_string().contains("mayhap move"), "{refused}");
    assert!(filter.contains(b"word").await.unwrap());
    let missing = rename(&server, "none", "b").await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_of_other_systems_are_renamed_as_they_are() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let (filter, _) = RemoteRedisson::try_init(&server, "a", 100, 0.01).await.unwrap();
    filter.insert(b"word").await.unwrap();
    rename(&server, "a", "b").await.unwrap();
    let filter = RemoteRedisson::attach(&server, "b").await.unwrap();
    assert!(filter.contains(b"word").await.unwrap());
    assert_eq!(keys(&redis), ["b", "{b}:config"]);
    for dialect in [Dialect::RedisBloom, Dialect::Valkey] {
        let stand_in = BfServer::start(dialect).unwrap();
        let server = crate::common::connect(&format!(
            "redis://{}",
            stand_in.url().trim_start_matches("redis://")
        ))
        .await;
        let (filter, _) = RemoteBf::reserve(&server, "a", BfOptions::new(100, 0.01)).await.unwrap();
        filter.insert(b"word").await.unwrap();
        rename(&server, "a", "b").await.unwrap();
        let filter = RemoteBf::attach(&server, "b").await.unwrap();
        assert!(filter.contains(b"word").await.unwrap());
        RemoteBf::reserve(&server, "a", BfOptions::new(100, 0.01)).await.unwrap();
        let refused = rename(&server, "a", "b").await;
        assert!(matches!(refused, Err(Error::NameTaken { .. })), "{refused:?}");
    }
}
