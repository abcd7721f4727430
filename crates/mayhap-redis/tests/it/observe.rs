//! Watching a server: its filters by name, at a glance, and its own numbers.

use crate::common::{Single, cluster, keys, slices};
use mayhap_redis::{
    FilterScheme, NamedFilter, NativeFilter, NativeOptions, RemoteFilter, RemoteRedisson,
};
use test_servers::ready;

fn named(name: &str, scheme: FilterScheme) -> NamedFilter {
    NamedFilter { name: name.into(), scheme }
}

#[tokio::test]
async fn filters_are_found_among_other_keys() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut single = Single::start().await;
    for name in ["seen", "a:b c", "ü"] {
        let options = NativeOptions::for_items(1_000, 0.01).unwrap();
        NativeFilter::create(&single.server, name, &options).await.unwrap();
    }
    RemoteRedisson::try_init(&single.server, "users", 1_000, 0.01).await.unwrap();
    RemoteRedisson::try_init(&single.server, "{tag}users", 1_000, 0.01).await.unwrap();
    // More than one step of SCAN, and keys that only look like parameters.
    for i in 0..3_000 {
        let _: () = single.raw(&[b"SET", format!("other:{i}").as_bytes(), b"x"]);
    }
    for (key, field) in [("{x}:confetti", "a"), ("users:config", "size"), ("{seen}:next", "a")] {
        let _: i64 = single.raw(&[b"HSET", key.as_bytes(), field.as_bytes(), b"1"]);
    }
    let _: () = single.raw(&[b"SET", b"{string}:meta", b"x"]);
    let listed = single.server.filters(100).await.unwrap();
    let wanted = [
        named("a:b c", FilterScheme::Native),
        named("seen", FilterScheme::Native),
        named("users", FilterScheme::Redisson),
        named("{tag}users", FilterScheme::Redisson),
        named("ü", FilterScheme::Native),
    ];
    assert_eq!(listed.filters, wanted);
    assert!(!listed.is_cut);
    let cut = single.server.filters(2).await.unwrap();
    assert!(cut.is_cut && cut.filters.len() == 2);
}

#[tokio::test]
async fn all_masters_of_a_cluster_are_asked() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let (_cluster, server) = cluster().await;
    for i in 0..20 {
        let options = NativeOptions::for_items(100, 0.01).unwrap();
        NativeFilter::create(&server, &format!("f{i}"), &options).await.unwrap();
    }
    assert_eq!(server.filters(100).await.unwrap().filters.len(), 20);
    let status = server.status().await.unwrap();
    assert_eq!(status.nodes, 3);
    assert!(status.keys >= 40, "{status:?}");
    assert!(server.clients().await.unwrap().len() >= 3);
}

/// A sample predicts the numbers of all bits, and costs the same whatever the size.
#[tokio::test]
async fn a_glance_is_cheap_and_close() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut single = Single::start().await;
    let options = NativeOptions::for_items(400_000, 0.001).unwrap();
    let native = NativeFilter::create(&single.server, "n", &options).await.unwrap();
    let (redisson, _) =
        RemoteRedisson::try_init(&single.server, "r", 400_000, 0.001).await.unwrap();
    let keys = keys("key", 300_000);
    for chunk in slices(&keys).chunks(20_000) {
        native.insert_batch(chunk).await.unwrap();
        redisson.insert_batch(chunk).await.unwrap();
    }
    for (glance, info) in [
        (native.glance().await.unwrap(), native.info().await.unwrap()),
        (redisson.glance().await.unwrap(), redisson.info().await.unwrap()),
    ] {
        let off = |a: f64, b: f64| (a / b - 1.0).abs();
        let items = off(glance.estimated_items.unwrap(), info.estimated_items.unwrap());
        let ones = off(glance.count_ones as f64, info.count_ones as f64);
        // 131,072 bits, 42 % of them set: σ of the ones is 0.33 %, and that of the keys not much
        // more; blocks differ in their keys, which doubles it.
        assert!(ones < 0.02 && items < 0.03, "{ones}, {items}: {glance:?}, {info:?}");
        let same = mayhap_redis::FilterInfo {
            count_ones: info.count_ones,
            estimated_items: info.estimated_items,
            estimated_fpp: info.estimated_fpp,
            ..glance
        };
        assert_eq!(same, info);
    }
    single.calls();
    native.glance().await.unwrap();
    redisson.glance().await.unwrap();
    let calls = single.calls();
    let counts = calls.iter().find(|(name, _)| name == "bitcount").unwrap();
    assert_eq!(counts.1, 8, "{calls:?}");
}

#[tokio::test]
async fn a_small_filter_is_counted_whole() {
    if !ready(&["redis-server"]) {
        return;
    }
    let single = Single::start().await;
    let options = NativeOptions::for_items(1_000, 0.01).unwrap();
    let native = NativeFilter::create(&single.server, "n", &options).await.unwrap();
    native.insert_batch(&slices(&keys("key", 500))).await.unwrap();
    assert_eq!(native.glance().await.unwrap(), native.info().await.unwrap());
}

#[tokio::test]
async fn slow_requests_and_clients_are_read() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut single = Single::start().await;
    let _: () = single.raw(&[b"CONFIG", b"SET", b"slowlog-log-slower-than", b"0"]);
    let _: () = single.raw(&[b"CLIENT", b"SETNAME", b"me"]);
    let _: () = single.raw(&[b"SET", b"k", b"\xff v"]);
    let slow = single.server.slow_requests(10).await.unwrap();
    let set = slow.iter().find(|slow| slow.request.starts_with("SET k")).unwrap();
    assert_eq!((&*set.request, &*set.client), ("SET k \u{fffd} v", "me"));
    assert!(set.at > 1_700_000_000 && set.address.starts_with("127.0.0.1:"), "{set:?}");
    let clients = single.server.clients().await.unwrap();
    let me = clients.iter().find(|client| client.name == "me").unwrap();
    assert_eq!((&*me.user, &*me.last_command), ("default", "set"));
    let status = single.server.status().await.unwrap();
    assert!(status.version.starts_with("redis 7") || status.version.starts_with("valkey"));
    assert!(status.used_bytes > 500_000 && status.commands > 3 && status.clients >= 2);
    assert_eq!((status.keys, status.max_bytes, status.has_log), (1, None, false));
}
