//! The growing filter: nothing is forgotten, whatever the batches, threads, unions and files.

use super::{cases, digests};
use mayhap::sizing::scalable::MAX_LAYERS;
use mayhap::{
    Bitmap, Budget, ConcurrentScalableBloomFilter, Digest, DigestFunction, Error, Health,
    ScalableBloomFilter, native,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn chain(first_items: u64, target_fpp: f64) -> ScalableBloomFilter {
    ScalableBloomFilter::new(first_items, target_fpp, DigestFunction::xxh3(11)).unwrap()
}

fn keys(range: core::ops::Range<u64>) -> Vec<Digest> {
    range.map(|key| DigestFunction::xxh3(11).digest(&key)).collect()
}

fn insert(filter: &mut ScalableBloomFilter, digests: &[Digest]) -> Bitmap {
    let mut new = Bitmap::new();
    filter.insert_digests_into(digests, &mut new).unwrap();
    new
}

fn holds(filter: &ScalableBloomFilter, digests: &[Digest]) -> bool {
    let mut found = Bitmap::new();
    filter.contains_digests_into(digests, &mut found);
    let one_at_a_time = digests.iter().all(|&digest| filter.contains_digest(digest));
    assert_eq!(one_at_a_time, found.count_ones() == digests.len());
    one_at_a_time
}

/// For few keys, after which steps are skipped, and for enough that none or one is.
fn first_guesses() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..60, 900u64..1_100]
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn batches_answer_as_one_at_a_time(
        batches in proptest::collection::vec(digests(1_500), 1..6),
        first_items in first_guesses(), exponent in 1i32..10,
    ) {
        let target = 10f64.powi(-exponent);
        let (mut one, mut batch) = (chain(first_items, target), chain(first_items, target));
        for digests in &batches {
            let new = insert(&mut batch, digests);
            let expected: Vec<bool> =
                digests.iter().map(|&digest| one.insert_digest(digest).unwrap()).collect();
            prop_assert_eq!(new.iter().collect::<Vec<_>>(), expected);
            prop_assert!(holds(&batch, digests));
        }
        prop_assert!(native::encode(&one, "") == native::encode(&batch, ""));
        let shared = chain(first_items, target).into_concurrent();
        for digests in &batches {
            let mut new = Bitmap::new();
            shared.insert_digests_into(digests, &mut new).unwrap();
        }
        prop_assert!(batches.iter().flatten().all(|&digest| shared.contains_digest(digest)));
        prop_assert!(native::encode(&shared.into_exclusive(), "") == native::encode(&one, ""));
    }

    #[test]
    fn a_union_holds_the_keys_of_both_and_goes_on(
        left in digests(4_000), right in digests(4_000), more in digests(3_000),
        first_items in first_guesses(),
    ) {
        let (mut ours, mut theirs) = (chain(first_items, 0.01), chain(first_items, 0.01));
        insert(&mut ours, &left);
        insert(&mut theirs, &right);
        ours.union_with(&theirs).unwrap();
        prop_assert!(holds(&ours, &left) && holds(&ours, &right));
        prop_assert!(holds(&theirs, &right));
        insert(&mut ours, &more);
        prop_assert!(holds(&ours, &left) && holds(&ours, &right) && holds(&ours, &more));
        for (params, items) in ours.layers() {
            prop_assert!(items <= params.expected_items(), "overfilled");
        }
        prop_assert!(ours.expected_fpp() <= ours.promised_fpp() * (1.0 + 1e-9));
    }

    #[test]
    fn a_file_brings_back_the_same_chain_and_it_grows_on_identically(
        before in digests(4_000), other in digests(2_000), after in digests(4_000),
        first_items in first_guesses(), exponent in 1i32..10,
    ) {
        let mut filter = chain(first_items, 10f64.powi(-exponent));
        insert(&mut filter, &before);
        let mut united = chain(first_items, 10f64.powi(-exponent));
        insert(&mut united, &other);
        filter.union_with(&united).unwrap();
        filter.set_max_bytes(1 << 30);
        let bytes = native::encode(&filter, "");
        let (mut copy, _) = native::decode_as::<ScalableBloomFilter>(&bytes, None).unwrap();
        prop_assert!(native::encode(&copy, "") == bytes);
        prop_assert!(holds(&copy, &before) && holds(&copy, &other));
        prop_assert_eq!(copy.expected_fpp(), filter.expected_fpp());
        prop_assert_eq!(insert(&mut copy, &after), insert(&mut filter, &after));
        prop_assert!(native::encode(&copy, "") == native::encode(&filter, ""));
    }
}

