//! Windows against exact models: the keys that must be remembered, the keys that must be forgotten,
//! and that nothing else makes a difference.

use super::window_kinds::{Kind, from_parts, of_items, of_old_time, of_time, random};
use super::{cases, digests};
use mayhap::native::{self, Fields, Native};
use mayhap::{Age, Bitmap, Block, Digest, Error, Health, Window, WindowBloomFilter};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Items), Just(Kind::Time), Just(Kind::OldTime)]
}

type Make = fn(u64, u64, f64) -> WindowBloomFilter;

/// Everything that can be seen of a window.
pub(crate) fn seen(filter: &WindowBloomFilter, digests: &[Digest]) -> Vec<Option<Age>> {
    digests.iter().map(|&digest| filter.age_of_digest_at(digest, filter.now())).collect()
}

proptest! {
    #![proptest_config(cases(400))]

    /// The keys of the last w insertions are present at every moment, whatever is inserted.
    #[test]
    fn a_count_window_has_the_last_insertions(
        window in 1u64..200,
        target in prop_oneof![Just(0.3), Just(0.01), Just(1e-6)],
        keys in vec(0..300u64, 0..1500),
    ) {
        let mut filter = of_items(window, target);
        let mut last = VecDeque::new();
        for (i, key) in keys.into_iter().map(random).enumerate() {
            let was_inside = last.contains(&key);
            let was_found = filter.contains_digest(key);
            let new = filter.insert_digest(key);
            prop_assert!(new != was_found && (was_found || !was_inside));
            prop_assert!(!filter.insert_digest(key), "at once again");
            last.extend([key, key]);
            while last.len() as u64 > window {
                last.pop_front();
            }
            prop_assert_eq!(filter.age_of_digest_at(key, 0).map(|age| age.at_least), Some(0));
            if i % 7 == 0 {
                let inside: Vec<Digest> = last.iter().copied().collect();
                let mut found = Bitmap::new();
                filter.contains_digests_into(&inside, &mut found);
                prop_assert_eq!(found.count_ones(), inside.len());
            }
        }
        prop_assert!(last.iter().all(|&key| filter.contains_digest(key)));
    }

    /// Keys that are different from one another are forgotten in time, and their ages are right:
    /// the rate of 1e-9 leaves no false positive.
    #[test]
    fn a_count_window_forgets_and_knows_ages(window in 1u64..400, count in 0u64..2000) {
        let mut filter = of_items(window, 1e-9);
        for i in 0..count {
            prop_assert!(filter.insert_digest(random(i)));
        }
        let (step, live) = (filter.generation_size(), u64::from(filter.num_generations()));
        prop_assert!((live - 1) * step >= window);
        prop_assert!(live * step < window + 2 * step, "no more than a generation more");
        for i in 0..count {
            let since = count - 1 - i;
            match filter.age_of_digest_at(random(i), 0) {
                Some(age) => {
                    prop_assert!((age.at_least..=age.at_most).contains(&since), "{since} {age:?}");
                    prop_assert!(since < live * step);
                    prop_assert_eq!(u64::from(age.generations), (count - 1) / step - i / step);
                }
                None => prop_assert!(since >= window, "{since}"),
            }
        }
        prop_assert!(filter.inserted_items() <= live * step);
    }

    /// Against the time of each key's last insertion, with a clock that jumps ahead, and back by up
    /// to a generation.
    #[test]
    fn a_time_window_has_the_keys_of_its_span_and_no_others(
        span in prop_oneof![1u64..100, 1000u64..100_000, Just(u64::MAX)],
        start in prop_oneof![Just(0), any::<u64>()],
        steps in vec((0..60u64, -40i64..100, 0..40u32), 0..300),
        old in any::<bool>(),
    ) {
        // There is room for all keys.
        let make: Make = if old { of_old_time } else { of_time };
        let mut filter = make(span, 6000, 1e-9);
        let mut inserted: HashMap<u64, u64> = HashMap::new();
        let (mut clock, mut latest) = (start, 0u64);
        for (key, percent, rare) in steps {
            // Mostly a few percent of the window, seldom several windows.
            let scale = if rare == 0 { 10 } else { 1 };
            let size = percent.unsigned_abs();
            let jump = (span / 100).saturating_mul(size * scale).saturating_add(size / 20);
            clock = if percent < 0 {
                let earliest = latest.saturating_sub(filter.generation_size());
                clock.saturating_sub(jump).max(earliest)
            } else {
                clock.saturating_add(jump)
            };
            latest = latest.max(clock);
            for (&key, &at) in &inserted {
                let (found, age) = (
                    filter.contains_digest_at(random(key), clock),
                    filter.age_of_digest_at(random(key), clock),
                );
                prop_assert_eq!(found, age.is_some());
                let since = latest - at;
                if let Some(age) = age {
                    prop_assert!((age.at_least..=age.at_most).contains(&since), "{since} {age:?}");
                    let most = filter.max_age();
                    prop_assert!(since < most || most == u64::MAX, "{since} should be forgotten");
                } else {
                    prop_assert!(since > span, "{since} is forgotten too early");
                }
            }
            let was_inside = filter.contains_digest_at(random(key), clock);
            prop_assert_eq!(filter.insert_digest_at(random(key), clock), !was_inside);
            inserted.insert(key, latest);
            prop_assert_eq!(filter.now(), latest);
            let forgotten = (!old).then_some(0);
            prop_assert_eq!((filter.forgotten_early(), filter.complete_since()), (forgotten, None));
        }
    }

    #[test]
    fn batches_equal_one_at_a_time(
        window in 1u64..120,
        kind in kinds(),
        target in prop_oneof![Just(0.3), Just(0.01)],
        batches in vec((digests(150), 0..40u64), 0..8),
    ) {
        let make = || kind.make(window, window, target);
        let (mut one, mut many) = (make(), make());
        let (mut new, mut found, mut now) = (Bitmap::new(), Bitmap::new(), 0);
        for (batch, passed) in &batches {
            now += passed;
            many.contains_digests_at_into(batch, now, &mut found);
            let expected: Vec<bool> =
                batch.iter().map(|&digest| one.contains_digest_at(digest, now)).collect();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
            many.advance(now);
            many.insert_digests_into(batch, &mut new);
            let expected: Vec<bool> =
                batch.iter().map(|&digest| one.insert_digest_at(digest, now)).collect();
            prop_assert_eq!(new.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(seen(&one, batch), seen(&many, batch));
        }
        prop_assert_eq!(one.inserted_items(), many.inserted_items());
        prop_assert_eq!(one.fill_ratio(), many.fill_ratio());
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// A filter that is saved and opened at any moment continues like one that never was.
    #[test]
    fn a_reopened_window_goes_on_as_before(
        window in prop_oneof![1u64..50, 200u64..3000],
        kind in kinds(),
        target in prop_oneof![Just(0.3), Just(0.01)],
        steps in vec((digests(60), 0..300u64, any::<bool>()), 0..30),
    ) {
        let mut one = kind.make(window, window / 2 + 1, target);
        let bytes = native::encode(&one, "a=b\n");
        let (mut other, _) = native::decode_as::<WindowBloomFilter>(&bytes, None).unwrap();
        let mut now = 0;
        for (batch, passed, reopen) in steps {
            now += passed * window / 1000;
            for &digest in &batch {
                prop_assert_eq!(
                    one.insert_digest_at(digest, now),
                    other.insert_digest_at(digest, now)
                );
            }
            prop_assert_eq!(seen(&one, &batch), seen(&other, &batch));
            let bytes = native::encode(&one, "");
            prop_assert!(native::encode(&other, "") == bytes);
            if reopen {
                other = native::decode_as(&bytes, None).unwrap().0;
                prop_assert!(native::encode(&other, "") == bytes);
                prop_assert_eq!(one.inserted_items(), other.inserted_items());
                prop_assert_eq!(one.window(), other.window());
                prop_assert_eq!(one.health(), other.health());
                prop_assert_eq!(one.forgotten_early(), other.forgotten_early());
                prop_assert_eq!(one.complete_since(), other.complete_since());
            }
        }
    }

    /// Fields that no filter has, under right checksums: refused, or a filter that does not panic.
    #[test]
    fn forged_fields_are_refused_or_harmless(
        kind in kinds(),
        field in 0..16usize,
        value in prop_oneof![
            any::<u64>(), 0..20u64, Just(u64::MAX), (0..64u32).prop_map(|i| 1 << i)
        ],
        bit in any::<u64>(),
    ) {
        let mut filter = kind.make(50, 50, 0.1);
        for i in 0..100 {
            filter.insert_digest_at(random(i), i);
        }
        let mut fields = filter.fields();
        let mut segments: Vec<Vec<Block>> = filter.segments().iter().map(|s| s.to_vec()).collect();
        match field {
            0 => fields.num_bits = value,
            1 => fields.num_hashes = value as u32,
            2 => fields.expected_items = value,
            3 => fields.target_fpp = f64::from_bits(value),
            4 => fields.inserted_items = value,
            5 => fields.layout = value as u16,
            6..=12 => fields.extra[field - 6] = value,
            13 => fields.layers.push([value; 4]),
            14 => segments[0][(bit / 512) as usize % 2].0[bit as usize % 8] ^= 1 << (value % 64),
            _ => {
                let blocks = segments[1].len();
                segments[1][bit as usize % blocks].0[bit as usize / blocks % 8] = value;
            }
        }
        if let Ok(mut forged) = from_parts(&fields, &segments) {
            prop_assert_eq!(&forged.fields(), &fields);
            prop_assert!(forged.segments().iter().zip(&segments).all(|(a, b)| *a == &b[..]));
            for i in 0..200 {
                forged.insert_digest_at(random(i), i << 55);
                prop_assert!(forged.contains_digest(random(i)));
                let _ = forged.age_of_digest_at(random(i / 2), u64::MAX);
            }
            let _ = (forged.health(), forged.fill_ratio(), forged.expected_fpp(u64::MAX));
        }
    }
}

#[test]
fn what_no_window_has_is_refused() {
    let mut filter = of_items(1400, 0.01);
    for i in 0..2345 {
        filter.insert_digest(random(i));
    }
    let fields = filter.fields();
    let segments: Vec<Vec<Block>> = filter.segments().iter().map(|s| s.to_vec()).collect();
    assert!(from_parts(&fields, &segments).is_ok());
    let refused = |change: &dyn Fn(&mut Fields, &mut [Vec<Block>])| {
        let (mut fields, mut segments) = (fields.clone(), segments.clone());
        change(&mut fields, &mut segments);
        match from_parts(&fields, &segments) {
            Err(Error::BadField { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    // Generation 23 is being filled, its column is 7; column 8 is cleared as far as it is full: 45
    // %.
    assert_eq!(fields.extra, [0, 23, 0, 0, 0, 0, 0]);
    assert_eq!(refused(&|f, _| f.num_bits += 1), "num_bits");
    assert_eq!(refused(&|f, _| f.num_hashes = 33), "num_hashes");
    assert_eq!(refused(&|f, _| f.layout = 2), "layout");
    assert_eq!(refused(&|f, _| f.inserted_items -= 1), "inserted_items");
    assert_eq!(refused(&|f, _| f.extra[2] = 1), "now");
    assert_eq!(refused(&|f, _| f.extra[3] = 56), "repeats");
    assert_eq!(refused(&|f, _| f.extra[3] = u64::MAX), "repeats");
    assert_eq!(refused(&|f, _| f.extra[3] = 5), "bits that were cleared");
    assert_eq!(refused(&|f, _| f.extra[4] = 1), "ahead");
    assert_eq!(refused(&|f, _| f.extra[5] = 1), "reserved");
    assert_eq!(refused(&|f, _| f.layers.push([0; 4])), "layers");
    assert_eq!(refused(&|_, s| s[1][0].0[3] = 101), "count of a generation");
    assert_eq!(refused(&|_, s| s[0][0].0[0] |= 1 << 8), "bits that were cleared");
    assert_eq!(refused(&|_, s| s[1][1].0[0] = 0), "bits of generations without keys");
    let last_row = filter.num_rows() as usize % 32;
    assert_ne!(last_row, 0);
    assert_eq!(
        refused(&|_, s| s[0].last_mut().unwrap().0[last_row / 4] |= 1 << (last_row % 4 * 16)),
        "bits past num_bits"
    );
}

/// Tables that do not fit the cache take the paths with prefetching.
#[test]
#[cfg_attr(miri, ignore = "a million keys")]
fn large_batches_equal_one_at_a_time() {
    let window = 1_400_000;
    let (mut one, mut many) = (of_items(window, 0.05), of_items(window, 0.05));
    assert!(one.num_bytes() > 2 << 20);
    let digests: Vec<Digest> = (0..1_600_000).map(|i| random(i % 1_550_000)).collect();
    let (mut new, mut found) = (Bitmap::new(), Bitmap::new());
    many.insert_digests_into(&digests, &mut new);
    for (&digest, new) in digests.iter().zip(new.iter()) {
        assert_eq!(one.insert_digest(digest), new);
    }
    let asked: Vec<Digest> = (0..300_000).map(|i| random(i * 11)).collect();
    many.contains_digests_into(&asked, &mut found);
    for (&digest, found) in asked.iter().zip(found.iter()) {
        assert_eq!(one.contains_digest(digest), found);
        assert_eq!(one.contains_digest(digest), one.age_of_digest_at(digest, 0).is_some());
    }
    let numbers: Vec<u64> = (0..1000).collect();
    assert_eq!(one.insert_batch(&numbers).count_ones(), {
        numbers.iter().filter(|number| many.insert(*number)).count()
    });
    assert_eq!(one.contains_batch(&numbers).count_ones(), 1000);
}

/// A recurring key pushes nothing out.
#[test]
fn duplicates_of_a_generation_take_no_room_and_move_the_window_on() {
    let mut filter = of_items(140, 1e-6);
    filter.insert("first");
    for _ in 0..9 {
        filter.insert("again");
    }
    assert!(filter.contains("first"));
    assert_eq!(filter.inserted_items(), 2);
    assert_eq!(filter.age("first"), Some(Age { generations: 0, at_least: 0, at_most: 9 }));
    for _ in 0..140 {
        filter.insert("again");
    }
    assert!(filter.contains("first"), "149 later keys");
    filter.insert("again");
    assert!(!filter.contains("first"), "150 later keys");
    // Once in each generation.
    assert_eq!(filter.inserted_items(), 15);
}

#[test]
fn inserting_again_makes_a_key_young() {
    let mut filter = of_items(140, 1e-9);
    filter.insert("key");
    for i in 0..1000u64 {
        filter.insert(&i);
        if i % 100 == 0 {
            assert!(!filter.insert("key"), "it is still there");
            assert_eq!(filter.age("key").map(|age| age.generations), Some(0));
        }
    }
    for i in 1000..1100u64 {
        filter.insert(&i);
    }
    assert!(!filter.contains("key"));
}

/// 12 values of `now` from the end of the numbers, in the unit of the generation and in others.
#[test]
fn times_up_to_the_largest_are_times() {
    let spans = [1, 13, 14, 1000, u64::MAX / 3, u64::MAX];
    for (span, make) in spans.map(|span| [(span, of_time as Make), (span, of_old_time)]).concat() {
        let mut filter = make(span, 100, 1e-9);
        for back in (0..12u64).rev() {
            let now = u64::MAX - back;
            assert!(filter.insert_at(&back, now) && filter.contains_at(&back, u64::MAX - back));
            assert_eq!(filter.age_at(&back, now).map(|age| age.at_least), Some(0));
        }
        let end = filter.max_age();
        for back in 0..12u64 {
            let found = filter.contains(&back);
            assert!(found || back > span, "{back} in {span}");
            assert!(!found || back < end, "{back} in {span}");
        }
        filter.advance(0);
        assert_eq!(filter.now(), u64::MAX);
        filter.clear();
        assert_eq!((filter.now(), filter.inserted_items(), filter.fill_ratio()), (0, 0, 0.0));
        assert!(filter.insert_at("after", 5) && filter.contains_at("after", 5));
    }
}

#[test]
fn an_idle_period_leaves_nothing_behind() {
    for idle in [1u64, 2, 7, 14, 15, 16, 17, 100] {
        let mut filter = of_old_time(1400, 100, 1e-9);
        for i in 0..200u64 {
            filter.insert_at(&i, i * 10);
        }
        // The last key arrived in generation 19.
        let now = 1990 / 100 * 100 + idle * 100;
        filter.advance(now);
        let remembered = (0..200u64).filter(|&i| now / 100 - i * 10 / 100 < 15).count();
        assert_eq!((0..200u64).filter(|i| filter.contains(i)).count(), remembered, "{idle}");
        assert_eq!(filter.inserted_items(), remembered as u64);
        // A year of other keys: any bits left uncleared would be found here.
        for i in 1000..3000u64 {
            assert!(filter.insert_at(&i, now + (i - 1000) * 10), "{idle}: {i}");
        }
        assert!(filter.fill_ratio() < 0.6);
    }
}

#[test]
fn too_many_keys_in_an_old_time_window_show() {
    let mut filter = of_old_time(1400, 1400, 0.01);
    assert_eq!(filter.health(), Health::Ok);
    let mut now = 0;
    let mut insert = |filter: &mut WindowBloomFilter, per_tick: u64| {
        for _ in 0..2000 {
            now += 1;
            for i in 0..per_tick {
                filter.insert_digest_at(random(now * 100 + i), now);
            }
        }
    };
    insert(&mut filter, 1);
    assert_eq!(filter.health(), Health::NearCapacity);
    assert!(filter.estimated_fpp() < 0.012);
    insert(&mut filter, 3);
    assert_eq!(filter.health(), Health::OverCapacity);
    let (expected, now_fpp) = (filter.expected_fpp(3 * 1400), filter.estimated_fpp());
    assert!(now_fpp > 0.2 && (now_fpp / expected - 1.0).abs() < 0.1, "{now_fpp} {expected}");
}

/// Keys that return in every generation set the same bits in all of them.
#[test]
fn the_rate_now_is_of_these_bits() {
    for kind in [Kind::Items, Kind::Time, Kind::OldTime] {
        let empty = kind.make(100, 100, 0.01).expected_fpp_now();
        assert!(empty == 0.0 && empty.is_sign_positive(), "{kind:?}: {empty}");
    }
    let mut filter = of_old_time(1400, 14_000, 0.05);
    for tick in 0..1400u64 {
        for i in 0..10 {
            filter.insert_digest_at(random(tick % 100 * 10 + i), tick);
        }
    }
    assert_eq!(filter.inserted_items(), 14_000);
    let now = filter.estimated_fpp();
    assert!(now < 0.05 / 13.0, "{now}");
    let found = (0..400_000).filter(|i| filter.contains_digest(random(1 << 40 | i))).count() as f64;
    let (expected, sigma) = (now * 4e5, (now * 4e5).sqrt());
    assert!((found - expected).abs() < 3.0 * sigma, "{found} {expected}");
}

#[test]
fn a_builder_refuses_what_it_cannot_make() {
    let builder = WindowBloomFilter::builder;
    let missing = |error| matches!(error, Err(Error::Missing { .. }));
    assert!(missing(builder().target_fpp(0.01).build().map(|_| ())));
    assert!(missing(builder().window_items(10).build().map(|_| ())));
    let build = |b: mayhap::WindowBuilder, p| b.target_fpp(p).build().map(|_| ()).unwrap_err();
    assert_eq!(build(builder().window_items(0), 0.01), Error::ZeroItems);
    assert_eq!(build(builder().window_time(5, 0), 0.01), Error::ZeroItems);
    assert!(matches!(build(builder().window_time(0, 5), 0.01), Error::OutOfRange { .. }));
    assert!(matches!(build(builder().window_items(5), 1.0), Error::FppOutOfRange { .. }));
    let huge = build(builder().window_items(1 << 55), 0.01);
    assert!(matches!(huge, Error::TooLarge { .. }), "{huge}");
    let huge = build(builder().window_items(1 << 50), 0.01);
    assert!(matches!(huge, Error::OutOfMemory { .. }), "{huge}");
    let limited = build(builder().window_items(1_000_000).max_bytes(2_000_000), 0.01);
    assert!(matches!(limited, Error::TooLarge { limit: 2_000_000, .. }), "{limited}");
    assert_eq!(of_items(7, 0.1).window(), Window::Items(7));
}
