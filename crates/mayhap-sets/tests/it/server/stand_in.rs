//! Filters behind `BF.*`.

use super::{origin, refused};
use mayhap::native::{HEADER_BYTES, MAGIC};
use mayhap::{Bitmap, SecretKey};
use mayhap_formats::{ForeignFilter, Format, Limits, RedisBloomFilter, RedisBloomOptions};
use mayhap_redis::BfOptions;
use mayhap_sets::server::{Known, Plan, chunks_of, copy, create, find_other, open, send};
use mayhap_sets::{Held, Keys};
use std::time::Duration;
use test_servers::{BfServer, Dialect};

const DAY: Duration = Duration::from_secs(86_400);

/// A file with one key.
fn file(key: &[u8]) -> Vec<u8> {
    let options = RedisBloomOptions::new(0.001, 1_000);
    let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    filter.insert(key).unwrap();
    filter.encode()
}

/// Which of these a filter holds.
fn holds(server: &BfServer, name: &str, keys: [&str; 2]) -> [bool; 2] {
    keys.map(|key| server.cli(&["BF.EXISTS", name, key]).unwrap() == "1")
}

#[test]
fn a_filter_is_sent_over_another_only_where_that_was_asked_for() {
    let server = BfServer::start(Dialect::RedisBloom).unwrap();
    let chunks = chunks_of(&file(b"new"), 1 << 20).unwrap().unwrap();
    let push = |name: &str, ttl, replace| {
        send(&origin(&server.url(), name), &chunks, (ttl, replace), &Known::default())
    };
    server.cli(&["BF.ADD", "seen", "old"]).unwrap();
    let why = refused(push("seen", None, false));
    assert!(why.contains("/seen exists already"), "{why}");
    assert_eq!(holds(&server, "seen", ["old", "new"]), [true, false]);
    assert_eq!(push("seen", Some(DAY), true).unwrap().items(), 1);
    assert_eq!(holds(&server, "seen", ["old", "new"]), [false, true]);
    let left: u64 = server.cli(&["PTTL", "seen"]).unwrap().parse().unwrap();
    assert!((86_000_000..=86_400_000).contains(&left), "{left}");
    push("free", None, false).unwrap();
    assert_eq!(holds(&server, "free", ["old", "new"]), [false, true]);
    assert_eq!(server.cli(&["PTTL", "free"]).unwrap(), "-1");
    let mut names = server.names();
    names.sort();
    assert_eq!(names, ["free", "seen"], "nothing else is left behind");
}

/// 512 KiB each; a cursor is 1 and the bytes after the header up to the end of its chunk.
#[test]
fn a_file_is_cut_as_a_server_takes_it_and_one_of_another_system_is_not() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((MAGIC.len()..HEADER_BYTES + (512 << 10) + 10).map(|i| i as u8));
    let chunks = chunks_of(&bytes, 1 << 20).unwrap().unwrap();
    let cursors: Vec<_> = chunks.iter().map(|(cursor, bytes)| (*cursor, bytes.len())).collect();
    assert_eq!(cursors, [(1, 4_096), (524_289, 524_288), (524_299, 10)]);
    assert_eq!(chunks.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<_>>(), bytes);
    assert_eq!(chunks_of(&bytes[..100], 1 << 20).unwrap().unwrap(), [(1, bytes[..100].to_vec())]);
    assert!(chunks_of(b"{\"m\":64,\"k\":1}", 1 << 20).unwrap().is_none());
    let mut damaged = file(b"a");
    damaged.truncate(damaged.len() - 1);
    assert!(chunks_of(&damaged, 1 << 20).is_err());
    assert!(chunks_of(&file(b"a"), 100).is_err(), "more than was allowed");
}

#[test]
fn a_filter_comes_back_as_the_file_that_was_sent() {
    let server = BfServer::start(Dialect::RedisBloom).unwrap();
    let (known, place) = (Known::default(), origin(&server.url(), "seen"));
    let sent = file(b"a");
    let chunks = chunks_of(&sent, 1 << 20).unwrap().unwrap();
    send(&place, &chunks, (None, false), &known).unwrap();
    let found = find_other(&place, &known).unwrap().unwrap();
    let copied = copy(&place, found, &known, 1 << 20).unwrap();
    assert_eq!(copied.bytes, sent);
    assert!(copied.unrecorded.is_none());
    let found = find_other(&place, &known).unwrap().unwrap();
    assert!(copy(&place, found, &known, 100).is_err(), "more than was allowed");
    let place = origin(&server.url(), "none");
    let found = find_other(&place, &known).unwrap().unwrap();
    let why = refused(copy(&place, found, &known, 1 << 20));
    assert!(why.contains("there is no filter none"), "{why}");
}

#[test]
fn one_that_is_there_keeps_its_keys_its_numbers_and_its_expiry() {
    let server = BfServer::start(Dialect::RedisBloom).unwrap();
    let make = |items, ttl, replace| {
        let plan = Plan::Bf(BfOptions::new(items, 0.01));
        create(&origin(&server.url(), "seen"), plan, (ttl, replace), &Known::default())
    };
    let left = || server.cli(&["PTTL", "seen"]).unwrap().parse::<i64>().unwrap();
    assert!(make(1_000, None, false).unwrap().1);
    server.cli(&["BF.ADD", "seen", "old"]).unwrap();
    let (set, made) = make(1_000, Some(DAY), false).unwrap();
    assert!(!made && set.held() == Held::Counted(1) && set.scheme() == "bf");
    assert_eq!(left(), -1, "it never expired, and does not now");
    refused(make(2_000, None, false).map(drop));
    assert_eq!(holds(&server, "seen", ["old", "new"]), [true, false]);
    let (set, made) = make(2_000, Some(DAY), true).unwrap();
    assert!(made && set.items() == 0 && left() > 0);
    assert_eq!(holds(&server, "seen", ["old", "new"]), [false; 2]);
}

#[test]
fn what_a_name_holds_decides_unless_it_is_told() {
    let server = BfServer::start(Dialect::RedisBloom).unwrap();
    server.cli(&["BF.MADD", "seen", "a", "b"]).unwrap();
    server.cli(&["SET", "text", "x"]).unwrap();
    let opened = |name: &str, known: Known| open(&origin(&server.url(), name), &known);
    let (mut set, options) = opened("seen", Known::default()).unwrap();
    assert!(options.is_none() && set.digest_function().is_none());
    let (texts, mut found): ([&[u8]; 3], _) = ([b"a", b"c", b"b"], Bitmap::new());
    set.contains_into(Keys::from(&texts[..]), &mut found).unwrap();
    assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 2]);
    let of = |format| Known { format: Some(format), ..Known::default() };
    assert_eq!(opened("seen", of(Format::RedisBloom)).unwrap().0.scheme(), "bf");
    let why = refused(opened("seen", of(Format::Guava)));
    assert!(why.contains("are files alone"), "{why}");
    let why = refused(opened("seen", of(Format::MagnusRedis)));
    assert!(why.contains("does not record its m and k"), "{why}");
    let why = refused(opened("text", Known::default()));
    assert!(why.contains("does not record its m and k"), "{why}");
    refused(opened("none", Known::default()));
    // Its keys are hashed there, without a key of ours.
    let keyed = Known { secret_key: Some(SecretKey::new([7; 16])), ..Known::default() };
    refused(opened("seen", keyed));
    opened("seen", Known { key_of_several: true, ..keyed }).unwrap();
}