#[test]
fn a_key_is_new_once_across_growth() {
    let mut filter = chain(10, 1e-9);
    // Every key is inserted twice, sometimes in one batch.
    let twice: Vec<u64> = (0..3000).map(|i| i * 7919 % 1500).collect();
    let mut new = 0;
    for chunk in twice.chunks(130) {
        new += filter.insert_batch(chunk).unwrap().count_ones();
    }
    assert_eq!((new, filter.inserted_items()), (1500, 1500));
    assert!(filter.contains_batch(&twice).iter().all(|found| found));
    assert!(!filter.contains_batch(&[5000u64, 5001]).iter().any(|found| found));
    let estimate = filter.estimated_items();
    assert!(estimate.low <= 1500.0 && 1500.0 <= estimate.high, "{estimate:?}");
}

#[test]
fn keys_that_are_there_never_make_it_grow() {
    for batch in [true, false] {
        let mut filter = chain(100, 1e-6);
        let digests = keys(0..100);
        for _ in 0..5 {
            if batch {
                insert(&mut filter, &digests);
            } else {
                assert!(digests.iter().all(|&digest| filter.insert_digest(digest).is_ok()));
            }
        }
        assert_eq!((filter.num_layers(), filter.inserted_items()), (1, 100));
        filter.insert_digest(keys(100..101)[0]).unwrap();
        assert_eq!(filter.num_layers(), 2);
    }
}

#[test]
fn growth_stops_at_the_limit_and_says_so() {
    let mut filter = chain(100, 0.01);
    assert_eq!(filter.health(), Health::Ok);
    filter.set_max_bytes(20_000);
    let refused = (0..100_000u64).find_map(|key| filter.insert(&key).err()).unwrap();
    assert!(matches!(refused, Error::TooLarge { limit: 20_000, .. }), "{refused}");
    assert!(filter.num_bytes() <= 20_000);
    assert_eq!(filter.health(), Health::NearCapacity);
    let count = filter.inserted_items();
    assert!(count >= 100 && (0..count).all(|key| filter.contains(&key)));
    assert!(!filter.insert(&0u64).unwrap(), "a present key needs no room");
    filter.set_max_bytes(200_000);
    assert_eq!(filter.health(), Health::Ok);
    assert!(filter.insert_batch(&(100_000..100_010u64).collect::<Vec<_>>()).is_ok());
}

#[test]
fn a_cleared_chain_is_as_new() {
    let mut filter = chain(100, 0.001);
    let empty = native::encode(&filter, "");
    insert(&mut filter, &keys(0..5_000));
    assert!(filter.fill_ratio() > 0.2);
    filter.clear();
    assert_eq!((filter.inserted_items(), filter.fill_ratio(), filter.num_layers()), (0, 0.0, 1));
    assert_eq!((filter.expected_fpp(), filter.estimated_fpp()), (0.0, 0.0));
    assert!(native::encode(&filter, "") == empty);
    assert!(insert(&mut filter, &keys(0..5_000)).count_ones() > 4_990);
}

#[test]
fn the_union_of_replicas_is_one_of_them() {
    let (mut ours, mut theirs) = (chain(100, 0.01), chain(100, 0.01));
    insert(&mut ours, &keys(0..2_000));
    insert(&mut theirs, &keys(0..1_500));
    let whole = native::encode(&ours, "");
    ours.union_with(&theirs).unwrap();
    assert!(native::encode(&ours, "") == whole);
    theirs.union_with(&ours).unwrap();
    assert!(native::encode(&theirs, "") == whole);
}

#[test]
fn a_union_that_breaks_the_promise_says_so_and_one_that_does_not_keeps_it() {
    let union = |items: u64| {
        let (mut ours, mut theirs) = (chain(100, 0.01), chain(100, 0.01));
        insert(&mut ours, &keys(0..items));
        insert(&mut theirs, &keys(1 << 32..(1 << 32) + items));
        ours.union_with(&theirs).unwrap();
        ours
    };
    // Two of the first layer: a third of the rate, and later layers share the rest.
    let mut short = union(90);
    assert_eq!((short.num_layers(), short.health()), (2, Health::Ok));
    assert_eq!(short.promised_fpp(), 0.01);
    insert(&mut short, &keys(1000..100_000));
    assert!(short.expected_fpp() <= 0.01 && short.health() == Health::Ok);
    // Ten layers each: nearly the whole rate twice.
    let long = union(1_000_000);
    assert_eq!(long.health(), Health::OverCapacity);
    assert!(long.expected_fpp() > 0.015 && long.promised_fpp() < 0.021);
    let between = union(350);
    assert!(between.expected_fpp() < 0.01 && between.promised_fpp() == 0.01);
}

