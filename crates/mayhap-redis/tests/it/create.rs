//! Making filters: two creators at once, creators that die, servers that refuse.

use crate::native::{connect, connect_with, digests, params};
use mayhap::{DigestFunction, Layout, SecretKey};
use mayhap_redis::{
    Address, Error, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
};
use std::task::Poll;
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn options(items: u64) -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, items, 0.01))
}

fn start(options: &RedisOptions) -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(options).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_creators_at_once_one_creates_and_the_others_attach() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    for round in 0..5 {
        let name = format!("race {round}");
        let mut tasks = Vec::new();
        for _ in 0..8 {
            let (server, name) = (connect(&redis).await, name.clone());
            tasks.push(tokio::spawn(async move {
                let filter = NativeFilter::create(&server, &name, &options(200_000)).await.unwrap();
                let new = filter.insert(b"the same").await.unwrap();
                (filter.was_created(), new == Inserted::New)
            }));
        }
        let mut sums = (0, 0);
        for task in tasks {
            let (created, new) = task.await.unwrap();
            sums = (sums.0 + u32::from(created), sums.1 + u32::from(new));
        }
        assert_eq!(sums, (1, 1), "creators, and clients with the answer \"new\"");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creator_with_other_parameters_gets_the_first_that_differs() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    NativeFilter::create(&server, "a", &options(1_000)).await.unwrap();
    let secret = DigestFunction::sip13(SecretKey::new([7; 16]));
    let others = [
        ("num_bits", options(2_000)),
        ("layout", NativeOptions::new(params(Layout::Standard, 1_000, 0.01))),
        ("digest", NativeOptions { digest_function: secret, ..options(1_000) }),
        (
            "digest_parameter",
            NativeOptions { digest_function: DigestFunction::xxh3(1), ..options(1_000) },
        ),
        ("key_options", NativeOptions { key_options: "trim=yes\n".into(), ..options(1_000) }),
    ];
    for (wanted, options) in others {
        let error = NativeFilter::create(&server, "a", &options).await.unwrap_err();
        let Error::Exists { parameter, .. } = &error else { panic!("{error}") };
        assert_eq!(*parameter, wanted);
    }
    // A different time to live is ignored: the filter keeps its own.
    let other = NativeOptions { ttl: Some(Duration::from_secs(9)), ..options(1_000) };
    NativeFilter::create(&server, "a", &other).await.unwrap();
    assert_eq!(redis.cli(&["PTTL", "{a}:meta"]).unwrap(), "-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyed_filter_wants_its_key() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    let key = SecretKey::new([7; 16]);
    let options = NativeOptions { digest_function: DigestFunction::sip13(key), ..options(1_000) };
    NativeFilter::create(&server, "a", &options).await.unwrap().insert(b"x").await.unwrap();
    for wrong in [None, Some(SecretKey::new([8; 16]))] {
        let error = NativeFilter::attach(&server, "a", wrong).await.unwrap_err();
        assert!(matches!(error, Error::Filter(mayhap::Error::WrongKey { .. })), "{error}");
    }
    let filter = NativeFilter::attach(&server, "a", Some(key)).await.unwrap();
    assert!(filter.contains(b"x").await.unwrap());
}

/// Polls a call this many times and drops it, as if its process had died. Returns whether it had
/// ended.
pub(crate) async fn dies_after<T>(
    polls: u32,
    call: impl Future<Output = Result<T, Error>>,
) -> bool {
    let mut call = std::pin::pin!(call);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        call.as_mut().poll(context).map(|result| result.map(|_| true).unwrap())
    })
    .await
}

