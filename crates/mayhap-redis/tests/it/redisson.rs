//! Redisson's filters, against golden ones on a live server.

use crate::common::{Replay, Single, cluster, connect, keys, slices};
use crate::golden::{Golden, Key, Names, double};
use crate::proxy::Proxy;
use mayhap_formats::{ForeignFilter, KeyType, Limits, RedissonConfig, RedissonFilter};
use mayhap_redis::{Error, Inserted, RemoteFilter, RemoteRedisson};
use serde_json::Value;
use std::time::Duration;
use test_servers::ready;

const NAMES: Names = Names {
    inserted: "add_returned",
    not_new_at: "members_rule_add_returned_false_at",
    found: "contains",
    found_at: "probes_rule_contains_true_at",
};

/// The types of explicit keys and of keys by a rule.
fn key_types(json: &Value) -> (KeyType, KeyType) {
    match json["codec"].as_str().unwrap() {
        "string" | "long-decimal" => (KeyType::Bytes, KeyType::Bytes),
        "bytes" => (KeyType::Hex, KeyType::Bytes),
        "kryo5-string" => (KeyType::KryoString, KeyType::KryoString),
        "kryo5-int" => (KeyType::KryoInt, KeyType::KryoInt),
        "kryo5-long" => (KeyType::KryoLong, KeyType::KryoLong),
        other => panic!("codec {other}"),
    }
}

fn config(fields: &Value) -> RedissonConfig {
    let fields = fields.as_object().unwrap().iter();
    RedissonConfig::parse(fields.map(|(name, value)| (&**name, value.as_str().unwrap()))).unwrap()
}

