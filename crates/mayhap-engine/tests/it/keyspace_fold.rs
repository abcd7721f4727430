//! A filter that shrinks has its keys, its count and its rate, whoever inserts meanwhile.

use super::keyspace::{keyspace, numbered, turn, with_words};
use super::keyspace_recovery::{checkpoint_beside, commit, open, recording};
use mayhap::sizing::Shrink;
use mayhap::{Error, Layout};
use mayhap_engine::Work;
use mayhap_engine::keyspace::{
    ChangeError, CreateError, Entry, Hash, InsertError, Shape, Spec, overhead_bytes,
};

/// 960 blocks.
const LARGE: Spec = Spec {
    shape: Shape::Fixed { capacity: 48_640, target_fpp: 0.01, layout: Some(Layout::Blocked) },
    hash: Hash::Plain { seed: 0 },
};

fn insert(entry: &Entry, turn: &mut Work, keys: std::ops::Range<u64>) {
    with_words(&numbered(keys), |words| entry.insert_many(words, turn)).unwrap();
}

fn has(entry: &Entry, keys: std::ops::Range<u64>) -> bool {
    let count = (keys.end - keys.start) as usize;
    let mut turn = turn();
    with_words(&numbered(keys), |words| entry.contains_many(words, &mut turn));
    turn.answers.count_ones() == count
}

fn to(items: u64) -> Shrink {
    Shrink::To { items: Some(items), target_fpp: None }
}

#[test]
fn a_folded_filter_has_the_numbers_and_the_memory_of_its_size() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let large = keyspace.create(b"a", LARGE, 1, None).unwrap();
    insert(&large, &mut turn, 0..2_000);
    keyspace.expire(b"a", 99, 1, None).unwrap();
    let (before, items) = (large.info(), large.items());
    let saving = large.saving().unwrap();
    let shrunk = keyspace.shrink(b"a", Shrink::default(), 1, None).unwrap();
    assert_eq!((shrunk.factor, shrunk.num_bytes_before), (saving.factor, before.num_bytes));
    let small = keyspace.get(b"a", 1).unwrap();
    let info = small.info();
    assert_eq!((small.id, small.expires_at(), small.items()), (large.id, 99, items));
    assert_eq!(info.num_bytes * saving.factor, before.num_bytes);
    assert_eq!((info.num_bytes, info.expected_fpp), (saving.num_bytes, saving.expected_fpp));
    assert!(info.expected_fpp <= 0.01 && info.capacity >= 2_000, "{info:?}");
    assert!(has(&small, 0..2_000) && !has(&small, 0..3_000));
    // The old one, which someone has found before, is the new one.
    insert(&large, &mut turn, 2_000..2_010);
    assert!(has(&small, 2_000..2_010) && has(&large, 2_000..2_010));
    assert!(small.items() > items && small.items() <= items + 10);
    // Its memory is free once nobody has it.
    drop(large);
    assert_eq!(keyspace.used_bytes(), info.num_bytes + overhead_bytes(1));
    // It refuses keys beyond the capacity that it has now.
    let keys = numbered(3_000..9_000);
    let (at, error) = with_words(&keys, |words| small.insert_many(words, &mut turn)).unwrap_err();
    assert_eq!(error, InsertError::Full);
    assert!(small.items().abs_diff(info.capacity) < info.capacity / 50, "{at} {}", small.items());
    // Nothing smaller keeps its rate.
    assert_eq!(small.saving(), None);
    let how = Shrink::To { items: None, target_fpp: Some(0.011) };
    assert_eq!(keyspace.shrink(b"a", how, 1, None).unwrap().factor, 1);
}

#[test]
fn a_filter_that_cannot_shrink_is_refused_and_stays() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let shrink = |name: &[u8], how| keyspace.shrink(name, how, 1, None).map(|it| it.factor);
    assert_eq!(shrink(b"a", Shrink::default()), Err(ChangeError::NotFound));
    keyspace.create(b"grows", Spec::growing(100, 0.01, 2), 1, None).unwrap();
    assert_eq!(shrink(b"grows", Shrink::default()), Err(ChangeError::NoFold("scalable")));
    assert_eq!(keyspace.get(b"grows", 1).unwrap().saving(), None);
    let entry = keyspace.create(b"a", LARGE, 1, None).unwrap();
    insert(&entry, &mut turn, 0..20_000);
    let before = entry.num_bytes();
    for (how, expected) in [
        (Shrink::By(7), "do not fold by 7"),
        (Shrink::By(0), "do not fold by 0"),
        (Shrink::By(3), "would be for"),
        (to(1_000_000), "cannot shrink"),
        (to(9), "would be for 9"),
        (Shrink::To { items: None, target_fpp: Some(2.0) }, "target_fpp is 2"),
    ] {
        let error = shrink(b"a", how).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(
            error,
            ChangeError::Filter(
                Error::NoFold { .. }
                    | Error::NoShrink { .. }
                    | Error::FoldOverfull { .. }
                    | Error::FppOutOfRange { .. }
            )
        ));
    }
    // The filter and its memory are as they were.
    assert_eq!(entry.num_bytes(), before);
    assert_eq!(entry.insert(b"one more", &mut turn), Ok(true));
    keyspace.set_max_memory(keyspace.used_bytes());
    assert!(matches!(shrink(b"a", Shrink::By(2)).unwrap_err(), ChangeError::TooLarge(_)));
    keyspace.set_max_memory(u64::MAX);
    assert_eq!(shrink(b"a", Shrink::By(1)), Ok(1));
    assert_eq!(shrink(b"a", Shrink::default()), Ok(2)); // of 480 blocks, for 24,320 keys
}

