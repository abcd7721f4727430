//! Filters whose layout needs scripts, or commands on bits.

use super::{origin, refused};
use mayhap::set::Repeats;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, FilterParams, Layout, sizing};
use mayhap_formats::{Format, Shape};
use mayhap_redis::{MagnusParams, NativeFilter, NativeOptions, RemoteFilter};
use mayhap_sets::server::{Known, Origin, Plan, ServerSet, create, open, wait};
use mayhap_sets::{Held, Keys};
use std::ops::Range;
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn start() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

fn digests(range: Range<u64>) -> Vec<Digest> {
    range.map(|number| DigestFunction::default().digest(&number)).collect()
}

fn make(origin: &Origin, params: FilterParams) -> Box<dyn ServerSet> {
    let options = NativeOptions::new(params);
    let made = NativeFilter::create(&origin.server, &origin.name, &options);
    wait(made).unwrap().unwrap();
    open(origin, &Known::default()).unwrap().0
}

fn insert(set: &mut dyn ServerSet, range: Range<u64>) -> Bitmap {
    let mut new = Bitmap::new();
    set.insert_into(digests(range)[..].into(), Repeats::Renew, &mut new).unwrap();
    new
}

/// In parts of 256 and 512, so that each answer has to find its place.
#[test]
fn a_set_on_a_server_answers_as_a_filter_in_memory_and_counts_what_came() {
    let Some(redis) = start() else { return };
    let params = sizing::for_items(Layout::Blocked, 2_000, 0.1).unwrap();
    let mut set = make(&origin(&redis.url(), "seen"), params);
    let builder = AnyFilter::builder().layout(Layout::Blocked).num_bits(params.num_bits());
    let builder = builder.num_hashes(params.num_hashes());
    let mut local = builder.expected_items(2_000).build().unwrap();
    for range in [0..1_000, 500..1_500, 0..1_500, 1_500..2_101] {
        let new = insert(&mut *set, range.clone());
        let mut expected = Bitmap::new();
        local.insert_digests_into(&digests(range.clone()), &mut expected);
        assert_eq!(new, expected, "{range:?}");
    }
    let (mut found, mut expected) = (Bitmap::new(), Bitmap::new());
    set.contains_into(digests(1_000..5_000)[..].into(), &mut found).unwrap();
    local.contains_digests_into(&digests(1_000..5_000), &mut expected);
    assert_eq!(found, expected);
    // 2,101 came, of which the filter took some for repeats.
    let items = set.items();
    assert!((2_050..2_150).contains(&items) && set.held() == Held::Estimated(items), "{items}");
    assert_eq!((set.seen().count_ones, set.remote().unwrap().unsure_keys), (0, 0));
    set.refresh().unwrap();
    assert_eq!(set.seen().count_ones, local.count_ones());
    assert!(set.items().abs_diff(items) < 100, "{} {items}", set.items());
    let numbers = set.numbers(Repeats::Renew);
    assert_eq!(numbers.capacity, Some(2_000));
    assert_eq!(numbers.expected_fpp, params.expected_fpp(set.items()));
    // Full beyond chance: with as many more as the estimate may be off.
    let (estimate, _) = set.state().estimated_items.unwrap();
    let chance = (estimate.high - estimate.items).round() as u64;
    assert!(chance > 10);
    assert_eq!(numbers.full_at, Some(2_000 + chance));
    set.clear().unwrap();
    assert_eq!(set.items(), 0);
    set.contains_into(digests(0..2_000)[..].into(), &mut found).unwrap();
    assert_eq!((found.len(), found.count_ones()), (2_000, 0));
}

#[test]
fn keys_of_a_filter_that_another_client_has_replaced_are_counted() {
    let Some(redis) = start() else { return };
    let params = sizing::for_items(Layout::Blocked, 20_000, 1e-6).unwrap();
    let place = origin(&redis.url(), "seen");
    let mut set = make(&place, params);
    let other = wait(NativeFilter::attach(&place.server, "seen", None)).unwrap().unwrap();
    insert(&mut *set, 0..700);
    insert(&mut *set, 0..70);
    assert_eq!(set.remote().unwrap().replaced_keys, 0);
    wait(other.clear()).unwrap().unwrap();
    // All of a call are in one filter, the new one, whichever it began with.
    assert_eq!(insert(&mut *set, 0..1_000).count_ones(), 1_000);
    assert_eq!(set.remote().unwrap().replaced_keys, 770);
    wait(other.clear()).unwrap().unwrap();
    set.refresh().unwrap();
    assert_eq!((set.remote().unwrap().replaced_keys, set.items()), (1_770, 0));
    // What is cleared here was wanted.
    insert(&mut *set, 0..5);
    set.clear().unwrap();
    set.refresh().unwrap();
    assert_eq!(set.remote().unwrap().replaced_keys, 1_770);
}