// On one thread, so that no reply arrives while the call is polled.
#[tokio::test]
async fn a_creator_that_dies_at_any_step_leaves_only_what_expires() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    let with_ttl = NativeOptions { ttl: Some(Duration::from_secs(9_000)), ..options(200_000) };
    let (mut halves, mut ended) = (0, false);
    for polls in 1..100 {
        let name = format!("dead {polls}");
        ended = dies_after(polls, NativeFilter::create(&server, &name, &with_ttl)).await;
        // On the same connection, so after the commands of the dead one.
        server.persistence().await.unwrap();
        let keys = redis.cli(&["KEYS", &format!("{{{name}*")]).unwrap();
        for key in keys.lines() {
            let ttl: i64 = redis.cli(&["PTTL", key]).unwrap().parse().unwrap();
            assert!(ttl > 0, "{polls}: {key} never expires");
        }
        let meta = format!("{{{name}}}:meta");
        if redis.cli(&["HGET", &meta, "state"]).unwrap() == "creating" {
            halves += 1;
            let ttl: u64 = redis.cli(&["PTTL", &meta]).unwrap().parse().unwrap();
            assert!(ttl <= 60_000, "{polls}: it blocks others for {ttl} ms");
            redis.cli(&["PEXPIRE", &meta, "50"]).unwrap();
        }
        let next = NativeFilter::create(&server, &name, &with_ttl).await.unwrap();
        assert_eq!(next.insert(b"x").await.unwrap(), Inserted::New);
        next.delete().await.unwrap();
        if ended {
            break;
        }
    }
    assert!(ended && halves >= 3, "{halves} creations were caught half way");
}