/// Keys are inserted into the last of the layers of one step, until it has less room than the
/// previous one.
#[test]
fn a_union_that_is_filled_further_comes_back_from_its_file() {
    let (mut ours, mut theirs) = (chain(1_000, 1e-3), chain(1_000, 1e-3));
    insert(&mut ours, &keys(0..800));
    insert(&mut theirs, &keys(10_000..10_600));
    ours.union_with(&theirs).unwrap();
    for round in 0..20 {
        insert(&mut ours, &keys(20_000 + round * 100..20_100 + round * 100));
        let bytes = native::encode(&ours, "");
        let copy = native::decode_as::<ScalableBloomFilter>(&bytes, None);
        let (copy, _) = copy.unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert!(holds(&copy, &keys(0..800)) && holds(&copy, &keys(20_000..20_000 + round * 100)));
        assert!(native::encode(&copy, "") == bytes);
    }
    assert!(ours.num_layers() > 2);
}

#[test]
fn what_cannot_be_united_is_refused_and_nothing_changed() {
    let mut filter = chain(100, 0.01);
    // Two layers that are nearly full.
    insert(&mut filter, &keys(0..3_200));
    let before = native::encode(&filter, "");
    let other = |first, target, seed| {
        let function = DigestFunction::xxh3(seed);
        let mut other = ScalableBloomFilter::new(first, target, function).unwrap();
        insert(&mut other, &keys(5_000..6_000));
        other
    };
    for other in [other(101, 0.01, 11), other(100, 0.02, 11), other(100, 0.01, 12)] {
        let refused = filter.union_with(&other);
        assert!(matches!(refused, Err(Error::Incompatible { .. })), "{refused:?}");
        assert!(native::encode(&filter, "") == before);
    }
    filter.set_max_bytes(filter.num_bytes() + 1_000);
    let refused = filter.union_with(&other(100, 0.01, 11));
    assert!(matches!(refused, Err(Error::TooLarge { field: "filter bytes", .. })), "{refused:?}");
    filter.set_max_bytes(u64::MAX);
    assert!(native::encode(&filter, "") == before);
    let refused = (0..MAX_LAYERS as u64).find_map(|i| {
        let mut other = chain(100, 0.01);
        insert(&mut other, &keys(i << 32..(i << 32) + 1_000));
        filter.union_with(&other).err()
    });
    assert!(matches!(refused, Some(Error::TooLarge { field: "layers", limit: 59, .. })));
}

#[test]
fn forged_headers_are_refused() {
    let mut filter = chain(100, 1e-4);
    insert(&mut filter, &keys(0..15_000));
    assert_eq!(filter.num_layers(), 4);
    let bytes = native::encode(&filter, "");
    let forged = |offset: usize, value: u64| {
        let mut bytes = bytes.clone();
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        // XXH3-64 of the header, as its last 8 bytes.
        let checksum = DigestFunction::xxh3(0).digest(&bytes[..4088]).get();
        bytes[4088..4096].copy_from_slice(&checksum.to_le_bytes());
        native::decode_as::<ScalableBloomFilter>(&bytes, None).err()
    };
    let at = |offset: usize| u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap());
    assert_eq!(forged(40, at(40)), None, "nothing changed");
    // num_bits, first guess, target, inserted, unused numbers; the limit may be any.
    for (offset, value) in [(24, 512), (40, 0), (40, 99), (48, 0), (56, 1), (80, 1), (120, 1)] {
        assert!(forged(offset, value).is_some(), "{offset}");
    }
    assert_eq!(forged(72, 5), None);
    for entry in [2176, 2176 + 32, 2176 + 96] {
        let numbers = at(entry);
        for value in [0, numbers ^ 1, numbers ^ 3 << 16, numbers ^ 1 << 32, 1 << 63, u64::MAX] {
            assert!(forged(entry, value).is_some(), "{entry} {value:x}");
        }
        for (offset, value) in [(8, 0), (8, 1 << 56), (8, 513), (16, 0), (16, 1), (24, u64::MAX)] {
            assert!(forged(entry + offset, value).is_some(), "{entry} + {offset}: {value}");
        }
    }
}

