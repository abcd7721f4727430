//! The thread that allocates layers ahead of need.

use super::keyspace::{KEY, turn};
use mayhap::{Digest, DigestFunction};
use mayhap_engine::keyspace::{Entry, Keyspace, Options, Spec, Upkeep, overhead_bytes};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ITEMS: u64 = 2_000_000;

fn keyspace() -> Arc<Keyspace> {
    Arc::new(Keyspace::new(Options::new(KEY)))
}

fn insert(entry: &Entry, keys: std::ops::Range<u64>) {
    let mut turn = turn();
    turn.digests = keys.map(digest).collect();
    entry.insert_digests(&mut turn).unwrap();
}

fn digest(key: u64) -> Digest {
    DigestFunction::sip13(KEY).digest(&key)
}

/// Waits for an effect of another thread.
fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(300), "not in five minutes: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn the_next_layer_is_there_before_it_is_needed_and_goes_with_its_filter() {
    let keyspace = keyspace();
    let growing = Upkeep::start_growing(&keyspace).unwrap();
    let entry = keyspace.create(b"a", Spec::growing(ITEMS, 0.01, 2), 1, None).unwrap();
    let first = keyspace.used_bytes();
    insert(&entry, 0..ITEMS / 4 * 3);
    assert_eq!(keyspace.used_bytes(), first, "too early");
    insert(&entry, ITEMS / 4 * 3..ITEMS / 10 * 9);
    until("a layer ahead", || entry.info().num_bytes > first);
    let made = keyspace.used_bytes() - overhead_bytes(1);
    assert_eq!((entry.info().layers, entry.info().num_bytes), (1, made));
    insert(&entry, ITEMS / 10 * 9..ITEMS / 10 * 12);
    assert_eq!((entry.info().layers, entry.info().num_bytes), (2, made));
    assert_eq!(keyspace.used_bytes(), made + overhead_bytes(1), "charged once");
    assert!((0..ITEMS / 10 * 12).all(|key| entry.contains_digest(digest(key), 1)));
    drop(entry);
    assert!(keyspace.remove(b"a", 1, None).unwrap());
    until("all memory freed", || keyspace.used_bytes() == 0);
    drop(growing);
}

#[test]
fn a_filter_that_is_removed_while_its_layer_is_made_gives_all_back() {
    let keyspace = keyspace();
    let growing = Upkeep::start_growing(&keyspace).unwrap();
    for _ in 0..4 {
        let entry = keyspace.create(b"a", Spec::growing(ITEMS, 0.01, 2), 1, None).unwrap();
        insert(&entry, 0..ITEMS / 10 * 9);
        drop(entry);
        assert!(keyspace.remove(b"a", 1, None).unwrap());
    }
    until("all memory freed", || keyspace.used_bytes() == 0);
    drop(growing);
    // Without the thread filters still grow.
    let entry = keyspace.create(b"a", Spec::growing(ITEMS, 0.01, 2), 1, None).unwrap();
    insert(&entry, 0..ITEMS / 10 * 11);
    assert_eq!(entry.info().layers, 2);
}
