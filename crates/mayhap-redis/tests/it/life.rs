//! Expiry, deletion, switches, whole filters.

use crate::create::dies_after;
use crate::native::{connect, connect_with, digests, params};
use mayhap::{AnyFilter, Block, Digest, DigestFunction, Layout};
use mayhap_redis::{Error, Inserted, NativeFilter, NativeOptions, RemoteFilter, ServerOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn options(items: u64) -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, items, 0.001))
}

fn start() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

fn keys(redis: &RedisServer, pattern: &str) -> Vec<String> {
    redis.cli(&["KEYS", pattern]).unwrap().lines().map(str::to_owned).collect()
}

fn when(redis: &RedisServer, pattern: &str) -> Vec<String> {
    let of = |key: String| redis.cli(&["PEXPIRETIME", &key]).unwrap();
    let mut times: Vec<String> = keys(redis, pattern).into_iter().map(of).collect();
    times.sort();
    times.dedup();
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_keys_expire_at_one_time_and_go_on_together() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let ttl = Some(Duration::from_secs(1000));
    let with_ttl = NativeOptions { ttl, ..options(300_000) };
    let filter = NativeFilter::create(&server, "a", &with_ttl).await.unwrap();
    assert!(keys(&redis, "*").len() > 16);
    let first = when(&redis, "*");
    assert_eq!(first.len(), 1, "{first:?}");
    assert_ne!(first[0], "-1");
    filter.insert_bulk(&digests(0..1000)).await.unwrap();
    assert_eq!(when(&redis, "*"), first, "a merge changed the expiry");
    for ttl in [Some(Duration::from_secs(9000)), Some(Duration::from_secs(70)), None] {
        filter.refresh_ttl(ttl).await.unwrap();
        let times = when(&redis, "*");
        assert_eq!(times.len(), 1, "{times:?}");
        assert_eq!(times[0] == "-1", ttl.is_none());
        let left = filter.info().await.unwrap().ttl_ms;
        assert_eq!(left.map(|ms| ms.div_ceil(10_000) * 10), ttl.map(|ttl| ttl.as_secs()));
    }
    assert!(filter.refresh_ttl(Some(Duration::ZERO)).await.is_err());
    filter.refresh_ttl(Some(Duration::from_millis(1))).await.unwrap();
    while redis.cli(&["DBSIZE"]).unwrap() != "0" {
        tokio::task::yield_now().await;
    }
    let gone = filter.contains(b"x").await;
    assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
    assert!(matches!(filter.refresh_ttl(None).await, Err(Error::Gone { .. })));
}

