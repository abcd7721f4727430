//! Many threads: the same bits as one, none lost, and at least one gets "new".

use super::{cases, digests, empty, shape, shapes, with_layout};
use mayhap::{Digest, FilterParams, Layout, LayoutKind};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn many_threads_set_the_bits_of_one(
        params in shapes(), digests in digests(400), threads in 2usize..=4,
    ) {
        with_layout!(threads_equal_one(params, &digests, threads))?;
    }

    #[test]
    fn a_shared_filter_answers_as_an_owned_one(
        params in shapes(), inserted in digests(200), asked in digests(200),
    ) {
        with_layout!(shared_equals_owned(params, &inserted, &asked))?;
    }
}

/// All threads insert each key at once, repeatedly.
#[test]
fn exactly_one_of_all_inserters_of_a_key_gets_new() {
    const THREADS: usize = 4;
    const KEYS: u64 = 20_000;
    let told = |insert: &(dyn Fn(u64) -> bool + Sync)| {
        let (told, barrier) = (AtomicU64::new(0), std::sync::Barrier::new(THREADS));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for start in (0..KEYS).step_by(100) {
                        barrier.wait();
                        let new = (start..start + 100).filter(|&key| insert(key)).count();
                        told.fetch_add(new as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        told.into_inner()
    };
    for layout in [Layout::Standard, Layout::Blocked] {
        let params = mayhap::sizing::for_items(layout, KEYS, 1e-12).unwrap();
        let new = if layout == Layout::Standard {
            let once = empty::<mayhap::Standard>(params).into_concurrent().insert_once();
            let new = told(&|key| once.insert(&key));
            assert!((0..KEYS).all(|key| once.contains(&key)) && !once.contains(&KEYS));
            new
        } else {
            let once = empty::<mayhap::Blocked>(params).into_concurrent().insert_once();
            let new = told(&|key| once.insert(&key));
            assert!((0..KEYS).all(|key| once.as_filter().contains(&key)));
            assert!(!once.into_filter().insert(&7u64));
            new
        };
        assert_eq!(new, KEYS, "{layout:?}");
    }
}

fn threads_equal_one<L: LayoutKind>(
    params: FilterParams,
    digests: &[Digest],
    threads: usize,
) -> Result<(), TestCaseError> {
    let mut one = empty::<L>(params);
    let news_of_one = one.insert_digests(digests).count_ones();
    let shared = empty::<L>(params).into_concurrent();
    let news = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // Every thread inserts half of its neighbour's keys too, so that they meet.
        for (i, chunk) in digests.chunks(digests.len().div_ceil(threads).max(1)).enumerate() {
            let (shared, news) = (&shared, &news);
            scope.spawn(move || {
                let mine = if i % 2 == 0 {
                    shared.insert_digests(chunk).count_ones()
                } else {
                    chunk.iter().filter(|&&digest| shared.insert_digest(digest)).count()
                };
                news.fetch_add(mine, Ordering::Relaxed);
                assert!(chunk.iter().all(|&d| shared.contains_digest(d)), "a thread's own keys");
            });
        }
    });
    // Each key whose bits were not all set needs at least one "new"; bits decide how many more.
    let news = news.into_inner();
    prop_assert!(news <= digests.len() && (news_of_one == 0) == (news == 0));
    prop_assert_eq!(shared.contains_digests(digests).count_ones(), digests.len());
    let snapshot = shared.snapshot().unwrap();
    prop_assert!(snapshot.storage().as_ref() == one.storage().as_ref());
    let exclusive = shared.into_exclusive();
    prop_assert!(exclusive.storage().as_ref() == one.storage().as_ref());
    let counted = params.expected_inserted(one.estimated_items().rounded());
    prop_assert!((exclusive.inserted_items() as f64 - counted).abs() <= 1.0);
    prop_assert_eq!(snapshot.inserted_items(), exclusive.inserted_items());
    Ok(())
}

fn shared_equals_owned<L: LayoutKind>(
    params: FilterParams,
    inserted: &[Digest],
    asked: &[Digest],
) -> Result<(), TestCaseError> {
    let mut owned = empty::<L>(params);
    let (shared, in_batch) =
        (empty::<L>(params).into_concurrent(), empty::<L>(params).into_concurrent());
    let expected: Vec<bool> = inserted.iter().map(|&d| owned.insert_digest(d)).collect();
    let single: Vec<bool> = inserted.iter().map(|&d| shared.insert_digest(d)).collect();
    let batch: Vec<bool> = in_batch.insert_digests(inserted).iter().collect();
    prop_assert_eq!(&single, &expected);
    prop_assert_eq!(&batch, &expected);
    prop_assert_eq!(shared.contains_digests(asked), owned.contains_digests(asked));
    prop_assert!(asked.iter().all(|&d| shared.contains_digest(d) == owned.contains_digest(d)));
    prop_assert_eq!(shared.fill_ratio(), owned.fill_ratio());
    prop_assert_eq!(shared.estimated_fpp(), owned.estimated_fpp());
    prop_assert_eq!(shared.estimated_items(), owned.estimated_items());
    Ok(())
}

/// A word that both threads write all the time: load and store instead of `fetch_or` loses bits.
#[test]
fn no_bit_is_lost_where_every_insertion_meets_another() {
    let (rounds, keys) = if cfg!(miri) { (1, 40) } else { (400, 2000) };
    for (layout, bits) in [(Layout::Standard, 64 * 200), (Layout::Blocked, 512 * 20)] {
        with_layout!(hammer(shape(layout, bits, 8), rounds, keys));
    }
}

const THREADS: u64 = 2;

fn hammer<L: LayoutKind>(params: FilterParams, rounds: u64, keys: u64) {
    for round in 0..rounds {
        let filter = empty::<L>(params).into_concurrent();
        let digest = |i: u64| filter.digest(&(round << 32 | i));
        // All at once, which takes less time than to start a thread.
        let here = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (filter, digest, here) = (&filter, &digest, &here);
                scope.spawn(move || {
                    let digests: Vec<Digest> =
                        (thread..keys).step_by(THREADS as usize).map(digest).collect();
                    here.fetch_add(1, Ordering::Relaxed);
                    while here.load(Ordering::Relaxed) < THREADS {
                        std::thread::yield_now();
                    }
                    for digest in digests {
                        filter.insert_digest(digest);
                    }
                });
            }
        });
        let mut one = empty::<L>(params);
        (0..keys).for_each(|i| {
            one.insert_digest(digest(i));
        });
        assert!(filter.into_exclusive().storage().as_ref() == one.storage().as_ref());
    }
}

#[test]
fn a_snapshot_taken_while_others_insert_holds_what_came_before() {
    let params = shape(Layout::Blocked, 512 * 100, 8);
    let filter = empty::<mayhap::Blocked>(params).into_concurrent();
    let early: Vec<u64> = (0..500).collect();
    filter.insert_batch(&early);
    std::thread::scope(|scope| {
        scope.spawn(|| (500..1000u64).filter(|key| filter.insert(key)).count());
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let snapshot = filter.snapshot().unwrap();
            assert_eq!(snapshot.contains_batch(&early).count_ones(), early.len());
        }
    });
}
