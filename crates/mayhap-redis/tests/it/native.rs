//! Filters of our own layout on one server, as a user sees them.

use mayhap::{AnyFilter, Digest, DigestFunction, FilterParams, Layout, sizing};
use mayhap_redis::{
    Address, Error, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
};
use test_servers::{RedisOptions, RedisServer, ready};

pub(crate) async fn connect(redis: &RedisServer) -> Server {
    connect_with(redis, ServerOptions::default()).await
}

pub(crate) async fn connect_with(redis: &RedisServer, options: ServerOptions) -> Server {
    Server::connect(&Address::parse(&redis.url()).unwrap(), options).await.unwrap()
}

pub(crate) fn digests(range: std::ops::Range<u64>) -> Vec<Digest> {
    range.map(|i| DigestFunction::xxh3(0).digest(&i)).collect()
}

pub(crate) fn params(layout: Layout, items: u64, fpp: f64) -> FilterParams {
    sizing::for_items(layout, items, fpp).unwrap()
}

fn local(params: FilterParams) -> AnyFilter {
    let mut builder = AnyFilter::builder().layout(params.layout());
    builder = builder.num_bits(params.num_bits()).num_hashes(params.num_hashes());
    builder.expected_items(params.expected_items()).build().unwrap()
}

/// All answers of a filter, including those to insertions and false positives.
async fn answers_as_a_local_one(redis: &RedisServer, params: FilterParams, keys: u64) {
    let server = connect(redis).await;
    let name = format!("answers {} {}", params.layout(), params.num_hashes());
    let remote = NativeFilter::create(&server, &name, &NativeOptions::new(params)).await.unwrap();
    let mut local = local(params);
    assert_eq!(local.params().num_bits(), params.num_bits());
    let all = digests(0..keys);
    for chunk in all.chunks(5_000) {
        let new = remote.insert_digests(chunk).await.unwrap();
        let mut wanted = mayhap::Bitmap::new();
        local.insert_digests_into(chunk, &mut wanted);
        assert_eq!(new.new, wanted);
        assert_eq!(new.unsure.count_ones(), 0);
    }
    let others = digests(0..3 * keys);
    let mut positives = 0;
    for chunk in others.chunks(5_000) {
        let mut wanted = mayhap::Bitmap::new();
        local.contains_digests_into(chunk, &mut wanted);
        assert_eq!(remote.contains_digests(chunk).await.unwrap(), wanted);
        positives += wanted.count_ones();
    }
    assert!(positives as u64 > keys, "no false positive was there to compare");
    let info = remote.info().await.unwrap();
    let ones: u64 = local.blocks().iter().map(|block| u64::from(block.count_ones())).sum();
    assert_eq!(info.count_ones, ones);
}

