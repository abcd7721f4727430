//! Inserting and querying, one at a time and in batches.

use super::{cases, digests, empty, ones, shapes, with_layout};
use mayhap::{Bitmap, Block, Digest, FilterParams, LayoutKind};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn every_inserted_key_is_found(
        params in shapes(), keys in vec(vec(any::<u8>(), 0..40), 0..200),
    ) {
        with_layout!(keys_are_found(params, &keys))?;
    }

    #[test]
    fn insert_says_new_exactly_when_a_bit_changed(params in shapes(), digests in digests(300)) {
        with_layout!(new_means_a_bit_changed(params, &digests))?;
    }

    #[test]
    fn a_batch_is_its_keys_one_by_one(
        params in shapes(), inserted in digests(300), asked in digests(300),
    ) {
        with_layout!(batch_equals_single(params, &inserted, &asked))?;
    }

    #[test]
    fn a_copy_is_equal_and_apart(params in shapes(), digests in digests(50), more: u64) {
        with_layout!(copies_are_apart(params, &digests, Digest::new(more)))?;
    }
}

fn keys_are_found<L: LayoutKind>(
    params: FilterParams,
    keys: &[Vec<u8>],
) -> Result<(), TestCaseError> {
    let (half, rest) = keys.split_at(keys.len() / 2);
    let mut filter = empty::<L>(params);
    for key in half {
        filter.insert(key);
    }
    filter.insert_batch(rest);
    prop_assert!(keys.iter().all(|key| filter.contains(key)));
    prop_assert!(keys.iter().all(|key| filter.contains_digest(filter.digest(key))));
    prop_assert_eq!(filter.contains_batch(keys).count_ones(), keys.len());
    // The answers must not depend on where the bits are: here borrowed, as from a file.
    let function = *filter.digest_function();
    let blocks: &[Block] = filter.storage().as_ref();
    let borrowed = mayhap::Filter::<L, &[Block]>::from_parts(params, function, blocks, 0).unwrap();
    prop_assert_eq!(borrowed.contains_batch(keys).count_ones(), keys.len());
    Ok(())
}

fn new_means_a_bit_changed<L: LayoutKind>(
    params: FilterParams,
    digests: &[Digest],
) -> Result<(), TestCaseError> {
    let mut filter = empty::<L>(params);
    let mut news = 0;
    for &digest in digests {
        let (before, had) = (ones(filter.storage().as_ref()), filter.contains_digest(digest));
        let new = filter.insert_digest(digest);
        let gained = ones(filter.storage().as_ref()) - before;
        prop_assert_eq!(new, gained > 0);
        prop_assert_eq!(new, !had);
        prop_assert!(gained <= u64::from(params.num_hashes()));
        prop_assert!(!filter.insert_digest(digest), "the second time it is present");
        news += u64::from(new);
    }
    prop_assert_eq!(filter.inserted_items(), news);
    filter.clear();
    prop_assert_eq!((ones(filter.storage().as_ref()), filter.inserted_items()), (0, 0));
    prop_assert!(digests.iter().all(|&digest| !filter.contains_digest(digest)));
    Ok(())
}

fn batch_equals_single<L: LayoutKind>(
    params: FilterParams,
    inserted: &[Digest],
    asked: &[Digest],
) -> Result<(), TestCaseError> {
    let (mut single, mut batch) = (empty::<L>(params), empty::<L>(params));
    let expected: Vec<bool> = inserted.iter().map(|&d| single.insert_digest(d)).collect();
    let mut answers = Bitmap::new();
    // A reused bitmap must not keep old bits: fill it with ones first.
    empty::<L>(params).insert_digests_into(inserted, &mut answers);
    batch.insert_digests_into(inserted, &mut answers);
    prop_assert_eq!(answers.iter().collect::<Vec<_>>(), expected.clone());
    prop_assert!(single.storage().as_ref() == batch.storage().as_ref());
    prop_assert_eq!(single.inserted_items(), batch.inserted_items());

    let expected: Vec<bool> = asked.iter().map(|&d| single.contains_digest(d)).collect();
    batch.contains_digests_into(asked, &mut answers);
    prop_assert_eq!(answers.len(), asked.len());
    prop_assert_eq!(answers.iter().collect::<Vec<_>>(), expected.clone());
    prop_assert_eq!((0..asked.len()).map(|i| answers.get(i)).collect::<Vec<_>>(), expected.clone());
    let indices: Vec<usize> = (0..asked.len()).filter(|&i| expected[i]).collect();
    prop_assert_eq!(answers.count_ones(), indices.len());
    prop_assert_eq!(answers.iter_ones().collect::<Vec<_>>(), indices.clone());
    prop_assert_eq!(answers.runs().flatten().collect::<Vec<_>>(), indices);
    Ok(())
}

fn copies_are_apart<L: LayoutKind>(
    params: FilterParams,
    digests: &[Digest],
    more: Digest,
) -> Result<(), TestCaseError> {
    let mut filter = empty::<L>(params);
    filter.insert_digests(digests);
    let before: Vec<Block> = filter.storage().as_ref().to_vec();
    let mut copy = filter.try_clone().unwrap();
    prop_assert!(copy.storage().as_ref() == before);
    prop_assert_eq!(copy.inserted_items(), filter.inserted_items());
    copy.insert_digest(more);
    prop_assert!(copy.contains_digest(more));
    prop_assert!(filter.storage().as_ref() == before, "the original must not change");
    Ok(())
}

/// Larger than the caches' threshold, where the prefetching loops run; odd batch lengths.
#[test]
#[cfg(not(miri))]
fn batches_of_filters_beyond_the_cache_are_their_keys_one_by_one() {
    for layout in [mayhap::Layout::Standard, mayhap::Layout::Blocked] {
        let params = super::shape(layout, 1 << 29, 8);
        with_layout!(beyond_the_cache(params));
    }
}

#[cfg(not(miri))]
fn beyond_the_cache<L: LayoutKind>(params: FilterParams) {
    let mut filter = empty::<L>(params);
    let keys: Vec<String> =
        (0..5000).map(|i| format!("https://example.org/{}", i % 4001)).collect();
    let new = filter.insert_batch(&keys);
    assert_eq!(new.iter_ones().collect::<Vec<_>>(), (0..4001).collect::<Vec<_>>());
    let asked: Vec<String> = (2000..7003).map(|i| format!("https://example.org/{i}")).collect();
    let found = filter.contains_batch(&asked);
    let expected: Vec<bool> = asked.iter().map(|key| filter.contains(key)).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    assert_eq!(found.count_ones(), 2001, "at 2^29 bits no false positive is among these keys");
}
