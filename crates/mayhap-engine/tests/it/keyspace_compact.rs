//! Compact filters: copies are stored and replayed as often as they came, and one grows within its
//! limits or is full.

use super::keyspace::{KEY, keyspace, numbered, turn, with_words};
use super::keyspace_recovery::{checkpoint_beside, commit, open, recording};
use mayhap_engine::keyspace::{
    CreateError, Entry, Hash, InsertError, Keyspace, Options, Pages, Shape, Spec, WrongKind,
    overhead_bytes,
};
use mayhap_engine::{Words, Work};
use std::collections::BTreeSet;

fn spec(capacity: u64, target_fpp: f64, expansion: u32) -> Spec {
    Spec { shape: Shape::Compact { capacity, target_fpp, expansion }, hash: Hash::Keyed }
}

fn add(entry: &Entry, keys: &[&str], turn: &mut Work) -> Vec<bool> {
    with(keys, |words| entry.insert_many(words, turn)).unwrap();
    turn.answers.iter().collect()
}

fn add_absent(entry: &Entry, keys: &[&str], turn: &mut Work) -> Vec<bool> {
    with(keys, |words| entry.insert_absent(words, turn)).unwrap();
    turn.answers.iter().collect()
}

fn remove(entry: &Entry, keys: &[&str], turn: &mut Work) -> Vec<bool> {
    with(keys, |words| entry.remove_many(words, turn)).unwrap();
    turn.answers.iter().collect()
}

fn with<R>(keys: &[&str], f: impl FnOnce(Words<'_>) -> R) -> R {
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    with_words(&keys, f)
}

fn counts(entry: &Entry) -> [u32; 3] {
    [&b"a"[..], b"b", b"c"].map(|key| entry.count(key, 1))
}

#[test]
fn copies_are_replayed_as_often_as_they_were_stored() {
    for saves in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"f", spec(1_000, 1e-6, 0), 1, Some(&log)).unwrap();
        let mut turn = recording(&log);
        assert_eq!(add(&entry, &["a", "a", "b"], &mut turn), [true, false, true]);
        let mut rest = || {
            assert_eq!(add(&entry, &["a"], &mut turn), [false]);
            assert_eq!(remove(&entry, &["a", "b", "c"], &mut turn), [true, true, false]);
            commit(&mut turn);
        };
        if saves {
            // An image in the middle of the turn has what is also in the log.
            checkpoint_beside(&log, &keyspace, rest).unwrap();
        } else {
            rest();
        }
        assert_eq!((entry.removed(), entry.items()), (2, 2));
        let before = entry.info();
        // Killed.
        drop((turn, entry, keyspace, log));
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.get(b"f", 1).unwrap();
        assert_eq!((counts(&entry), entry.info()), ([2, 0, 0], before), "{saves}");
        let mut turn = recording(&log);
        assert_eq!(remove(&entry, &["a", "a", "a"], &mut turn), [true, true, false]);
        commit(&mut turn);
        drop((turn, entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        assert_eq!(counts(&keyspace.get(b"f", 1).unwrap()), [0; 3], "{saves}");
    }
}

#[test]
fn an_absent_key_is_stored_once_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, log) = open(folder.path());
    let entry = keyspace.create(b"f", spec(1_000, 1e-6, 0), 1, Some(&log)).unwrap();
    let mut turn = recording(&log);
    assert_eq!(add_absent(&entry, &["a", "a", "b"], &mut turn), [true, false, true]);
    assert_eq!(add(&entry, &["b"], &mut turn), [false]);
    assert_eq!(add_absent(&entry, &["b", "c"], &mut turn), [false, true]);
    assert_eq!(remove(&entry, &["c"], &mut turn), [true]);
    commit(&mut turn);
    drop((turn, entry, keyspace, log));
    for _ in 0..2 {
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.get(b"f", 1).unwrap();
        assert_eq!((counts(&entry), entry.items()), ([1, 2, 0], 3));
        log.checkpoint(&keyspace).unwrap();
    }
}

