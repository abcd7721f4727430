//! Filters that forget by themselves, also after a crash: those that clear themselves, and windows
//! in which repeats renew nothing.

use super::keyspace::{KEY, numbered, turn, with_words};
use super::keyspace_recovery::{checkpoint_beside, commit, open, recording};
use mayhap_engine::keyspace::{Hash, Keyspace, Options, Pages, Shape, Spec, Upkeep};

const NAMES: [&[u8]; 2] = [b"a", b"copy"];

fn clearing() -> Spec {
    let shape = Shape::Clearing { capacity: 3_000, target_fpp: 0.01, at: 0.5 };
    Spec { shape, hash: Hash::Plain { seed: 5 } }
}

/// For each existing filter, which of these keys it has and how many it counts.
fn state(keyspace: &Keyspace, keys: &[Vec<u8>]) -> Vec<(Vec<bool>, u64)> {
    let entries = NAMES.iter().filter_map(|name| keyspace.get(name, 1));
    let state = entries.map(|entry| {
        assert_eq!(entry.spec, clearing());
        (keys.iter().map(|key| entry.contains(key, 1)).collect(), entry.items())
    });
    state.collect()
}

/// The log has the insertions and not the clears: those follow from them. With images in between,
/// and for a copy, whose contents are in the log.
#[test]
fn a_filter_that_clears_itself_is_restored_in_the_same_round() {
    const ROUND: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let all = numbered(0..4 * ROUND as u64);
    let mut before = Vec::new();
    for (round, keys) in all.chunks(ROUND).enumerate() {
        let (keyspace, log) = open(folder.path());
        assert_eq!(state(&keyspace, &all), before, "round {round}");
        let (many, single) = keys.split_at(6_789);
        let mut turn = recording(&log);
        let wanted = (clearing(), Pages::WhenUsed);
        keyspace.get_or_create(b"a", wanted, 1, turn.recorder.as_mut()).unwrap();
        for entry in NAMES.iter().filter_map(|name| keyspace.get(name, 1)) {
            with_words(many, |words| entry.insert_many(words, &mut turn)).unwrap();
            let mut rest = || {
                for key in single {
                    entry.insert(key, &mut turn).unwrap();
                }
                commit(&mut turn);
            };
            if round % 2 == 1 {
                checkpoint_beside(&log, &keyspace, rest).unwrap();
            } else {
                rest();
            }
            let clears = entry.info().clears.unwrap();
            assert!((2..6).contains(&clears), "{clears} in round {round}");
            assert!(entry.contains(&keys[ROUND - 1], 1));
        }
        if round == 1 {
            let from = [keyspace.get(b"a", 1).unwrap()];
            keyspace.merge(b"copy", &from, 0, 1, Some(&log)).unwrap();
        }
        before = state(&keyspace, &all);
        assert_eq!(before.len(), if round == 0 { 1 } else { 2 });
        for (held, _) in &before {
            let held = held.iter().filter(|&&held| held).count();
            assert!((1..4_500).contains(&held), "{held} in round {round}");
        }
    }
}

/// Without refresh a repeat is recorded too: a client that learns that a key is present finds it
/// after a crash, as old as its first insertion.
#[test]
fn a_repeat_in_a_window_without_refresh_is_safe_and_renews_nothing() {
    for refresh in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (keyspace, log) = open(folder.path());
        let shape = Shape::Window { items: 1_000, time_ms: 60_000, target_fpp: 1e-6, refresh };
        let spec = Spec { shape, hash: Hash::Keyed };
        let entry = keyspace.create(b"a", spec, 1, Some(&log)).unwrap();
        let (mut first, mut second) = (recording(&log), recording(&log));
        first.now = 1_000_000;
        assert_eq!(entry.insert(b"key", &mut first), Ok(true));
        second.now = 1_040_000;
        assert_eq!(entry.insert(b"key", &mut second), Ok(false));
        // The first turn dies with the process.
        commit(&mut second);
        drop((first, second, entry, keyspace, log));
        let (keyspace, log) = open(folder.path());
        let entry = keyspace.get(b"a", 1).unwrap();
        assert!(entry.contains(b"key", 1_060_000), "an acknowledged repeat is lost");
        // Its age is that of the second turn: the record of the first one was lost with its
        // process.
        let mut turn = recording(&log);
        turn.now = 1_060_000;
        assert_eq!(entry.insert(b"key", &mut turn), Ok(false));
        commit(&mut turn);
        drop((turn, entry, keyspace, log));
        for is_image in [false, true] {
            let (keyspace, log) = open(folder.path());
            let entry = keyspace.get(b"a", 1).unwrap();
            assert_eq!(entry.spec, spec);
            assert!(entry.contains(b"key", 1_100_000));
            assert_eq!(entry.contains(b"key", 1_108_000), refresh, "{is_image}");
            log.checkpoint(&keyspace).unwrap();
        }
    }
    let keyspace = Keyspace::new(Options::new(KEY));
    for refresh in [true, false] {
        let shape = Shape::Window { items: 1_000, time_ms: 60_000, target_fpp: 1e-6, refresh };
        let spec = Spec { shape, hash: Hash::Keyed };
        let name = if refresh { &b"renewed"[..] } else { b"first" };
        let entry = keyspace.create(name, spec, 1, None).unwrap();
        let mut turn = turn();
        let new: Vec<u64> = (0..300)
            .filter(|second| {
                turn.now = 1_000_000 + second * 1_000;
                entry.insert(b"key", &mut turn).unwrap()
            })
            .collect();
        // Each 60 to 67.5 s.
        assert_eq!(new.len(), if refresh { 1 } else { 5 }, "{new:?}");
    }
}

