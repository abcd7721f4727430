//! The bitmaps of Java-BloomFilter's Redis variant, against golden ones on a live server.

use crate::common::{Replay, Single, cluster, connect, keys, slices};
use crate::golden::{Golden, Names, number};
use crate::proxy::Proxy;
use mayhap_formats::{ForeignFilter, KeyType, Limits, MagnusFilter};
use mayhap_redis::{Error, Inserted, MagnusOptions, MagnusParams, RemoteFilter, RemoteMagnus};
use std::time::Duration;
use test_servers::ready;

const NAMES: Names = Names {
    inserted: "changed_any_bit",
    not_new_at: "members_rule_changed_nothing_at",
    found: "contains",
    found_at: "probes_rule_contains_true_at",
};

const ONE: MagnusOptions = MagnusOptions { num_bitmaps: 1, expires_after: None };

fn small() -> MagnusParams {
    MagnusParams { num_bits: 10_099, expected_items: 1_000, num_hashes: 7 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_bitmaps_are_answered_extended_and_made_as_by_the_class() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let golden = Golden::of("magnuss");
    let mut tried = 0;
    for (name, json) in golden.described() {
        if json["variant"] != "redis" {
            continue;
        }
        tried += 1;
        let bytes = golden.bytes(json["file"].as_str().unwrap());
        let params = MagnusParams {
            num_bits: number(&json["m"]) as i32,
            expected_items: number(&json["n"]) as i32,
            num_hashes: number(&json["k"]) as u32,
        };
        let replay = Replay::of(&json, NAMES, |key, _| key.encode(KeyType::Bytes).unwrap());

        let () = at.raw(&[b"SET", name.as_bytes(), &bytes]);
        let theirs = RemoteMagnus::attach(&at.server, &name, params, ONE).await.unwrap();
        replay.ask(&theirs).await;
        let info = theirs.info().await.unwrap();
        assert_eq!(info.count_ones, json["bit_count"].as_u64().unwrap(), "{name}");
        assert!(at.get(&name) == bytes, "{name}: questions changed it");

        let fresh = format!("{name} anew");
        let (ours, made) = RemoteMagnus::create(&at.server, &fresh, params, ONE).await.unwrap();
        assert!(made);
        replay.insert(&ours).await;
        assert!(at.get(&fresh) == bytes, "{name}: made otherwise");

        let (m, k) = (params.num_bits, params.num_hashes);
        let mut local = MagnusFilter::decode_redis(&bytes, m, k, &Limits::default()).unwrap();
        for key in keys("another ", 300) {
            let new = if local.insert(&key) { Inserted::New } else { Inserted::Present };
            assert_eq!(theirs.insert(&key).await.unwrap(), new, "{name}");
        }
        assert!(at.get(&name) == local.encode(), "{name}: extended otherwise");
    }
    assert_eq!(tried, 5);
}

#[test]
fn the_default_is_that_of_the_class() {
    assert_eq!(MagnusParams::default(), MagnusParams::of_rate(1e-4, 600_000).unwrap());
    assert_ne!(MagnusParams::default(), MagnusParams { num_hashes: 13, ..Default::default() });
    // Its product of k and n overflows.
    let overflown = MagnusParams::of_rate(0.25, i32::MAX).unwrap();
    assert_eq!((overflown.num_bits, overflown.num_hashes), (-2, 2));
    assert!(MagnusParams::of_rate(1.0, 10).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_that_give_no_filter_are_refused_before_anything_is_written() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let (many, too_many) = (u32::MAX, 65_537);
    for (params, options) in [
        (MagnusParams { num_bits: 0, ..small() }, ONE),
        (MagnusParams { num_hashes: 0, ..small() }, ONE),
        (MagnusParams { num_hashes: 1_101, ..small() }, ONE),
        (MagnusParams { num_hashes: 2_000_000_000, ..small() }, ONE),
        (MagnusParams { num_hashes: 1_024, ..small() }, MagnusOptions { num_bitmaps: 2, ..ONE }),
        (small(), MagnusOptions { num_bitmaps: 0, ..ONE }),
        (small(), MagnusOptions { num_bitmaps: many, ..ONE }),
        (small(), MagnusOptions { num_bitmaps: too_many, ..ONE }),
    ] {
        let made = RemoteMagnus::create(&at.server, "x", params, options).await;
        assert!(matches!(made, Err(Error::Format(_))), "{params:?} {options:?}: {made:?}");
    }
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 0);
    // The largest allowed value works.
    let params = MagnusParams { num_hashes: 1_100, ..small() };
    let (filter, _) = RemoteMagnus::create(&at.server, "x", params, ONE).await.unwrap();
    assert_eq!(filter.insert(b"key").await.unwrap(), Inserted::New);
    assert!(filter.contains(b"key").await.unwrap() && !filter.contains(b"other").await.unwrap());
    // A bitmap without a sign of its size, at its last bit.
    let params = MagnusParams { num_bits: i32::MIN, expected_items: 1, num_hashes: 3 };
    let (filter, _) = RemoteMagnus::create(&at.server, "large", params, ONE).await.unwrap();
    assert_eq!(filter.info().await.unwrap().num_bits, 1 << 31);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_bitmap_of_this_size_is_refused_and_kept() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let server = at.server.clone();
    let attach = async |name: &str| RemoteMagnus::attach(&server, name, small(), ONE).await;
    let create = async |name: &str| RemoteMagnus::create(&server, name, small(), ONE).await;
    assert!(matches!(attach("none").await, Err(Error::NotFound { name }) if name == "none"));

    let _: u64 = at.raw(&[b"RPUSH", b"list", b"x"]);
    assert!(matches!(attach("list").await, Err(Error::WrongType { key }) if key == "list"));
    assert!(matches!(create("list").await, Err(Error::WrongType { key }) if key == "list"));
    // 10,099 bits fill 1,263 bytes.
    let _: () = at.raw(&[b"SET", b"fits", &[0; 1_263]]);
    assert!(attach("fits").await.is_ok());
    let _: () = at.raw(&[b"SET", b"long", &[0; 1_264]]);
    let error = attach("long").await.unwrap_err();
    assert!(matches!(&error, Error::Damaged { key, .. } if key == "long"), "{error}");
    assert!(error.to_string().contains("1264 bytes"), "{error}");

    // A key that becomes another type later.
    let filter = attach("fits").await.unwrap();
    let _: u64 = at.raw(&[b"DEL", b"fits"]);
    let _: u64 = at.raw(&[b"RPUSH", b"fits", b"x"]);
    let wrong = |error| matches!(error, Error::WrongType { key } if key == "fits");
    assert!(wrong(filter.insert(b"a").await.unwrap_err()));
    assert!(wrong(filter.contains(b"a").await.unwrap_err()));
    assert!(wrong(filter.info().await.unwrap_err()));
    let expires = MagnusOptions { expires_after: Some(Duration::from_secs(60)), ..ONE };
    let (name, params) = ("script", small());
    let (filter, _) = RemoteMagnus::create(&at.server, name, params, expires).await.unwrap();
    let _: u64 = at.raw(&[b"DEL", b"script"]);
    let _: u64 = at.raw(&[b"RPUSH", b"script", b"x"]);
    let error = filter.insert(b"a").await.unwrap_err();
    assert!(matches!(&error, Error::WrongType { key } if key == "script"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bitmap_has_its_expiry_from_its_first_moment() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let day = Duration::from_secs(24 * 60 * 60);
    let of = |after| MagnusOptions { expires_after: Some(after), ..ONE };
    let (name, params, options) = ("seen", small(), of(30 * day));
    let (filter, made) = RemoteMagnus::create(&at.server, name, params, options).await.unwrap();
    assert!(made);
    assert_eq!(at.get("seen"), [0]);
    let within = |ttl: i64| ttl > 29 * 86_400_000 && ttl <= 30 * 86_400_000;
    assert!(within(at.pttl("seen")));
    // Another one neither creates it nor extends its lifetime.
    let (other, made) = RemoteMagnus::create(&at.server, name, params, of(60 * day)).await.unwrap();
    assert!(!made && within(at.pttl("seen")));
    other.insert(b"a").await.unwrap();
    assert!(within(at.pttl("seen")));
    assert!(filter.contains(b"a").await.unwrap());
    assert!(within(filter.info().await.unwrap().ttl_ms.unwrap().cast_signed()));

    // Created again by an insertion, with the class's bits.
    assert!(filter.delete().await.unwrap() && !filter.delete().await.unwrap());
    assert!(!filter.contains(b"a").await.unwrap());
    assert!(matches!(filter.info().await, Err(Error::NotFound { .. })));
    let batch = keys("key ", 1_000);
    filter.insert_batch(&slices(&batch)).await.unwrap();
    assert!(within(at.pttl("seen")));
    let mut local = MagnusFilter::decode_redis(&[0], 10_099, 7, &Limits::default()).unwrap();
    for key in &batch {
        local.insert(key);
    }
    assert_eq!(at.get("seen"), local.encode());

    // An existing one without expiry stays so.
    let _: () = at.raw(&[b"SET", b"old", b"\0"]);
    let (old, made) = RemoteMagnus::create(&at.server, "old", params, options).await.unwrap();
    old.insert(b"a").await.unwrap();
    assert!(!made);
    assert_eq!((at.pttl("old"), old.info().await.unwrap().ttl_ms), (-1, None));
}

/// The bitmap keeps expiring, and is never followed by one without expiry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insertion_while_the_bitmap_expires_makes_one_that_expires() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let options = MagnusOptions { expires_after: Some(Duration::from_millis(2)), ..ONE };
    let (name, params) = ("short", small());
    let (filter, _) = RemoteMagnus::create(&at.server, name, params, options).await.unwrap();
    let batch = keys("key ", 1_000);
    let mut ended = 0;
    for _ in 0..100 {
        let inserted = filter.insert_batch(&slices(&batch)).await.unwrap();
        ended += u32::from(inserted.new.get(0));
        assert_ne!(at.pttl(name), -1);
    }
    assert!(ended > 1, "it never expired between two batches");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_costs_one_command_and_a_batch_few() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let (filter, _) = RemoteMagnus::create(&at.server, "x", small(), ONE).await.unwrap();
    at.calls();
    filter.insert(b"a").await.unwrap();
    assert_eq!(at.calls(), [("bitfield".to_owned(), 1)]);
    filter.contains(b"a").await.unwrap();
    assert_eq!(at.calls(), [("bitfield_ro".to_owned(), 1)]);
    // 146 keys of 7 bits fill 1,022 of 1,024.
    let batch = keys("key ", 1_000);
    filter.insert_batch(&slices(&batch)).await.unwrap();
    assert_eq!(at.calls(), [("bitfield".to_owned(), 7)]);
    assert_eq!(filter.contains_batch(&slices(&batch)).await.unwrap().count_ones(), 1_000);
    assert_eq!(at.calls(), [("bitfield_ro".to_owned(), 7)]);
    assert!(filter.contains_batch(&[]).await.unwrap().is_empty());
    assert!(filter.insert_batch(&[]).await.unwrap().new.is_empty());
    assert_eq!(at.calls(), []);

    let options = MagnusOptions { expires_after: Some(Duration::from_secs(60)), ..ONE };
    let (filter, _) = RemoteMagnus::create(&at.server, "y", small(), options).await.unwrap();
    at.calls();
    filter.insert(b"a").await.unwrap();
    let calls = ["bitfield", "eval", "exists"].map(|name| (name.to_owned(), 1));
    assert_eq!(at.calls(), calls);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_bitmaps_are_chosen_by_the_next_number_of_the_class() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let options = MagnusOptions { num_bitmaps: 7, ..ONE };
    // createHashes("hello", 5): -1945464173, 1264541545, 1928335191, -569030031, -1822253980.
    let params = MagnusParams { num_bits: 1_000, expected_items: 100, num_hashes: 4 };
    let (filter, made) = RemoteMagnus::create(&at.server, "s", params, options).await.unwrap();
    assert!(made && filter.insert(b"hello").await.unwrap() == Inserted::New);
    let bitmap = format!("s:{}", 1_822_253_980 % 7);
    let mut local = MagnusFilter::decode_redis(&[0], 1_000, 4, &Limits::default()).unwrap();
    local.insert(b"hello");
    for i in 0..7 {
        let key = format!("s:{i}");
        let expected = if key == bitmap { local.encode() } else { vec![0] };
        assert_eq!(at.get(&key), expected, "{key}");
    }
    assert!(at.get("s").is_empty());
    assert!(filter.contains(b"hello").await.unwrap());
    assert_eq!(filter.insert(b"hello").await.unwrap(), Inserted::Present);
    let info = filter.info().await.unwrap();
    assert_eq!((info.num_bits, info.num_shards, info.count_ones), (7_000, 7, 4));
    assert_eq!(info.expected_items, Some(700));

    // More bits than any string has.
    let params = MagnusParams { num_bits: i32::MAX, expected_items: 1, num_hashes: 4 };
    let options = MagnusOptions { num_bitmaps: 3, ..ONE };
    let (large, _) = RemoteMagnus::create(&at.server, "large", params, options).await.unwrap();
    assert!(large.info().await.unwrap().num_bits > 1 << 32);
    assert_ne!(large, filter);
    let again = RemoteMagnus::attach(&at.server, "large", params, options).await.unwrap();
    assert_eq!(large, again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_bitmaps_lie_on_all_masters_of_a_cluster_and_none_forgets_a_key() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let (cluster, server) = cluster().await;
    let params = MagnusParams::of_rate(0.01, 1_000).unwrap();
    let day = Duration::from_secs(86_400);
    let options = MagnusOptions { num_bitmaps: 16, expires_after: Some(day) };
    let (filter, _) = RemoteMagnus::create(&server, "seen", params, options).await.unwrap();
    let batch = keys("https://example.com/", 10_000);
    let before = filter.insert_batch(&slices(&batch)).await.unwrap();
    assert!(before.new.count_ones() > 9_900 && before.unsure.count_ones() == 0);
    assert_eq!(filter.contains_batch(&slices(&batch)).await.unwrap().count_ones(), 10_000);
    assert_eq!(filter.insert_batch(&slices(&batch)).await.unwrap().new.count_ones(), 0);
    let absent = keys("https://example.org/", 10_000);
    // 625 keys in each bitmap of 1,000: about 0.06 %.
    assert!(filter.contains_batch(&slices(&absent)).await.unwrap().count_ones() < 40);
    for node in cluster.nodes() {
        let held: u64 = node.cli(&["DBSIZE"]).unwrap().parse().unwrap();
        assert!(held > 0, "a master holds no bitmap");
    }
    let info = filter.info().await.unwrap();
    assert!((info.estimated_items.unwrap() - 10_000.0).abs() < 300.0, "{info:?}");
    assert!(filter.delete().await.unwrap());
    let attached = RemoteMagnus::attach(&server, "seen", params, options).await;
    assert!(matches!(attached, Err(Error::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_reply_a_key_is_unsure_and_a_bitmap_counts_as_made() {
    if !ready(&["redis-server"]) {
        return;
    }
    let at = Single::start().await;
    let proxy = Proxy::start(&at.url());
    let server = connect(&proxy.url()).await;
    let expires = MagnusOptions { expires_after: Some(Duration::from_secs(60)), ..ONE };
    for (name, options) in [("plain", ONE), ("script", expires)] {
        proxy.lose_next_reply();
        let (filter, made) = RemoteMagnus::create(&server, name, small(), options).await.unwrap();
        assert!(made);
        filter.insert(b"old").await.unwrap();
        proxy.lose_next_reply();
        let batch = filter.insert_batch(&[b"new", b"old"]).await.unwrap();
        assert_eq!((batch.get(0), batch.get(1)), (Inserted::Unsure, Inserted::Unsure));
        assert_eq!(filter.insert(b"new").await.unwrap(), Inserted::Present);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_says_so_and_goes_on_answering() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    let expires = MagnusOptions { expires_after: Some(Duration::from_secs(60)), ..ONE };
    let (params, server) = (small(), at.server.clone());
    let (plain, _) = RemoteMagnus::create(&server, "plain", params, ONE).await.unwrap();
    let (script, _) = RemoteMagnus::create(&server, "script", params, expires).await.unwrap();
    plain.insert(b"a").await.unwrap();
    let _: () = at.raw(&[b"CONFIG", b"SET", b"maxmemory", b"1"]);
    for error in [
        plain.insert(b"b").await.unwrap_err(),
        script.insert(b"b").await.unwrap_err(),
        RemoteMagnus::create(&server, "new", params, ONE).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::ServerFull { .. }), "{error:?}");
    }
    assert!(plain.contains(b"a").await.unwrap() && !plain.contains(b"b").await.unwrap());
}
