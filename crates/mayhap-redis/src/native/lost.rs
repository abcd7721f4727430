//! Calls of more than one pipeline, during which a master is lost with what it acknowledged.

use super::bulk;
use super::filter::NativeFilter;
use super::generation::Generation;
use super::tests::{digests, hash, local, merge, meta, opened, several};
use super::wire::trailer_bytes;
use crate::server::tests::fake::{End, Fake};
use crate::server::tests::script::bulk as text;
use crate::{Address, Server, ServerOptions};
use mayhap::{Digest, FilterParams, Layout, sizing};
use redis::Value;
use std::collections::hash_map::Entry;

/// A filter that a replica has too, on a master that acknowledges a number of writes.
async fn start(end: End, writes: usize, params: FilterParams) -> (Fake, NativeFilter) {
    let meta = meta(params);
    let made = Generation::new(meta.clone(), "f");
    let hash = hash(&meta);
    let fake = Fake::start(end, writes, move |strings, words| match &*words[0] {
        "HGETALL" => Some(hash.clone()),
        "EVAL" if words[1] == bulk::MERGE => {
            Some(merge(strings.0.entry(words[3].clone()), &words[5..]))
        }
        "EVAL" => Some(text("ok")),
        "PTTL" => Some(Value::Int(-1)),
        _ => None,
    });
    let fake = fake.await;
    fake.strings(|masters| {
        for strings in masters {
            for (shard, (key, _)) in made.keys.iter().enumerate() {
                let mut bytes = vec![0; made.meta.cut.body_bytes(shard) as usize];
                bytes.extend(trailer_bytes(meta.generation));
                let Entry::Vacant(entry) = strings.0.entry(key.clone()) else { panic!("{key}") };
                entry.insert(bytes);
            }
        }
    });
    let address = Address::parse(&fake.url()).unwrap();
    let server = Server::connect(&address, ServerOptions::default()).await.unwrap();
    (fake, opened(&server, made))
}

/// All of these keys are on the master of now.
async fn check(fake: &Fake, filter: &NativeFilter, keys: &[Digest]) {
    assert!(fake.is_lost(), "the master was not lost");
    let found = filter.contains_digests(keys).await.unwrap();
    assert_eq!(keys.len() - found.count_ones(), 0, "keys are missing");
}

const ENDS: [End; 3] = [End::Dies, End::IsDemoted, End::IsReplaced];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_whole_when_a_master_is_lost_after_its_first_part() {
    for end in ENDS {
        // The first 16,384 keys take 4,100 commands.
        let (fake, filter) = start(end, 4_200, several()).await;
        let keys = digests(0..18_000);
        let losses = filter.losses();
        let inserted = filter.insert_digests(&keys).await.unwrap();
        assert!(filter.losses() > losses, "{end:?}");
        check(&fake, &filter, &keys).await;
        // The first replies stand: nearly all were new, and none is reported as old that was not.
        let unknown = inserted.new.count_ones() + inserted.unsure.count_ones();
        assert!(unknown > 17_000, "{end:?}: {unknown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulks_and_unions_are_whole_when_a_master_is_lost_in_the_middle() {
    // More than the 8 MiB that go at once, which are 2,080 shards.
    let large = sizing::for_items_and_hashes(Layout::Blocked, 8, 13_000_000, 0.05).unwrap();
    let keys = digests(0..30_000);
    let (fake, filter) = start(End::Dies, 2_090, large).await;
    filter.insert_bulk(&keys).await.unwrap();
    check(&fake, &filter, &keys).await;

    let (fake, filter) = start(End::Dies, 2_090, large).await;
    let mut other = local(&filter.params());
    other.insert_digests_into(&keys, &mut mayhap::Bitmap::new());
    let mut union = filter.union(&other).unwrap();
    while union.next().await.unwrap().is_some() {}
    check(&fake, &filter, &keys).await;
}