#[test]
fn bits_are_counted_again_after_so_many_new_keys_and_not_after_repeats() {
    let Some(redis) = start() else { return };
    let params = sizing::for_items(Layout::Blocked, 40_000, 1e-6).unwrap();
    let mut set = make(&origin(&redis.url(), "seen"), params);
    for _ in 0..3 {
        insert(&mut *set, 0..16_383);
        assert_eq!((set.seen().count_ones, set.items()), (0, 16_383));
    }
    insert(&mut *set, 16_383..16_384);
    assert!(set.seen().count_ones > 100_000, "{:?}", set.seen());
    assert!(set.items().abs_diff(16_384) < 100, "{}", set.items());
}

/// The calls of `BITCOUNT` since the last time.
fn counts(redis: &RedisServer) -> u64 {
    let stats = redis.cli(&["INFO", "commandstats"]).unwrap();
    redis.cli(&["CONFIG", "RESETSTAT"]).unwrap();
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_bitcount:calls="));
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

/// Of 937 MiB they took a sixth of a second of the server for each command of one key.
#[test]
fn the_bits_of_a_filter_are_not_counted_to_open_it_but_before_it_is_full() {
    let Some(redis) = start() else { return };
    let params = sizing::for_items(Layout::Blocked, 100_000, 1e-6).unwrap();
    let place = origin(&redis.url(), "seen");
    drop(make(&place, params));
    counts(&redis);
    let mut set = open(&place, &Known::default()).unwrap().0;
    let shards = set.seen().num_shards;
    let mut found = Bitmap::new();
    set.contains_into(digests(0..1)[..].into(), &mut found).unwrap();
    insert(&mut *set, 0..1);
    assert!(shards > 8, "{shards}");
    assert_eq!(counts(&redis), 4, "four samples of 4 KiB");
    // The first insertion near its capacity counts them.
    insert(&mut *set, 1..89_000);
    let mut set = open(&place, &Known::default()).unwrap().0;
    counts(&redis);
    insert(&mut *set, 89_000..94_000);
    insert(&mut *set, 94_000..94_001);
    assert_eq!(counts(&redis), shards);
    assert!(set.items().abs_diff(94_000) < 500, "{}", set.items());
}

#[test]
fn filters_of_other_systems_expire_and_are_replaced_as_was_asked_for() {
    let Some(redis) = start() else { return };
    let day = Some(Duration::from_secs(86_400));
    let params = MagnusParams { num_bits: 10_000, expected_items: 0, num_hashes: 5 };
    let shape = Some(Shape { num_bits: 10_000, num_hashes: 5 });
    let format = Some(Format::MagnusRedis);
    let magnus = Known { format, shape, num_bitmaps: Some(3), ..Known::default() };
    let redisson = Plan::Redisson { expected_items: 1_000, target_fpp: 0.01 };
    for (name, plan, known, key) in [
        ("magnus", Plan::Magnus { params, num_bitmaps: 3 }, magnus, "magnus:1"),
        ("redisson", redisson, Known::default(), "redisson"),
    ] {
        let place = origin(&redis.url(), name);
        let left = || redis.cli(&["PTTL", key]).unwrap().parse::<i64>().unwrap();
        let (mut set, made) = create(&place, plan, (None, false), &known).unwrap();
        assert!(made && set.scheme().starts_with(name));
        let (texts, mut bits): ([&[u8]; 2], _) = ([b"a", b"b"], Bitmap::new());
        set.insert_into(Keys::from(&texts[..]), Repeats::Renew, &mut bits).unwrap();
        assert_eq!((bits.count_ones(), left()), (2, -1), "{name}");
        let (mut again, made) = create(&place, plan, (day, false), &known).unwrap();
        again.contains_into(Keys::from(&texts[..]), &mut bits).unwrap();
        assert_eq!((made, bits.count_ones(), left()), (false, 2, -1), "{name}: as it was");
        let (mut new, made) = create(&place, plan, (day, true), &known).unwrap();
        new.contains_into(Keys::from(&texts[..]), &mut bits).unwrap();
        assert!(made && left() > 86_000_000, "{name}");
        assert_eq!((bits.len(), bits.count_ones()), (2, 0), "{name}: another one");
        open(&place, &known).unwrap();
    }
    let place = origin(&redis.url(), "redisson");
    let other = Plan::Redisson { expected_items: 1_000, target_fpp: 0.02 };
    let why = refused(create(&place, other, (None, false), &Known::default()).map(drop));
    assert!(why.contains("0.01") && why.contains("0.02"), "{why}");
    let one = Known { shape: Some(Shape { num_bits: 1 << 31, num_hashes: 5 }), ..magnus };
    let why = refused(open(&origin(&redis.url(), "magnus"), &one).map(drop));
    assert!(why.contains("2147483647"), "{why}");
}
