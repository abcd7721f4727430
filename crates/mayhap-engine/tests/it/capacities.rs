//! Filters hold what they were created for, whoever else inserts, and say when they hold more.

use super::keyspace::{keyspace, numbered, turn, with_words};
use mayhap_engine::Work;
use mayhap_engine::keyspace::{Entry, Hash, InsertError, Shape, Spec};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Repeats need no room: a filter holds as many keys alongside clients that add repeats as alone.
#[test]
fn a_filter_is_not_full_early_because_of_concurrent_repeats() {
    let fill = |entry: &Entry| {
        let mut turn = turn();
        let keys = numbered(300..3_000);
        let full = |key: &Vec<u8>| entry.insert(key, &mut turn) == Err(InsertError::Full);
        keys.iter().position(full).unwrap()
    };
    let repeats = numbered(0..300);
    let make = || {
        let keyspace = keyspace();
        let entry = keyspace.create(b"f", Spec::fixed(1_000, 1e-4), 1, None).unwrap();
        with_words(&repeats, |words| entry.insert_many(words, &mut turn())).unwrap();
        entry
    };
    let alone = fill(&make());
    assert!((695..=710).contains(&alone), "{alone}");
    for round in 0..200 {
        let (entry, done) = (make(), AtomicBool::new(false));
        let beside = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Acquire) {
                        for batch in repeats.chunks(60) {
                            let added = with_words(batch, |it| entry.insert_many(it, &mut turn()));
                            assert_eq!(added, Ok(()), "round {round}: repeats");
                        }
                    }
                });
            }
            let beside = fill(&entry);
            done.store(true, Ordering::Release);
            beside
        });
        assert_eq!(beside, alone, "round {round}");
        assert_eq!(fill(&entry), alone, "it is full, and has its keys");
    }
}

/// Several threads add the same new keys at the same time: none is refused for places of another.
/// If two of them set bits of one key, both may find it new, so there is room for some more.
#[test]
fn threads_that_add_the_same_keys_take_one_place_for_each() {
    let keys = numbered(0..900);
    for round in 0..100 {
        let keyspace = keyspace();
        let entry = keyspace.create(b"f", Spec::fixed(1_000, 1e-4), 1, None).unwrap();
        let new = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    // Twice in each batch, too.
                    for part in keys.chunks(100) {
                        let batch = [part, part].concat();
                        let mut turn = turn();
                        let added = with_words(&batch, |it| entry.insert_many(it, &mut turn));
                        assert_eq!(added, Ok(()), "round {round}");
                        new.fetch_add(turn.answers.count_ones(), Ordering::Relaxed);
                    }
                });
            }
        });
        let new = new.into_inner();
        assert_eq!((new as u64, (895..=1_000).contains(&new)), (entry.items(), true), "{round}");
    }
}

/// One rule for all kinds: a filter above its capacity reports it.
#[test]
fn an_overfull_time_window_reports_forgotten_items() {
    let keyspace = keyspace();
    let shape = Shape::Window { items: 2_000, time_ms: 60_000, target_fpp: 0.01, refresh: true };
    let spec = Spec { shape, hash: Hash::Keyed };
    let entry = keyspace.create(b"w", spec, 1, None).unwrap();
    let mut turn = turn();
    turn.now = 1_000_000;
    let fill = |from: u64, turn: &mut Work| {
        let keys = numbered(from..from + 1_500);
        with_words(&keys, |words| entry.insert_many(words, turn)).unwrap();
    };
    fill(0, &mut turn);
    let info = entry.info();
    assert_eq!((info.over_capacity, info.forgotten_early), (false, Some(0)));
    turn.now += 1_000;
    (1..4).for_each(|n| fill(n * 1_500, &mut turn));
    let info = entry.info();
    assert!(info.over_capacity && info.forgotten_early > Some(3_000), "{info:?}");
    assert!(info.expected_fpp <= 0.011, "the rate is kept: {info:?}");
}
