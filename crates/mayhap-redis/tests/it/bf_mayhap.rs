//! `BF.*`, against mayhap's own server on a real socket.

use crate::common::{connect, keys, slices};
use mayhap::{Layout, SecretKey};
use mayhap_engine::keyspace::{Hash, Keyspace, Options, Shape, Spec};
use mayhap_redis::{
    BfGrowth, BfKind, BfOptions, Error, Found, Inserted, RemoteBf, RemoteFilter, Server, find,
};
use mayhap_server::net::{self, Listen, Live, Loops};
use mayhap_server::{Config, Shared};
use std::net::SocketAddr;
use std::sync::Arc;

/// A server on a free port; it ends when this is dropped.
async fn start(max_filter_bytes: u64) -> (Loops, Server) {
    let mut options = Options::new(SecretKey::new(*b"0123456789abcdef"));
    options.max_filter_bytes = max_filter_bytes;
    let keyspace = Keyspace::new(options);
    // A layout that `BfOptions` cannot express.
    let shape = Shape::Fixed { capacity: 1000, target_fpp: 0.01, layout: Some(Layout::Standard) };
    keyspace.create(b"standard", Spec { shape, hash: Hash::Keyed }, 1, None).unwrap();
    let shared = Shared::new(Config::default(), keyspace, None);
    let listen = vec![Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))];
    let options = net::Options { listen, threads: 1, ..net::Options::default() };
    let at = Loops::start(options, Arc::new(Live(shared))).unwrap();
    let server = connect(&format!("redis://{}/", at.address().unwrap())).await;
    (at, server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_has_grown_is_still_the_one_that_was_reserved() {
    let (_at, server) = start(1 << 30).await;
    for growth in [BfGrowth::OfServer, BfGrowth::By(4)] {
        let options = BfOptions { growth, ..BfOptions::new(100, 0.01) };
        let reserve = async |options| RemoteBf::reserve(&server, "x", options).await;
        let (filter, made) = reserve(options).await.unwrap();
        assert!(made);
        let batch = keys("key ", 9_000);
        // Within the requested number, beyond it in the first layer, in several layers.
        for count in [50, 1_000, 9_000] {
            filter.insert_batch(&slices(&batch[..count])).await.unwrap();
            assert!(!reserve(options).await.unwrap().1, "{count}");
            let (parameter, has, wanted) =
                match reserve(BfOptions { expected_items: 101, ..options }).await {
                    Err(Error::Exists { parameter, has, wanted, .. }) => (parameter, has, wanted),
                    other => panic!("{other:?}"),
                };
            assert_eq!((parameter, &*has, &*wanted), ("capacity", "100", "101"));
        }
        let found = filter.contains_batch(&slices(&batch)).await.unwrap();
        assert_eq!(found.count_ones(), 9_000);
        let other_rate = reserve(BfOptions { target_fpp: 0.02, ..options }).await;
        assert!(matches!(other_rate, Err(Error::Exists { parameter: "error rate", .. })));
        let fixed = reserve(BfOptions { growth: BfGrowth::None, ..options }).await;
        assert!(matches!(fixed, Err(Error::Exists { parameter: "expansion", .. })));

        let again = RemoteBf::attach(&server, "x").await.unwrap();
        let info = again.info().await.unwrap();
        assert_eq!(info.target_fpp, Some(0.01));
        // As the server predicts: the layers share p.
        assert!((0.001..=0.01).contains(&info.estimated_fpp), "{}", info.estimated_fpp);
        let card = again.card().await.unwrap();
        assert_eq!(info.estimated_items, Some(card as f64));
        assert!(card > 8_900 && info.expected_items.unwrap() > card);
        assert!(again.delete().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_filter_and_a_missing_one_are_distinguished() {
    // Not enough for a second layer of the scaling filter.
    let (_at, server) = start(12 << 10).await;
    let options = BfOptions { growth: BfGrowth::None, ..BfOptions::new(100, 0.01) };
    let (fixed, _) = RemoteBf::reserve(&server, "fixed", options).await.unwrap();
    let (grown, _) = RemoteBf::reserve(&server, "grown", BfOptions::new(100, 0.01)).await.unwrap();
    let batch = keys("key ", 20_000);
    for (filter, words) in [(&fixed, "non scaling filter is full"), (&grown, "above the limit")] {
        let error = filter.insert_batch(&slices(&batch)).await.unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(filter.insert(&batch[0]).await.unwrap(), Inserted::Present);
        filter.delete().await.unwrap();
        let gone = |error| matches!(error, Error::Gone { .. });
        assert!(gone(filter.contains(b"a").await.unwrap_err()));
        assert!(gone(filter.insert(b"a").await.unwrap_err()));
    }
    let none = RemoteBf::attach(&server, "fixed").await;
    assert!(matches!(none, Err(Error::NotFound { .. })));
    let large = RemoteBf::reserve(&server, "x", BfOptions::new(1 << 30, 0.01)).await;
    assert!(matches!(large, Err(Error::Refused { .. })), "{large:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_their_digests_are_one_and_the_same() {
    let (_at, server) = start(1 << 30).await;
    let options = BfOptions { public: true, ..BfOptions::new(20_000, 1e-9) };
    let (filter, _) = RemoteBf::reserve(&server, "public", options).await.unwrap();
    let function = filter.digest_function(None).unwrap();
    // More than fit one command, and no multiple of 64.
    let batch = keys("key ", 20_001);
    let digests: Vec<_> = batch.iter().map(|key| function.digest(key)).collect();
    let inserted = filter.insert_digests(&digests[..10_001]).await.unwrap();
    assert_eq!((inserted.new.count_ones(), inserted.unsure.count_ones()), (10_001, 0));
    assert_eq!(filter.insert_digests(&digests[..10_001]).await.unwrap().new.count_ones(), 0);
    let expected: Vec<usize> = (0..10_001).collect();
    let by_key = filter.contains_batch(&slices(&batch)).await.unwrap();
    let by_digest = filter.contains_digests(&digests).await.unwrap();
    assert_eq!(by_key.iter_ones().collect::<Vec<_>>(), expected);
    assert_eq!(by_digest.iter_ones().collect::<Vec<_>>(), expected);
    // Without the key, the digests of a keyed filter cannot be computed.
    let keyed = RemoteBf::reserve(&server, "keyed", BfOptions::new(100, 0.01)).await.unwrap().0;
    assert_eq!(keyed.digest_function(None), None);
    assert_eq!(keyed.digest_function(Some(SecretKey::new(*b"fedcba9876543210"))), None);
    let own = SecretKey::new(*b"0123456789abcdef");
    assert!(keyed.digest_function(Some(own)).is_some());
    filter.delete().await.unwrap();
    let gone = filter.insert_digests(&digests[..1]).await;
    assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
    let gone = filter.contains_digests(&digests[..1]).await;
    assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emptied_filter_keeps_its_numbers_and_its_expiry() {
    let (_at, server) = start(1 << 30).await;
    let hour = std::time::Duration::from_secs(3600);
    for (name, options) in [
        ("grows", BfOptions::new(1000, 0.01)),
        ("fixed", BfOptions { growth: BfGrowth::None, ..BfOptions::new(1000, 0.01) }),
        ("counts", BfOptions { kind: BfKind::Counting, ..BfOptions::new(1000, 0.01) }),
        ("public", BfOptions { public: true, ..BfOptions::new(1000, 0.01) }),
    ] {
        let (filter, _) = RemoteBf::reserve(&server, name, options).await.unwrap();
        filter.insert(b"a").await.unwrap();
        filter.expire(Some(hour)).await.unwrap();
        filter.clear().await.unwrap();
        assert!(!filter.contains(b"a").await.unwrap(), "{name}");
        assert!(filter.info().await.unwrap().ttl_ms.is_some_and(|left| left <= 3_600_000));
        let again = RemoteBf::reserve(&server, name, options).await.unwrap();
        assert!(!again.1, "{name} has the numbers that it had");
        assert_eq!(again.0.kind(), filter.kind());
        assert_eq!(again.0.digest_function(None), filter.digest_function(None));
        filter.expire(None).await.unwrap();
        assert_eq!(filter.info().await.unwrap().ttl_ms, None);
    }
    let attach = async || RemoteBf::attach(&server, "standard").await.unwrap();
    let filter = attach().await;
    filter.insert(b"a").await.unwrap();
    filter.clear().await.unwrap();
    assert!(!filter.contains(b"a").await.unwrap());
    assert_eq!((filter.kind(), attach().await.kind()), (Some("standard"), Some("standard")));
    let window = BfOptions { kind: BfKind::WindowItems(100), ..BfOptions::new(100, 0.01) };
    let (window, _) = RemoteBf::reserve(&server, "window", window).await.unwrap();
    window.insert(b"a").await.unwrap();
    let refused = window.clear().await;
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    assert!(window.contains(b"a").await.unwrap());
    assert!(window.info().await.unwrap().grows, "it never is full");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_found_out_and_a_dump_takes_its_place() {
    let (_at, server) = start(1 << 30).await;
    let nothing = find(&server, "x", None).await.unwrap();
    assert!(matches!(nothing, Found::Nothing { filters_only: true }), "{nothing:?}");
    // A dump of several chunks.
    let options = BfOptions { public: true, ..BfOptions::new(100_000, 0.01) };
    let (filter, _) = RemoteBf::reserve(&server, "x", options).await.unwrap();
    filter.insert_batch(&[b"a", b"b"]).await.unwrap();
    let found = find(&server, "x", None).await.unwrap();
    assert!(matches!(&found, Found::Bf(it) if it.kind() == Some("scalable")), "{found:?}");
    let chunks = filter.dump(1 << 20).await.unwrap();
    assert!(matches!(filter.dump(100).await, Err(Error::Layout { .. })));
    let taken = RemoteBf::load(&server, "x", &chunks).await;
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    filter.insert(b"c").await.unwrap();
    let back = RemoteBf::replace(&server, "x", &chunks, None).await.unwrap();
    assert!(back.contains(b"a").await.unwrap() && !back.contains(b"c").await.unwrap());
    // A failed load leaves nothing behind, and the previous filter unchanged.
    let mut broken = chunks.clone();
    broken[1].1[0] ^= 1;
    let refused = RemoteBf::replace(&server, "x", &broken, None).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert!(back.contains(b"a").await.unwrap());
}
