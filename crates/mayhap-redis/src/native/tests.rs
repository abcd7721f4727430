//! Commands and the meaning of replies, on a model of a server's strings.

use super::bulk;
use super::filter::NativeFilter;
use super::generation::{Generation, Trailer};
use super::handle::Handle;
use super::meta::{Meta, State};
use super::options::NativeOptions;
use super::place::Target;
use super::resolve;
use super::round::{Act, Known, Round};
use super::wire::trailer_bytes;
use super::{info, life};
use crate::server::Reply;
use crate::server::tests::script::{Script, Strings, bulk as text, bytes_of, latin1, words_of};
use crate::{Error, Inserted, RemoteFilter, Server, ServerOptions};
use mayhap::{AnyFilter, Digest, DigestFunction, FilterParams, Layout, sizing};
use redis::Value;
use std::sync::{Arc, Mutex};
use std::{collections::hash_map::Entry, time::Duration};

/// A filter of several shards.
pub(super) fn several() -> FilterParams {
    sizing::for_items_and_hashes(Layout::Blocked, 8, 30_000, 0.05).unwrap()
}

/// A filter that is ready, in shards of 4 KiB.
pub(super) fn meta(params: FilterParams) -> Meta {
    let max_shard_bytes = (params.layout() != Layout::Standard).then_some(4096);
    let options = NativeOptions { max_shard_bytes, ..NativeOptions::new(params) };
    Meta { state: State::Ready, ..options.meta().unwrap() }
}

pub(super) fn digests(range: std::ops::Range<u64>) -> Vec<Digest> {
    range.map(|number| DigestFunction::default().digest(&number)).collect()
}

/// A reply to `HGETALL`.
pub(super) fn hash(meta: &Meta) -> Value {
    let mut fields = meta.fields();
    fields.push(("state", "ready".into()));
    fields.push(("expires_at_ms", meta.expires_at_ms.to_string()));
    let all = fields.iter().flat_map(|(name, value)| [text(name), text(value)]);
    Value::Array(all.collect())
}

/// A handle of this generation.
pub(super) fn opened(server: &Server, made: Generation) -> NativeFilter {
    let function = DigestFunction::default();
    NativeFilter::of(Handle::new(server, Target::live("f"), function, made), false)
}

struct Double {
    script: Arc<Script>,
    strings: Arc<Mutex<Strings>>,
    made: Generation,
    filter: NativeFilter,
}

/// A filter whose shards are strings of a model.
fn double(meta: &Meta) -> Double {
    let made = Generation::new(meta.clone(), "f");
    let mut strings = Strings::default();
    for (shard, (key, _)) in made.keys.iter().enumerate() {
        let mut bytes = vec![0; made.meta.cut.body_bytes(shard) as usize];
        bytes.extend(trailer_bytes(meta.generation));
        strings.0.insert(key.clone(), bytes);
    }
    let strings = Arc::new(Mutex::new(strings));
    let (model, hash) = (strings.clone(), hash(meta));
    let (script, server) = Script::start(move |words| {
        let mut model = model.lock().unwrap();
        model.answer(words).unwrap_or_else(|| match &*words[0] {
            "HGETALL" => hash.clone(),
            "EVAL" if words[1] == bulk::MERGE => {
                merge(model.0.entry(words[3].clone()), &words[5..])
            }
            "EVAL" if words[1] == resolve::TRADE => {
                trade(model.0.entry(words[3].clone()), &words[4..])
            }
            "EVAL" => text("ok"),
            "PTTL" => Value::Int(-1),
            _ => Value::Nil,
        })
    });
    let filter = opened(&server, made.clone());
    Double { script, strings, made, filter }
}

/// The effect of the script: bits are added if the trailer is the given one.
pub(super) fn merge(entry: Entry<'_, String, Vec<u8>>, words: &[String]) -> Value {
    let string = entry.or_default();
    let (from, bits) = (words[0].parse::<usize>().unwrap(), bytes_of(&words[3]));
    let trailer = string.get(from..).unwrap_or_default();
    if trailer != bytes_of(&words[2]) {
        return Value::BulkString(trailer.to_vec());
    }
    string.iter_mut().zip(bits).for_each(|(byte, more)| *byte |= more);
    text("ok")
}

