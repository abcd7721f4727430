//! `BF.*`, against mayhap's own server on a real socket.

use crate::common::{connect, keys, slices};
use mayhap::SecretKey;
use mayhap_redis::{BfGrowth, BfOptions, Error, Inserted, RemoteBf, RemoteFilter, Server};
use mayhap_server::keyspace::{Keyspace, Options};
use mayhap_server::net::{self, Listen, Live, Loops};
use mayhap_server::{Config, Shared};
use std::net::SocketAddr;
use std::sync::Arc;

/// A server on a free port; it ends when this is dropped.
async fn start(max_filter_bytes: u64) -> (Loops, Server) {
    let mut options = Options::new(SecretKey::new(*b"0123456789abcdef"));
    options.max_filter_bytes = max_filter_bytes;
    let shared = Shared::new(Config::default(), Keyspace::new(options), None);
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
        // Within what was asked for, beyond it in the first layer, in several.
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
        assert_eq!((info.target_fpp, info.estimated_fpp), (Some(0.01), 0.01));
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
