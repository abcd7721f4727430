//! Time windows keep their promise under any load: the keys of the last span while no more arrive
//! than they were made for, and the rate always.
#![cfg(not(miri))]

use super::cases;
use super::window_kinds::of_time;
use mayhap::native::{Fields, Native};
use mayhap::{
    Age, Bitmap, Block, Digest, DigestFunction, Error, Health, OwnedBlocks, WindowBloomFilter,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, VecDeque};

const FUNCTION: DigestFunction = DigestFunction::xxh3(7);

fn digest(key: u64) -> Digest {
    FUNCTION.digest(&key)
}

/// The times of the keys that are in the span until `now`.
struct InSpan {
    span: u64,
    times: VecDeque<u64>,
}

impl InSpan {
    fn room(&mut self, now: u64, most: u64) -> u64 {
        while self.times.front().is_some_and(|&time| time + self.span < now) {
            self.times.pop_front();
        }
        most.saturating_sub(self.times.len() as u64)
    }

    fn came(&mut self, now: u64) {
        self.times.push_back(now);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Bursts, trickles and pauses: as long as no more than n keys arrive in any span, none of them
    /// is forgotten, and reported ages are right.
    #[test]
    fn no_key_of_the_span_is_forgotten_while_no_more_come_than_expected(
        items in prop_oneof![1u64..60, 54u64..400],
        span in prop_oneof![1u64..20, 100u64..2000],
        steps in vec((0..40u64, 0..400u64, 0..3u8, prop_oneof![Just(0), 0..100u64]), 1..120),
    ) {
        let mut filter = of_time(span, items, 1e-9);
        let mut in_span = InSpan { span, times: VecDeque::new() };
        let (mut now, mut key) = (0, 0);
        let mut came: BTreeMap<u64, u64> = BTreeMap::new();
        for (gap, count, scale, again) in steps {
            // Sometimes ticks, sometimes fractions of the span, sometimes several spans.
            now += gap * [1, span / 30, span / 8][usize::from(scale)];
            filter.advance(now);
            // Sometimes repeats an earlier key.
            key -= again.min(key);
            for _ in 0..count.min(in_span.room(now, items)) {
                let was_there = filter.contains_digest(digest(key));
                prop_assert_eq!(filter.insert_digest(digest(key)), !was_there);
                in_span.came(now);
                came.insert(key, now);
                key += 1;
            }
            prop_assert_eq!((filter.forgotten_early(), filter.complete_since()), (Some(0), None));
            prop_assert!(filter.health() != Health::OverCapacity);
            for (&key, &then) in &came {
                let age = filter.age_of_digest_at(digest(key), now);
                prop_assert!(age.is_some() || now - then > span, "{} of {span}", now - then);
                if let Some(Age { at_least, at_most, .. }) = age {
                    let since = now - then;
                    prop_assert!((at_least..=at_most).contains(&since), "{age:?} {since}");
                    prop_assert!(now - then < filter.max_age());
                }
            }
            came.retain(|_, &mut then| now - then <= 3 * span);
        }
    }

    /// However many keys arrive and recur: the rate is kept, keys that the window claims to have
    /// are inside, and keys that are too old are gone.
    #[test]
    fn under_any_load_the_rate_is_kept_and_losses_are_reported(
        items in 1u64..300,
        span in prop_oneof![1u64..20, 100u64..2000],
        target in prop_oneof![Just(0.2), Just(0.01), Just(1e-9)],
        steps in vec((0..30u64, 0..600u64, 0..3u8, 0..4000u64), 1..60),
    ) {
        let mut filter = of_time(span, items, target);
        let mut last: HashMap<u64, u64> = HashMap::new();
        let mut now = 0;
        for (gap, count, scale, first) in steps {
            now += gap * [0, 1, span / 20][usize::from(scale)];
            filter.advance(now);
            for key in first..first + count {
                let was_there = filter.contains_digest(digest(key));
                prop_assert_eq!(filter.insert_digest(digest(key)), !was_there);
                prop_assert!(filter.contains_digest(digest(key)));
                last.insert(key, now);
            }
            let expected = filter.expected_fpp_now();
            prop_assert!(expected <= target * (1.0 + 1e-9), "{expected}");
            prop_assert!(filter.inserted_items() <= items + 2 * items.div_ceil(54));
            let since = filter.complete_since().unwrap_or(0).max(now.saturating_sub(span));
            for (&key, &then) in &last {
                let found = filter.contains_digest(digest(key));
                prop_assert!(found || then < since, "{then} of {since} to {now}");
                let is_too_old = now - then >= filter.max_age();
                prop_assert!(!(found && is_too_old && target < 1e-8), "{then} at {now}");
            }
        }
    }
}

fn from_parts(fields: &Fields, segments: &[Vec<Block>]) -> Result<WindowBloomFilter, Error> {
    let segments = segments.iter().map(|blocks| OwnedBlocks::copy_of(blocks).unwrap()).collect();
    WindowBloomFilter::from_segments(fields, FUNCTION, segments)
}

/// A number of a generation's column: its count, beginning, last time or insertions.
fn word(segments: &mut [Vec<Block>], set: u64, generation: u64) -> &mut u64 {
    let word = (set * 64 + generation % 64) as usize;
    &mut segments[1][word / 8].0[word % 8]
}

#[test]
fn what_no_window_of_time_has_is_refused() {
    // Generations of 100 keys or 1,000 ticks; the last one began at 29,900 and has 100 keys.
    let mut filter = of_time(8_000, 5_400, 0.01);
    for key in 0..30_000 {
        filter.insert_digest_at(digest(key), key);
    }
    filter.insert_digest_at(digest(30_000), 30_000);
    let fields = filter.fields();
    let segments: Vec<Vec<Block>> = filter.segments().iter().map(|s| s.to_vec()).collect();
    assert!(from_parts(&fields, &segments).is_ok());
    let (next, oldest) = (fields.extra[1], fields.extra[3]);
    assert!(next > 64 && fields.extra[..3] == [8_000, next, 30_000] && fields.layout == 5);
    assert!((54..=56).contains(&(next - oldest)) && fields.extra[4] > 0, "{fields:?}");
    let refused = |change: &dyn Fn(&mut Fields, &mut [Vec<Block>])| {
        let (mut fields, mut segments) = (fields.clone(), segments.clone());
        change(&mut fields, &mut segments);
        match from_parts(&fields, &segments) {
            Err(Error::BadField { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    let present = next - 1;
    assert_eq!(refused(&|f, _| f.num_bits += 1), "num_bits");
    assert_eq!(refused(&|f, _| f.num_hashes = 33), "num_hashes");
    assert_eq!(refused(&|f, _| f.layout = 2), "layout");
    assert_eq!(refused(&|f, _| f.inserted_items -= 1), "inserted_items");
    assert_eq!(refused(&|f, _| f.extra[1] = 1 << 63), "generations");
    assert_eq!(refused(&|f, _| f.extra[3] = next - 64), "oldest generation");
    assert_eq!(refused(&|f, _| f.extra[3] = next + 1), "oldest generation");
    assert_eq!(refused(&|f, _| f.extra[2] = 38_001), "oldest generation");
    assert_eq!(refused(&|f, _| f.extra[4] = 0), "forgotten until");
    assert_eq!(refused(&|f, _| f.extra[5] = 30_001), "forgotten until");
    assert_eq!(refused(&|f, _| f.extra[6] = 30_001), "ahead");
    assert_eq!(refused(&|f, _| f.layers.push([0; 4])), "layers");
    assert_eq!(refused(&|_, s| *word(s, 0, oldest) = 101), "count of a generation");
    assert_eq!(refused(&|_, s| *word(s, 0, oldest) = 0), "count of a generation");
    assert_eq!(refused(&|_, s| *word(s, 1, oldest) += 2_000), "beginning of a generation");
    assert_eq!(refused(&|_, s| *word(s, 2, oldest) += 2_000), "last time of a generation");
    assert_eq!(refused(&|_, s| *word(s, 2, present) = 30_001), "last time of a generation");
    assert_eq!(refused(&|_, s| *word(s, 3, oldest) = 99), "insertions of a generation");
    assert_eq!(refused(&|_, s| *word(s, 3, oldest) = u64::MAX), "insertions of a generation");
    // A generation that is long forgotten, and not cleared yet.
    assert_eq!(refused(&|_, s| *word(s, 0, next + 2) = 0), "bits of generations without keys");
    // The column that is taken next is clear in its first blocks.
    assert_eq!(refused(&|_, s| s[0][0].0[0] |= 1 << (next % 64)), "bits that were cleared");
    let last_row = filter.num_rows() as usize % 8;
    assert_ne!(last_row, 0);
    assert_eq!(refused(&|_, s| s[0].last_mut().unwrap().0[last_row] |= 1), "bits past num_bits");
}

/// A pattern of keys: the number at each time.
type Pattern = Vec<(u64, u64)>;

/// Arrival patterns that broke earlier windows, each for three spans.
fn patterns(span: u64, items: u64) -> [(&'static str, Pattern); 8] {
    let spans = 3;
    let even = |times: u64| -> Pattern {
        (0..items * spans * times).map(|i| (i * span / items / times, 1)).collect()
    };
    let mut half: Pattern = (0..items / 2 * spans).map(|i| (i * 2 * span / items, 1)).collect();
    half.extend((0..spans).map(|i| (i * (span + 1) + span / 3, items / 2)));
    half.sort_unstable();
    let office = |day: u64| (0..items).map(move |i| (day * span + i * span / 3 / items, 1));
    let border = |i: u64| {
        // Just before and just after a time at which an eighth or a 14th of the span begins.
        let at = (i + 1) * span;
        [(at - 1, items), (at, items)]
    };
    [
        ("even", even(1)),
        ("all at once", (0..spans).map(|i| (i * (span + 1), items)).collect()),
        ("half at once", half),
        ("ten bursts", (0..10 * spans).map(|i| (i * (span / 10 + 1), items / 10)).collect()),
        ("office hours", (0..spans).flat_map(office).collect()),
        ("twice as many, even", even(2)),
        ("three times at once", (0..spans).map(|i| (i * (span + 1), 3 * items)).collect()),
        ("twice across a border", (0..spans).flat_map(border).collect()),
    ]
}

/// The rate at some moments of a pattern, with the worst expected one.
struct Rates {
    worst: f64,
    /// Absent keys that were answered "maybe", and how many were expected by the counts.
    found: f64,
    expected: f64,
    asked: f64,
}

const PROBES: u64 = 40_000;

fn rates(filter: &mut WindowBloomFilter, pattern: &Pattern, items: u64) -> Rates {
    let mut rates = Rates { worst: 0.0, found: 0.0, expected: 0.0, asked: 0.0 };
    let (mut key, mut looked, mut found) = (0, 0, Bitmap::new());
    for &(time, count) in pattern {
        for _ in 0..count {
            filter.insert_digest_at(digest(key), time);
            key += 1;
            // Where a generation ends most is remembered.
            if key - looked >= items / 54 * 9 {
                looked = key;
                let expected = filter.expected_fpp_now();
                rates.worst = rates.worst.max(expected);
                // Other absent keys each time.
                let absent = (key << 40)..(key << 40) + PROBES;
                let absent: Vec<Digest> = absent.map(digest).collect();
                filter.contains_digests_into(&absent, &mut found);
                rates.found += found.count_ones() as f64;
                rates.expected += expected * PROBES as f64;
                rates.asked += PROBES as f64;
            }
        }
    }
    rates
}

/// `bench/results` has the same for larger windows and more rates.
#[test]
fn eight_patterns_of_keys_never_bring_the_rate_above_the_target() {
    for target in [0.05, 0.01] {
        let (span, items) = (1_000_000, 10_800);
        for (name, pattern) in patterns(span, items) {
            let mut filter = of_time(span, items, target);
            let came: u64 = pattern.iter().map(|(_, count)| count).sum();
            let Rates { worst, found, expected, asked } = rates(&mut filter, &pattern, items);
            let (measured, forgotten) = (found / asked, filter.forgotten_early().unwrap());
            println!(
                "{name} at {target}: {:.3} of it at worst, {:.3} expected and {:.3} measured \
                 in the mean, {forgotten} of {came} forgotten early",
                worst / target,
                expected / asked / target,
                measured / target,
            );
            assert!(worst <= target * (1.0 + 1e-9), "{name}: {worst}");
            // A filter's own rate is within a few percent of the expected one; sampling adds
            // chance.
            let sigma = expected.sqrt().hypot(0.01 * expected);
            assert!((found - expected).abs() <= 3.0 * sigma, "{name}: {found} {expected}");
            assert!(found <= target * asked + 3.0 * sigma, "{name}: {measured}");
            let is_too_many =
                ["twice as many, even", "three times at once", "twice across a border"];
            assert_eq!(forgotten > 0, is_too_many.contains(&name), "{name}: {forgotten}");
        }
    }
}

/// The rate of the bits is the rate that absent keys see, also where keys recur and set the same
/// bits in several generations.
#[test]
fn the_rate_now_is_of_these_bits_in_windows_of_time() {
    // Keys that never recur, keys that recur after a third of the span, and keys that always recur.
    for repeats in [1u64, 3, 24] {
        let (span, items) = (24_000, 24_000);
        let mut filter = of_time(span, items, 0.05);
        for tick in 0..2 * span {
            let key = if repeats == 1 { tick } else { tick % (span / repeats) };
            filter.insert_digest_at(digest(key), tick);
        }
        let now = filter.estimated_fpp();
        let asked = 400_000;
        let absent: Vec<Digest> = (1 << 40..(1 << 40) + asked).map(digest).collect();
        let mut found = Bitmap::new();
        filter.contains_digests_into(&absent, &mut found);
        let (found, expected) = (found.count_ones() as f64, now * asked as f64);
        println!("again {repeats} times a span: {found} found, {expected:.0} expected");
        let sigma = expected.sqrt();
        if repeats == 3 {
            // In every third generation: neighbours do not show it, and the bits seem worse.
            assert!(
                found <= expected + 3.0 * sigma && found > expected / 4.0,
                "{found} {expected}"
            );
        } else {
            assert!((found - expected).abs() <= 3.0 * sigma, "{found} {expected}");
        }
    }
}

/// Keys that recur far more often than the window is made for: each takes room once in an eighth of
/// the span.
#[test]
fn keys_that_come_again_soon_take_little_room() {
    // Generations of 100 keys; 580 keys, each 8 times a tick: 37 million insertions a span.
    let (span, keys) = (8_000, 580);
    let mut filter = of_time(span, 5_400, 1e-9);
    let come = |filter: &mut WindowBloomFilter, ticks: std::ops::Range<u64>| {
        for tick in ticks {
            for key in (0..8).flat_map(|_| 0..keys) {
                filter.insert_digest_at(digest(key), tick);
            }
            assert!((0..keys).all(|key| filter.contains_digest(digest(key))), "{tick}");
        }
    };
    come(&mut filter, 0..40);
    // At first all were written, as many as there is room for; then none was.
    assert!(
        (5_400..=5_501).contains(&filter.inserted_items())
            && filter.forgotten_early().unwrap() <= 100
    );
    come(&mut filter, 7_000..7_040);
    come(&mut filter, 8_000..8_040);
    come(&mut filter, 9_000..9_040);
    let before = filter.forgotten_early().unwrap();
    for eighth in 10..30 {
        come(&mut filter, eighth * 1_000..eighth * 1_000 + 20);
    }
    // 580 for each eighth, and the one that is past.
    assert!(filter.inserted_items() <= 580 * 10, "{}", filter.inserted_items());
    assert!(filter.forgotten_early().unwrap() - before < 5_501, "keys written again at first");
    // And their ages are right.
    let now = filter.now();
    assert_eq!(filter.age_of_digest_at(digest(7), now).map(|age| age.at_least), Some(0));
    filter.advance(now + span);
    assert!((0..keys).all(|key| filter.contains_digest(digest(key))));
    filter.advance(now + filter.max_age());
    assert!((0..keys).all(|key| !filter.contains_digest(digest(key))));
}

#[test]
fn an_idle_period_leaves_nothing_behind_in_a_window_of_time() {
    for idle in [1u64, 100, 1_399, 1_400, 1_575, 100_000] {
        let mut filter = of_time(1400, 200, 1e-9);
        for i in 0..200u64 {
            filter.insert_at(&i, i * 7);
        }
        let now = 199 * 7 + idle;
        filter.advance(now);
        for i in 0..200u64 {
            let since = now - i * 7;
            assert!(filter.contains(&i) || since > 1400, "{idle}: {since} is forgotten");
            assert!(!filter.contains(&i) || since < 1575, "{idle}: {since} is remembered");
        }
        // A year of other keys: any bits left uncleared would be found here.
        for i in 1000..6000u64 {
            assert!(filter.insert_at(&i, now + (i - 1000) * 7), "{idle}: {i}");
        }
        assert_eq!(filter.forgotten_early(), Some(0));
        assert!(filter.inserted_items() <= 204);
    }
}
