//! Excessive requests are refused, and the refusal states why. That nothing is allocated for them
//! is tested in a process of its own by `tests/refusals.rs`.

use super::keyspace::{KEY, keyspace, numbered, turn, with_words};
use mayhap_engine::Words;
use mayhap_engine::keyspace::{
    CreateError, Hash, InsertError, Keyspace, Options, Pages, Shape, Spec, TooLarge, WrongKind,
};
use proptest::prelude::*;

#[test]
fn a_refusal_says_what_was_asked_the_limit_and_the_setting() {
    let options = Options { max_filter_bytes: 1 << 20, max_memory: 1 << 21, ..Options::new(KEY) };
    let keyspace = Keyspace::new(options);
    let refused = keyspace.create(b"a", Spec::growing(10_000_000, 0.01, 2), 1, None).unwrap_err();
    let CreateError::TooLarge(TooLarge { requested, limit, setting }) = &refused else { panic!() };
    assert!(*requested > 10_000_000 && *limit == 1 << 20 && *setting == "max_filter_bytes");
    assert!(refused.to_string().contains("1048576 (max_filter_bytes)"), "{refused}");
    for name in [b"a", b"b"] {
        keyspace.create(name, Spec::fixed(700_000, 0.01), 1, None).unwrap();
    }
    let used = keyspace.used_bytes();
    let refused = keyspace.create(b"c", Spec::fixed(700_000, 0.01), 1, None).unwrap_err();
    let CreateError::TooLarge(TooLarge { requested, limit, setting }) = &refused else { panic!() };
    assert!(*requested > used && *limit == 1 << 21 && *setting == "max_memory", "{refused}");
    assert!(keyspace.create(&vec![b'x'; 1_025], Spec::fixed(1, 0.1), 1, None).is_err());
    assert!(keyspace.create(&vec![0xFF; 1_024], Spec::fixed(1, 0.1), 1, None).is_ok());
}

#[test]
fn growth_stops_at_either_limit_and_the_filter_goes_on_answering() {
    let mut turn = turn();
    for (options, expected) in [
        (Options { max_filter_bytes: 100_000, ..Options::new(KEY) }, "max_filter_bytes"),
        (Options { max_memory: 100_000, ..Options::new(KEY) }, "max_memory"),
    ] {
        let keyspace = Keyspace::new(options);
        let entry = keyspace.create(b"a", Spec::growing(1, 0.01, 2), 1, None).unwrap();
        let keys = numbered(0..200_000);
        let (inserted, error) =
            with_words(&keys, |words| entry.insert_many(words, &mut turn)).unwrap_err();
        let InsertError::TooLarge(TooLarge { limit, setting, requested }) = error else { panic!() };
        assert_eq!((limit, setting), (100_000, expected));
        assert!(requested > limit && keyspace.used_bytes() <= limit);
        assert!(inserted > 20_000 && turn.answers.len() == keys.len());
        assert!(keys[..inserted].iter().all(|key| entry.contains(key, 1)));
        assert!(!entry.contains(&keys[inserted], 1), "the first that was not inserted");
        assert_eq!(entry.insert(&keys[7], &mut turn), Ok(false), "it is present");
        assert!(entry.insert(&keys[inserted], &mut turn).is_err());
    }
}

#[test]
fn many_threads_that_grow_filters_never_take_more_than_the_limit() {
    let limit = 3_000_000;
    let keyspace = Keyspace::new(Options { max_memory: limit, ..Options::new(KEY) });
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let keyspace = &keyspace;
            scope.spawn(move || {
                let mut turn = turn();
                for round in 0..20 {
                    let name = format!("{}", (thread + round) % 6);
                    let spec = Spec::growing(1, 0.001, 2);
                    let Ok(entry) =
                        keyspace.get_or_create(name.as_bytes(), (spec, Pages::WhenUsed), 1, None)
                    else {
                        continue;
                    };
                    for i in 0..30_000 {
                        let key = format!("{thread}:{round}:{i}");
                        if entry.insert(key.as_bytes(), &mut turn).is_err() {
                            break;
                        }
                        assert!(i % 100 != 0 || keyspace.used_bytes() <= limit);
                    }
                    if round % 7 == 6 {
                        keyspace.remove(name.as_bytes(), 1, None).unwrap();
                    }
                }
            });
        }
    });
    let sum: u64 = keyspace.all().iter().map(|(_, entry)| entry.info().num_bytes).sum();
    assert!(sum <= limit);
    keyspace.clear(None).unwrap();
    // Filters that were removed while other threads had them are freed with their last reader.
    assert_eq!(keyspace.used_bytes(), 0);
}