/// The effect of the script: a trailer is replaced if it is the given one.
fn trade(entry: Entry<'_, String, Vec<u8>>, words: &[String]) -> Value {
    let string = entry.or_default();
    let from = words[0].parse::<usize>().unwrap();
    if string.get(from..).is_some_and(|trailer| trailer == bytes_of(&words[2])) {
        string[from..].copy_from_slice(&bytes_of(&words[3]));
    }
    text("ok")
}

pub(super) fn local(params: &FilterParams) -> AnyFilter {
    let builder = AnyFilter::builder().layout(params.layout()).num_bits(params.num_bits());
    let builder = builder.num_hashes(params.num_hashes());
    builder.expected_items(params.expected_items()).build().unwrap()
}

/// Which digests are new, which are found, and which absent ones are taken for present ones is as
/// in memory, in every layout and in shards of any number.
#[tokio::test]
async fn a_filter_on_a_server_answers_as_one_in_memory() {
    for (layout, k) in [
        (Layout::Blocked, 4),
        (Layout::Blocked, 8),
        (Layout::Blocked, 16),
        (Layout::Blocked64, 8),
        (Layout::Blocked128, 8),
        (Layout::Standard, 7),
    ] {
        let params = sizing::for_items_and_hashes(layout, k, 12_000, 0.05).unwrap();
        let Double { filter, made, strings, .. } = double(&meta(params));
        assert_eq!(made.keys.len() > 1, layout != Layout::Standard, "{layout}");
        let mut expected = local(&params);
        // Every tenth of a batch is there twice.
        for batch in digests(0..12_000).chunks(3_000) {
            let batch = [batch, &batch[..300]].concat();
            let inserted = filter.insert_digests(&batch).await.unwrap();
            assert!(inserted.unsure.is_empty() || inserted.unsure.count_ones() == 0);
            for (i, &digest) in batch.iter().enumerate() {
                let new =
                    if expected.insert_digest(digest) { Inserted::New } else { Inserted::Present };
                assert_eq!(inserted.get(i), new, "{layout} {k}: digest {i}");
            }
        }
        let all = digests(0..30_000);
        let found = filter.contains_digests(&all).await.unwrap();
        for (i, &digest) in all.iter().enumerate() {
            assert_eq!(found.get(i), expected.contains_digest(digest), "{layout} {k}: digest {i}");
        }
        assert!((12_300..14_000).contains(&found.count_ones()), "{layout} {k}: {found:?}");
        let strings = strings.lock().unwrap();
        let ones = strings.0.values().flat_map(|bytes| &bytes[..bytes.len() - 8]);
        let ones: u64 = ones.map(|byte| u64::from(byte.count_ones())).sum();
        assert_eq!(ones, expected.count_ones(), "{layout} {k}");
    }
}

/// 32 bits of one shard go in a command, and the last one to each shard reads its trailer.
#[test]
fn digests_of_a_shard_share_commands_and_the_last_of_them_asks_for_its_trailer() {
    let count = |layout, k, act, keys: u64| {
        let params = sizing::for_items_and_hashes(layout, k, 3_000, 0.05).unwrap();
        let made = Generation::new(meta(params), "f");
        let all = digests(0..10_000);
        let shard = made.shard(all[0]);
        let of_it: Vec<Digest> =
            all.into_iter().filter(|&digest| made.shard(digest) == shard).collect();
        let left: Vec<usize> = (0..keys as usize).collect();
        let commands = Round::new(&made, &of_it, &left, act, false).commands();
        let body = made.meta.cut.body_bytes(shard).to_string();
        let reads_trailer = commands.iter().map(|command| {
            let words = words_of(&command.cmd);
            let is_its_range = words[0] == "GETRANGE" && words[2] == body;
            is_its_range || words.iter().any(|word| word == "i64")
        });
        let reads_trailer: Vec<bool> = reads_trailer.collect();
        let last = reads_trailer.iter().position(|&reads| reads);
        assert_eq!(reads_trailer.iter().filter(|&&reads| reads).count(), 1, "one for each shard");
        assert_eq!(last, Some(commands.len() - 1), "it is the last one");
        commands.len()
    };
    for (k, keys, commands) in [(4, 8, 1), (4, 9, 2), (8, 4, 1), (8, 9, 3), (16, 2, 1), (16, 3, 2)]
    {
        assert_eq!(count(Layout::Blocked, k, Act::Insert, keys), commands, "k = {k}");
    }
    assert_eq!(count(Layout::Blocked, 8, Act::Query, 9), 10);
    assert_eq!(count(Layout::Standard, 7, Act::Query, 9), 3);
    assert_eq!(count(Layout::Standard, 20, Act::Insert, 3), 3);
}