/// Of another client, whose turn dies with the server.
#[test]
fn a_key_that_was_found_is_there_after_a_restart_even_if_its_insertion_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, log) = open(folder.path());
    let entry = keyspace.create(b"f", spec(1_000, 1e-6, 0), 1, Some(&log)).unwrap();
    let (mut first, mut second) = (recording(&log), recording(&log));
    assert_eq!(add(&entry, &["a"], &mut first), [true]);
    assert_eq!(add_absent(&entry, &["a", "b"], &mut second), [false, true]);
    commit(&mut second);
    drop((first, second, entry, keyspace, log));
    let (keyspace, _log) = open(folder.path());
    assert_eq!(counts(&keyspace.get(b"f", 1).unwrap()), [1, 1, 0]);
}

#[test]
fn a_filter_grows_again_while_it_is_replayed() {
    for saves in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"f", spec(100, 1e-6, 2), 1, Some(&log)).unwrap();
        let mut turn = recording(&log);
        let empty = entry.info();
        assert_eq!((empty.capacity, empty.expansion, empty.kind), (100, Some(2), "compact"));
        let keys = numbered(0..20_000);
        for part in keys.chunks(3_000) {
            with_words(part, |words| entry.insert_many(words, &mut turn)).unwrap();
        }
        if saves {
            commit(&mut turn);
            log.checkpoint(&keyspace).unwrap();
        }
        for key in numbered(20_000..40_000) {
            entry.insert(&key, &mut turn).unwrap();
        }
        with_words(&keys[..10_000], |words| entry.remove_many(words, &mut turn)).unwrap();
        commit(&mut turn);
        let before = entry.info();
        assert!(before.num_bytes > 10 * empty.num_bytes && before.capacity >= 40_000, "{before:?}");
        assert!(before.expected_fpp < 1e-6 && !before.over_capacity, "{before:?}");
        drop((turn, entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        let entry = keyspace.get(b"f", 1).unwrap();
        assert_eq!(entry.info(), before, "{saves}");
        let there = numbered(10_000..40_000);
        assert!(there.iter().all(|key| entry.count(key, 1) == 1));
        assert_eq!(keys[..10_000].iter().filter(|key| entry.contains(key, 1)).count(), 0);
    }
}

/// A change: how it changes the copies of its keys.
#[derive(Clone, Copy)]
enum What {
    Inserts,
    InsertsAbsent,
    Removes,
}

/// The turn of a change, and its keys.
type Change = (u64, What, Vec<u64>);

/// The copies of each key after the changes of these turns.
fn copies_after(changes: &[Change], turns: &BTreeSet<u64>) -> Vec<u32> {
    let mut all = vec![0u32; KEYS as usize];
    for (_, what, keys) in changes.iter().filter(|(turn, ..)| turns.contains(turn)) {
        for &key in keys {
            let copies = &mut all[key as usize];
            match what {
                What::Inserts => *copies += 1,
                What::InsertsAbsent => *copies = (*copies).max(1),
                What::Removes => *copies = copies.saturating_sub(1),
            }
        }
    }
    all
}

const KEYS: u64 = 12_000;

fn key_of(key: u64) -> Vec<u8> {
    format!("key:{key}").into_bytes()
}

