//! Threads that create, insert, remove and rename concurrently lose nothing.

use super::keyspace::{keyspace, turn};
use mayhap_engine::keyspace::{CreateError, Entry, Pages, Spec, overhead_bytes};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

#[test]
fn of_several_creations_of_one_name_exactly_one_wins() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 60;
    let keyspace = keyspace();
    let barrier = Barrier::new(THREADS);
    let won = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (keyspace, barrier, won) = (&keyspace, &barrier, &won);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    barrier.wait();
                    let name = format!("{round}");
                    // Of another size each time: sizing takes milliseconds, in which the threads
                    // overlap.
                    let spec = Spec::growing(1, 0.01 + round as f64 * 1e-5, 2);
                    match keyspace.create(name.as_bytes(), spec, 1, None) {
                        Ok(_) => won.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error, CreateError::Exists);
                            0
                        }
                    };
                }
            });
        }
    });
    assert_eq!(won.into_inner(), ROUNDS);
    let all = keyspace.all();
    let bytes = |(name, entry): &(Arc<[u8]>, Arc<Entry>)| {
        entry.info().num_bytes + overhead_bytes(name.len())
    };
    let bytes: u64 = all.iter().map(bytes).sum();
    let found = (all.len() as u64, keyspace.len() as u64, keyspace.used_bytes());
    assert_eq!(found, (ROUNDS, ROUNDS, bytes));
}

/// Each thread renames filters of its own between two names and fills them; all of them share one
/// filter that others rename, and one that is removed and created again and again.
#[test]
fn threads_that_change_names_while_others_insert_lose_no_key() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 300;
    let keyspace = keyspace();
    let spec = Spec::growing(1, 1e-6, 2);
    keyspace.create(b"shared:0", spec, 1, None).unwrap();
    let shared_keys = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (keyspace, shared_keys) = (&keyspace, &shared_keys);
            scope.spawn(move || {
                let mut turn = turn();
                let own = |round: u64| format!("own:{thread}:{}", round % 2).into_bytes();
                keyspace.create(&own(0), spec, 1, None).unwrap();
                for round in 0..ROUNDS {
                    for i in 0..20 {
                        let key = format!("{round}:{i}");
                        let entry = keyspace.get(&own(round), 1).expect("it always has one name");
                        entry.insert(key.as_bytes(), &mut turn).unwrap();
                    }
                    keyspace.rename(&own(round), &own(round + 1), true, 1, None).unwrap();
                    // Another thread may be renaming it at this moment: it has one of two names.
                    let shared = (0..1_000).find_map(|i| {
                        let name = format!("shared:{}", i % 2);
                        keyspace.get(name.as_bytes(), 1)
                    });
                    let shared = shared.expect("the shared filter always exists");
                    shared.insert(format!("{thread}:{round}").as_bytes(), &mut turn).unwrap();
                    shared_keys.fetch_add(1, Ordering::Relaxed);
                    if thread == 0 {
                        let (from, to) = (round % 2, (round + 1) % 2);
                        let name = |i| format!("shared:{i}").into_bytes();
                        keyspace.rename(&name(from), &name(to), true, 1, None).unwrap();
                    }
                    match keyspace.get_or_create(
                        b"comes and goes",
                        (spec, Pages::WhenUsed),
                        1,
                        None,
                    ) {
                        Ok(entry) => assert!(entry.insert(b"x", &mut turn).is_ok()),
                        Err(error) => panic!("{error}"),
                    }
                    keyspace.remove(b"comes and goes", 1, None).unwrap();
                }
            });
        }
    });
    let shared = keyspace.get(format!("shared:{}", ROUNDS % 2).as_bytes(), 1).unwrap();
    assert_eq!(shared_keys.into_inner(), THREADS * ROUNDS);
    for thread in 0..THREADS {
        let own = keyspace.get(format!("own:{thread}:{}", ROUNDS % 2).as_bytes(), 1).unwrap();
        for round in 0..ROUNDS {
            assert!(shared.contains(format!("{thread}:{round}").as_bytes(), 1));
            assert!((0..20).all(|i| own.contains(format!("{round}:{i}").as_bytes(), 1)));
        }
    }
    let mut names: Vec<_> = keyspace.all().into_iter().map(|(name, _)| name.to_vec()).collect();
    names.sort();
    assert_eq!(names.len() as u64, THREADS + 1, "{names:?}");
    let all = keyspace.all().into_iter();
    let bytes = all.map(|(name, entry)| entry.info().num_bytes + overhead_bytes(name.len()));
    let bytes: u64 = bytes.sum();
    assert_eq!(keyspace.used_bytes(), bytes);
}