fn specs() -> impl Strategy<Value = Spec> {
    let capacity = prop_oneof![Just(1), Just(u64::MAX), 1..u64::MAX];
    let target_fpp = prop_oneof![Just(f64::MIN_POSITIVE), Just(5e-324), 1e-300..1.0f64];
    let layout = prop_oneof![
        Just(None),
        Just(Some(mayhap::Layout::Standard)),
        Just(Some(mayhap::Layout::Blocked)),
    ];
    let shape = (capacity, target_fpp, 1u32..=32_768, any::<u64>(), layout, 0..9).prop_map(
        |(capacity, target_fpp, expansion, time_ms, layout, kind)| match kind {
            0 => Shape::Growing { capacity, target_fpp, expansion },
            1 => Shape::Fixed { capacity, target_fpp, layout },
            2 => Shape::Counting { capacity, target_fpp },
            8 => Shape::Compact { capacity, target_fpp, expansion: expansion - 1 },
            3 | 6 => Shape::Window { items: capacity, time_ms, target_fpp, refresh: kind == 3 },
            7 => Shape::Clearing { capacity, target_fpp, at: 1.0 / f64::from(expansion) },
            4 => Shape::RedisBloom,
            _ => Shape::File,
        },
    );
    let hash = prop_oneof![Just(Hash::Keyed), any::<u64>().prop_map(|seed| Hash::Plain { seed })];
    (shape, hash).prop_map(|(shape, hash)| Spec { shape, hash })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(3),
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    })]

    #[test]
    fn a_spec_is_decoded_from_its_bytes_and_no_other_bytes_are_one(
        spec in specs(), place in 0usize..35, change in 1u8..=255, cut in 0usize..35,
    ) {
        let bytes = spec.encode();
        prop_assert_eq!(Spec::decode(&bytes), Some(spec));
        prop_assert_eq!(Spec::decode(&bytes[..cut]), None);
        let mut changed = bytes;
        changed[place] ^= change;
        if let Some(other) = Spec::decode(&changed) {
            prop_assert_eq!(other.encode(), changed);
            prop_assert!(other.check().is_ok());
        }
        if place == 0 {
            prop_assert_eq!(Spec::decode(&changed), None, "another version");
        }
    }
}

#[test]
fn a_counting_filter_forgets_removed_keys_and_a_window_old_ones() {
    let (keyspace, mut turn) = (keyspace(), turn());
    let spec = |shape| Spec { shape, hash: Hash::Keyed };
    let counting = spec(Shape::Counting { capacity: 1_000, target_fpp: 1e-4 });
    let counting = keyspace.create(b"counting", counting, 1, None).unwrap();
    assert!(counting.insert(b"a", &mut turn).unwrap() && counting.insert(b"b", &mut turn).unwrap());
    let two = Words::new(b"aa", &[(0, 1), (1, 2)]);
    counting.remove_many(two, &mut turn).unwrap();
    assert_eq!(turn.answers.iter().collect::<Vec<_>>(), [true, false]);
    assert!(!counting.contains(b"a", 1) && counting.contains(b"b", 1));
    assert_eq!(counting.info().items, 1);
    let shape = Shape::Window { items: 1_000, time_ms: 60_000, target_fpp: 1e-6, refresh: true };
    let window = keyspace.create(b"window", spec(shape), 1, None).unwrap();
    turn.now = 1_000_000;
    assert!(window.insert(b"a", &mut turn).unwrap());
    assert!(window.contains(b"a", 1_060_000) && !window.contains(b"a", 1_065_000));
    assert_eq!(window.remove_many(two, &mut turn), Err(WrongKind::NotCounting("window")));
}