/// Threads that share half of their keys meet in every layer and at every growth.
#[test]
fn threads_lose_no_key_while_it_grows() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    for (round, target) in [0.01, 1e-6].into_iter().enumerate() {
        let shared =
            ConcurrentScalableBloomFilter::new(1, target, DigestFunction::xxh3(11)).unwrap();
        let told_new = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (shared, told_new) = (&shared, &told_new);
                scope.spawn(move || {
                    // Half of every thread's keys are the next thread's too.
                    let mine = keys(thread * EACH / 2..thread * EACH / 2 + EACH);
                    let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
                    let mut count = 0;
                    for (i, chunk) in mine.chunks(37 + 600 * round).enumerate() {
                        if i % 3 == 0 {
                            count += chunk
                                .iter()
                                .filter(|&&digest| shared.insert_digest(digest).unwrap())
                                .count();
                        } else {
                            shared.insert_digests_into(chunk, &mut new).unwrap();
                            count += new.count_ones();
                        }
                        shared.contains_digests_into(chunk, &mut found);
                        assert_eq!(found.count_ones(), chunk.len(), "a thread's own keys");
                    }
                    told_new.fetch_add(count as u64, Ordering::Relaxed);
                });
            }
        });
        let distinct = (THREADS + 1) * EACH / 2;
        let all = keys(0..distinct);
        assert!(shared.contains_batch(&[0u64, distinct - 1]).iter().all(|found| found));
        // Every key but the false positives was new to some thread.
        let (new, items) = (told_new.into_inner(), shared.inserted_items());
        // At 1e-6 none is expected, and one in 50 runs has one: the order of threads is chance.
        let most = distinct as f64 * 2.0 * target + 3.0;
        assert!(distinct as f64 - new as f64 <= most, "{new} of {distinct}");
        assert_eq!(new, items);
        let mut filter = shared.into_exclusive();
        assert_eq!(filter.inserted_items(), items);
        assert!(holds(&filter, &all));
        assert!(filter.layers().all(|(params, items)| items <= params.expected_items()));
        assert!(filter.expected_fpp() <= target);
        assert_eq!(insert(&mut filter, &all).count_ones(), 0);
        // Measured by `distinct`, not by `items`: a thread that is stopped between its query and
        // its insertion can count a batch that another one has counted.
        let estimate = filter.estimated_items();
        assert!((estimate.items / distinct as f64 - 1.0).abs() < 0.05, "{estimate:?}");
    }
}

#[test]
fn at_least_one_thread_that_inserts_a_key_during_growth_gets_new() {
    for seed in 0..300 {
        let filter = chain(8, 1e-9);
        let shared = filter.into_concurrent();
        // The first layer is full except for one place.
        assert_eq!(shared.insert_batch(&(0..7u64).collect::<Vec<_>>()).unwrap().count_ones(), 7);
        let told = AtomicU64::new(0);
        let barrier = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (shared, told, barrier) = (&shared, &told, &barrier);
                scope.spawn(move || {
                    let race = [1000 + seed, 2000 + seed];
                    barrier.wait();
                    let new = if thread == 0 {
                        race.map(|key| shared.insert(&key).unwrap())
                    } else {
                        let new = shared.insert_batch(&race).unwrap();
                        [new.get(0), new.get(1)]
                    };
                    told.fetch_add(u64::from(new[0]) | u64::from(new[1]) << 32, Ordering::Relaxed);
                });
            }
        });
        let told = told.into_inner();
        let told = [told as u32, (told >> 32) as u32];
        assert!(told.iter().all(|count| (1..=3).contains(count)), "{told:?}");
        assert!(shared.contains(&(1000 + seed)) && shared.contains(&(2000 + seed)));
        assert!(shared.num_layers() >= 2);
    }
}

#[test]
fn a_shared_chain_stops_at_its_limit() {
    let mut filter = chain(100, 0.01);
    filter.set_max_bytes(20_000);
    let shared = filter.into_concurrent();
    let refused = shared.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
    assert!(matches!(refused, Err(Error::TooLarge { limit: 20_000, .. })), "{refused:?}");
    assert!(shared.num_bytes() <= 20_000 && shared.inserted_items() >= 100);
    assert!((0..100u64).all(|key| shared.contains(&key)));
    let mut filter = shared.into_exclusive();
    assert_eq!(filter.max_bytes(), 20_000);
    assert!(filter.insert_digest(keys(200_000..200_001)[0]).is_err());
}

