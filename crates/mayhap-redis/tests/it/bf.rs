//! `BF.*`, against the stand-in of `test-servers`, and against a server without these commands.

use crate::common::{Single, connect, keys, slices};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
use mayhap_redis::{BfGrowth, BfKind, BfOptions, Error, Inserted, RemoteBf, RemoteFilter, Server};
use redis::cmd;
use std::time::Duration;
use test_servers::{BfServer, Dialect, ready};

const BOTH: [Dialect; 2] = [Dialect::RedisBloom, Dialect::Valkey];

fn fixed(expected_items: u64) -> BfOptions {
    BfOptions { growth: BfGrowth::None, ..BfOptions::new(expected_items, 0.01) }
}

async fn start(dialect: Dialect) -> (BfServer, Server) {
    let at = BfServer::start(dialect).unwrap();
    let server = connect(&at.url()).await;
    (at, server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_dialects_are_understood() {
    for dialect in BOTH {
        let (at, server) = start(dialect).await;
        let options = BfOptions::new(1_000, 0.001);
        let (filter, made) = RemoteBf::reserve(&server, "x", options).await.unwrap();
        assert!(made);
        assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::New);
        assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::Present);
        assert!(filter.contains(b"a").await.unwrap() && !filter.contains(b"b").await.unwrap());
        assert_eq!(filter.insert(b"\0\r\n\xFF").await.unwrap(), Inserted::New);

        at.calls();
        let batch = keys("key ", 2_500);
        let new = filter.insert_batch(&slices(&batch)).await.unwrap().new;
        assert_eq!(at.calls(), ["BF.INSERT"; 3]);
        assert!(new.count_ones() > 2_480);
        let found = filter.contains_batch(&slices(&batch)).await.unwrap();
        assert_eq!(at.calls(), ["BF.MEXISTS"; 3]);
        assert_eq!((found.len(), found.count_ones()), (2_500, 2_500));
        let mixed = [&batch[0][..], b"none", &batch[2_499][..]];
        assert!(filter.contains_batch(&mixed).await.unwrap().iter().eq([true, false, true]));
        assert!(filter.contains_batch(&[]).await.unwrap().is_empty());
        assert!(filter.insert_batch(&[]).await.unwrap().new.is_empty());

        let card = filter.card().await.unwrap();
        assert_eq!(card, new.count_ones() as u64 + 2);
        let info = filter.info().await.unwrap();
        assert_eq!((info.expected_items, info.estimated_items), (Some(3_000), Some(card as f64)));
        // Two layers: p, or 2 p for valkey-bloom.
        let most = if dialect == Dialect::Valkey { 0.002 } else { 0.001 };
        assert_eq!((info.target_fpp, info.estimated_fpp), (Some(0.001), most));
        assert!(info.num_bytes > 4_000 && info.num_bits == 8 * info.num_bytes);

        let again = RemoteBf::attach(&server, "x").await.unwrap();
        assert!(again.contains(b"a").await.unwrap());
        let info = again.info().await.unwrap();
        assert_eq!(info.target_fpp.is_some(), dialect == Dialect::Valkey);
        assert_eq!(info.estimated_fpp.is_nan(), dialect == Dialect::RedisBloom);
        assert!(again.delete().await.unwrap() && !again.delete().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_reservation_attaches_to_a_like_filter_and_refuses_another() {
    for dialect in BOTH {
        let (_at, server) = start(dialect).await;
        let options = BfOptions { growth: BfGrowth::By(3), ..BfOptions::new(100, 0.01) };
        let reserve = async |options| RemoteBf::reserve(&server, "x", options).await;
        let (filter, _) = reserve(options).await.unwrap();
        assert!(!reserve(options).await.unwrap().1);
        // Three layers of 100, 300 and 900.
        filter.insert_batch(&slices(&keys("key ", 500))).await.unwrap();
        assert_eq!(filter.info().await.unwrap().expected_items, Some(1_300));
        assert!(!reserve(options).await.unwrap().1);
        let differs = async |options| match reserve(options).await {
            Err(Error::Exists { parameter, has, wanted, .. }) => (parameter, has, wanted),
            other => panic!("{other:?}"),
        };
        let (parameter, has, wanted) = differs(BfOptions { expected_items: 101, ..options }).await;
        assert_eq!((parameter, &*has, &*wanted), ("capacity", "1300 in 3 layers", "101"));
        let (parameter, has, wanted) =
            differs(BfOptions { growth: BfGrowth::None, ..options }).await;
        assert_eq!((parameter, &*has, &*wanted), ("expansion", "3", "none"));
        let other_rate = BfOptions { target_fpp: 0.02, ..options };
        match dialect {
            Dialect::RedisBloom => assert!(!reserve(other_rate).await.unwrap().1),
            Dialect::Valkey => assert_eq!(differs(other_rate).await.0, "error rate"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_filter_says_so_and_keeps_what_it_has() {
    for dialect in BOTH {
        let (_at, server) = start(dialect).await;
        let (filter, _) = RemoteBf::reserve(&server, "x", fixed(100)).await.unwrap();
        let batch = keys("key ", 200);
        let error = filter.insert_batch(&slices(&batch)).await.unwrap_err();
        assert!(matches!(&error, Error::Full { name, .. } if name == "x"), "{error:?}");
        assert!(error.to_string().contains("ERR non scaling filter is full"), "{error}");
        assert!(matches!(filter.insert(b"new").await, Err(Error::Full { .. })));
        assert_eq!(filter.insert(&batch[0]).await.unwrap(), Inserted::Present);
        let found = filter.contains_batch(&slices(&batch[..100])).await.unwrap();
        assert_eq!(found.count_ones(), 100);
        let info = filter.info().await.unwrap();
        assert!((info.estimated_fpp - 0.01).abs() < 1e-12, "full is p: {info:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_that_has_gone_is_neither_empty_nor_made_anew() {
    for dialect in BOTH {
        let (_at, server) = start(dialect).await;
        let none = RemoteBf::attach(&server, "x").await;
        assert!(matches!(none, Err(Error::NotFound { name }) if name == "x"));
        let (filter, _) = RemoteBf::reserve(&server, "x", fixed(100)).await.unwrap();
        filter.insert(b"a").await.unwrap();
        filter.delete().await.unwrap();
        let gone = |error: Error| matches!(error, Error::Gone { name, .. } if name == "x");
        assert!(gone(filter.contains(b"a").await.unwrap_err()));
        assert!(gone(filter.insert(b"a").await.unwrap_err()));
        assert!(gone(filter.insert_batch(&[b"a"]).await.unwrap_err()));
        assert!(matches!(filter.info().await, Err(Error::NotFound { .. })));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_in_the_words_of_the_server() {
    for dialect in BOTH {
        let (at, server) = start(dialect).await;
        let valkey = dialect == Dialect::Valkey;
        let reserve = async |options| RemoteBf::reserve(&server, "x", options).await.unwrap_err();
        let error = reserve(fixed(0)).await.to_string();
        let words = ["ERR capacity must be in the range", "ERR (capacity should be larger than 0)"];
        assert!(error.contains(words[usize::from(valkey)]), "{error}");
        for p in [0.0, 1.0, f64::NAN] {
            let error = reserve(BfOptions { target_fpp: p, ..fixed(10) }).await;
            assert!(
                matches!(&error, Error::Refused { what, .. } if what == "BF.RESERVE"),
                "{error}"
            );
            assert!(error.to_string().contains("error rate"), "{error}");
        }
        // Not the message of a full filter.
        assert!(matches!(reserve(fixed(1 << 31)).await, Error::Refused { .. }));

        let client = redis::Client::open(at.url()).unwrap();
        let mut raw = client.get_connection().unwrap();
        let () = cmd("SET").arg("x").arg("text").query(&mut raw).unwrap();
        let wrong = |error| matches!(error, Error::WrongType { key } if key == "x");
        assert!(wrong(reserve(fixed(10)).await));
        assert!(wrong(RemoteBf::attach(&server, "x").await.unwrap_err()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_reply_an_old_key_is_unsure_and_a_reservation_is_ours() {
    let (at, server) = start(Dialect::RedisBloom).await;
    at.drop_next_reply();
    let (filter, made) = RemoteBf::reserve(&server, "x", fixed(100)).await.unwrap();
    assert!(made);
    at.drop_next_reply();
    assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::Unsure);
    assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::Present);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_has_the_bytes_of_redisbloom_and_takes_its_place() {
    let (at, server) = start(Dialect::RedisBloom).await;
    let (filter, _) = RemoteBf::reserve(&server, "x", BfOptions::new(100, 0.01)).await.unwrap();
    let batch = keys("key ", 500);
    filter.insert_batch(&slices(&batch)).await.unwrap();
    let options = RedisBloomOptions::new(0.01, 100);
    let mut own = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for key in &batch {
        own.insert(key).unwrap();
    }
    let chunks = filter.dump(1 << 20).await.unwrap();
    assert_eq!((own.num_layers(), &chunks), (3, &own.to_chunks()));
    assert!(matches!(filter.dump(100).await, Err(Error::Layout { .. })));

    filter.insert_batch(&slices(&keys("late ", 100))).await.unwrap();
    assert_ne!(filter.dump(1 << 20).await.unwrap(), chunks);
    let hour = Duration::from_secs(3600);
    let back = RemoteBf::replace(&server, "x", &chunks, Some(hour)).await.unwrap();
    assert_eq!(back.dump(1 << 20).await.unwrap(), chunks);
    assert!(back.info().await.unwrap().ttl_ms.is_some_and(|left| left <= 3_600_000));
    let taken = RemoteBf::load(&server, "x", &chunks).await;
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    // A failed load leaves nothing behind, and the previous filter unchanged.
    for broken in [&[(1, vec![0; 30])][..], &[chunks[0].clone(), (1 << 40, vec![0; 8])]] {
        let refused = RemoteBf::replace(&server, "x", broken, None).await;
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    }
    assert_eq!(at.names(), ["x"]);
    assert_eq!(back.dump(1 << 20).await.unwrap(), chunks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_these_servers_cannot_do_is_refused_and_changes_nothing() {
    for dialect in BOTH {
        let (at, server) = start(dialect).await;
        let (filter, _) = RemoteBf::reserve(&server, "x", fixed(100)).await.unwrap();
        filter.insert(b"a").await.unwrap();
        let cleared = filter.clear().await;
        assert!(matches!(cleared, Err(Error::Unsupported { .. })), "{cleared:?}");
        let removed = filter.remove_batch(&[b"a"]).await;
        assert!(matches!(removed, Err(Error::Unsupported { .. })), "{removed:?}");
        if dialect == Dialect::Valkey {
            let chunks = [(1, vec![0; 73])];
            for error in [
                filter.dump(1 << 20).await.unwrap_err(),
                RemoteBf::replace(&server, "y", &chunks, None).await.unwrap_err(),
            ] {
                let words = error.to_string();
                assert!(words.contains("it has no such command"), "{words}");
                assert!(words.contains("valkey-bloom does not"), "{words}");
            }
        }
        assert_eq!(at.names(), ["x"]);
        assert!(filter.contains(b"a").await.unwrap());
        filter.expire(Some(Duration::from_secs(3600))).await.unwrap();
        assert!(filter.info().await.unwrap().ttl_ms.is_some_and(|left| left <= 3_600_000));
        filter.expire(None).await.unwrap();
        assert_eq!(filter.info().await.unwrap().ttl_ms, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_filter_is_never_taken_for_another_kind() {
    for dialect in BOTH {
        let (at, server) = start(dialect).await;
        let plain = BfOptions::new(100, 0.01);
        for options in [
            BfOptions { kind: BfKind::Counting, ..plain },
            BfOptions { kind: BfKind::WindowItems(100), ..plain },
            BfOptions { kind: BfKind::WindowMillis(100), public: true, ..plain },
            BfOptions { public: true, ..plain },
        ] {
            let refused = RemoteBf::reserve(&server, "x", options).await.unwrap_err();
            assert!(matches!(refused, Error::Refused { .. }), "{refused:?}");
            assert!(refused.to_string().contains("have plain filters only"), "{refused}");
            assert!(at.names().is_empty(), "no part of it exists: {options:?}");
        }
        let (filter, _) = RemoteBf::reserve(&server, "x", plain).await.unwrap();
        filter.insert(b"a").await.unwrap();
        let counting = BfOptions { kind: BfKind::Counting, growth: BfGrowth::By(2), ..plain };
        let other = RemoteBf::reserve(&server, "x", counting).await;
        let is_of_kind = |error: &Error| match (dialect, error) {
            // It refuses the word before it looks up the name.
            (Dialect::Valkey, error) => matches!(error, Error::Refused { .. }),
            (_, error) => matches!(error, Error::Exists { parameter: "kind", .. }),
        };
        assert!(other.as_ref().is_err_and(is_of_kind), "{other:?}");
        assert!(filter.contains(b"a").await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_these_commands_is_distinguished_from_one_that_refuses() {
    if !ready(&["redis-server"]) {
        return;
    }
    let mut at = Single::start().await;
    for error in [
        RemoteBf::attach(&at.server, "x").await.unwrap_err(),
        RemoteBf::reserve(&at.server, "x", fixed(10)).await.unwrap_err(),
    ] {
        let words = error.to_string();
        assert!(words.contains("this server has no BF.* commands"), "{words}");
    }
    assert_eq!(at.raw::<u64>(&[b"DBSIZE"]), 0);
}
