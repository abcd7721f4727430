//! Whatever fails and whenever the process dies: a filter that shrinks has the old size or the new
//! one, and all of its keys.

use super::whole::open;
use crate::Work;
use crate::durable::tests::disk::{Failing, Fault, Files, MemoryDisk};
use crate::keyspace::{Hash, Keyspace, Shape, Spec};
use mayhap::Layout;
use mayhap::sizing::Shrink;

/// 960 blocks.
const LARGE: Spec = Spec {
    shape: Shape::Fixed { capacity: 48_640, target_fpp: 0.01, layout: Some(Layout::Blocked) },
    hash: Hash::Keyed,
};
const KEYS: u64 = 300;

fn insert(keyspace: &Keyspace, turn: &mut Work, keys: std::ops::Range<u64>) {
    let entry = keyspace.get(b"set", 1).unwrap();
    for key in keys {
        entry.insert(&key.to_le_bytes(), turn).unwrap();
    }
    turn.commit().unwrap();
}

/// Fills a filter, shrinks it twice, with keys before, between and after; returns which of the two
/// were acknowledged, the number of events before them, and all sizes.
fn shrink(
    disk: &MemoryDisk,
    failing: Option<Failing>,
    checkpoints: bool,
) -> ([bool; 2], usize, [u64; 3]) {
    let (keyspace, log) = open(disk);
    keyspace.create(b"set", LARGE, 1, Some(&log)).unwrap();
    let bytes = || keyspace.get(b"set", 1).unwrap().num_bytes();
    let mut turn = Work { now: 1, recorder: Some(log.recorder()), ..Work::default() };
    insert(&keyspace, &mut turn, 0..KEYS / 3);
    if checkpoints {
        log.checkpoint(&keyspace).unwrap();
    }
    let before = {
        let mut state = disk.state();
        (state.calls, state.failing) = (0, failing);
        state.events.len()
    };
    let (mut sizes, mut done) = ([bytes(); 3], [false; 2]);
    for (i, items) in [10_000, 500].into_iter().enumerate() {
        let how = Shrink::To { items: Some(items), target_fpp: None };
        done[i] = keyspace.shrink(b"set", how, 1, Some(&log)).is_ok();
        sizes[i + 1] = bytes();
        assert_eq!(sizes[i + 1] < sizes[i], done[i], "{sizes:?}");
        // The next attempt need not wait.
        disk.state().failing = None;
        log.tick();
        let third = KEYS / 3;
        insert(&keyspace, &mut turn, (i as u64 + 1) * third..(i as u64 + 2) * third);
        if checkpoints {
            log.checkpoint(&keyspace).unwrap();
        }
    }
    (done, before, sizes)
}

/// The size of the filter in a folder, which has the first of its keys and counts them.
fn size_of(files: Files) -> u64 {
    let (keyspace, _log) = open(&MemoryDisk::of(files));
    let entry = keyspace.get(b"set", 1).unwrap();
    let found = (0..KEYS).take_while(|key| entry.contains(&key.to_le_bytes(), 1)).count() as u64;
    // A key may be found by chance, or be taken for a repeat.
    assert!(found >= KEYS / 3 && found.abs_diff(entry.items()) <= 20, "{found} {}", entry.items());
    let info = entry.info();
    assert!(info.capacity >= found && info.expected_fpp <= 0.01, "{info:?}");
    entry.num_bytes()
}

#[test]
fn a_kill_while_a_filter_shrinks_leaves_the_old_size_or_the_new_one() {
    for checkpoints in [false, true] {
        let disk = MemoryDisk::default();
        let (done, before, sizes) = shrink(&disk, None, checkpoints);
        assert_eq!(done, [true; 2]);
        let (mut files, mut seen) = (Files::default(), Vec::new());
        let events = disk.state().events.clone();
        for (at, event) in events.iter().enumerate() {
            files.apply(event);
            if at + 1 >= before {
                seen.push(size_of(files.clone()));
            }
        }
        println!("checkpoints {checkpoints}: {} states", seen.len());
        assert!(seen.is_sorted_by(|a, b| a >= b) && seen.iter().all(|size| sizes.contains(size)));
        assert!(sizes.iter().all(|size| seen.contains(size)), "{sizes:?} {seen:?}");
        assert_eq!(seen.last(), Some(&sizes[2]));
    }
}

#[test]
fn a_fold_that_the_log_refuses_is_none_after_a_restart_too() {
    let mut refused = 0;
    for fault in [Fault::NoSpace, Fault::Full, Fault::Io] {
        for (from, all) in (0..4).flat_map(|from| [(from, false), (from, true)]) {
            let disk = MemoryDisk::default();
            let (done, _, sizes) = shrink(&disk, Some(Failing { fault, from, all }), false);
            assert_eq!(size_of(disk.files()), sizes[2], "{fault:?} at call {from}, all {all}");
            refused += usize::from(!done[0]);
        }
    }
    println!("{refused} refused");
    assert!(refused > 5, "{refused}");
}
