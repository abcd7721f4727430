//! A call that sets the expiry, and whose connection breaks between the values of the filter.

use crate::native::{connect, digests, params};
use crate::proxy::Proxy;
use mayhap::Layout;
use mayhap_redis::{Address, Error, NativeFilter, NativeOptions, Server, ServerOptions};
use std::collections::BTreeSet;
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

const EARLY: Duration = Duration::from_millis(1_500);
const LATE: Duration = Duration::from_secs(1_000);

fn when(redis: &RedisServer) -> BTreeSet<String> {
    let keys = redis.cli(&["KEYS", "*"]).unwrap();
    let of = |key: &str| redis.cli(&["PEXPIRETIME", key]).unwrap();
    keys.lines().filter(|key| !key.is_empty()).map(of).collect()
}

async fn through(proxy: &Proxy) -> Server {
    let deadline = Duration::from_millis(300);
    let options = ServerOptions { deadline, response_timeout: deadline / 3, ..Default::default() };
    Server::connect(&Address::parse(&proxy.url()).unwrap(), options).await.unwrap()
}

/// A filter with this expiry, whose next one is set only in part; `None` if all of it was set, or
/// nothing.
async fn cut(
    (redis, server): (&RedisServer, &Server),
    (before, after): (Option<Duration>, Option<Duration>),
    bytes: usize,
) -> Option<(NativeFilter, Proxy, Server)> {
    let options = NativeOptions::new(params(Layout::Blocked, 300_000, 0.001));
    let filter = NativeFilter::create(server, "f", &options).await.unwrap();
    filter.insert_digests(&digests(0..500)).await.unwrap();
    filter.refresh_ttl(before).await.unwrap();
    let proxy = Proxy::start(&redis.url());
    let far = through(&proxy).await;
    let same = NativeFilter::attach(&far, "f", None).await.unwrap();
    proxy.cut_after(bytes);
    let result = same.refresh_ttl(after).await;
    assert!(result.is_err() == proxy.is_cut(), "{bytes}: {result:?}");
    (result.is_err() && when(redis).len() > 1).then_some((filter, proxy, far))
}

/// Bytes of the requests: of the script alone, and of more and more of the values after it.
fn cuts() -> impl Iterator<Item = usize> {
    (600..6_000).step_by(300)
}

const TIMES: [(Option<Duration>, Option<Duration>); 4] = [
    (Some(EARLY), Some(LATE)),
    (Some(EARLY), None),
    (None, Some(EARLY)),
    (Some(LATE), Some(EARLY)),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_cut_no_key_is_surely_not_there_whoever_takes_the_name() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let (own, next) = (digests(0..500), digests(500..1_000));
    for times in TIMES {
        let mut parts = 0;
        for bytes in cuts() {
            redis.flush().unwrap();
            let Some((filter, ..)) = cut((&redis, &server), times, bytes).await else { continue };
            parts += 1;
            if parts > 3 {
                break;
            }
            // Each asks for one key, so that none finds a missing value before another key.
            let mut handles = Vec::new();
            for _ in 0..60 {
                handles.push(NativeFilter::attach(&server, "f", None).await.unwrap());
            }
            tokio::time::sleep(EARLY).await;
            // Another program finds no filter and makes one, or finds this.
            let options = NativeOptions::new(params(Layout::Blocked, 300_000, 0.001));
            let other = connect(&redis).await;
            let other = NativeFilter::create(&other, "f", &options).await.unwrap();
            let is_next = other.insert_digests(&next).await.is_ok();
            let keys = if is_next { &next } else { &own };
            for (handle, key) in handles.iter().zip(keys) {
                match handle.contains_digests(&[*key]).await {
                    Ok(found) => assert_eq!(found.count_ones(), 1, "{times:?} {bytes}"),
                    Err(error) => assert!(matches!(error, Error::Gone { .. }), "{error:?}"),
                }
            }
            drop(filter);
        }
        assert!(parts > 0, "{times:?}: no cut was between the values");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_call_again_sets_what_a_cut_has_left() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let early = Duration::from_secs(100);
    let times = TIMES.map(|(before, after)| {
        let late = |time: Option<Duration>| time.map(|it| if it == EARLY { early } else { it });
        (late(before), late(after))
    });
    for (before, after) in times {
        let mut parts = 0;
        for bytes in cuts() {
            redis.flush().unwrap();
            let cut = cut((&redis, &server), (before, after), bytes).await;
            let Some((filter, proxy, far)) = cut else { continue };
            parts += 1;
            proxy.cut_after(usize::MAX);
            let same = NativeFilter::attach(&far, "f", None).await.unwrap();
            same.refresh_ttl(after).await.unwrap();
            let times = when(&redis);
            assert!(times.len() == 1, "{before:?} {after:?} {bytes}: {times:?}");
            assert_eq!(times.contains("-1"), after.is_none());
            let found = filter.contains_digests(&digests(0..500)).await.unwrap();
            assert_eq!(found.count_ones(), 500);
        }
        assert!(parts > 0, "{before:?} {after:?}: no cut was between the values");
    }
}
