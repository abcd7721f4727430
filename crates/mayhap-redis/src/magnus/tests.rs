//! The commands for each call, and the meaning of replies.

use super::{MagnusOptions, MagnusParams, RemoteMagnus};
use crate::server::tests::script::Script;
use crate::{Error, Inserted, RemoteFilter, Server};
use redis::Value;
use std::sync::Arc;
use std::time::Duration;

const PARAMS: MagnusParams = MagnusParams { num_bits: 100, expected_items: 10, num_hashes: 2 };

/// Three bitmaps behind a server that answers so after they are found.
async fn three(
    answer: impl Fn(&[String]) -> Value + Send + 'static,
    expires_after: Option<Duration>,
) -> (Arc<Script>, Server, RemoteMagnus) {
    let (script, server) = Script::start(move |words| answer(words));
    let options = MagnusOptions { num_bitmaps: 3, expires_after };
    let filter = RemoteMagnus::attach(&server, "f", PARAMS, options).await.unwrap();
    script.sent();
    (script, server, filter)
}

/// All bitmaps are there, of one byte, and every bit is 0.
fn there(words: &[String]) -> Value {
    match &*words[0] {
        "SET" => Value::Okay,
        "EVAL" | "BITFIELD" => Value::Array(vec![Value::Int(0); 2]),
        _ => Value::Int(1),
    }
}

/// The commands, without those that look whether the bitmaps are there.
fn changes(script: &Script) -> Vec<String> {
    let is_look = |words: &Vec<String>| matches!(&*words[0], "STRLEN" | "EXISTS");
    let sent = script.sent().into_iter().filter(|words| !is_look(words));
    sent.map(|words| words.join(" ")).collect()
}

#[tokio::test]
async fn each_bitmap_is_created_cleared_and_expires_with_the_words_that_keep_its_expiry() {
    let (script, server, filter) = three(there, None).await;
    filter.clear().await.unwrap();
    let all = |words: &str| ["f:0", "f:1", "f:2"].map(|key| words.replace("KEY", key));
    assert_eq!(changes(&script), all("SET KEY \0 XX KEEPTTL"));
    filter.expire(Some(Duration::from_millis(1_500))).await.unwrap();
    assert_eq!(changes(&script), all("PEXPIRE KEY 1500"));
    filter.expire(None).await.unwrap();
    assert_eq!(changes(&script), all("PERSIST KEY"));
    assert!(filter.delete().await.unwrap());
    assert_eq!(changes(&script), all("DEL KEY"));
    for (expires_after, words) in [
        (None, "SET KEY \0 NX"),
        (Some(Duration::from_secs(2)), "SET KEY \0 NX PX 2000"),
        // A server takes no 0.
        (Some(Duration::from_micros(1)), "SET KEY \0 NX PX 1"),
    ] {
        let options = MagnusOptions { num_bitmaps: 3, expires_after };
        let (filter, made) = RemoteMagnus::create(&server, "f", PARAMS, options).await.unwrap();
        assert!(made);
        assert_eq!(changes(&script), all(words));
        assert_eq!(filter.insert(b"a").await.unwrap(), Inserted::New);
        let [insert] = &changes(&script)[..] else { panic!() };
        let time = expires_after.map(|time| time.as_millis().max(1));
        assert_eq!(insert.starts_with("EVAL "), time.is_some(), "{insert}");
        let is_told = time.is_some_and(|time| insert.contains(&format!(" {time} SET u1 ")));
        assert_eq!(is_told, time.is_some(), "{insert}");
    }
}

/// By hand: 10 and 20 of 100 bits and k = 2 are rates of 0.1² and 0.2², and −50 · ln 0.9 and
/// −50 · ln 0.8 keys, 5.268 and 11.157.
#[tokio::test]
async fn the_numbers_of_several_bitmaps_are_sums_and_the_rate_is_the_mean() {
    let answer = |words: &[String]| {
        let of =
            |numbers: [i64; 3]| Value::Int(numbers[usize::from(words[1].as_bytes()[2] - b'0')]);
        match &*words[0] {
            "BITCOUNT" => of([10, 20, 0]),
            "STRLEN" => of([13, 11, 0]),
            // One that never expires, one that does, and one that is not there.
            "PTTL" => of([-1, 5_000, -2]),
            "EXISTS" => of([1, 1, 0]),
            _ => panic!("{words:?}"),
        }
    };
    let (_, _, filter) = three(answer, None).await;
    let info = filter.info().await.unwrap();
    assert_eq!((info.num_bits, info.num_shards, info.num_hashes), (300, 3, 2));
    assert_eq!((info.count_ones, info.num_bytes, info.ttl_ms), (30, 24, Some(5_000)));
    assert_eq!(info.expected_items, Some(30));
    assert!((info.estimated_fpp - 0.05 / 3.0).abs() < 1e-12, "{info:?}");
    assert!((info.estimated_items.unwrap() - 16.425).abs() < 1e-3, "{info:?}");
}

#[tokio::test]
async fn the_first_expiry_counts_and_where_no_bitmap_is_there_is_no_filter() {
    for (ttls, ttl_ms) in [([700, 300, 500], Some(300)), ([-1, -1, -1], None), ([0, 9, 9], Some(0))]
    {
        let answer = move |words: &[String]| {
            let i = usize::from(words[1].as_bytes()[2] - b'0');
            Value::Int(if words[0] == "PTTL" { ttls[i] } else { 1 })
        };
        let (_, _, filter) = three(answer, None).await;
        assert_eq!(filter.info().await.unwrap().ttl_ms, ttl_ms, "{ttls:?}");
    }
    let answer = |words: &[String]| Value::Int(if words[0] == "PTTL" { -2 } else { 1 });
    let (_, _, filter) = three(answer, None).await;
    assert!(matches!(filter.info().await, Err(Error::NotFound { .. })));
    // All are gone after they were found: none was cleared, given a time or deleted.
    let mut looks = 0;
    let answer = move |words: &[String]| match &*words[0] {
        "EXISTS" => {
            looks += 1;
            Value::Int(i64::from(looks <= 3))
        }
        "SET" => Value::Nil,
        _ => Value::Int(0),
    };
    let (script, server) = Script::start(answer);
    let options = MagnusOptions { num_bitmaps: 3, expires_after: None };
    let filter = RemoteMagnus::attach(&server, "f", PARAMS, options).await.unwrap();
    script.sent();
    assert!(matches!(filter.clear().await, Err(Error::NotFound { .. })));
    assert!(matches!(filter.expire(None).await, Err(Error::NotFound { .. })));
    assert!(!filter.delete().await.unwrap());
}

/// 100 bits fill 13 bytes.
#[tokio::test]
async fn one_bitmap_that_is_too_long_is_enough_to_refuse_all() {
    for (longest, is_good) in [(13, true), (14, false)] {
        let answer = move |words: &[String]| {
            Value::Int(if words[0] == "STRLEN" && words[1] == "f:2" { longest } else { 1 })
        };
        let (_, server) = Script::start(answer);
        let options = MagnusOptions { num_bitmaps: 3, expires_after: None };
        let attached = RemoteMagnus::attach(&server, "f", PARAMS, options).await;
        assert_eq!(attached.is_ok(), is_good, "{attached:?}");
        let is_named = matches!(&attached, Err(Error::Damaged { key, .. }) if key == "f:2");
        assert_eq!(is_named, !is_good, "{attached:?}");
    }
}