/// Keys that a thread had inserted before the copy began are in the copy, whatever the others do.
#[test]
fn a_snapshot_holds_what_came_before_while_threads_go_on_and_it_grows() {
    let shared = ConcurrentScalableBloomFilter::new(4, 1e-6, DigestFunction::xxh3(11)).unwrap();
    let started = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (shared, started) = (&shared, &started);
            scope.spawn(move || {
                let mut new = Bitmap::new();
                for (i, chunk) in keys(thread << 32..(thread << 32) + 40_000).chunks(61).enumerate()
                {
                    shared.insert_digests_into(chunk, &mut new).unwrap();
                    started.store(i as u64, Ordering::Relaxed);
                }
            });
        }
        let mut mine = Vec::new();
        for round in 0..40u64 {
            let more = keys((9 << 32) + round * 50..(9 << 32) + round * 50 + 50);
            for &digest in &more {
                shared.insert_digest(digest).unwrap();
            }
            mine.extend(more);
            let copy = shared.snapshot().unwrap();
            assert!(holds(&copy, &mine), "round {round}");
            let sound = copy.layers().all(|(params, items)| items <= params.expected_items());
            assert!(sound && copy.expected_fpp() <= 1e-6);
            let bytes = native::encode(&copy, "");
            let (read, _) = native::decode_as::<ScalableBloomFilter>(&bytes, None).unwrap();
            assert_eq!(read.num_layers(), copy.num_layers());
        }
    });
    assert!(started.into_inner() > 0);
    let copy = shared.snapshot().unwrap();
    assert_eq!(copy.inserted_items(), shared.inserted_items());
    assert_eq!(copy.fill_ratio(), shared.fill_ratio());
    assert_eq!(copy.estimated_fpp(), shared.estimated_fpp());
    assert_eq!(copy.expected_fpp(), shared.expected_fpp());
    assert_eq!(copy.estimated_items(), shared.estimated_items());
    shared.prepare_growth();
    let made_for: u64 = copy.layers().map(|(params, _)| params.expected_items()).sum();
    assert_eq!(made_for, shared.capacity());
    assert!(native::encode(&copy, "") == native::encode(&shared.into_exclusive(), ""));
}

#[test]
fn filters_of_one_budget_never_take_more_however_many_threads_grow_them() {
    let budget = Budget::new(400_000);
    let filters: Vec<_> = (0..3)
        .map(|_| {
            let mut filter =
                ConcurrentScalableBloomFilter::new(2, 0.01, DigestFunction::xxh3(11)).unwrap();
            filter.set_charge(budget.charge(filter.num_bytes()).unwrap());
            filter
        })
        .collect();
    let refused = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (filters, budget, refused) = (&filters, &budget, &refused);
            scope.spawn(move || {
                for (i, &digest) in keys(thread << 32..(thread << 32) + 150_000).iter().enumerate()
                {
                    match filters[i % 3].insert_digest(digest) {
                        Ok(_) => {}
                        Err(Error::TooLarge { field: Budget::FIELD, limit, found }) => {
                            assert!(limit == 400_000 && found > limit);
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                    assert!(i % 64 != 0 || budget.used() <= budget.limit());
                }
            });
        }
    });
    assert!(refused.into_inner() > 0, "nothing was refused");
    // All but one of the threads that created one layer at once have freed theirs.
    let sum: u64 = filters.iter().map(ConcurrentScalableBloomFilter::num_bytes).sum();
    assert_eq!(budget.used(), sum);
    let exclusive: Vec<_> =
        filters.into_iter().map(ConcurrentScalableBloomFilter::into_exclusive).collect();
    assert_eq!((budget.used(), exclusive.len()), (0, 3));
    let charge = budget.charge(10).unwrap();
    charge.force(400_000);
    assert!(budget.left() == 0 && charge.add(1).is_err() && budget.charge(1).is_err());
    drop(charge);
    assert_eq!(budget.left(), 400_000);
}

#[test]
fn a_first_layer_that_was_sized_before_gives_the_same_chain() {
    let layer = mayhap::sizing::scalable::chain_layer(500, 1e-4, 0, 0.0).unwrap();
    let function = DigestFunction::xxh3(11);
    let mut sized = ScalableBloomFilter::with_first_layer(layer, 500, 1e-4, function).unwrap();
    let mut chain = chain(500, 1e-4);
    for filter in [&mut sized, &mut chain] {
        insert(filter, &keys(0..5_000));
    }
    assert!(native::encode(&sized, "") == native::encode(&chain, ""));
    assert!(ScalableBloomFilter::with_first_layer(layer, 501, 1e-4, function).is_err());
    assert!(ScalableBloomFilter::with_first_layer(layer, 500, 2.0, function).is_err());
}