#[test]
fn a_shard_that_was_missing_once_is_missing_whatever_later_replies_say() {
    use Trailer::{Fenced, Gone, Ours};
    for (learnt, trailer) in [
        (&[None, None][..], None),
        (&[None, Some(Ours)], Some(Ours)),
        (&[Some(Ours), None], Some(Ours)),
        (&[Some(Ours), Some(Fenced(7))], Some(Fenced(7))),
        (&[Some(Fenced(7)), Some(Ours)], Some(Ours)),
        (&[Some(Ours), Some(Gone)], Some(Gone)),
        (&[Some(Gone), Some(Ours)], Some(Gone)),
        (&[Some(Gone), None, Some(Fenced(7)), Some(Ours)], Some(Gone)),
    ] {
        let mut known = Known::default();
        for &trailer in learnt {
            known.learn(trailer);
        }
        assert_eq!(known.trailer, trailer, "{learnt:?}");
    }
}

/// The reply to the first command is short, as of a value that is not there, and the trailer that
/// the last one reads is that of the filter.
#[test]
fn a_short_reply_before_the_trailer_means_that_the_shard_was_missing() {
    let params = sizing::for_items_and_hashes(Layout::Blocked, 8, 100, 0.01).unwrap();
    let made = Generation::new(meta(params), "f");
    let reply = |value| Reply { value: Ok(value), repeated: false, again: false };
    let own = made.own_trailer();
    let block = || reply(Value::BulkString(vec![0xFF; 64]));
    let short = || reply(Value::BulkString(vec![0xFF; 63]));
    let trailer = || reply(Value::BulkString(own.to_vec()));
    let all: Vec<Digest> = {
        let all = digests(0..1_000);
        let shard = made.shard(all[0]);
        all.into_iter().filter(|&digest| made.shard(digest) == shard).take(2).collect()
    };
    let shard = made.shard(all[0]);
    let query = Round::new(&made, &all, &[0, 1], Act::Query, false);
    for (replies, yes, found) in [
        (vec![block(), block(), trailer()], [true, true], Trailer::Ours),
        (vec![short(), block(), trailer()], [false, true], Trailer::Gone),
        (vec![block(), short(), trailer()], [true, false], Trailer::Gone),
        (vec![block(), block(), short()], [true, true], Trailer::Gone),
    ] {
        let (answers, known) = query.answers(replies).unwrap();
        assert_eq!([answers[0].yes, answers[1].yes], yes);
        assert_eq!(known[shard].trailer, Some(found));
    }
    // One that was sent again may have arrived after the trailer was read, whichever it is.
    for which in 0..3 {
        let mut replies = vec![block(), block(), trailer()];
        replies[which].again = true;
        let (_, known) = query.answers(replies).unwrap();
        assert!(known[shard].again, "reply {which}");
    }
    // Without the reply of the trailer nothing is known.
    assert!(query.answers(vec![block(), block()]).is_err());
    // Of five keys of 8 bits the first four share a command.
    let all: Vec<Digest> = std::iter::repeat_n(all[0], 5).collect();
    let insert = Round::new(&made, &all, &[0, 1, 2, 3, 4], Act::Insert, false);
    let ints = |count, last: Option<i64>| {
        let ones = std::iter::repeat_n(1, count).chain(last).map(Value::Int);
        reply(Value::Array(ones.collect()))
    };
    let generation = Some(made.meta.generation);
    for (replies, found) in [
        (vec![ints(32, None), ints(8, generation)], Trailer::Ours),
        (vec![ints(31, None), ints(8, generation)], Trailer::Gone),
        (vec![ints(32, None), ints(8, Some(0))], Trailer::Gone),
        (vec![ints(32, None), ints(8, Some(12))], Trailer::Fenced(12)),
        (vec![ints(32, None), ints(9, generation)], Trailer::Gone),
    ] {
        let (answers, known) = insert.answers(replies).unwrap();
        assert_eq!(answers.len(), 5);
        assert!(answers.iter().all(|answer| !answer.yes), "their bits were set");
        assert_eq!(known[shard].trailer, Some(found));
    }
}