/// Keys that never expire are all named in the parameters, from which the next client can continue.
#[tokio::test]
async fn a_creator_of_a_lasting_filter_that_dies_leaves_no_orphaned_keys() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    let (mut kept, mut ended) = (0, false);
    for polls in 1..100 {
        let name = format!("dead {polls}");
        ended = dies_after(polls, NativeFilter::create(&server, &name, &options(200_000))).await;
        server.persistence().await.unwrap();
        let meta = format!("{{{name}}}:meta");
        let state = redis.cli(&["HGET", &meta, "state"]).unwrap();
        if state == "creating" {
            redis.cli(&["DEL", &meta]).unwrap();
        }
        for key in redis.cli(&["KEYS", &format!("{{{name}*")]).unwrap().lines() {
            let lasts = redis.cli(&["PTTL", key]).unwrap() == "-1";
            assert!(!lasts || state != "creating", "{polls}: {key} stays and nothing tells of it");
        }
        if state == "keeping" {
            kept += 1;
            let filter = NativeFilter::attach(&server, &name, None).await.unwrap();
            assert_eq!(redis.cli(&["HGET", &meta, "state"]).unwrap(), "ready");
            assert_eq!(filter.insert(b"x").await.unwrap(), Inserted::New);
            for key in redis.cli(&["KEYS", &format!("{{{name}*")]).unwrap().lines() {
                assert_eq!(redis.cli(&["PTTL", key]).unwrap(), "-1", "{polls}: {key} expires");
            }
        }
        let next = NativeFilter::create(&server, &name, &options(200_000)).await.unwrap();
        assert!(next.delete().await.unwrap());
        if ended {
            break;
        }
    }
    assert!(ended && kept >= 2, "{kept} creations were caught in their last steps");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_whose_shards_expired_before_its_last_steps_is_undone() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    NativeFilter::create(&server, "a", &options(200_000)).await.unwrap();
    redis.cli(&["HSET", "{a}:meta", "state", "keeping"]).unwrap();
    let keys = redis.cli(&["KEYS", "{a:*"]).unwrap();
    redis.cli(&["DEL", keys.lines().next().unwrap()]).unwrap();
    let attached = NativeFilter::attach(&server, "a", None).await.map(drop);
    assert!(matches!(attached, Err(Error::NotFound { .. })), "{attached:?}");
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    let filter = NativeFilter::create(&server, "a", &options(200_000)).await.unwrap();
    assert_eq!(filter.insert(b"x").await.unwrap(), Inserted::New);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_that_does_not_end_is_busy_at_the_deadline() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let deadline = Duration::from_millis(300);
    let fast = ServerOptions { deadline, ..ServerOptions::default() };
    let server = connect_with(&redis, fast).await;
    NativeFilter::create(&server, "a", &options(1_000)).await.unwrap();
    redis.cli(&["HSET", "{a}:meta", "state", "creating"]).unwrap();
    let created = NativeFilter::create(&server, "a", &options(1_000)).await.map(drop);
    let attached = NativeFilter::attach(&server, "a", None).await.map(drop);
    for result in [created, attached] {
        assert!(matches!(result, Err(Error::Busy { .. })), "{result:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_another_kind_are_refused_by_their_name() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    redis.cli(&["SET", "{a}:meta", "mine"]).unwrap();
    redis.cli(&["HSET", "{b}:meta", "field", "mine"]).unwrap();
    let created = NativeFilter::create(&server, "a", &options(1_000)).await.map(drop);
    let attached = NativeFilter::attach(&server, "a", None).await.map(drop);
    for result in [created, attached] {
        let Err(Error::WrongType { key }) = &result else { panic!("{result:?}") };
        assert_eq!(key, "{a}:meta");
    }
    let foreign = NativeFilter::create(&server, "b", &options(1_000)).await.map(drop);
    assert!(matches!(&foreign, Err(Error::Damaged { key, .. }) if key == "{b}:meta"));
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "2");
    assert_eq!(redis.cli(&["GET", "{a}:meta"]).unwrap(), "mine");
    // The same for the key of a shard.
    let filter = NativeFilter::create(&server, "c", &options(1_000)).await.unwrap();
    let shard = redis.cli(&["KEYS", "{c:*"]).unwrap();
    redis.cli(&["DEL", &shard]).unwrap();
    redis.cli(&["LPUSH", &shard, "mine"]).unwrap();
    for result in [filter.insert(b"x").await.map(drop), filter.contains(b"x").await.map(drop)] {
        let Err(Error::WrongType { key }) = &result else { panic!("{result:?}") };
        assert_eq!(*key, shard);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_refuses_and_nothing_stays_behind() {
    let full = RedisOptions {
        maxmemory: Some("8mb".into()),
        maxmemory_policy: Some("noeviction".into()),
        ..RedisOptions::default()
    };
    let Some(redis) = start(&full) else { return };
    let server = connect(&redis).await;
    let small = NativeFilter::create(&server, "small", &options(1_000)).await.unwrap();
    small.insert(b"x").await.unwrap();
    let keys = redis.cli(&["DBSIZE"]).unwrap();
    let big = NativeFilter::create(&server, "big", &options(20_000_000)).await;
    assert!(matches!(big, Err(Error::ServerFull { .. })), "{big:?}");
    let upload = NativeFilter::upload(&server, "big", &options(20_000_000)).await;
    assert!(matches!(upload, Err(Error::ServerFull { .. })), "{upload:?}");
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), keys);
    // Full for an insertion, because of other data.
    redis.cli(&["CONFIG", "SET", "maxmemory", "1mb"]).unwrap();
    let refused = small.insert(b"y").await;
    assert!(matches!(refused, Err(Error::ServerFull { .. })), "{refused:?}");
    let refused = small.insert_bulk(&digests(0..100)).await;
    assert!(matches!(refused, Err(Error::ServerFull { .. })), "{refused:?}");
    assert!(small.contains(b"x").await.unwrap());
    redis.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    assert_eq!(small.insert(b"y").await.unwrap(), Inserted::New);
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), keys);
}

