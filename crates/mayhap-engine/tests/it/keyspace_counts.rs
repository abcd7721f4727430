//! Counts after a crash: a key answered "new" counts once, however a checkpoint copied it.

use super::keyspace::{numbered, with_words};
use super::keyspace_recovery::{checkpoint_beside, commit, open, recording};
use mayhap_engine::Work;
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::{Entry, Hash, Keyspace, Pages, Shape, Spec};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of some MiB, so that keys are inserted while one is copied.
fn large() -> [Spec; 2] {
    [Spec::growing(3_000_000, 1e-6, 2), Spec::fixed(3_000_000, 1e-6)]
}

/// Inserts its own keys, a turn each, until `done`; returns how many were new.
fn insert_until(done: &AtomicBool, log: &Arc<Log>, entry: &Entry, prefix: u64) -> u64 {
    let (mut turn, mut new) = (recording(log), 0);
    for round in 0.. {
        let keys: Vec<_> =
            (0..40u64).map(|i| format!("{prefix}:{round}:{i}").into_bytes()).collect();
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
        new += turn.answers.count_ones() as u64;
        commit(&mut turn);
        if done.load(Ordering::Acquire) {
            break;
        }
    }
    new
}

#[test]
fn keys_inserted_while_a_checkpoint_copies_are_counted_once() {
    for spec in large() {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"a", spec, 1, Some(&log)).unwrap();
        let done = AtomicBool::new(false);
        let new: u64 = std::thread::scope(|scope| {
            let insert = |prefix| {
                let (done, log, entry) = (&done, &log, &*entry);
                scope.spawn(move || insert_until(done, log, entry, prefix))
            };
            let threads = [insert(0), insert(1)];
            for _ in 0..3 {
                log.checkpoint(&keyspace).unwrap();
            }
            done.store(true, Ordering::Release);
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(entry.items(), new);
        drop((entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        let found = keyspace.get(b"a", 1).unwrap().items();
        assert_eq!(found, new, "{:?}", spec.shape);
    }
}

#[test]
fn keys_of_a_turn_that_a_checkpoint_comes_into_are_counted_if_it_ends() {
    for (spec, ends) in large().into_iter().flat_map(|spec| [(spec, false), (spec, true)]) {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"a", spec, 1, Some(&log)).unwrap();
        let mut turn = recording(&log);
        with_words(&numbered(0..1_000), |words| entry.insert_many(words, &mut turn)).unwrap();
        commit(&mut turn);
        with_words(&numbered(900..1_100), |words| entry.insert_many(words, &mut turn)).unwrap();
        let saved = checkpoint_beside(&log, &keyspace, || {
            if ends {
                commit(&mut turn);
            }
            drop(turn);
        });
        assert_eq!(saved.is_ok(), ends, "an image has nothing of an abandoned turn");
        drop((entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        let entry = keyspace.get(b"a", 1).unwrap();
        assert_eq!(entry.items(), if ends { 1_100 } else { 1_000 }, "{:?}", spec.shape);
    }
}

/// Two turns insert the same keys; the second one is answered "not new" while the first one is not
/// safe, so both are recorded.
#[test]
fn a_key_that_two_turns_record_is_counted_once_whichever_comes_first() {
    for (spec, first) in large().into_iter().flat_map(|spec| [(spec, true), (spec, false)]) {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.create(b"a", spec, 1, Some(&log)).unwrap();
        let (mut new, mut again) = (recording(&log), recording(&log));
        for (turn, count) in [(&mut new, 100), (&mut again, 0)] {
            with_words(&numbered(0..100), |words| entry.insert_many(words, turn)).unwrap();
            assert_eq!(turn.answers.count_ones(), count);
        }
        let turns: [&mut Work; 2] =
            if first { [&mut new, &mut again] } else { [&mut again, &mut new] };
        turns.into_iter().for_each(commit);
        drop((new, again, entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        assert_eq!(keyspace.get(b"a", 1).unwrap().items(), 100, "{:?}", spec.shape);
    }
}

fn fill(path: &Path, spec: Spec) -> (Keyspace, Arc<Log>, Arc<Entry>) {
    let (keyspace, log) = open(path);
    let mut recorder = log.recorder();
    let wanted = (spec, Pages::WhenUsed);
    let entry = keyspace.get_or_create(b"a", wanted, 1, Some(&mut recorder)).unwrap();
    recorder.commit().unwrap();
    (keyspace, log, entry)
}

/// The filter is full when it holds as many keys as its capacity, not before and not after.
#[test]
fn a_fixed_filter_is_full_at_its_capacity_however_often_it_was_killed() {
    const CAPACITY: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let (mut new, mut round) = (0, 0);
    loop {
        let (keyspace, log, entry) = fill(folder.path(), Spec::fixed(CAPACITY, 1e-9));
        assert_eq!(entry.items(), new);
        let mut turn = recording(&log);
        let keys = numbered(1_000 * round..1_000 * (round + 1));
        let (one, two) = keys.split_at(500);
        let mut full = with_words(one, |words| entry.insert_many(words, &mut turn)).is_err();
        // In the image, and recorded after it.
        let saved = checkpoint_beside(&log, &keyspace, || {
            new += turn.answers.count_ones() as u64;
            full |= with_words(two, |words| entry.insert_many(words, &mut turn)).is_err();
            new += turn.answers.count_ones() as u64;
            commit(&mut turn);
        });
        saved.unwrap();
        round += 1;
        if full {
            break;
        }
    }
    assert_eq!((new, round), (CAPACITY, CAPACITY / 1_000 + 1));
}

/// Layers are as full after a crash as they were before: the rate is kept by their counts.
#[test]
fn layers_are_as_full_after_a_crash_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let shape = Shape::Growing { capacity: 2_048, target_fpp: 1e-6, expansion: 2 };
    let spec = Spec { shape, hash: Hash::Plain { seed: 1 } };
    for round in 0..30 {
        let (keyspace, log, entry) = fill(folder.path(), spec);
        let mut turn = recording(&log);
        let keys = numbered(1_300 * round..1_300 * (round + 1));
        for (i, keys) in keys.chunks(130).enumerate() {
            with_words(keys, |words| entry.insert_many(words, &mut turn)).unwrap();
            if i as u64 == round % 10 {
                checkpoint_beside(&log, &keyspace, || commit(&mut turn)).unwrap();
            } else if i % 3 == 0 {
                commit(&mut turn);
            }
        }
        commit(&mut turn);
        let before: Vec<_> = entry.layers();
        drop((turn, entry, keyspace, log));
        let (keyspace, _log) = open(folder.path());
        assert_eq!(keyspace.get(b"a", 1).unwrap().layers(), before, "round {round}");
    }
}