/// Threads insert into a filter while it shrinks again and again: each key that was answered is
/// found by all from then on, after a restart too, and the count is that of the answers "new".
#[test]
fn threads_that_insert_while_a_filter_shrinks_lose_no_key() {
    const EACH: u64 = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, log) = open(folder.path());
    let first = keyspace.create(b"a", LARGE, 1, Some(&log)).unwrap();
    let new: u64 = std::thread::scope(|scope| {
        let (keyspace, log, first) = (&keyspace, &log, &first);
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                scope.spawn(move || {
                    let (mut turn, mut new) = (recording(log), 0);
                    for key in thread * EACH..(thread + 1) * EACH {
                        // By the entry of the beginning, too, as if it had been found just before.
                        let current = keyspace.get(b"a", 1).unwrap();
                        let entry = if key % 2 == 0 { first } else { &current };
                        let word = format!("key:{key}").into_bytes();
                        new += u64::from(entry.insert(&word, &mut turn).unwrap());
                        commit(&mut turn);
                        assert!(keyspace.get(b"a", 1).unwrap().contains(&word, 1), "{key}");
                    }
                    new
                })
            })
            .collect();
        for factor in [2, 2, 2] {
            while keyspace.get(b"a", 1).unwrap().items() < 100 * factor {
                std::thread::yield_now();
            }
            let shrunk = keyspace.shrink(b"a", Shrink::By(factor), 1, Some(log)).unwrap();
            assert_eq!(shrunk.num_bytes_before, shrunk.entry.num_bytes() * 2);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let entry = keyspace.get(b"a", 1).unwrap();
    assert_eq!((entry.num_bytes(), entry.items()), (120 * 64, new));
    assert!(has(&entry, 0..3 * EACH) && has(&first, 0..3 * EACH));
    drop((first, entry, keyspace, log));
    let (keyspace, _log) = open(folder.path());
    let entry = keyspace.get(b"a", 1).unwrap();
    assert_eq!((entry.num_bytes(), entry.items()), (120 * 64, new));
    assert!(has(&entry, 0..3 * EACH));
}

/// The image has the new size, and the log after it has the fold again, or the image has the old
/// one.
#[test]
fn a_fold_during_a_checkpoint_is_restored_once() {
    for before in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"a", LARGE, 1, Some(&log)).unwrap();
        let mut turn = recording(&log);
        insert(&entry, &mut turn, 0..1_000);
        commit(&mut turn);
        if before {
            keyspace.shrink(b"a", Shrink::By(2), 1, Some(&log)).unwrap();
        }
        // A turn that the checkpoint waits for.
        let mut other = recording(&log);
        insert(&entry, &mut other, 1_000..1_100);
        checkpoint_beside(&log, &keyspace, || {
            keyspace.shrink(b"a", Shrink::By(4), 1, Some(&log)).unwrap();
            insert(&keyspace.get(b"a", 1).unwrap(), &mut other, 1_100..1_200);
            commit(&mut other);
        })
        .unwrap();
        let entry = keyspace.get(b"a", 1).unwrap();
        let expected = (entry.num_bytes(), entry.items(), entry.info().capacity);
        assert_eq!(expected.0, if before { 120 } else { 240 } * 64);
        drop((entry, turn, other, keyspace, log));
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.get(b"a", 1).unwrap();
        assert_eq!((entry.num_bytes(), entry.items(), entry.info().capacity), expected);
        assert!(has(&entry, 0..1_200));
        // And from an image alone.
        log.checkpoint(&keyspace).unwrap();
        drop((entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        let entry = keyspace.get(b"a", 1).unwrap();
        assert_eq!((entry.num_bytes(), entry.items(), entry.info().capacity), expected);
    }
}

/// Unions of folded filters have the room of their size.
#[test]
fn a_union_of_folded_filters_is_refused_beyond_their_capacity() {
    let (keyspace, mut turn) = (keyspace(), turn());
    for (name, keys) in [(b"a", 0..2_000), (b"b", 2_000..4_000)] {
        let entry = keyspace.create(name, LARGE, 1, None).unwrap();
        insert(&entry, &mut turn, keys);
        keyspace.shrink(name, Shrink::By(16), 1, None).unwrap();
    }
    let both = || [b"a", b"b"].map(|name| keyspace.get(name, 1).unwrap());
    let capacity = both()[0].info().capacity;
    let error = keyspace.merge(b"c", &both(), 0, 1, None).err();
    assert!(matches!(error, Some(CreateError::Overfull { capacity: c, .. }) if c == capacity));
}

/// A dump in progress has the filter of its beginning, whether a fold comes in between or is
/// refused.
#[test]
fn a_dump_that_was_begun_before_a_fold_goes_on() {
    let keyspace = keyspace();
    let entry = keyspace.create(b"a", LARGE, 1, None).unwrap();
    let (mut cursor, header) = keyspace.dump(&entry, 0, 1).unwrap();
    keyspace.shrink(b"a", Shrink::By(7), 1, None).unwrap_err();
    keyspace.shrink(b"a", Shrink::By(4), 1, None).unwrap();
    let (entry, mut bytes) = (keyspace.get(b"a", 1).unwrap(), header.len());
    while cursor != 0 {
        let (next, chunk) = keyspace.dump(&entry, cursor, 1).unwrap();
        (cursor, bytes) = (next, bytes + chunk.len());
    }
    assert!(bytes >= 960 * 64, "{bytes}");
}
