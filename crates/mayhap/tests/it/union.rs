//! Union: the OR of the bits, refused for unlike filters.

use super::{cases, digests, empty, shape, shapes, with_layout};
use mayhap::{AnyFilter, Build, Digest, DigestFunction, Error, FilterParams, Layout, SecretKey};
use mayhap::{BloomFilter, LayoutKind};
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_union_is_the_or_of_the_bits(
        params in shapes(), left in digests(60), right in digests(60),
    ) {
        with_layout!(union_is_or(params, &left, &right))?;
    }
}

fn union_is_or<L: LayoutKind>(
    params: FilterParams,
    left: &[Digest],
    right: &[Digest],
) -> Result<(), TestCaseError> {
    let (mut ours, mut theirs, mut both) =
        (empty::<L>(params), empty::<L>(params), empty::<L>(params));
    ours.insert_digests(left);
    theirs.insert_digests(right);
    both.insert_digests(left);
    both.insert_digests(right);
    let shared = ours.try_clone().unwrap().into_concurrent();
    ours.union_with(&theirs).unwrap();
    prop_assert!(ours.storage().as_ref() == both.storage().as_ref());
    // The count that one filter would have had, not the estimate from its bits.
    let counted = params.expected_inserted(both.estimated_items().rounded());
    prop_assert!((ours.inserted_items() as f64 - counted).abs() <= 1.0);
    shared.union_with(&theirs).unwrap();
    shared.union_with(&theirs.into_concurrent()).unwrap();
    prop_assert!(shared.into_exclusive().storage().as_ref() == both.storage().as_ref());
    Ok(())
}

#[test]
fn a_union_holds_the_keys_of_both() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let empty = || {
            let builder = AnyFilter::builder().layout(layout);
            builder.expected_items(1000).target_fpp(1e-6).build().unwrap()
        };
        let (mut left, mut right) = (empty(), empty());
        left.insert(&1u64);
        right.insert(&2u64);
        assert!(left.contains(&1u64) && !left.contains(&2u64));
        left.union_with(&right).unwrap();
        assert!(left.contains(&1u64) && left.contains(&2u64) && !left.contains(&3u64));
        assert!(!right.contains(&1u64), "the other filter does not change");
    }
}

#[test]
fn unlike_filters_are_refused_by_name_and_nothing_changes() {
    let any = |params, function| -> AnyFilter { Build::empty(params, function).unwrap() };
    let xxh3 = DigestFunction::xxh3;
    let sip13 = |byte| DigestFunction::sip13(SecretKey::new([byte; 16]));
    let base = || any(shape(Layout::Standard, 1024, 8), xxh3(7));
    let (key_1, key_2) = (sip13(1).parameter(), sip13(2).parameter());
    for (mut left, right, parameter, values) in [
        (base(), any(shape(Layout::Blocked, 1024, 8), xxh3(7)), "layout", (1, 2)),
        (base(), any(shape(Layout::Standard, 1025, 8), xxh3(7)), "num_bits", (1024, 1025)),
        (base(), any(shape(Layout::Standard, 1024, 9), xxh3(7)), "num_hashes", (8, 9)),
        (base(), any(shape(Layout::Standard, 1024, 8), sip13(1)), "digest function", (1, 2)),
        (base(), any(shape(Layout::Standard, 1024, 8), xxh3(8)), "digest seed or key", (7, 8)),
        (
            any(shape(Layout::Blocked, 1024, 8), sip13(1)),
            any(shape(Layout::Blocked, 1024, 8), sip13(2)),
            "digest seed or key",
            (key_1, key_2),
        ),
        (
            any(shape(Layout::Blocked, 1024, 8), xxh3(7)),
            any(shape(Layout::Blocked, 1024, 16), xxh3(7)),
            "num_hashes",
            (8, 16),
        ),
    ] {
        let mut right = right;
        left.insert("left");
        right.insert("right");
        let before = left.blocks().to_vec();
        let refused = left.union_with(&right).unwrap_err();
        let (left_value, right_value) = values;
        assert_eq!(
            refused,
            Error::Incompatible { parameter, left: left_value, right: right_value }
        );
        assert!(refused.to_string().contains(parameter), "{refused}");
        assert!(left.blocks() == before && left.inserted_items() == 1, "{parameter}");
    }
}

/// The number of keys that filters were made *for* is no part of their shape.
#[test]
fn filters_for_other_numbers_of_items_unite_when_their_shape_is_one() {
    let filter = |n, p| -> BloomFilter {
        let params = FilterParams::new(Layout::Standard, 1000, 7, n, p).unwrap();
        Build::empty(params, DigestFunction::default()).unwrap()
    };
    let (mut left, mut right) = (filter(100, 0.01), filter(50, 0.001));
    right.insert("key");
    left.union_with(&right).unwrap();
    assert!(left.contains("key"));
    assert_eq!((left.params().expected_items(), left.params().target_fpp()), (100, 0.01));
}