/// Before the last of its keys gets the new time, or in the same millisecond.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_expires_at_once_has_expired_as_intended() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    for i in 0..300 {
        let filter = NativeFilter::create(&server, &format!("{i}"), &options(10_000)).await;
        let refreshed = filter.unwrap().refresh_ttl(Some(Duration::from_millis(1))).await;
        assert!(refreshed.is_ok(), "{i}: {refreshed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_expires_while_it_is_written_to_is_gone_and_leaves_nothing() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let all = digests(0..2_000);
    // On a busy machine not even one call may end in the first of these times.
    for ttl_ms in [200, 2_000, 20_000] {
        let filter = NativeFilter::create(&server, "a", &options(100_000)).await.unwrap();
        filter.refresh_ttl(Some(Duration::from_millis(ttl_ms))).await.unwrap();
        let mut calls = 0;
        let error = loop {
            match filter.insert_digests(&all).await {
                Ok(_) => calls += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Gone { .. }), "{calls} {error}");
        assert_eq!(keys(&redis, "*"), Vec::<String>::new());
        if calls > 0 {
            return;
        }
    }
    panic!("no call ended before its filter expired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_another_program_deletes_is_never_answered_absent() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let filter = NativeFilter::create(&server, "a", &options(100_000)).await.unwrap();
    let all = digests(0..20_000);
    filter.insert_digests(&all).await.unwrap();
    let shard = keys(&redis, "{a:*")[0].clone();
    redis.cli(&["DEL", &shard]).unwrap();
    let before = keys(&redis, "*").len();
    let mut gone = 0;
    for digest in &all[..200] {
        match filter.contains_digests(&[*digest]).await {
            Ok(found) => assert!(found.get(0)),
            Err(Error::Gone { loss, .. }) => {
                gone += u32::from(loss.to_string().contains("evicted"));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(gone > 0);
    // A stray that a writer left, long enough to be read, is distinguished from a shard.
    redis.cli(&["SETRANGE", &shard, "100000", "x"]).unwrap();
    for asked in [&all[..], &all[..200]] {
        let result = filter.contains_digests(asked).await;
        assert!(matches!(result, Err(Error::Gone { .. })), "{result:?}");
    }
    assert_eq!(keys(&redis, "*").len(), before, "the stray stayed");
    for result in [
        filter.insert_digests(&all).await.map(drop),
        filter.insert_bulk(&all).await,
        filter.info().await.map(drop),
        filter.refresh_ttl(Some(Duration::from_secs(9))).await,
    ] {
        assert!(matches!(result, Err(Error::Gone { .. })), "{result:?}");
        assert_eq!(keys(&redis, "*").len(), before, "a stray stayed");
    }
    assert!(filter.delete().await.unwrap());
    assert_eq!(keys(&redis, "*").len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_of_shards_is_as_good_as_single_insertions() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    for layout in [Layout::Blocked, Layout::Blocked128, Layout::Standard] {
        let options = NativeOptions::new(params(layout, 200_000, 0.01));
        let name = |kind| format!("{kind} {layout}");
        let bulk = NativeFilter::create(&server, &name("bulk"), &options).await.unwrap();
        let single = NativeFilter::create(&server, &name("single"), &options).await.unwrap();
        // Some keys before, so that a merge that replaced bits would lose them.
        let (first, rest) = (digests(0..10_000), digests(9_000..60_000));
        bulk.insert_digests(&first).await.unwrap();
        bulk.insert_bulk(&rest).await.unwrap();
        bulk.insert_bulk(&[]).await.unwrap();
        for part in [first, rest].iter().flat_map(|part| part.chunks(10_000)) {
            single.insert_digests(part).await.unwrap();
        }
        assert_eq!(read(&bulk).await, read(&single).await, "{layout}");
    }
    assert_eq!(keys(&redis, "*:or"), Vec::<String>::new());
}

async fn read(filter: &NativeFilter) -> Vec<u8> {
    let mut download = filter.download().await.unwrap();
    let mut body = Vec::new();
    while let Some(part) = download.next().await.unwrap() {
        body.extend(part);
    }
    body
}

fn local(items: u64, keys: std::ops::Range<u64>) -> AnyFilter {
    let numbers = options(items).params;
    let mut filter = AnyFilter::builder()
        .layout(numbers.layout())
        .num_bits(numbers.num_bits())
        .num_hashes(numbers.num_hashes())
        .expected_items(items)
        .build()
        .unwrap();
    filter.insert_batch(&keys.collect::<Vec<_>>());
    filter
}

fn body(filter: &AnyFilter) -> Vec<u8> {
    mayhap::native::body_bytes(filter.blocks()).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_filter_comes_back_byte_for_byte() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let options = NativeOptions { key_options: "trim=yes\n".into(), ..options(6_000_000) };
    let first = local(6_000_000, 0..100_000);
    for part_blocks in [usize::MAX, 70_001] {
        let mut upload = NativeFilter::upload(&server, "a", &options).await.unwrap();
        for part in first.blocks().chunks(part_blocks.min(first.blocks().len())) {
            upload.write(part).await.unwrap();
        }
        let filter = upload.finish().await.unwrap();
        assert_eq!(read(&filter).await, body(&first));
        assert!(filter.contains(&7u64.to_le_bytes()).await.unwrap());
        assert_eq!(
            NativeFilter::attach(&server, "a", None).await.unwrap().key_options(),
            "trim=yes\n"
        );
    }
    let cut = keys(&redis, "{a:*").len();
    assert_eq!(keys(&redis, "*").len(), cut + 1, "the first one was not deleted");
    assert_eq!(when(&redis, "*"), ["-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_of_which_a_lost_master_took_a_part_is_refused() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let old = NativeFilter::create(&server, "a", &options(300_000)).await.unwrap();
    old.insert(b"old").await.unwrap();
    let before = keys(&redis, "*");
    let whole = local(300_000, 0..100_000);
    for loses in [true, false] {
        let mut upload = NativeFilter::upload(&server, "a", &options(300_000)).await.unwrap();
        upload.write(whole.blocks()).await.unwrap();
        if loses {
            // As of a successor that did not get the newest piece.
            let new = keys(&redis, "*").into_iter().filter(|key| !before.contains(key));
            // Long enough for its trailer to stay.
            let bytes = |key: &String| redis.cli(&["STRLEN", key]).unwrap().parse::<u64>().unwrap();
            let shard = new.filter(|key| !key.ends_with(":next")).max_by_key(bytes).unwrap();
            redis.cli(&["SETRANGE", &shard, "0", &"\0".repeat(2_000)]).unwrap();
        }
        redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
        let finished = upload.finish().await;
        if loses {
            assert!(matches!(finished, Err(Error::Broken { .. })), "{finished:?}");
            assert_eq!(keys(&redis, "*").len(), before.len(), "something is left");
            assert!(old.contains(b"old").await.unwrap());
        } else {
            let found = finished.unwrap().contains_digests(&digests(0..100_000)).await.unwrap();
            assert_eq!(found.count_ones(), 100_000);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_seen_by_nobody_before_its_end_and_leaves_nothing_if_given_up() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let old = NativeFilter::create(&server, "a", &options(300_000)).await.unwrap();
    old.insert(b"old").await.unwrap();
    let before = keys(&redis, "*").len();
    let whole = local(300_000, 0..100);
    let mut upload = NativeFilter::upload(&server, "a", &options(300_000)).await.unwrap();
    upload.write(&whole.blocks()[..500]).await.unwrap();
    assert!(old.contains(b"old").await.unwrap());
    // All of its keys expire by themselves.
    let live = when(&redis, "*");
    assert_eq!(live.iter().filter(|time| *time == "-1").count(), 1);
    let busy = NativeFilter::upload(&server, "a", &options(300_000)).await;
    assert!(matches!(busy, Err(Error::Busy { .. })));
    let too_much = upload.write(&vec![Block::default(); whole.blocks().len()]).await;
    assert!(matches!(too_much, Err(Error::Filter(mayhap::Error::WrongLength { .. }))));
    upload.abort().await.unwrap();
    assert_eq!(keys(&redis, "*").len(), before);
    let upload = NativeFilter::upload(&server, "a", &options(300_000)).await.unwrap();
    assert!(
        matches!(upload.finish().await, Err(Error::Filter(_))),
        "an empty one was put in place"
    );
    assert_eq!(keys(&redis, "*").len(), before);
    drop(NativeFilter::upload(&server, "a", &options(300_000)).await.unwrap());
    assert!(NativeFilter::discard(&server, "a").await.unwrap());
    assert_eq!(keys(&redis, "*").len(), before);
    assert!(old.contains(b"old").await.unwrap());
}

fn digest(key: u64) -> Digest {
    DigestFunction::xxh3(0).digest(&key)
}

/// Readers query keys 0 to 999, which both filters have; writers never stop. Keys acknowledged
/// after the switch have to be inside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_loses_nothing_that_is_acknowledged_after_it() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let common = digests(0..1_000);
    let filter = NativeFilter::create(&server, "a", &options(100_000)).await.unwrap();
    filter.insert_digests(&common).await.unwrap();
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1_000)));
    let mut tasks = Vec::new();
    for task in 0..4 {
        let handle = NativeFilter::attach(&connect(&redis).await, "a", None).await.unwrap();
        let (stop, next, common) = (stop.clone(), next.clone(), common.clone());
        tasks.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                if task % 2 == 0 {
                    let found = handle.contains_digests(&common).await.unwrap();
                    assert_eq!(found.count_ones(), common.len(), "a reader saw a half switch");
                } else {
                    let key = next.fetch_add(20, Ordering::SeqCst);
                    let keys = digests(key..key + 20);
                    handle.insert_digests(&keys).await.unwrap();
                    acknowledged.push(key);
                }
            }
            acknowledged
        }));
    }
    for round in 1..=5 {
        let rebuilt = options(100_000 + 10_000 * round);
        let hold = Duration::from_secs(3600);
        let hidden = NativeFilter::rebuild(&server, "a", &rebuilt, hold).await.unwrap();
        hidden.insert_digests(&common).await.unwrap();
        assert!(!filter.contains_digests(&[digest(u64::MAX - round)]).await.unwrap().get(0));
        hidden.insert_digests(&[digest(u64::MAX - round)]).await.unwrap();
        hidden.swap().await.unwrap();
        // From here on all acknowledged insertions are in the new one.
        let mark = next.load(Ordering::SeqCst);
        assert!(filter.contains_digests(&[digest(u64::MAX - round)]).await.unwrap().get(0));
        assert_eq!(filter.params(), rebuilt.params);
        while next.load(Ordering::SeqCst) < mark + 2_000 {
            tokio::task::yield_now().await;
        }
        if round == 5 {
            stop.store(true, Ordering::SeqCst);
            for task in tasks.split_off(0) {
                for key in task.await.unwrap().into_iter().filter(|key| *key >= mark) {
                    let found = filter.contains_digests(&digests(key..key + 20)).await.unwrap();
                    assert_eq!(found.count_ones(), 20, "key {key} was lost");
                }
            }
        }
    }
    let shards = filter.info().await.unwrap().num_shards as usize;
    assert_eq!(keys(&redis, "*").len(), shards + 1, "old shards stayed");
    assert_eq!(when(&redis, "*"), ["-1"]);
}

/// The filters have no key in common: an answer mixed from two of them would have some of the keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_answered_by_the_old_filter_or_the_new_one() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    // The last one is queried in parts.
    let sets = [digests(0..400), digests(1_000..3_000), digests(10_000..50_000)];
    let all: Vec<u64> = sets.iter().map(|set| set.len() as u64).collect();
    let filter = NativeFilter::create(&server, "a", &options(400_000)).await.unwrap();
    filter.insert_bulk(&sets.concat()).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let calls = Arc::new([const { AtomicU64::new(0) }; 3]);
    let mut task = 0..;
    let tasks = sets.map(|set| {
        let (filter, stop, calls) = (filter.clone(), stop.clone(), calls.clone());
        let task = task.next().unwrap();
        tokio::spawn(async move {
            let mut counts = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                counts.push(filter.contains_digests(&set).await.unwrap().count_ones() as u64);
                calls[task].fetch_add(1, Ordering::SeqCst);
            }
            counts
        })
    });
    for round in 1..=12 {
        let hold = Duration::from_secs(3600);
        let rebuilt = options(400_000 + round);
        let hidden = NativeFilter::rebuild(&server, "a", &rebuilt, hold).await.unwrap();
        if round % 2 == 0 {
            hidden
                .insert_bulk(&[digests(0..3_000), digests(10_000..50_000)].concat())
                .await
                .unwrap();
        }
        hidden.swap().await.unwrap();
        // Each has one call that begins after this switch: the next switch meets another one.
        let marks = calls.each_ref().map(|calls| calls.load(Ordering::SeqCst) + 2);
        while calls.iter().zip(marks).any(|(calls, mark)| calls.load(Ordering::SeqCst) < mark) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    stop.store(true, Ordering::SeqCst);
    for (task, all) in tasks.into_iter().zip(all) {
        let counts = task.await.unwrap();
        let (some, none) = (counts.contains(&all), counts.iter().any(|count| *count < all / 10));
        assert!(some && none, "one of the filters was never queried: {counts:?}");
        // The rate of false positives is 0.1 %.
        let is_whole = |&count: &u64| count == all || count <= all / 100 + 3;
        assert!(counts.iter().all(is_whole), "{counts:?} of {all}");
    }
}