#[tokio::test]
async fn keys_for_a_shard_that_is_missing_are_refused_and_what_they_wrote_is_swept_away() {
    let Double { script, strings, made, filter } = double(&meta(several()));
    let all = digests(0..100);
    let (missing, of) = (made.shard(all[0]), made.keys.len());
    let key = made.keys[missing].0.clone();
    strings.lock().unwrap().0.remove(&key);
    for insert in [true, false] {
        script.sent();
        let result = if insert {
            filter.insert_digests(&all).await.map(drop)
        } else {
            filter.contains_digests(&all).await.map(drop)
        };
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Gone { .. }), "{error}");
        assert!(error.to_string().contains(&format!("1 of {of} values, {key}")), "{error}");
        let sweeps = script.sent().into_iter().filter(|words| words[0] == "EVAL");
        assert!(sweeps.map(|words| words[3].clone()).eq([key.clone()]));
        strings.lock().unwrap().0.remove(&key);
    }
    // One that is fenced by a switch holds its keys for queries.
    strings.lock().unwrap().0.insert(key.clone(), {
        let mut bytes = vec![0xFF; made.meta.cut.body_bytes(missing) as usize];
        bytes.extend(trailer_bytes(12));
        bytes
    });
    assert!(filter.contains_digests(&all[..1]).await.unwrap().get(0));
}

/// A reply that was lost: the bits are set by then, so nobody knows whether they were before.
#[tokio::test]
async fn keys_whose_reply_was_lost_are_unsure_and_their_trailers_are_read_once_more() {
    let Double { script, made, filter, .. } = double(&meta(several()));
    let all = digests(0..3);
    script.lose(1);
    script.sent();
    let inserted = filter.insert_digests(&all).await.unwrap();
    assert_eq!([0, 1, 2].map(|i| inserted.get(i)), [Inserted::Unsure; 3]);
    let mut shards: Vec<&str> = all.iter().map(|&d| &*made.keys[made.shard(d)].0).collect();
    shards.sort_unstable();
    shards.dedup();
    let sent = script.sent();
    let looks = sent.iter().filter(|words| words[0] == "GETRANGE");
    let mut looks: Vec<&str> = looks.map(|words| &*words[1]).collect();
    looks.sort_unstable();
    assert_eq!(looks, shards);
    let inserted = filter.insert_digests(&all).await.unwrap();
    assert_eq!([0, 1, 2].map(|i| inserted.get(i)), [Inserted::Present; 3]);
}

