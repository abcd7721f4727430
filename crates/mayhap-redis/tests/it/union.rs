//! Merging the keys of a filter in memory into one on a server.

use crate::native::{connect, params};
use mayhap::{AnyFilter, Layout};
use mayhap_redis::{Error, NativeFilter, NativeOptions, RemoteFilter};
use std::ops::Range;
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

const ITEMS: u64 = 200_000;

fn local(items: u64, keys: Range<u64>) -> AnyFilter {
    let params = params(Layout::Blocked, items, 0.001);
    let builder = AnyFilter::builder().layout(params.layout()).num_bits(params.num_bits());
    let builder = builder.num_hashes(params.num_hashes()).expected_items(items);
    let mut filter = builder.build().unwrap();
    filter.insert_batch(&keys.map(|key| key.to_string()).collect::<Vec<_>>());
    filter
}

async fn unite(filter: &NativeFilter, other: &AnyFilter) -> Result<Vec<u64>, Error> {
    let mut union = filter.union(other)?;
    let mut steps = Vec::new();
    while let Some(bytes) = union.next().await? {
        steps.push(bytes);
    }
    Ok(steps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_union_has_the_bits_of_both_and_keeps_the_expiry() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let mut options = NativeOptions::new(params(Layout::Blocked, ITEMS, 0.001));
    options.ttl = Some(Duration::from_secs(1000));
    let filter = NativeFilter::create(&server, "a", &options).await.unwrap();
    let mut both = local(ITEMS, 0..0);
    for keys in [0..50_000, 40_000..100_000] {
        let more = local(ITEMS, keys);
        let steps = unite(&filter, &more).await.unwrap();
        assert_eq!(steps.last(), Some(&options.params.num_bytes()));
        both.union_with(&more).unwrap();
    }
    let mut download = filter.download().await.unwrap();
    let mut body = Vec::new();
    while let Some(part) = download.next().await.unwrap() {
        body.extend(part);
    }
    let expected = mayhap::native::body_bytes(both.blocks());
    assert!(body == *expected, "the bits differ");
    assert!(filter.info().await.unwrap().ttl_ms.unwrap() > 900_000);
    for key in redis.cli(&["KEYS", "*"]).unwrap().lines() {
        assert!(redis.cli(&["PTTL", key]).unwrap().parse::<i64>().unwrap() > 900_000, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_union_of_unlike_filters_or_with_one_that_is_gone_is_refused() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let options = NativeOptions::new(params(Layout::Blocked, ITEMS, 0.001));
    let filter = NativeFilter::create(&server, "a", &options).await.unwrap();
    let error = unite(&filter, &local(2 * ITEMS, 0..1)).await.unwrap_err();
    assert!(matches!(error, Error::Exists { parameter: "num_bits", .. }), "{error}");
    filter.delete().await.unwrap();
    let error = unite(&filter, &local(ITEMS, 0..1)).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    // Another filter of this name is not mistaken for the first.
    NativeFilter::create(&server, "a", &options).await.unwrap();
    let other = local(ITEMS, 0..1);
    let mut union = filter.union(&other).unwrap();
    let error = union.next().await.unwrap_err();
    assert!(matches!(error, Error::Switched { .. }), "{error}");
    assert!(unite(&filter, &other).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_are_read_where_they_are_wanted_and_merged_into_another_filter() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let options = NativeOptions::new(params(Layout::Blocked, ITEMS, 0.001));
    let from = NativeFilter::create(&server, "from", &options).await.unwrap();
    let to = NativeFilter::create(&server, "to", &options).await.unwrap();
    let (ours, theirs) = (local(ITEMS, 0..50_000), local(ITEMS, 40_000..60_000));
    unite(&from, &ours).await.unwrap();
    unite(&to, &theirs).await.unwrap();
    let reading = from.download().await.unwrap();
    let all = options.params.num_blocks();
    for range in [0..1, 1_000..1_500, all - 3..all, 7..7] {
        let (start, end) = (range.start as usize, range.end as usize);
        assert_eq!(reading.blocks(range).await.unwrap(), ours.blocks()[start..end]);
    }
    let error = reading.blocks(all - 1..all + 1).await.unwrap_err();
    assert!(matches!(error, Error::Filter(mayhap::Error::TooLarge { .. })), "{error:?}");
    let mut merge = to.merge(&reading.params(), &from.digest_function()).unwrap();
    let mut at = 0;
    while let Some(range) = merge.wanted().unwrap() {
        assert_eq!(range.start, at);
        at = range.end;
        let blocks = reading.blocks(range).await.unwrap();
        let error = merge.write(&blocks[1..]).await.unwrap_err();
        assert!(matches!(error, Error::Filter(mayhap::Error::WrongLength { .. })), "{error:?}");
        merge.write(&blocks).await.unwrap();
    }
    assert_eq!(at, all);
    let mut both = ours;
    both.union_with(&theirs).unwrap();
    let merged = to.download().await.unwrap().blocks(0..all).await.unwrap();
    assert!(merged == both.blocks(), "the bits differ");
    let other = params(Layout::Blocked, ITEMS / 2, 0.001);
    let error = to.merge(&other, &from.digest_function()).unwrap_err();
    assert!(matches!(error, Error::Exists { parameter: "num_bits", .. }), "{error:?}");
}