// On one thread, so that no reply arrives while the call is polled.
#[tokio::test]
async fn a_switch_that_dies_at_any_step_loses_nothing_that_is_acknowledged_after_it() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let (mut ended, mut switched) = (false, 0);
    for polls in 1..100 {
        let name = format!("a{polls}");
        let old = NativeFilter::create(&server, &name, &options(100_000)).await.unwrap();
        let hold = Duration::from_secs(60);
        let hidden = NativeFilter::rebuild(&server, &name, &options(100_000), hold).await.unwrap();
        hidden.insert(b"rebuilt").await.unwrap();
        ended = dies_after(polls, hidden.swap()).await;
        // As if the token had expired, which takes 10 s.
        server.persistence().await.unwrap();
        redis.cli(&["DEL", &format!("{{{name}}}:swap")]).unwrap();
        let live = NativeFilter::attach(&server, &name, None).await.unwrap();
        switched += u32::from(live.contains(b"rebuilt").await.unwrap());
        old.insert(b"after").await.unwrap();
        assert!(live.contains(b"after").await.unwrap(), "{polls}: it is in the old one");
        if ended {
            break;
        }
    }
    assert!(ended && switched >= 2, "{switched} deaths were after the switch");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_died_holds_nobody_up() {
    let Some(redis) = start() else { return };
    let deadline = Duration::from_secs(10);
    let server = connect_with(&redis, ServerOptions { deadline, ..ServerOptions::default() }).await;
    let filter = NativeFilter::create(&server, "a", &options(100_000)).await.unwrap();
    filter.insert(b"before").await.unwrap();
    let shards = keys(&redis, "{a:*");
    // Fenced by a switch that still has its token, and then ends.
    redis.cli(&["SET", "{a}:swap", &i64::from_be_bytes(*b"fencefen").to_string()]).unwrap();
    for shard in &shards {
        let len: u64 = redis.cli(&["STRLEN", shard]).unwrap().parse().unwrap();
        redis.cli(&["SETRANGE", shard, &(len - 8).to_string(), "fencefen"]).unwrap();
    }
    assert!(filter.contains(b"before").await.unwrap(), "readers do not wait");
    let writer = filter.clone();
    let writer = tokio::spawn(async move { writer.insert(b"during").await });
    redis.cli(&["PEXPIRE", "{a}:swap", "100"]).unwrap();
    assert_eq!(writer.await.unwrap().unwrap(), Inserted::New);
    // Others find their fences still in place, and continue too.
    let keys = digests(0..5_000);
    let batch = filter.insert_digests(&keys).await.unwrap();
    assert_eq!(batch.new.count_ones() + batch.unsure.count_ones(), keys.len());
    filter.insert_bulk(&keys).await.unwrap();
    assert!(filter.contains(b"before").await.unwrap() && filter.contains(b"during").await.unwrap());
    // With a token that never expires, a switch fails at the deadline.
    let brief = ServerOptions { deadline: Duration::from_millis(300), ..ServerOptions::default() };
    let brief = connect_with(&redis, brief).await;
    redis.cli(&["SET", "{a}:swap", "1"]).unwrap();
    let hold = Duration::from_secs(60);
    let hidden = NativeFilter::rebuild(&brief, "a", &options(100_000), hold).await.unwrap();
    assert!(matches!(hidden.swap().await, Err(Error::Busy { .. })));
    assert!(filter.contains(b"during").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_of_one_rebuild_go_on_after_one_of_them_switches() {
    let Some(redis) = start() else { return };
    let server = connect(&redis).await;
    let hold = Duration::from_secs(60);
    let ttl = Some(Duration::from_secs(5_000));
    let rebuilt = NativeOptions { ttl, ..options(100_000) };
    let one = NativeFilter::rebuild(&server, "a", &rebuilt, hold).await.unwrap();
    let two = NativeFilter::rebuild(&server, "a", &rebuilt, hold).await.unwrap();
    one.insert(b"one").await.unwrap();
    two.insert(b"two").await.unwrap();
    assert!(matches!(NativeFilter::attach(&server, "a", None).await, Err(Error::NotFound { .. })));
    one.swap().await.unwrap();
    let live = NativeFilter::attach(&server, "a", None).await.unwrap();
    assert!(live.contains(b"one").await.unwrap() && live.contains(b"two").await.unwrap());
    let left = live.info().await.unwrap().ttl_ms.unwrap();
    assert!(left > 60_000, "it has the expiry of the rebuild");
    assert!(two.swap().await.is_err(), "there is nothing left to switch to");
    two.insert(b"three").await.unwrap();
    assert!(live.contains(b"three").await.unwrap());
    assert!(live.swap().await.is_err(), "it is in its place");
}