/// Shards never end after the parameters: a later end goes to the parameters first, an earlier one
/// to the shards; never is the latest.
#[tokio::test]
async fn a_longer_life_is_told_to_the_shards_last_and_a_shorter_one_first() {
    for (before, at, is_longer) in [
        (5_000, 9_000, true),
        (9_000, 5_000, false),
        (5_000, 5_000, true),
        (0, 5_000, false),
        (5_000, 0, true),
        (0, 0, true),
    ] {
        let meta = Meta { expires_at_ms: before, ..meta(several()) };
        let made = Generation::new(meta.clone(), "f");
        let (hash, own) = (hash(&meta), latin1(&made.own_trailer()));
        let (script, server) = Script::start(move |words| match &*words[0] {
            "HGETALL" => hash.clone(),
            "GETRANGE" => text(&own),
            "EVAL" if words[1] == life::WHEN => {
                Value::Array([text("ok"), text(&before.to_string()), text(&at.to_string())].into())
            }
            "EVAL" => text("ok"),
            _ => Value::Int(1),
        });
        let filter = opened(&server, made.clone());
        let ttl = (at > 0).then_some(Duration::from_millis(4_321));
        filter.refresh_ttl(ttl).await.unwrap();
        let sent = script.sent();
        let (generation, ttl) =
            (format!("{:016x}", meta.generation), if at > 0 { "4321" } else { "0" });
        let when = sent.iter().find(|words| words[1] == life::WHEN).unwrap();
        assert_eq!(when[4..], [&generation, ttl]);
        let expire = sent.iter().position(|words| words[1] == life::EXPIRE).unwrap();
        assert_eq!(sent[expire][4..], [&generation, &*at.to_string(), ttl]);
        let told = |words: &Vec<String>| match at {
            0 => words[0] == "PERSIST",
            _ => words[0] == "PEXPIREAT" && words[2] == at.to_string(),
        };
        let shards: Vec<usize> = (0..sent.len()).filter(|&i| told(&sent[i])).collect();
        let keys: Vec<&String> = shards.iter().map(|&i| &sent[i][1]).collect();
        assert_eq!(keys, made.keys.iter().map(|(key, _)| key).collect::<Vec<_>>());
        assert!(shards.iter().all(|&shard| (shard > expire) == is_longer), "{before} → {at}");
    }
}

/// By hand: 51 of 1,024 bits and k = 2 are a rate of (51 / 1024)² = 0.002480; that many bits speak
/// of ln(1 − 51/1024) / (2 · ln(1 − 1/1024)) = 26.14 keys.
#[test]
fn numbers_of_a_filter_are_those_of_its_bits() {
    let params = FilterParams::new(Layout::Standard, 1_024, 2, 100, 0.05).unwrap();
    let meta = Meta { ttl_ms: 9, ..meta(params) };
    let info = info::info(&meta, 51, Some(1_234));
    assert_eq!((info.num_bits, info.num_hashes, info.count_ones), (1_024, 2, 51));
    assert_eq!((info.expected_items, info.target_fpp), (Some(100), Some(0.05)));
    assert_eq!((info.num_shards, info.num_bytes, info.ttl_ms), (1, 128 + 8, Some(1_234)));
    assert!((info.estimated_fpp - 0.002_480).abs() < 1e-6, "{info:?}");
    assert!((info.estimated_items.unwrap() - 26.14).abs() < 0.02, "{info:?}");
    for ttl in [None, Some(-1), Some(-2)] {
        assert_eq!(info::info(&meta, 51, ttl).ttl_ms, None);
    }
    assert_eq!(info::info(&meta, 51, Some(0)).ttl_ms, Some(0));
    let full = info::info(&meta, 1_024, None);
    assert_eq!((full.estimated_items, full.estimated_fpp), (None, 1.0));
}

/// Shards that are built here have the bits that keys set one by one, and counts are of all of
/// them.
#[tokio::test]
async fn a_large_batch_sets_the_same_bits_and_all_are_counted() {
    let Double { filter, strings, made, .. } = double(&meta(several()));
    let mut expected = local(&several());
    let all = digests(0..30_000);
    filter.insert_bulk(&all).await.unwrap();
    for &digest in &all {
        expected.insert_digest(digest);
    }
    {
        let strings = strings.lock().unwrap();
        let bytes = made.keys.iter().flat_map(|(key, _)| {
            let shard = &strings.0[key];
            shard[..shard.len() - 8].to_vec()
        });
        let words = expected.blocks().iter().flat_map(|block| block.0);
        let expected: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        assert!(bytes.collect::<Vec<_>>() == expected, "other bits");
    }
    let info = filter.info().await.unwrap();
    assert_eq!((info.count_ones, info.ttl_ms), (expected.count_ones(), None));
    assert_eq!(info.num_shards, made.keys.len() as u64);
    let glance = filter.glance().await.unwrap();
    let off = glance.count_ones as f64 / info.count_ones as f64 - 1.0;
    assert!(off.abs() < 0.02, "{off}");
    // A filter of another shard is gone, and is not counted as half full.
    strings.lock().unwrap().0.remove(&made.keys[1].0);
    assert!(matches!(filter.info().await, Err(Error::Gone { .. })));
    assert!(matches!(filter.insert_bulk(&all).await, Err(Error::Gone { .. })));
}