/// Turns are committed in any order, and those in progress die with the server.
#[test]
fn a_filter_that_doubles_is_after_every_kill_what_its_acknowledged_changes_make_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = 7u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % limit
    };
    let (mut changes, mut acknowledged, mut next) = (Vec::new(), BTreeSet::new(), 0);
    let mut capacity = 0;
    for round in 0..12 {
        let (keyspace, log) = open(folder.path());
        let entry = keyspace
            .get_or_create(
                b"f",
                (spec(100, 1e-9, 1), Pages::WhenUsed),
                1,
                Some(&mut log.recorder()),
            )
            .unwrap();
        for (key, copies) in (0..KEYS).zip(copies_after(&changes, &acknowledged)) {
            assert_eq!(entry.count(&key_of(key), 1), copies.min(15), "key {key} in round {round}");
        }
        let mut turns: Vec<_> = (next..next + 3).map(|turn| (turn, recording(&log))).collect();
        next += 3;
        for _ in 0..80 {
            let (turn, work) = &mut turns[below(3) as usize];
            let keys: Vec<u64> = (0..below(60)).map(|_| below(KEYS)).collect();
            let what = match below(5) {
                0 => What::Removes,
                1 | 2 => What::InsertsAbsent,
                _ => What::Inserts,
            };
            let words: Vec<_> = keys.iter().map(|&key| key_of(key)).collect();
            with_words(&words, |words| match what {
                What::Inserts => entry.insert_many(words, work).unwrap(),
                What::InsertsAbsent => entry.insert_absent(words, work).unwrap(),
                What::Removes => entry.remove_many(words, work).unwrap(),
            });
            let keys = match what {
                // The others were absent.
                What::Removes => work.answers.iter_ones().map(|at| keys[at]).collect(),
                _ => keys,
            };
            changes.push((*turn, what, keys));
            let saves = below(30) == 0;
            if saves || below(4) == 0 {
                let first = below(3) as usize;
                let ends = if saves { &mut turns[..] } else { &mut turns[first..=first] };
                for (turn, work) in ends {
                    commit(work);
                    acknowledged.insert(*turn);
                    (*turn, next) = (next, next + 1);
                }
            }
            if saves {
                log.checkpoint(&keyspace).unwrap();
            }
        }
        capacity = entry.info().capacity;
    }
    println!("{} of {next} turns were acknowledged, room for {capacity}", acknowledged.len());
    assert!(capacity > 4_000 && acknowledged.len() > 100 && (acknowledged.len() as u64) < next);
}

#[test]
fn growth_is_charged_and_stops_at_either_limit() {
    for (max_filter_bytes, max_memory) in [(100_000, u64::MAX), (u64::MAX, 100_000)] {
        let options = Options { max_filter_bytes, max_memory, ..Options::new(KEY) };
        let (keyspace, mut turn) = (Keyspace::new(options), turn());
        let entry = keyspace.create(b"f", spec(100, 0.01, 1), 1, None).unwrap();
        let keys = numbered(0..100_000);
        let done = with_words(&keys, |words| entry.insert_many(words, &mut turn));
        let (at, error) = done.unwrap_err();
        assert!(matches!(error, InsertError::TooLarge(_)), "{error}");
        assert!((at as u64, at < 40_000) == (entry.items(), true), "{at} of {}", entry.items());
        assert!(keys[..at].iter().all(|key| entry.contains(key, 1)));
        let bytes = entry.info().num_bytes;
        assert!((20_000..=100_000).contains(&bytes), "{bytes}");
        assert_eq!(keyspace.used_bytes(), bytes + overhead_bytes(1));
        with_words(&keys[..1], |words| entry.remove_many(words, &mut turn)).unwrap();
        assert!(entry.insert(b"another", &mut turn).is_ok(), "there is room for one");
        drop(entry);
        keyspace.clear(None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0);
    }
}

#[test]
fn a_filter_that_does_not_grow_is_full_with_as_many_copies_as_its_capacity() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"f", spec(4, 1e-6, 0), 1, None).unwrap();
    assert_eq!(add(&entry, &["a", "a", "b"], &mut turn), [true, false, true]);
    // The copy that has no room is one of a key that is there.
    let done = with(&["c", "a", "d"], |words| entry.insert_many(words, &mut turn));
    assert_eq!(done, Err((1, InsertError::Full)));
    assert_eq!(turn.answers.iter().collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(entry.insert(b"a", &mut turn), Err(InsertError::Full));
    assert_eq!(add_absent(&entry, &["a", "b", "c"], &mut turn), [false; 3]);
    let done = with(&["a", "d"], |words| entry.insert_absent(words, &mut turn));
    assert_eq!(done, Err((1, InsertError::Full)));
    assert_eq!((counts(&entry), entry.info().over_capacity), ([2, 1, 1], false));
    assert_eq!(remove(&entry, &["a"], &mut turn), [true]);
    assert_eq!(add(&entry, &["d"], &mut turn), [true]);
}

