//! A filter is replaced atomically: a query sees either the old or the new one.

use super::keyspace::{keyspace, numbered, turn, with_words};
use super::keyspace_dump::dump;
use mayhap_engine::keyspace::{Keyspace, Spec};
use std::sync::atomic::{AtomicBool, Ordering};

fn replace(keyspace: &Keyspace, file: &[(i64, Vec<u8>)]) {
    for (cursor, bytes) in file {
        keyspace.load_chunk(b"live", *cursor, bytes, true, 1, None).unwrap();
    }
}

#[test]
fn readers_see_the_old_filter_or_the_new_one_and_its_name_once() {
    const KEYS: u64 = 200;
    let keyspace = keyspace();
    let keys = numbered(0..2 * KEYS);
    let files = [(&b"a"[..], 0..KEYS), (b"b", KEYS..2 * KEYS)].map(|(name, range)| {
        let entry = keyspace.create(name, Spec::growing(1_000, 1e-9, 2), 1, None).unwrap();
        with_words(&numbered(range), |words| entry.insert_many(words, &mut turn())).unwrap();
        dump(&keyspace, &entry)
    });
    replace(&keyspace, &files[0]);
    let (has_seen, mut seen) = (AtomicBool::new(false), [0; 2]);
    std::thread::scope(|scope| {
        // It ends even if the rest fails.
        scope.spawn(|| {
            let mut next = files.iter().cycle().take(100_000);
            while !has_seen.load(Ordering::Relaxed)
                && let Some(file) = next.next()
            {
                replace(&keyspace, file);
            }
        });
        while seen.iter().any(|&looks| looks < 100) {
            let mut turn = turn();
            let entry = keyspace.get(b"live", 1).expect("it is never missing");
            with_words(&keys, |words| entry.contains_many(words, &mut turn));
            let found: Vec<u64> = turn.answers.iter_ones().map(|key| key as u64).collect();
            let which = usize::from(found[0] != 0);
            let first = which as u64 * KEYS;
            assert_eq!(found, (first..first + KEYS).collect::<Vec<_>>());
            seen[which] += 1;
            let names = keyspace.scan(0, 10, None, 1).unwrap().names;
            assert_eq!(names.iter().filter(|name| ***name == *b"live").count(), 1);
        }
        has_seen.store(true, Ordering::Relaxed);
    });
    assert_eq!(keyspace.len(), 3);
}