/// The fence of a switch that was given up is lifted; with that of one that goes on writers wait,
/// and what they wrote before they saw it counts as new still.
#[tokio::test]
async fn writers_wait_for_a_switch_and_for_none_that_was_given_up() {
    for waits in [0, 3] {
        let Double { strings, made, .. } = double(&meta(several()));
        let digest = digests(0..1);
        let shard = made.shard(digest[0]);
        let body = made.meta.cut.body_bytes(shard) as usize;
        let key = made.keys[shard].0.clone();
        let fence = trailer_bytes(12);
        strings.lock().unwrap().0.get_mut(&key).unwrap()[body..].copy_from_slice(&fence);
        let (model, hash, mut left) = (strings.clone(), hash(&made.meta), waits);
        let (script, server) = Script::start(move |words| {
            let mut model = model.lock().unwrap();
            model.answer(words).unwrap_or_else(|| match &*words[0] {
                "HGETALL" => hash.clone(),
                "GET" if left > 0 => {
                    left -= 1;
                    text("12")
                }
                "EVAL" => trade(model.0.entry(words[3].clone()), &words[4..]),
                _ => Value::Nil,
            })
        });
        let filter = opened(&server, made.clone());
        let inserted = filter.insert_digests(&digest).await.unwrap();
        assert_eq!(inserted.get(0), Inserted::New, "waits {waits}");
        let looks = script.sent().iter().filter(|words| words[0] == "GET").count();
        assert_eq!(looks, waits + 1);
        assert_eq!(strings.lock().unwrap().0[&key][body..], made.own_trailer());
    }
}

/// A filter that was replaced while its bits were counted: all numbers are of the new one.
#[tokio::test]
async fn numbers_are_of_one_generation() {
    let Double { strings, made, filter, .. } = double(&meta(several()));
    filter.insert_digests(&digests(0..500)).await.unwrap();
    let new = meta(several());
    let next = Generation::new(new.clone(), "f");
    assert_ne!(next.meta.generation, made.meta.generation);
    for (shard, (key, _)) in next.keys.iter().enumerate() {
        let mut bytes = vec![0; next.meta.cut.body_bytes(shard) as usize];
        bytes[0] = 1;
        bytes.extend(next.own_trailer());
        strings.lock().unwrap().0.insert(key.clone(), bytes);
    }
    let hash = hash(&new);
    let (_, server) = Script::start(move |words| {
        strings.lock().unwrap().answer(words).unwrap_or_else(|| match &*words[0] {
            "HGETALL" => hash.clone(),
            "PTTL" => Value::Int(-1),
            _ => Value::Nil,
        })
    });
    let filter = opened(&server, made);
    assert_eq!(filter.info().await.unwrap().count_ones, next.keys.len() as u64);
    assert_eq!(filter.generation(), next.meta.generation);
}

/// A replica may lag behind: what it does not know is asked of its master, and nowhere else.
#[tokio::test]
async fn a_replica_that_knows_no_shard_is_not_believed() {
    let Double { strings, made, filter, .. } = double(&meta(several()));
    filter.insert_digests(&digests(0..10)).await.unwrap();
    let (hash, mut calls) = (hash(&made.meta), 0);
    let options = ServerOptions { read_replicas: true, ..ServerOptions::default() };
    let (script, server) = Script::with(options, move |words| {
        calls += 1;
        assert!(calls < 200, "it asks for ever");
        strings.lock().unwrap().answer(words).unwrap_or_else(|| match &*words[0] {
            "HGETALL" => hash.clone(),
            _ => Value::Nil,
        })
    });
    let filter = opened(&server, made);
    let found = filter.contains_digests(&digests(5..15)).await.unwrap();
    assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(script.sent().iter().all(|words| words[0] != "EVAL"), "no late writer was swept");
}