#[test]
fn a_filter_whose_removals_are_lost_is_recovered_with_all_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let (keyspace, log) = open(folder.path());
    let entry = keyspace.create(b"f", spec(4, 1e-6, 0), 1, Some(&log)).unwrap();
    let (mut first, mut second) = (recording(&log), recording(&log));
    add(&entry, &["a", "b", "c", "d"], &mut second);
    commit(&mut second);
    remove(&entry, &["a", "b"], &mut first);
    add(&entry, &["e", "f"], &mut second);
    commit(&mut second);
    // The removals were never acknowledged.
    drop((first, second, entry, keyspace, log));
    let (keyspace, _log) = open(folder.path());
    let entry = keyspace.get(b"f", 1).unwrap();
    assert!(!entry.is_quarantined(), "{:?}", entry.file_problem());
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(entry.count(key.as_bytes(), 1), 1, "{key}");
    }
    let mut turn = turn();
    assert_eq!(entry.insert(b"g", &mut turn), Err(InsertError::Full));
    assert_eq!(entry.info().expansion, None);
}

#[test]
fn a_key_that_came_fifteen_times_stays() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"f", spec(1_000, 1e-6, 1), 1, None).unwrap();
    for _ in 0..40 {
        add(&entry, &["a"], &mut turn);
    }
    assert_eq!(entry.count(b"a", 1), 15);
    assert_eq!(remove(&entry, &["a", "b"], &mut turn), [false, false]);
    assert_eq!(turn.staying.iter().collect::<Vec<_>>(), [true, false]);
    assert!(entry.contains(b"a", 1));
}

#[test]
fn copies_add_up_in_a_union_that_has_room_for_them() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let make = |name: &[u8], capacity, expansion| {
        keyspace.create(name, spec(capacity, 1e-6, expansion), 1, None).unwrap()
    };
    let (left, right, large) = (make(b"l", 4, 0), make(b"r", 4, 0), make(b"x", 5_000, 0));
    add(&left, &["a", "b"], &mut turn);
    add(&right, &["a"], &mut turn);
    let union = keyspace.merge(b"u", &[left.clone(), right.clone()], 0, 1, None).unwrap();
    assert_eq!(counts(&union), [2, 1, 0]);
    add(&right, &["c", "d"], &mut turn);
    let refused = keyspace.merge(b"v", &[left, right], 0, 1, None).unwrap_err();
    assert_eq!(refused, CreateError::Overfull { items: 5, capacity: 4 });
    let refused = keyspace.merge(b"v", &[union, large], 0, 1, None).unwrap_err();
    assert!(matches!(refused, CreateError::Filter(mayhap::Error::Incompatible { .. })));
    let (left, right) = (make(b"m", 3_000, 1), make(b"n", 3_000, 1));
    let keys = numbered(0..3_000);
    for entry in [&left, &right] {
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
    }
    let union = keyspace.merge(b"w", &[left, right], 0, 1, None).unwrap();
    assert!(keys.iter().all(|key| union.count(key, 1) == 2));
    let used: u64 = keyspace.all().iter().map(|(_, entry)| entry.info().num_bytes).sum();
    assert_eq!(keyspace.used_bytes(), used + 7 * overhead_bytes(1));
}

#[test]
fn other_kinds_take_no_insertion_of_absent_keys_and_remove_nothing() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let entry = keyspace.create(b"f", Spec::growing(100, 0.01, 2), 1, None).unwrap();
    let (at, why) = with(&["a"], |words| entry.insert_absent(words, &mut turn)).unwrap_err();
    assert_eq!((at, why.to_string().contains("scalable")), (0, true), "{why}");
    let removed = with(&["a"], |words| entry.remove_many(words, &mut turn));
    assert_eq!(removed, Err(WrongKind::NotCounting("scalable")));
    assert_eq!((entry.count(b"a", 1), entry.removed()), (0, 0));
}
