//! Counting filters with saturated counters: the keys that stay, and the copies that still count.

use super::cases;
use super::counting::{BOTH, Reference, with_blocks};
use mayhap::CountingBloomFilter;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;

/// Keys that share no counter, so that each has the smallest of its own: a multiset that cannot
/// count beyond the largest counter, and never decreases from there.
fn apart(filter: &CountingBloomFilter, num_blocks: u64) -> Vec<u64> {
    let reference = Reference::new(filter.counter_bits(), num_blocks);
    let mut taken = HashSet::new();
    let is_apart = |key: &u64| {
        let positions = reference.positions(filter.digest(key));
        let is_apart = positions.iter().all(|i| !taken.contains(i));
        if is_apart {
            taken.extend(positions);
        }
        is_apart
    };
    (0..500u64).filter(is_apart).take(6).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    /// Even where keys are removed more often than they were inserted, the count is the number of
    /// copies inside, and never lower, so removing stuck keys makes no room.
    #[test]
    fn the_count_is_that_of_a_multiset_with_a_cap(
        eight in any::<bool>(), calls in vec((0..3u8, 0..6usize, 1..400u16), 0..60),
    ) {
        let bits = BOTH[usize::from(eight)];
        let mut filter = with_blocks(bits, 1000);
        let keys = apart(&filter, 1000);
        let cap = u64::from(bits.max());
        let mut inside = [0u64; 6];
        for (what, at, times) in calls {
            let (key, count) = (keys[at], &mut inside[at]);
            if what == 0 {
                for _ in 0..times {
                    prop_assert_eq!(filter.insert(&key), *count == 0);
                    *count += 1;
                }
            } else {
                // More than was ever inserted.
                for _ in 0..2 * times {
                    let removed = (1..cap).contains(count);
                    prop_assert_eq!(filter.remove(&key), removed, "{} of {}", count, cap);
                    *count -= u64::from(removed);
                }
            }
            prop_assert_eq!(filter.contains(&key), *count > 0);
            prop_assert_eq!(filter.inserted_items(), inside.iter().sum::<u64>());
        }
    }
}

/// The counters that two keys share saturate, the others do not: a removal by those is one.
#[test]
fn a_key_with_some_saturated_counters_is_removed_by_the_others() {
    for bits in BOTH {
        let num_blocks = 2;
        let reference = Reference::new(bits, num_blocks);
        let mut filter = with_blocks(bits, num_blocks);
        let of = |key: u64| reference.positions(filter.digest(&key));
        let hot = of(0);
        let shared = |key: &u64| of(*key).iter().filter(|i| hot.contains(i)).count();
        let neighbour = (1..10_000).find(|key| (1..8).contains(&shared(key))).unwrap();
        for _ in 0..300 {
            filter.insert(&0u64);
        }
        filter.insert(&neighbour);
        assert_eq!(filter.inserted_items(), 301);
        assert!(filter.remove(&neighbour) && !filter.contains(&neighbour), "{bits:?}");
        assert!(!filter.remove(&neighbour), "absent now");
        assert!(!filter.remove(&0u64) && filter.contains(&0u64), "stays");
        assert_eq!(filter.inserted_items(), 300);
    }
}