/// All fields of a hash, by name.
fn hash(at: &mut Single, key: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = at.raw(&[b"HGETALL", key.as_bytes()]);
    fields.sort();
    fields
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_filters_are_answered_extended_and_made_as_by_redisson() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let golden = Golden::of("redisson");
    let mut tried = 0;
    for (file, json) in golden.described() {
        tried += 1;
        let bytes = golden.bytes(json["file"].as_str().unwrap());
        let name = json["name"].as_str().unwrap();
        let config_key = json["config_key"].as_str().unwrap();
        let fields = json["config_hash"].as_object().unwrap();
        for (field, value) in fields {
            let value = value.as_str().unwrap().as_bytes();
            let _: u64 = at.raw(&[b"HSET", config_key.as_bytes(), field.as_bytes(), value]);
        }
        let _: () = at.raw(&[b"SET", name.as_bytes(), &bytes]);
        let (explicit, by_rule) = key_types(&json);
        let replay = Replay::of(&json, NAMES, |key: &Key, is_explicit| {
            key.encode(if is_explicit { explicit } else { by_rule }).unwrap()
        });

        let theirs = RemoteRedisson::attach(&at.server, name).await.unwrap();
        replay.ask(&theirs).await;
        assert_eq!(theirs.count().await.unwrap(), json["count"].as_i64().unwrap(), "{file}");
        let info = theirs.info().await.unwrap();
        assert_eq!(info.count_ones, json["bit_count"].as_u64().unwrap(), "{file}");
        assert!(at.get(name) == bytes, "{file}: questions changed it");

        let fresh = format!("{name} anew");
        let (n, p) = (json["n"].as_i64().unwrap(), double(&json["p"]));
        let (ours, first) = RemoteRedisson::try_init(&at.server, &fresh, n, p).await.unwrap();
        assert!(first);
        assert_eq!(hash(&mut at, &RedissonConfig::key(&fresh)), hash(&mut at, config_key));
        replay.insert(&ours).await;
        assert!(at.get(&fresh) == bytes, "{file}: made otherwise");

        let mut local =
            RedissonFilter::decode(&bytes, config(&json["config_hash"]), &Limits::default())
                .unwrap();
        for key in keys("another ", 300) {
            let new = if local.insert(&key) { Inserted::New } else { Inserted::Present };
            assert_eq!(theirs.insert(&key).await.unwrap(), new, "{file}");
        }
        assert!(at.get(name) == local.encode(), "{file}: extended otherwise");
        assert_eq!(theirs.count().await.unwrap(), local.count(), "{file}");
    }
    assert_eq!(tried, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_encoded_as_the_codec_does() {
    if !ready(&["redis-server"]) {
        return;
    }
    let at = Single::start().await;
    let (filter, _) = RemoteRedisson::try_init(&at.server, "x", 100, 0.001).await.unwrap();
    let texts = filter.clone().encoding(KeyType::KryoString);
    assert_eq!(texts.insert(b"abc").await.unwrap(), Inserted::New);
    assert!(filter.contains(b"\x03ab\xE3").await.unwrap());
    assert!(!filter.contains(b"abc").await.unwrap());
    assert!(texts.contains_batch(&[b"abc", b"abd"]).await.unwrap().iter().eq([true, false]));
    let numbers = filter.encoding(KeyType::KryoInt);
    let error = numbers.insert(b"abc").await.unwrap_err();
    assert!(matches!(error, Error::Format(mayhap_formats::Error::BadKey { .. })), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_initialisers_one_writes_and_the_others_have_its_config() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    for round in 0..20 {
        let name = format!("filter {round}");
        let tasks: Vec<_> = (0..8)
            .map(|i| {
                let (server, name) = (at.server.clone(), name.clone());
                tokio::spawn(async move {
                    RemoteRedisson::try_init(&server, &name, 100 + i, 0.01).await.unwrap()
                })
            })
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.push(task.await.unwrap());
        }
        let first: Vec<_> = all.iter().filter(|(_, first)| *first).collect();
        assert_eq!(first.len(), 1);
        assert!(all.iter().all(|(filter, _)| filter.config() == first[0].0.config()));
    }
    let kept = hash(&mut at, "{filter 0}:config");
    let again = RemoteRedisson::try_init(&at.server, "filter 0", 5_000, 0.5).await.unwrap();
    assert!(!again.1);
    assert_eq!(hash(&mut at, "{filter 0}:config"), kept);
    for (n, p, words) in [
        (100, 1.5, "Bloom filter false probability can't be greater than 1"),
        (100, -0.5, "Bloom filter false probability can't be negative"),
        (0, 0.01, "Bloom filter calculated size is 0"),
        (1 << 40, 0.01, "Bloom filter size can't be greater than 4294967294"),
    ] {
        let error = RemoteRedisson::try_init(&at.server, "none", n, p).await.unwrap_err();
        assert!(error.to_string().starts_with(words), "{error}");
    }
    assert_eq!(at.raw::<u64>(&[b"EXISTS", b"{none}:config"]), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_config_is_noticed_and_nothing_is_written() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let (old, _) = RemoteRedisson::try_init(&at.server, "x", 1_000, 0.01).await.unwrap();
    old.insert(b"a").await.unwrap();
    assert!(old.delete().await.unwrap());
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 0);
    for error in all_fail(&old).await {
        assert!(matches!(&error, Error::Gone { name, .. } if name == "x"), "{error:?}");
        assert!(error.to_string().contains("initialise it again"), "{error}");
    }
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 0);

    let (new, first) = RemoteRedisson::try_init(&at.server, "x", 50, 0.01).await.unwrap();
    assert!(first);
    new.insert(b"b").await.unwrap();
    let kept = at.get("x");
    for error in all_fail(&old).await {
        let words = "the filter x is gone: Bloom filter config has been changed: size is 479, \
                     hashIterations 7; they were 9585 and 7; attach to it again";
        assert_eq!(error.to_string(), words);
    }
    // Only the other number.
    let _: u64 = at.raw(&[b"HSET", b"{x}:config", b"hashIterations", b"6"]);
    for error in all_fail(&new).await {
        assert!(error.to_string().contains("hashIterations 6; they were 479 and 7"), "{error}");
    }
    assert_eq!(at.get("x"), kept);
    // The others do not matter.
    let _: u64 = at.raw(&[b"HSET", b"{x}:config", b"hashIterations", b"7"]);
    let _: u64 = at.raw(&[b"HSET", b"{x}:config", b"falseProbability", b"0.010"]);
    assert!(new.contains(b"b").await.unwrap());
}

/// The errors of all calls.
async fn all_fail(filter: &RemoteRedisson) -> Vec<Error> {
    vec![
        filter.insert(b"c").await.unwrap_err(),
        filter.insert_batch(&[b"c", b"d"]).await.unwrap_err(),
        filter.contains(b"c").await.unwrap_err(),
        filter.contains_batch(&[b"c", b"d"]).await.unwrap_err(),
        filter.info().await.unwrap_err(),
        filter.count().await.unwrap_err(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_filter_of_redisson_is_refused_with_its_key() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let server = at.server.clone();
    let attach = async || RemoteRedisson::attach(&server, "x").await.unwrap_err();
    assert!(matches!(attach().await, Error::NotFound { name } if name == "x"));
    let right: [(&str, &[u8]); 4] = [
        ("size", b"9585"),
        ("hashIterations", b"7"),
        ("expectedInsertions", b"1000"),
        ("falseProbability", b"0.01"),
    ];
    let long = [b'1'; 100];
    let wrong: [(&str, &[u8]); 10] = [
        ("size", b"+9585"),
        ("size", b"1099511627776"),
        ("size", b"0"),
        ("size", b"\xFF"),
        ("size", &long),
        ("hashIterations", b"2000000000"),
        ("hashIterations", b"1101"),
        ("hashIterations", b"-1"),
        ("expectedInsertions", b""),
        ("falseProbability", b"1.5"),
    ];
    for (field, value) in wrong {
        for (name, value) in right {
            let _: u64 = at.raw(&[b"HSET", b"{x}:config", name.as_bytes(), value]);
        }
        assert!(RemoteRedisson::attach(&server, "x").await.is_ok());
        let _: u64 = at.raw(&[b"HSET", b"{x}:config", field.as_bytes(), value]);
        let error = attach().await;
        assert!(matches!(&error, Error::Damaged { key, .. } if key == "{x}:config"), "{error}");
        assert!(error.to_string().contains(field) && error.to_string().len() < 200, "{error}");
        let again = RemoteRedisson::try_init(&server, "x", 1_000, 0.01).await;
        assert!(matches!(again, Err(Error::Damaged { .. })));
    }
    let _: u64 = at.raw(&[b"HDEL", b"{x}:config", b"size"]);
    assert!(matches!(attach().await, Error::Damaged { .. }));

    // Bits without a config; a config with too many bits.
    let (filter, _) = RemoteRedisson::try_init(&server, "y", 1_000, 0.01).await.unwrap();
    let _: () = at.raw(&[b"SET", b"y", &[0; 1_200]]);
    let error = RemoteRedisson::attach(&server, "y").await.unwrap_err();
    assert!(matches!(&error, Error::Damaged { key, .. } if key == "y"), "{error}");
    let _: u64 = at.raw(&[b"DEL", b"{y}:config"]);
    let error = RemoteRedisson::attach(&server, "y").await.unwrap_err();
    assert!(matches!(&error, Error::Gone { .. }), "{error}");
    assert!(error.to_string().contains("{y}:config"), "{error}");
    assert!(matches!(filter.insert(b"a").await, Err(Error::Gone { .. })));

    // Either key of another type, from the start and later.
    let _: u64 = at.raw(&[b"DEL", b"{x}:config"]);
    let (filter, _) = RemoteRedisson::try_init(&server, "x", 1_000, 0.01).await.unwrap();
    let _: u64 = at.raw(&[b"RPUSH", b"x", b"1"]);
    let wrong = |error: Error, of: &str| matches!(error, Error::WrongType { key } if key == of);
    assert!(wrong(attach().await, "x"));
    assert!(wrong(filter.insert(b"a").await.unwrap_err(), "x"));
    assert!(wrong(filter.contains(b"a").await.unwrap_err(), "x"));
    let _: u64 = at.raw(&[b"DEL", b"x", b"{x}:config"]);
    let _: u64 = at.raw(&[b"RPUSH", b"{x}:config", b"1"]);
    assert!(wrong(attach().await, "{x}:config"));
    assert!(wrong(filter.insert(b"a").await.unwrap_err(), "{x}:config"));
    let again = RemoteRedisson::try_init(&server, "x", 1_000, 0.01).await;
    assert!(wrong(again.unwrap_err(), "{x}:config"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bits_without_a_config_are_not_taken_over_by_a_new_filter() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let server = at.server.clone();
    let (filter, _) = RemoteRedisson::try_init(&server, "y", 1_000, 0.01).await.unwrap();
    filter.insert(b"old").await.unwrap();
    let _: u64 = at.raw(&[b"DEL", b"{y}:config"]);
    let error = RemoteRedisson::try_init(&server, "y", 5_000, 0.01).await.unwrap_err();
    assert!(error.to_string().contains("delete them (DEL y)"), "{error}");
    assert_eq!(at.raw::<u64>(&[b"EXISTS", b"{y}:config"]), 0);
    let _: u64 = at.raw(&[b"DEL", b"y"]);
    let (_, is_mine) = RemoteRedisson::try_init(&server, "y", 5_000, 0.01).await.unwrap();
    assert!(is_mine);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_keys_expire_are_renamed_and_deleted_together() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let (filter, _) = RemoteRedisson::try_init(&at.server, "new", 1_000, 0.01).await.unwrap();
    let hour = Duration::from_secs(3_600);
    // Before there are any bits.
    filter.expire(Some(hour)).await.unwrap();
    filter.insert(b"a").await.unwrap();
    for key in ["new", "{new}:config"] {
        assert!((1..=3_600_000).contains(&at.pttl(key)), "{key}");
    }
    let [bits, config]: [i64; 2] =
        ["new", "{new}:config"].map(|key| at.raw(&[b"PEXPIRETIME", key.as_bytes()]));
    assert_eq!(bits, config);
    assert!(filter.info().await.unwrap().ttl_ms.is_some());
    filter.expire(None).await.unwrap();
    assert_eq!((at.pttl("new"), at.pttl("{new}:config")), (-1, -1));
    assert_eq!(filter.info().await.unwrap().ttl_ms, None);

    // Replacing one with the same numbers, whose users continue.
    let (old, _) = RemoteRedisson::try_init(&at.server, "old", 1_000, 0.01).await.unwrap();
    old.insert(b"b").await.unwrap();
    let bytes = at.get("new");
    let renamed = filter.rename("old").await.unwrap();
    assert_eq!(renamed.name(), "old");
    assert_eq!(at.get("old"), bytes);
    assert!(old.contains(b"a").await.unwrap() && !old.contains(b"b").await.unwrap());
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 2);
    assert!(matches!(filter.contains(b"a").await, Err(Error::Gone { .. })));
    assert!(matches!(filter.rename("old").await, Err(Error::NotFound { .. })));
    assert!(matches!(filter.expire(None).await, Err(Error::NotFound { .. })));

    // A filter without bits replaces one with bits: none of them stays.
    let (empty, _) = RemoteRedisson::try_init(&at.server, "empty", 1_000, 0.01).await.unwrap();
    let renamed = empty.rename("old").await.unwrap();
    assert!(!renamed.contains(b"a").await.unwrap());
    assert!(renamed.rename("old").await.is_ok());
    assert!(renamed.delete().await.unwrap() && !renamed.delete().await.unwrap());
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_costs_one_round_trip_and_a_batch_few_commands() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let (filter, _) = RemoteRedisson::try_init(&at.server, "x", 1_000, 0.01).await.unwrap();
    let calls = |calls: &[(&str, u64)]| -> Vec<(String, u64)> {
        calls.iter().map(|&(name, n)| (name.to_owned(), n)).collect()
    };
    // A script, and the commands that it calls.
    let insertions = |n| calls(&[("bitfield", n), ("eval", n), ("hmget", n)]);
    let questions = |n| calls(&[("bitfield_ro", n), ("hmget", 1)]);
    at.calls();
    filter.insert(b"a").await.unwrap();
    assert_eq!(at.calls(), insertions(1));
    filter.contains(b"a").await.unwrap();
    assert_eq!(at.calls(), questions(1));
    let batch = keys("key ", 1_000);
    filter.insert_batch(&slices(&batch)).await.unwrap();
    assert_eq!(at.calls(), insertions(7));
    assert_eq!(filter.contains_batch(&slices(&batch)).await.unwrap().count_ones(), 1_000);
    assert_eq!(at.calls(), questions(7));
    // The most bits that a key may have.
    let _: u64 = at.raw(&[b"HSET", b"{x}:config", b"hashIterations", b"1100"]);
    let filter = RemoteRedisson::attach(&at.server, "x").await.unwrap();
    filter.insert_batch(&[b"b", b"c"]).await.unwrap();
    assert!(filter.contains(b"b").await.unwrap() && filter.contains(b"c").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_cluster_both_keys_are_in_one_slot() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let (_cluster, server) = cluster().await;
    for name in ["users", "{tag}users", "a:b", "中"] {
        let (filter, first) = RemoteRedisson::try_init(&server, name, 1_000, 0.01).await.unwrap();
        assert!(first, "{name}");
        assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::New);
        let again = RemoteRedisson::attach(&server, name).await.unwrap();
        assert!(again.contains(b"a").await.unwrap());
        assert_eq!(again.count().await.unwrap(), 1);
        assert!(filter.delete().await.unwrap());
    }
    let (filter, _) = RemoteRedisson::try_init(&server, "{users}new", 100, 0.01).await.unwrap();
    filter.insert(b"a").await.unwrap();
    assert!(matches!(filter.rename("elsewhere").await, Err(Error::Refused { .. })));
    let renamed = filter.rename("users").await.unwrap();
    assert!(renamed.contains(b"a").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_reply_a_key_is_unsure_and_a_like_config_is_ours() {
    if !ready(&["redis-server"]) {
        return;
    }
    let at = Single::start().await;
    let proxy = Proxy::start(&at.url());
    let server = connect(&proxy.url()).await;
    proxy.lose_next_reply();
    let (filter, first) = RemoteRedisson::try_init(&server, "x", 1_000, 0.01).await.unwrap();
    assert!(first);
    proxy.lose_next_reply();
    assert!(!RemoteRedisson::try_init(&server, "x", 2_000, 0.01).await.unwrap().1);
    proxy.lose_next_reply();
    assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::Unsure);
    proxy.lose_next_reply();
    let renamed = filter.rename("y").await.unwrap();
    assert!(renamed.contains(b"a").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_says_so_and_goes_on_answering() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let server = at.server.clone();
    let (filter, _) = RemoteRedisson::try_init(&server, "x", 1_000, 0.01).await.unwrap();
    filter.insert(b"a").await.unwrap();
    let _: () = at.raw(&[b"CONFIG", b"SET", b"maxmemory", b"1"]);
    for error in [
        filter.insert(b"b").await.unwrap_err(),
        RemoteRedisson::try_init(&server, "y", 1_000, 0.01).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::ServerFull { .. }), "{error:?}");
    }
    assert!(filter.contains(b"a").await.unwrap() && !filter.contains(b"b").await.unwrap());
}
