//! The commands and the key patterns of the page on Redis, "Permissions and limits": a user with
//! exactly these may do all that the page says, on one server and in a cluster.

use crate::native::{digests, params};
use mayhap::{AnyFilter, Layout};
use mayhap_redis::{
    Address, Error, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions, find, rename,
};
use std::time::Duration;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer, ready};

const PAGE: &str = include_str!("../../../../docs/redis.md");
const ITEMS: u64 = 100_000;

/// The rules of a kind of users on the page: the line after `ACL SETUSER NAME`.
fn rules(user: &str) -> String {
    let begin = format!("ACL SETUSER {user} on >PASSWORD ");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let rules = rest.split("```").next().unwrap().replace(['\\', '\n'], " ");
    rules.replace("NAME", "seen")
}

fn redis() -> RedisOptions {
    let user = |name| format!("{name} on >pw {}", rules(name));
    let both = format!("both on >pw {} ~renamed ~{{renamed}}:* ~{{renamed:*", rules("writer"));
    RedisOptions { users: vec![user("writer"), user("reader"), both], ..RedisOptions::default() }
}

fn options() -> NativeOptions {
    NativeOptions::new(params(Layout::Blocked, ITEMS, 1e-6))
}

async fn connect(url: &str) -> Server {
    Server::connect(&Address::parse(url).unwrap(), ServerOptions::default()).await.unwrap()
}

/// Everything that a writer may do, then everything that a reader may.
async fn all(writer: &str, reader: &str) {
    let server = connect(writer).await;
    find(&server, "seen", None).await.unwrap();
    let ttl = Some(Duration::from_secs(900));
    let with_ttl = NativeOptions { ttl, ..options() };
    let filter = NativeFilter::create(&server, "seen", &with_ttl).await.unwrap();
    filter.insert_digests(&digests(0..1_000)).await.unwrap();
    filter.insert_bulk(&digests(1_000..2_000)).await.unwrap();
    for ttl in [ttl, None] {
        filter.refresh_ttl(ttl).await.unwrap();
    }
    let mut local = AnyFilter::builder()
        .layout(Layout::Blocked)
        .num_bits(filter.params().num_bits())
        .num_hashes(filter.params().num_hashes())
        .expected_items(ITEMS)
        .build()
        .unwrap();
    local.insert_digests_into(&digests(2_000..3_000), &mut mayhap::Bitmap::new());
    let mut union = filter.union(&local).unwrap();
    while union.next().await.unwrap().is_some() {}
    let found = filter.contains_digests(&digests(0..3_000)).await.unwrap();
    assert_eq!(found.count_ones(), 3_000);

    let read = connect(reader).await;
    let seen = NativeFilter::attach(&read, "seen", None).await.unwrap();
    assert_eq!(seen.contains_digests(&digests(0..3_000)).await.unwrap().count_ones(), 3_000);
    assert!(seen.info().await.unwrap().count_ones > 0);
    let mut download = seen.download().await.unwrap();
    while download.next().await.unwrap().is_some() {}
    let refused = seen.insert(b"new").await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");

    let mut upload = NativeFilter::upload(&server, "seen", &options()).await.unwrap();
    upload.write(local.blocks()).await.unwrap();
    upload.finish().await.unwrap();
    // The reader follows.
    let found = seen.contains_digests(&digests(0..3_000)).await.unwrap();
    assert_eq!(found.count_ones(), 1_000);
    filter.clear().await.unwrap();
    assert!(filter.delete().await.unwrap());
    // Keys of other names are not theirs.
    let other = NativeFilter::create(&server, "other", &options()).await;
    assert!(matches!(other, Err(Error::Refused { .. })), "{other:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_with_the_rules_of_the_page_may_do_what_it_says() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&redis()).unwrap();
    let url = |user| format!("redis://{user}:pw@127.0.0.1:{}", redis.port());
    all(&url("writer"), &url("reader")).await;
    // A rename needs the keys of both names, and no other command.
    let server = connect(&url("writer")).await;
    let filter = NativeFilter::create(&server, "seen", &options()).await.unwrap();
    filter.insert(b"word").await.unwrap();
    let refused = rename(&server, "seen", "renamed").await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert!(filter.contains(b"word").await.unwrap());
    let server = connect(&url("both")).await;
    rename(&server, "seen", "renamed").await.unwrap();
    let filter = NativeFilter::attach(&server, "renamed", None).await.unwrap();
    assert!(filter.contains(b"word").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_they_may_in_a_cluster() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { masters: 3, replicas: 0, redis: redis() };
    let cluster = RedisCluster::start(&options).unwrap();
    let ports: Vec<String> =
        cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let url = |user| format!("redis+cluster://{user}:pw@{}", ports.join(","));
    all(&url("writer"), &url("reader")).await;
}