#[test]
fn a_server_gets_the_lowest_k_that_costs_at_most_a_tenth_more_bits() {
    for (fpp, k) in
        [(0.5, 4), (0.01, 4), (0.0078, 4), (0.0075, 8), (3e-5, 8), (2.9e-5, 16), (1e-9, 16)]
    {
        let chosen = NativeOptions::for_items(1_000_000, fpp).unwrap().params;
        assert_eq!(chosen.num_hashes(), k, "{fpp}");
        assert!(chosen.expected_fpp(1_000_000) <= fpp);
        let fewest = params(Layout::Blocked, 1_000_000, fpp).num_bits() as f64;
        assert!(chosen.num_bits() as f64 <= 1.1 * fewest, "{fpp}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_on_a_server_answers_as_a_local_one() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    answers_as_a_local_one(&redis, params(Layout::Blocked, 100_000, 0.01), 100_000).await;
    let four = NativeOptions::for_items(50_000, 0.01).unwrap().params;
    assert_eq!(four.num_hashes(), 4);
    answers_as_a_local_one(&redis, four, 50_000).await;
    let low = FilterParams::new(Layout::Blocked, 512 * 2_000, 16, 10_000, 0.01).unwrap();
    answers_as_a_local_one(&RedisServer::start(&RedisOptions::default()).unwrap(), low, 100_000)
        .await;
    for layout in [Layout::Standard, Layout::Blocked128, Layout::Blocked64] {
        answers_as_a_local_one(&redis, params(layout, 20_000, 0.01), 20_000).await;
    }
}

/// More pipelines than a connection takes at once, each with the keys of the previous one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_key_that_is_twice_in_a_large_batch_the_first_is_new() {
    const PART: usize = 64;
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let sparse = FilterParams::new(Layout::Blocked, 1 << 24, 16, 10_000, 0.01).unwrap();
    let options = NativeOptions::new(sparse);
    for round in 0..20 {
        let filter = NativeFilter::create(&server, "twice", &options).await.unwrap();
        let keys = digests(round * 10_000..(round + 1) * 10_000 - 16);
        let batch: Vec<Digest> = keys.chunks(PART).flat_map(|part| [part, part].concat()).collect();
        let new = filter.insert_digests(&batch).await.unwrap().new;
        let wrong = (0..batch.len()).find(|i| new.get(*i) != (i / PART).is_multiple_of(2));
        assert_eq!(wrong, None, "round {round}");
        filter.delete().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_is_answered_as_a_batch_is() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    for layout in [Layout::Blocked, Layout::Standard, Layout::Blocked64] {
        let options = NativeOptions::new(params(layout, 1_000, 0.1));
        let one = NativeFilter::create(&server, &format!("one {layout}"), &options).await.unwrap();
        let many =
            NativeFilter::create(&server, &format!("many {layout}"), &options).await.unwrap();
        // Every key twice, so that the second one is present.
        let keys: Vec<Vec<u8>> = (0..1_500u32).map(|i| (i % 900).to_le_bytes().to_vec()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let batch = many.insert_batch(&keys).await.unwrap();
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(one.insert(key).await.unwrap(), batch.get(i), "{layout} {i}");
        }
        assert!((900..1_500).all(|i| batch.get(i) == Inserted::Present));
        let found = one.contains_batch(&keys).await.unwrap();
        assert_eq!(found.count_ones(), keys.len());
        for key in 900..1_000u32 {
            let key = key.to_le_bytes();
            let found = many.contains_batch(&[&key]).await.unwrap().get(0);
            assert_eq!(one.contains(&key).await.unwrap(), found);
        }
        assert_eq!(one.insert_batch(&[]).await.unwrap().new.len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_is_found_again_by_its_name_and_gone_when_deleted() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let server = connect(&redis).await;
    let missing = NativeFilter::attach(&server, "seen", None).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    let mut options = NativeOptions::new(params(Layout::Blocked, 100_000, 0.01));
    options.key_options = "trim=yes\n".into();
    let made = NativeFilter::create(&server, "seen", &options).await.unwrap();
    made.insert(b"a").await.unwrap();
    let found = NativeFilter::attach(&server, "seen", None).await.unwrap();
    assert!(found.contains(b"a").await.unwrap());
    assert_eq!(
        (found.params(), found.key_options()),
        (options.params, options.key_options.clone())
    );
    let again = NativeFilter::create(&server, "seen", &options).await.unwrap();
    assert!(made.was_created() && !again.was_created() && again.contains(b"a").await.unwrap());
    assert!(again.delete().await.unwrap() && !again.delete().await.unwrap());
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    for gone in [made.insert(b"b").await.map(drop), found.contains(b"a").await.map(drop)] {
        assert!(matches!(gone, Err(Error::Gone { .. })), "{gone:?}");
    }
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0", "a late writer left something");
    // The handles continue with the next filter of this name.
    NativeFilter::create(&server, "seen", &options).await.unwrap();
    assert!(!found.contains(b"a").await.unwrap());
    assert_eq!(made.insert(b"b").await.unwrap(), Inserted::New);
    assert!(found.contains(b"b").await.unwrap());
}
