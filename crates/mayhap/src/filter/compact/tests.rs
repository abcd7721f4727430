//! A compact filter against a multiset of its fingerprints, and its levels against their
//! distribution.

use super::CompactFilter;
use super::table::MAX_COPIES;
use crate::positions::splitmix64;
use crate::sizing::compact::CompactParams;
use crate::{Bitmap, Digest, DigestFunction, Error, Health};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

fn empty(items: u64, fpp: f64) -> CompactFilter {
    let params = CompactParams::for_items(items, fpp).unwrap();
    CompactFilter::empty(params, DigestFunction::default()).unwrap()
}

/// Fingerprints and their copies.
type Model = BTreeMap<u64, u32>;

fn of(filter: &CompactFilter) -> Model {
    let mut model = Model::new();
    filter.for_each_fingerprint(|number, copies| assert!(model.insert(number, copies).is_none()));
    model
}

/// A filter of these parameters into which the copies were inserted, in order.
fn filled(params: CompactParams, model: &Model) -> CompactFilter {
    let mut filter = CompactFilter::empty(params, DigestFunction::default()).unwrap();
    for (&number, &copies) in model {
        for _ in 0..copies {
            filter.insert_fingerprint(filter.table.of_number(number)).unwrap();
        }
    }
    filter
}

/// Digests of few values, so that keys, fingerprints and their neighbours repeat.
fn digest(i: u64, spread: u64) -> Digest {
    Digest::new(splitmix64(splitmix64(i) % spread))
}