/// Fewer items than the window arrive all the time: it advances with each of them, also after a
/// crash and from an image.
#[test]
fn a_window_without_refresh_moves_with_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let (mut new, mut last) = (0, None);
    for part in 0..6 {
        let (keyspace, log) = open(folder.path());
        let shape = Shape::Window { items: 1_000, time_ms: 0, target_fpp: 1e-6, refresh: false };
        let spec = Spec { shape, hash: Hash::Keyed };
        let (mut turn, wanted) = (recording(&log), (spec, Pages::WhenUsed));
        let entry = keyspace.get_or_create(b"a", wanted, 1, turn.recorder.as_mut()).unwrap();
        let keys = numbered(0..500);
        let found: Vec<bool> = keys.iter().map(|key| entry.contains(key, 1)).collect();
        assert_eq!(last.unwrap_or(found.clone()), found, "part {part} continues as before");
        for i in 0..5_000 {
            new += u64::from(entry.insert(&keys[i * 7 % 500], &mut turn).unwrap());
        }
        commit(&mut turn);
        if part % 3 == 1 {
            log.checkpoint(&keyspace).unwrap();
        }
        last = Some(keys.iter().map(|key| entry.contains(key, 1)).collect::<Vec<bool>>());
    }
    // Each of 500 repeats every 500 items: 1,000 later it is still present, and 1,500 later not.
    assert_eq!(new, 10_000);
}

/// The clock was a day or a century ahead for one item: which keys are forgotten, and when, also
/// after a restart; and that it is counted.
#[test]
fn one_item_under_a_clock_that_is_ahead_does_not_stop_a_window() {
    const HOUR: u64 = 3_600_000;
    for (ahead, restarts) in [24 * HOUR, 876_000 * HOUR].into_iter().zip([true, false]) {
        let folder = tempfile::tempdir().unwrap();
        let (mut keyspace, mut log) = open(folder.path());
        let shape = Shape::Window { items: 1_000, time_ms: HOUR, target_fpp: 1e-6, refresh: false };
        keyspace.create(b"a", Spec { shape, hash: Hash::Keyed }, 1, Some(&log)).unwrap();
        let start = 500_000 * HOUR;
        let times = [0, ahead, 60_000, 30 * 60_000, 2 * HOUR, 5 * HOUR, 20 * HOUR];
        let mut new = Vec::new();
        for time in times {
            let entry = keyspace.get(b"a", 1).unwrap();
            let mut turn = recording(&log);
            turn.now = start + time;
            new.push(entry.insert(b"disk-full", &mut turn).unwrap());
            entry.insert(format!("at {time}").as_bytes(), &mut turn).unwrap();
            commit(&mut turn);
            if time == 60_000 {
                let jumps = entry.info().clock_jumps.unwrap();
                assert_eq!((jumps.count, jumps.ahead), (1, ahead - 60_000));
                assert!(entry.contains(b"at 0", turn.now), "it was inserted a minute ago");
                assert_eq!(Upkeep::sweep(&keyspace, 0, 10, 1, None), 0);
            }
            drop(turn);
            if restarts {
                drop(entry);
                drop((keyspace, log));
                (keyspace, log) = open(folder.path());
            }
        }
        assert_eq!(new, [true, true, false, false, true, true, true], "{ahead}");
    }
}

#[test]
fn clears_noticed_by_the_sweep_are_counted_once() {
    let keyspace = Keyspace::new(Options::new(KEY));
    let entry = keyspace.create(b"a", clearing(), 1, None).unwrap();
    let mut turn = turn();
    for part in 0..10 {
        let keys = numbered(part * 2_000..(part + 1) * 2_000);
        with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap();
        assert_eq!(Upkeep::sweep(&keyspace, 0, 10, 1, None), 0);
        assert_eq!(Some(keyspace.clears()), entry.info().clears);
    }
    assert!((5..12).contains(&keyspace.clears()), "{}", keyspace.clears());
}
