//! A copy of a growing filter plus a log of the insertions counts the same as the filter.

use super::{cases, digests};
use mayhap::{Digest, DigestFunction, ScalableBloomFilter, native};
use proptest::prelude::*;

fn chain(first_items: u64) -> ScalableBloomFilter {
    ScalableBloomFilter::new(first_items, 1e-6, DigestFunction::xxh3(11)).unwrap()
}

/// Inserts one at a time; returns the new ones.
fn insert(filter: &mut ScalableBloomFilter, digests: &[Digest]) -> Vec<Digest> {
    let is_new = |digest: &&Digest| filter.insert_digest(**digest).unwrap();
    digests.iter().filter(is_new).copied().collect()
}

fn copy_of(filter: &ScalableBloomFilter) -> ScalableBloomFilter {
    native::decode_as(&native::encode(filter, ""), None).unwrap().0
}

proptest! {
    #![proptest_config(cases(60))]

    /// The copy has all keys inserted before the log began, and some inserted later.
    #[test]
    fn a_copy_and_the_log_count_what_the_filter_counts(
        before in digests(2_500), after in digests(2_500), first_items in 1u64..60,
        share in 0usize..4,
    ) {
        let mut filter = chain(first_items);
        insert(&mut filter, &before);
        let (mut copy, began_with) = (copy_of(&filter), filter.inserted_items());
        let log = insert(&mut filter, &after);
        insert(&mut copy, &log[..log.len() * share / 3]);
        copy.limit_inserted_items(began_with);
        prop_assert_eq!(copy.inserted_items(), began_with);
        for digests in log.chunks(70) {
            copy.insert_digests_counted(digests).unwrap();
        }
        // Keys already inside are repeated, before and after.
        copy.insert_digests_uncounted(&before).unwrap();
        prop_assert_eq!(copy.inserted_items(), filter.inserted_items());
        // A file of it opens: no layer counts more than it has room for.
        prop_assert!(native::encode(&copy_of(&copy), "") == native::encode(&copy, ""));
        prop_assert!(before.iter().chain(&after).all(|&digest| copy.contains_digest(digest)));
    }

    /// Layer by layer, where the log has the order in which keys arrived.
    #[test]
    fn layers_of_a_copy_are_as_full_as_those_of_the_filter(
        before in digests(2_500), after in digests(2_500), first_items in 1u64..60,
    ) {
        let mut filter = chain(first_items);
        insert(&mut filter, &before);
        let began_with = filter.inserted_items();
        let log = insert(&mut filter, &after);
        let mut copy = copy_of(&filter);
        copy.limit_inserted_items(began_with);
        copy.insert_digests_counted(&log).unwrap();
        prop_assert!(native::encode(&copy, "") == native::encode(&filter, ""));
    }
}

#[test]
fn a_count_that_is_low_enough_is_left_alone() {
    let mut filter = chain(10);
    let all: Vec<Digest> = (1..=100).map(|i| Digest::new(i << 50)).collect();
    insert(&mut filter, &all);
    let before = native::encode(&filter, "");
    for most in [100, 101, u64::MAX] {
        filter.limit_inserted_items(most);
        assert!(native::encode(&filter, "") == before);
    }
    filter.limit_inserted_items(0);
    assert_eq!((filter.inserted_items(), filter.num_layers()), (0, 2));
    assert!(all.iter().all(|&digest| filter.contains_digest(digest)));
}

#[test]
fn keys_that_do_not_count_take_no_room_and_those_that_count_again_make_it_grow() {
    let mut filter = chain(10);
    let all: Vec<Digest> = (1..=10).map(|i| Digest::new(i << 50)).collect();
    filter.insert_digests_uncounted(&all).unwrap();
    assert_eq!((filter.inserted_items(), filter.num_layers()), (0, 1));
    filter.insert_digests_counted(&all).unwrap();
    assert_eq!((filter.inserted_items(), filter.num_layers()), (10, 1));
    filter.insert_digests_counted(&all).unwrap();
    assert_eq!((filter.inserted_items(), filter.num_layers()), (20, 2));
    filter.set_max_bytes(filter.num_bytes());
    let refused = (0..300).find_map(|_| filter.insert_digests_counted(&all).err());
    assert!(matches!(refused, Some(mayhap::Error::TooLarge { .. })), "{refused:?}");
}