/// Both make room, the second one later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_on_a_full_server_is_deleted_and_expires() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    let filter = NativeFilter::create(&server, "a", &options(300_000)).await.unwrap();
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let keys = redis.cli(&["KEYS", "*"]).unwrap();
    let times = || {
        let of = |key| redis.cli(&["PEXPIRETIME", key]).unwrap();
        keys.lines().map(of).collect::<std::collections::BTreeSet<_>>()
    };
    for seconds in [1000, 9000, 70] {
        filter.refresh_ttl(Some(Duration::from_secs(seconds))).await.unwrap();
        let left = filter.info().await.unwrap().ttl_ms.unwrap();
        assert_eq!((times().len(), left.div_ceil(10_000) * 10), (1, seconds));
    }
    filter.refresh_ttl(None).await.unwrap();
    assert_eq!(times(), ["-1".to_owned()].into());
    filter.refresh_ttl(Some(Duration::from_secs(1000))).await.unwrap();
    assert!(filter.delete().await.unwrap());
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    // One whose deletion was begun by a client that died keeps its expiry, and is finished.
    redis.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    let ttl = Some(Duration::from_secs(1000));
    let with_ttl = NativeOptions { ttl, ..options(1_000) };
    NativeFilter::create(&server, "b", &with_ttl).await.unwrap();
    let shard = redis.cli(&["KEYS", "{b:*"]).unwrap();
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    redis.cli(&["ACL", "SETUSER", "default", "-unlink"]).unwrap();
    let b = NativeFilter::attach(&server, "b", None).await.unwrap();
    assert!(b.delete().await.is_err());
    assert_eq!(redis.cli(&["HGET", "{b}:meta", "state"]).unwrap(), "deleting");
    let [meta, shard] = ["{b}:meta", &shard].map(|key| redis.cli(&["PEXPIRETIME", key]).unwrap());
    assert_eq!(meta, shard);
    redis.cli(&["ACL", "SETUSER", "default", "+unlink"]).unwrap();
    assert!(matches!(NativeFilter::attach(&server, "b", None).await, Err(Error::NotFound { .. })));
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_and_permissions_are_named() {
    let keyed = RedisOptions {
        password: Some("right".into()),
        users: vec!["reader on >secret ~* +@read +@connection".into()],
        ..RedisOptions::default()
    };
    let Some(redis) = start(&keyed) else { return };
    let server = connect(&redis).await;
    NativeFilter::create(&server, "a", &options(1_000)).await.unwrap().insert(b"x").await.unwrap();
    let wrong = |user: &str| format!("redis://{user}@127.0.0.1:{}/0", redis.port());
    for user in ["default:wrong", "nobody:right", ""] {
        let url = if user.is_empty() { wrong("").replace('@', "") } else { wrong(user) };
        let address = Address::parse(&url).unwrap();
        let error = Server::connect(&address, ServerOptions::default()).await.unwrap_err();
        assert!(matches!(error, Error::Unauthorized { .. }), "{user}: {error:?}");
    }
    // A client that may only read can query, and gets the reason for other refusals.
    let address = Address::parse(&wrong("reader:secret")).unwrap();
    let reader = Server::connect(&address, ServerOptions::default()).await.unwrap();
    let filter = NativeFilter::attach(&reader, "a", None).await.unwrap();
    assert!(filter.contains(b"x").await.unwrap() && !filter.contains(b"y").await.unwrap());
    assert!(filter.info().await.unwrap().count_ones > 0);
    for refused in [
        filter.insert(b"y").await.map(drop),
        filter.delete().await.map(drop),
        NativeFilter::create(&reader, "b", &options(1_000)).await.map(drop),
    ] {
        let Err(error) = refused else { panic!("it was allowed") };
        assert!(error.to_string().contains("NOPERM"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_take_little_more_than_the_bits() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis).await;
    let usage = |pattern: &str| -> u64 {
        let keys = redis.cli(&["KEYS", pattern]).unwrap();
        let of = |key: &str| redis.cli(&["MEMORY", "USAGE", key, "SAMPLES", "0"]).unwrap();
        keys.lines().map(|key| of(key).parse::<u64>().unwrap()).sum()
    };
    for items in [220_000, 300_000, 431_000, 1_000_000, 7_777_777] {
        let options = options(items);
        let name = items.to_string();
        let filter = NativeFilter::create(&server, &name, &options).await.unwrap();
        filter.insert_bulk(&digests(0..10_000)).await.unwrap();
        let bits = options.params.num_bytes();
        let used = usage(&format!("{{{name}*"));
        assert!(used as f64 <= 1.02 * bits as f64, "{items}: {used} for {bits}");
        let longest = redis.cli(&["KEYS", &format!("{{{name}:*")]).unwrap();
        for key in longest.lines() {
            let len: u64 = redis.cli(&["STRLEN", key]).unwrap().parse().unwrap();
            assert!(len < 4 << 20 && len <= bits / 16 + 8);
        }
        filter.delete().await.unwrap();
    }
}