/// Steps at random against the model: what the filter says, what it holds and that its bits follow
/// from that alone.
fn walk(params: CompactParams, steps: u64, seed: u64) {
    let mut filter = CompactFilter::empty(params, DigestFunction::default()).unwrap();
    let mut model = Model::new();
    let items = params.expected_items();
    let spread = items + 1 + splitmix64(seed) % (items * 2);
    let (mut refused, mut fullest) = (0, 0);
    for step in 0..steps {
        let random = splitmix64(seed ^ splitmix64(step));
        let digest = digest(random >> 8, spread);
        let number = filter.table.number(filter.table.fingerprint(digest));
        let copies = model.get(&number).copied().unwrap_or(0);
        assert_eq!(filter.contains_digest(digest), copies > 0);
        assert_eq!(filter.count_digest(digest), copies);
        // Waves of filling and emptying.
        let fills = (step / (items * 4)).is_multiple_of(2);
        fullest = fullest.max(filter.inserted_items());
        match (random % 8, fills) {
            (0 | 1, _) | (2..=4, true) => match filter.insert_digest(digest) {
                Ok(new) => {
                    assert_eq!(new, copies == 0);
                    model.insert(number, (copies + 1).min(MAX_COPIES));
                }
                Err(Error::Full { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            },
            (5, true) => match filter.insert_absent_digest(digest) {
                Ok(new) => {
                    assert_eq!(new, copies == 0);
                    model.entry(number).or_insert(1);
                }
                Err(_) => refused += 1,
            },
            _ => {
                let removes = (1..MAX_COPIES).contains(&copies);
                assert_eq!(filter.remove_digest(digest), removes);
                if removes && copies == 1 {
                    model.remove(&number);
                } else if removes {
                    model.insert(number, copies - 1);
                }
            }
        }
        if step % (steps / 8) == 0 || step + 1 == steps {
            assert_eq!(of(&filter), model);
            assert_eq!(
                filter.inserted_items(),
                model.values().map(|&copies| u64::from(copies)).sum()
            );
            assert!(filter.is_sound());
            let again = filled(*filter.params(), &model);
            assert_eq!(again.body(), filter.body(), "the bits follow from the copies");
        }
    }
    assert!(refused > 0 && fullest as f64 > items as f64 * 0.3, "{fullest} of {items}");
}

#[test]
fn it_is_a_multiset_of_fingerprints() {
    let rates = [0.9, 0.25, 0.04, 0.01, 1e-3, 1e-6, 1e-9, 1e-12];
    let steps = if cfg!(miri) { 300 } else { 20_000 };
    for (i, fpp) in (0..).zip(rates) {
        for items in [1, 10, 200, 3_000] {
            walk(CompactParams::for_items(items, fpp).unwrap(), steps, i * 100 + items);
        }
    }
}

/// Buckets that are made for fewer keys than come, so that every level and the attic overflow.
#[test]
fn it_is_one_on_every_level_up_to_the_last_place() {
    for (seed, (fpp, items)) in (0..).zip([(0.04, 900), (0.01, 700), (1e-6, 400), (1e-12, 250)]) {
        let small = CompactParams::for_items(items / 9, fpp).unwrap();
        let (fronts, runs, bits) = (small.num_fronts(), small.runs(), small.remainder_bits());
        let params = CompactParams::new(fronts, runs, bits, items, fpp).unwrap();
        walk(params, if cfg!(miri) { 300 } else { 30_000 }, seed);
    }
}

#[test]
fn an_insertion_without_room_changes_nothing() {
    let mut filter = empty(1, 0.01);
    let mut i = 0;
    let error = loop {
        i += 1;
        if let Err(error) = filter.insert(&i) {
            break error;
        }
    };
    let inserted_items = filter.inserted_items();
    assert_eq!(error, Error::Full { expected_items: 1, inserted_items });
    let before = filter.body().to_vec();
    for key in i..i + 100 {
        assert!(filter.insert(&key).is_err() || filter.contains(&key));
    }
    assert!((1..i).all(|key| filter.contains(&key)));
    let mut twin = empty(1, 0.01);
    twin.insert(&1u64).unwrap();
    assert!(twin.union_with(&filter).is_err());
    assert_eq!((twin.inserted_items(), twin.contains(&2u64)), (1, false));
    assert!(before.len() == filter.body().len());
}

#[test]
fn one_that_grows_takes_more_keys_at_its_rate() {
    let function = DigestFunction::default();
    let digests: Vec<Digest> = (0..20_000u64).map(|key| function.digest(&key)).collect();
    let builder = CompactFilter::builder().expected_items(100).target_fpp(1e-3).grows(true);
    let (mut batches, mut single) = (builder.clone().build().unwrap(), builder.build().unwrap());
    let mut new = Bitmap::new();
    for (i, part) in digests.chunks(997).enumerate() {
        batches.insert_digests_into(part, &mut new).unwrap();
        let one_by_one = part.iter().map(|&digest| single.insert_digest(digest).unwrap());
        assert!(one_by_one.eq(new.iter()), "part {i}");
    }
    assert_eq!((batches.body(), batches.inserted_items()), (single.body(), 20_000));
    assert!(batches.contains_batch(&(0..20_000u64).collect::<Vec<_>>()).iter().all(|is| is));
    assert_eq!((batches.params().expected_items(), batches.health()), (25_600, Health::Ok));
    assert!(batches.estimated_fpp() <= 1e-3);
    batches.set_max_bytes(batches.num_bytes() + 1);
    let more = (20_000..30_000u64).map(|key| function.digest(&key)).collect::<Vec<_>>();
    let error = batches.insert_absent_digests_into(&more, &mut new).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(batches.inserted_items(), 25_600);
}

/// So that a caller can go on with the key that was refused, and stores no copy twice.
#[test]
fn a_batch_without_room_says_how_many_keys_it_stored() {
    let digests: Vec<Digest> = (0..500u64).map(|key| empty(1, 0.01).digest(&(key / 2))).collect();
    for (items, grows) in
        [(1, false), (63, false), (64, false), (65, false), (300, false), (60, true)]
    {
        for only_absent in [false, true] {
            let mut filter = empty(items, 1e-6);
            filter.set_grows(grows);
            filter.set_max_bytes(filter.num_bytes() * 2 + 2_000);
            let mut twin = filter.try_clone().unwrap();
            let mut new = Bitmap::new();
            let result = if only_absent {
                filter.insert_absent_digests_into(&digests, &mut new)
            } else {
                filter.insert_digests_into(&digests, &mut new)
            };
            let one_by_one = digests.iter().map_while(|&digest| {
                let one = if only_absent {
                    twin.insert_absent_digest(digest)
                } else {
                    twin.insert_digest(digest)
                };
                one.ok()
            });
            assert!(one_by_one.eq(new.iter()), "{items} {grows} {only_absent}");
            assert_eq!(result.is_ok(), new.len() == digests.len());
            assert_eq!(
                (filter.body(), filter.inserted_items()),
                (twin.body(), twin.inserted_items())
            );
        }
    }
}

#[test]
fn one_key_a_million_times_among_others() {
    let mut filter = empty(20_000 + u64::from(MAX_COPIES), 1e-3);
    for i in 0..20_000u64 {
        filter.insert(&i).unwrap();
        for _ in 0..if cfg!(miri) { 1 } else { 50 } {
            filter.insert("again").unwrap();
        }
        // In a bucket with room, and in a full one.
        assert_eq!(filter.remove("again"), cfg!(miri) && i < 14, "after {i} others");
        filter.insert("again").unwrap();
    }
    assert!((0..20_000u64).all(|i| filter.contains(&i)) && filter.contains("again"));
    assert_eq!((filter.count("again"), filter.stuck()), (MAX_COPIES, 1));
    assert!(!filter.remove("again") && filter.contains("again"));
}

#[test]
fn union_of_two_is_one_filled_with_both() {
    for (items, fpp) in [(50, 0.01), (3_000, 1e-4), (3_000, 0.04)] {
        let (mut left, mut right, mut both) =
            (empty(items, fpp), empty(items, fpp), empty(items, fpp));
        for i in 0..items / 2 {
            left.insert(&i).unwrap();
            right.insert(&(i + items / 4)).unwrap();
            both.insert(&i).unwrap();
        }
        (0..items / 2).for_each(|i| assert!(both.insert(&(i + items / 4)).is_ok()));
        left.union_with(&right).unwrap();
        assert_eq!((left.body(), left.inserted_items()), (both.body(), both.inserted_items()));
    }
}

#[test]
fn doubling_keeps_the_fingerprints_and_spends_the_reserve() {
    let builder = CompactFilter::builder().expected_items(500).target_fpp(1e-3).doublings(3);
    let mut filter = builder.build().unwrap();
    let mut keys = 0..500u64;
    for _ in 0..3 {
        (&mut keys).for_each(|key| assert!(filter.insert(&key).is_ok()));
        let larger = filter.doubled().unwrap();
        assert_eq!(of(&larger), of(&filter));
        keys = filter.params().expected_items()..larger.params().expected_items();
        filter = larger;
    }
    keys.for_each(|key| assert!(filter.insert(&key).is_ok()));
    assert!((0..4_000u64).all(|key| filter.contains(&key)));
    assert_eq!((filter.params().expected_items(), filter.params().target_fpp()), (4_000, 1e-3));
    assert!(filter.expected_fpp(4_000) <= 1e-3);
}

#[test]
fn sizes_are_those_of_the_page() {
    let bits = |fpp| {
        let params = CompactParams::for_items(100_000_000, fpp).unwrap();
        assert!(params.expected_fpp(100_000_000) <= fpp);
        params.num_bytes() as f64 * 8.0 / 1e8
    };
    let found = [0.01, 1e-3, 1e-4, 1e-6].map(|fpp| (bits(fpp) * 1e3) as u32);
    assert_eq!(found, [9383, 13018, 16510, 24037]);
}

#[test]
fn forged_numbers_are_refused_and_never_overflow() {
    let big = [0, 1, 2, 511, 512, 1 << 31, 1 << 45, 1 << 46, 1 << 60, 1 << 63, u64::MAX];
    for fronts in big {
        for runs in [0, 1, 200, 511, 512, 1023, u32::MAX] {
            for bits in [0, 1, 20, 40, 56, 57, 63, 64, u32::MAX] {
                for items in big {
                    let Ok(params) = CompactParams::new(fronts, runs, bits, items, 0.01) else {
                        continue;
                    };
                    assert!(params.num_bytes() < 1 << 58 && params.num_fingerprints() > 0);
                    assert!((0.0..=1.0).contains(&params.expected_fpp(items)));
                }
            }
        }
    }
    assert!(CompactParams::for_items(u64::MAX, 0.5).is_err());
    assert!(CompactParams::for_bytes(u64::MAX, u64::MAX).is_err());
    assert!(CompactParams::largest(u64::MAX, 0.01).is_ok());
}

/// Loads are lowered for small filters alone, and everything can be sized.
#[test]
#[cfg_attr(miri, ignore = "sums of floats, too many for the interpreter")]
fn every_rate_and_number_of_keys_has_a_size() {
    let steps = (0..=40).map(|i| 10f64.powf(-0.6 - f64::from(i) * 0.285));
    for fpp in steps {
        for items in [1, 30, 1_000, 30_000, 1_000_000, 100_000_000, 1_000_000_000] {
            let params = match CompactParams::for_items(items, fpp) {
                Err(Error::FppUnreachable { lowest_fpp, .. }) if lowest_fpp > fpp => continue,
                params => params.unwrap(),
            };
            assert!(params.expected_fpp(items) <= fpp);
            let least = items as f64 * (-fpp.log2() + 1.44);
            let bits = params.num_bytes() as f64 * 8.0;
            if items >= 1_000_000 && fpp < 0.06 {
                assert!(bits < least * 1.25, "{items} {fpp:e} {}", bits / least);
            }
        }
    }
}

/// Steps at random, each answer compared: 2 million, or as many as `COMPACT_STEPS` says.
#[test]
#[cfg(feature = "std")]
fn every_answer_of_many_steps_is_the_models() {
    let steps = std::env::var("COMPACT_STEPS").ok().and_then(|steps| steps.parse().ok());
    let steps = steps.unwrap_or(if cfg!(miri) { 500 } else { 2_000_000_u64 });
    let (items, keys) = (100_000, 150_000_u64);
    for (part, fpp) in (0..).zip([0.01, 1e-4]) {
        let mut filter = empty(items, fpp);
        // Keys with the same fingerprint share a count.
        let digests: Vec<Digest> = (0..keys).map(|key| filter.digest(&key)).collect();
        let number = |digest: &Digest| filter.table.number(filter.table.fingerprint(*digest));
        let mut numbers: Vec<u64> = digests.iter().map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |digest| numbers.binary_search(&number(digest)).expect("it is there");
        let places: Vec<usize> = digests.iter().map(place).collect();
        let mut counts = alloc::vec![0u32; numbers.len()];
        let (mut stored, mut fullest) = (0, 0);
        for step in 0..steps / 2 {
            let random = splitmix64(part << 60 | step);
            let key = (random >> 32) as usize % keys as usize;
            let (digest, count) = (digests[key], &mut counts[places[key]]);
            let has_room = stored < items;
            // Waves: more insertions than removals, then fewer.
            let inserts = if (step / 400_000).is_multiple_of(2) { 9 } else { 5 };
            match random % 16 {
                choice if choice < inserts + 1 => {
                    let only_absent = choice == inserts;
                    let result = if only_absent {
                        filter.insert_absent_digest(digest)
                    } else {
                        filter.insert_digest(digest)
                    };
                    let most = if only_absent { 1 } else { MAX_COPIES };
                    if let Ok(new) = result {
                        assert_eq!(new, *count == 0, "step {step}");
                        stored += u64::from(*count < most);
                        *count += u32::from(*count < most);
                    } else {
                        // Or earlier, where keys have many copies.
                        assert!(!has_room || stored * 10 > items * 7, "step {step}: {stored}");
                        assert!(*count < most, "step {step}");
                    }
                }
                choice if choice < 14 => {
                    let removes = (1..MAX_COPIES).contains(count);
                    assert_eq!(filter.remove_digest(digest), removes, "step {step}");
                    *count -= u32::from(removes);
                    stored -= u64::from(removes);
                }
                _ => assert_eq!(filter.count_digest(digest), *count, "step {step}"),
            }
            fullest = fullest.max(stored);
        }
        assert_eq!((filter.inserted_items(), filter.is_sound()), (stored, true));
        assert!(steps < 2_000_000 || fullest == items, "full once: {fullest}");
    }
}

#[test]
fn doubling_ends_with_the_remainders() {
    let mut filter = empty(300, 0.06);
    (0..300u64).for_each(|key| assert!(filter.insert(&key).is_ok()));
    let keys: Vec<u64> = (0..300).collect();
    while filter.params().remainder_bits() > 0 {
        filter = filter.doubled().unwrap();
        assert_eq!(filter.contains_batch(&keys).count_ones(), 300);
    }
    assert!(keys.iter().all(|key| filter.contains(key) && filter.count(key) > 0));
    let absent: Vec<u64> = (300..3_000).collect();
    let single = absent.iter().map(|key| filter.contains(key));
    assert!(filter.contains_batch(&absent).iter().eq(single));
    assert!(matches!(filter.doubled(), Err(Error::OutOfRange { found: 0, .. })));
    assert!(filter.remove(&7u64) && !filter.contains(&7u64));
}

/// Many threads that insert and remove, in order for each key, against the counts that they leave.
#[test]
#[cfg(feature = "std")]
#[cfg_attr(miri, ignore = "too many keys for the interpreter")]
fn threads_leave_what_each_of_them_stored() {
    let function = DigestFunction::default();
    let shared = super::ConcurrentCompactFilter::new(40_000, 1e-6, function).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let shared = &shared;
            scope.spawn(move || {
                for key in (0..10_000).map(|i| i * 4 + thread) {
                    assert!(shared.insert(&key).is_ok());
                    if key % 3 == 0 {
                        assert!(shared.remove(&key) && shared.count(&key) < 2);
                    } else {
                        assert!(shared.contains(&key));
                    }
                }
            });
        }
    });
    let kept = |key: &u64| !key.is_multiple_of(3);
    assert_eq!(shared.inserted_items(), (0..40_000).filter(kept).count() as u64);
    for key in 40_000.. {
        if shared.insert(&key).is_err() {
            break;
        }
    }
    // As many as it is made for, wherever they are, and no more.
    assert_eq!(shared.inserted_items(), 40_000);
    assert!(shared.num_bytes() < shared.params().num_bytes() * 3 / 2);
    let found = (0..40_000).filter(|key| shared.contains(key)).count();
    let whole = shared.into_filter().unwrap();
    assert_eq!((0..40_000u64).filter(|key| whole.contains(key)).count(), found);
    assert!(whole.is_sound() && whole.inserted_items() == 40_000);
    assert!((0..40_000).filter(kept).all(|key| whole.contains(&key)));
}
