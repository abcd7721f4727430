//! A guard with a real Redis as filter and cache, and a real `PostgreSQL`.

#[expect(dead_code, reason = "the example prints more than is tested")]
#[path = "../../../examples/cache_guard/attack.rs"]
mod attack;
#[path = "../../../examples/cache_guard/scene.rs"]
mod scene;
#[path = "../../../examples/cache_guard/shop.rs"]
mod shop;

use mayhap_redis::guard::{Cache, Failing, GuardError, RedisCache};
use mayhap_redis::{Address, Server, ServerOptions};
use scene::{Error, Scene};
use shop::{Shop, sku, title};
use std::time::Duration;
use test_servers::{Postgres, RedisOptions, RedisServer, ready};

const PROGRAMS: [&str; 4] = ["redis-server", "initdb", "postgres", "pg_isready"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attack_reaches_the_database_as_often_as_the_rate_of_the_filter_explains()
-> Result<(), Error> {
    const ABSENT: u32 = 20_000;
    if !ready(&PROGRAMS) {
        return Ok(());
    }
    let postgres = Postgres::start()?;
    let shop = Shop::open(&postgres.url(), 2_000).await?;
    let (outcome, reads) = Scene::start(&shop).await?.unguarded(ABSENT).await?;
    assert_eq!((outcome.wrong, outcome.refused, reads), (0, 0, 22_000));
    let scene = Scene::start(&shop).await?;
    let seen = scene.guarded(ABSENT, Failing::Closed, false).await?;
    assert_eq!((seen.outcome.requests, seen.outcome.wrong, seen.outcome.refused), (22_000, 0, 0));
    let (p, bound) = scene.bound(ABSENT).await?;
    assert!((0.0005..0.0015).contains(&p), "{p}");
    assert!(seen.reads as f64 <= bound, "{} of {bound} at {p}: {:?}", seen.reads, seen.counts);
    // The database counts as the guard does, and some of the keys are false positives.
    assert_eq!(seen.reads, i64::try_from(seen.counts.loads)?);
    assert_eq!(seen.counts.loads, 2_000 + seen.counts.false_positives);
    assert!(seen.counts.false_positives > 0, "{:?}", seen.counts);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_in_an_attack_makes_no_answer_wrong() -> Result<(), Error> {
    const ABSENT: u32 = 6_000;
    if !ready(&PROGRAMS) {
        return Ok(());
    }
    let postgres = Postgres::start()?;
    let shop = Shop::open(&postgres.url(), 2_000).await?;
    let scene = Scene::start(&shop).await?;
    let seen = scene.guarded(ABSENT, Failing::Open, true).await?;
    assert_eq!((seen.outcome.requests, seen.outcome.wrong, seen.outcome.refused), (8_000, 0, 0));
    // The second half of the attack reached the database.
    assert!(seen.reads > 4_000 && seen.counts.filter_errors > 3_000, "{:?}", seen.counts);

    let scene = Scene::start(&shop).await?;
    let (_, bound) = scene.bound(ABSENT).await?;
    let seen = scene.guarded(ABSENT, Failing::Closed, true).await?;
    assert_eq!((seen.outcome.requests, seen.outcome.wrong), (8_000, 0));
    assert!(seen.outcome.refused > 3_000, "{:?}", seen.counts);
    assert!(seen.reads as f64 <= bound, "{} of {bound}: {:?}", seen.reads, seen.counts);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_comes_back_empty_is_not_believed() -> Result<(), Error> {
    if !ready(&PROGRAMS) {
        return Ok(());
    }
    let postgres = Postgres::start()?;
    let shop = Shop::open(&postgres.url(), 100).await?;
    let scene = Scene::start(&shop).await?;
    let (open, closed) = (scene.guard(Failing::Open), scene.guard(Failing::Closed));
    assert_eq!(open.get(b"product-100").await?, None);
    assert_eq!(open.counts().stopped, 1);
    scene.redis.kill();
    scene.redis.restart()?;
    for i in 0..20 {
        let value = open.get(sku(i).as_bytes()).await?;
        assert_eq!(value, Some(title(i).into_bytes()), "{:?}", open.counts());
        let error = closed.get(sku(i).as_bytes()).await.unwrap_err();
        assert!(matches!(error, GuardError::Filter(_)), "{error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_in_redis_are_any_bytes_and_expire() -> Result<(), Error> {
    if !ready(&["redis-server"]) {
        return Ok(());
    }
    let redis = RedisServer::start(&RedisOptions::default())?;
    let server = Server::connect(&Address::parse(&redis.url())?, ServerOptions::default()).await?;
    let cache = RedisCache::new(server, "c:");
    let all: Vec<u8> = (0..=255).collect();
    for (key, entry) in [(&all[..], &b""[..]), (b"", &all), (b"text", b"+")] {
        assert_eq!(cache.get(key).await?, None);
        cache.set(key, entry, Duration::from_secs(60)).await?;
        assert_eq!(cache.get(key).await?.as_deref(), Some(entry));
    }
    let ttl_ms: i64 = redis.cli(&["PTTL", "c:text"])?.parse()?;
    assert!((1..=60_000).contains(&ttl_ms), "{ttl_ms}");
    cache.remove(b"text").await?;
    assert_eq!(cache.get(b"text").await?, None);
    // Times beyond the range of any server.
    cache.set(b"long", b"+", Duration::MAX).await?;
    assert_eq!(cache.get(b"long").await?.as_deref(), Some(&b"+"[..]));
    cache.set(b"short", b"+", Duration::from_nanos(1)).await?;
    redis.cli(&["LPUSH", "c:list", "1"])?;
    let error = cache.get(b"list").await.unwrap_err().to_string();
    assert!(error.contains("c:list"), "{error}");
    Ok(())
}
