//! A folded filter is the one that the same keys fill at the smaller size.

use super::{cases, digests, empty, shape, with_layout};
use mayhap::native::Native;
use mayhap::sizing::{self, Shrink};
use mayhap::{
    AnyFilter, Block, Build, Digest, DigestFunction, Error, FilterParams, Health, Layout,
    ScalableBloomFilter,
};
use mayhap::{LayoutKind, native};
use proptest::prelude::*;
use std::ops::Range;

/// The smaller filter of each layout, with every k that has positions of its own.
const SMALL: [(Layout, u64, u32); 9] = [
    (Layout::Standard, 64, 1),
    (Layout::Standard, 1_001, 7),
    (Layout::Standard, 8_192, 32),
    (Layout::Blocked, 512, 4),
    (Layout::Blocked, 5 * 512, 8),
    (Layout::Blocked, 33 * 512, 4),
    (Layout::Blocked, 32 * 512, 16),
    (Layout::Blocked128, 37 * 128, 8),
    (Layout::Blocked64, 37 * 64, 8),
];

/// An empty filter for so few keys that every factor leaves it some.
fn of_shape(layout: Layout, num_bits: u64, num_hashes: u32) -> AnyFilter {
    let params = FilterParams::new(layout, num_bits, num_hashes, 10, 0.9).unwrap();
    Build::empty(params, DigestFunction::xxh3(7)).unwrap()
}

fn bits(filter: &AnyFilter) -> &[Block] {
    filter.blocks()
}

#[test]
fn every_factor_folds_to_the_filter_built_small() {
    for (layout, num_bits, num_hashes) in SMALL {
        for factor in (2..=64).chain([65, 127, 720]) {
            let mut large = of_shape(layout, num_bits * factor, num_hashes);
            let mut small = of_shape(layout, num_bits, num_hashes);
            // A third of the bits, whose last ones are among them: 2^64 - 1 has the last position.
            let keys = num_bits / u64::from(num_hashes) / 3 + 3;
            for key in 0..keys {
                let text = format!("key {key}");
                for filter in [&mut large, &mut small] {
                    filter.insert(&key);
                    filter.insert(&*text);
                }
            }
            let mut new = mayhap::Bitmap::new();
            for filter in [&mut large, &mut small] {
                filter.insert_digests_into(&[Digest::new(u64::MAX), Digest::new(0)], &mut new);
            }
            let folded = large.fold(factor, 0.9).unwrap();
            assert!(bits(&folded) == bits(&small), "{layout} {num_bits} k {num_hashes} × {factor}");
            assert!(folded.count_ones() < num_bits * 3 / 4 + 8, "{layout} {num_bits} {factor}");
            assert_eq!(folded.params().num_bits(), num_bits);
            // The same estimate, whose count is within chance of the one counted at that size.
            assert_eq!(folded.estimated_items(), small.estimated_items());
            assert_eq!(folded.estimated_fpp(), small.estimated_fpp());
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_digests_fold(
        (layout, unit, k) in prop_oneof![
            (1u32..=32).prop_map(|k| (Layout::Standard, 1u64, k)),
            (2u32..=4).prop_map(|k| (Layout::Blocked, 512, 1 << k)),
            Just((Layout::Blocked128, 128, 8)),
            Just((Layout::Blocked64, 64, 8)),
        ],
        units in 1u64..80, factor in 1u64..90, digests in digests(40),
    ) {
        let units = if layout == Layout::Standard { units + 63 } else { units };
        with_layout!(folds(shape(layout, units * unit, k), factor, &digests))?;
    }
}

fn folds<L: LayoutKind>(
    small: FilterParams,
    factor: u64,
    digests: &[Digest],
) -> Result<(), TestCaseError> {
    let (layout, m, k) = (small.layout(), small.num_bits(), small.num_hashes());
    let large = FilterParams::new(layout, m * factor, k, 100, 0.99).unwrap();
    let (mut small, mut large) = (empty::<L>(small), empty::<L>(large));
    small.insert_digests(digests);
    large.insert_digests(digests);
    let folded = large.fold(factor, 0.9).unwrap();
    prop_assert!(folded.storage().as_ref() == small.storage().as_ref());
    prop_assert!(digests.iter().all(|&digest| folded.contains_digest(digest)));
    // In two steps as in one.
    if factor.is_multiple_of(2) {
        let twice = large.fold(2, 0.9).unwrap().fold(factor / 2, 0.9).unwrap();
        prop_assert!(twice.storage().as_ref() == small.storage().as_ref());
    }
    Ok(())
}

#[test]
fn a_factor_that_does_not_divide_the_size_is_refused() {
    let blocked = of_shape(Layout::Blocked, 12 * 512, 8);
    let error = |factor| blocked.fold(factor, 0.9).unwrap_err();
    assert_eq!(error(5), Error::NoFold { unit: "blocks", from: 12, factor: 5 });
    assert_eq!(error(0), Error::NoFold { unit: "blocks", from: 12, factor: 0 });
    assert_eq!(error(24), Error::NoFold { unit: "blocks", from: 12, factor: 24 });
    assert!(error(5).to_string().contains("12 blocks do not fold by 5"));
    let standard = of_shape(Layout::Standard, 1_000, 3);
    let error = |factor| standard.fold(factor, 0.9).unwrap_err();
    assert_eq!(error(7), Error::NoFold { unit: "bits", from: 1_000, factor: 7 });
    // 50 bits are fewer than any filter has.
    assert!(matches!(error(20), Error::OutOfRange { found: 50, .. }), "{}", error(20));
    assert_eq!(blocked.fold(12, 0.9).unwrap().params().num_bits(), 512);
}

#[test]
fn counts_rates_and_health_are_those_of_the_smaller_filter() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let build = |num_bytes: u64| {
            let builder = AnyFilter::builder().layout(layout).num_bytes(num_bytes);
            let mut filter = builder.target_fpp(0.05).build().unwrap();
            let keys = (0..40_000u64).collect::<Vec<_>>();
            filter.insert_batch(&keys);
            filter
        };
        let (large, small) = (build(960 << 10), build(32 << 10));
        let folded = large.fold(30, 0.05).unwrap();
        assert_eq!(folded.params(), small.params());
        assert_eq!(folded.params(), &large.params().folded(30, 0.05).unwrap());
        assert!(folded.inserted_items() < large.inserted_items());
        // About 300 of 40,000 are swallowed, give or take 17.
        assert!(folded.inserted_items().abs_diff(small.inserted_items()) < 60);
        let distinct = folded.distinct_items();
        assert!(distinct.low <= 40_000.0 && 40_000.0 <= distinct.high, "{distinct:?}");
        assert_eq!(folded.estimated_fpp(), small.estimated_fpp());
        assert_eq!(folded.health(), small.health());
        // More than it holds at 5 %, and reported so.
        let full = large.fold(60, 0.05).unwrap();
        assert_eq!(full.health(), Health::OverCapacity);
        assert!(full.expected_fpp(40_000) > 0.05);
        assert!(large.fold(1, 0.05).unwrap().inserted_items() == large.inserted_items());
    }
}

#[test]
fn a_count_that_the_bits_contradict_is_not_carried() {
    let mut filter = of_shape(Layout::Blocked, 1_200 * 512, 8);
    filter.insert_batch(&(0..2_000u64).collect::<Vec<_>>());
    filter.set_inserted_items(0);
    let items = filter.fold(12, 0.9).unwrap().inserted_items();
    assert!((1_900..=2_000).contains(&items), "{items}");
    // All bits set: no count follows from them, and none is made up.
    let full = vec![Block([u64::MAX; 8]); 12];
    let params = shape(Layout::Blocked, 12 * 512, 8);
    let full = AnyFilter::from_parts(params, DigestFunction::xxh3(0), &*full, 5).unwrap();
    let folded = full.fold(4, 0.9).unwrap();
    assert_eq!(folded.health(), Health::OverCapacity);
    assert_eq!(folded.estimated_fpp(), 1.0);
}

#[test]
fn a_settled_fold_is_the_reproducible_file_of_the_smaller_size() {
    for (layout, fpp) in [(Layout::Standard, 1e-6), (Layout::Blocked, 0.01)] {
        let params = sizing::foldable(layout, 8 << 20, fpp).unwrap();
        let mut large: AnyFilter = Build::empty(params, DigestFunction::xxh3(0)).unwrap();
        let keys = || (0..5_000u64).map(|key| format!("key {key}")).collect::<Vec<_>>();
        large.insert_batch(&keys());
        let items = large.distinct_items().rounded();
        let factor = params.fold_factor(items, fpp).unwrap();
        assert!(factor > 2, "{layout} {factor}");
        let mut folded = large.fold(factor, fpp).unwrap();
        assert!(folded.expected_fpp(items) <= fpp);
        folded.settle_inserted_items();
        let builder = AnyFilter::builder().layout(layout).num_bytes(folded.params().num_bytes());
        let mut small = builder.target_fpp(fpp).build().unwrap();
        let mut backwards = keys();
        backwards.reverse();
        small.insert_batch(&backwards);
        small.settle_inserted_items();
        assert!(native::encode(&folded, "") == native::encode(&small, ""), "{layout}");
    }
}

/// The chosen factor is the largest: the next larger divisor breaks the rate.
#[test]
fn the_largest_factor_that_keeps_the_rate_is_chosen() {
    for (layout, fpp) in [(Layout::Standard, 1e-4), (Layout::Blocked, 0.001)] {
        let params = sizing::foldable(layout, 8 * 64 * 5_040 * 16, fpp).unwrap();
        assert_eq!(params.num_blocks(), 5_040 * 16);
        for items in [1, 1_000, 12_345, 100_000, params.expected_items()] {
            let factor = params.fold_factor(items, fpp).unwrap();
            let fpp_at = |factor: u64| {
                sizing::expected_fpp(layout, params.num_bits() / factor, params.num_hashes(), items)
            };
            assert!(fpp_at(factor) <= fpp);
            let larger = (factor + 1..=params.num_blocks())
                .find(|&larger| params.num_blocks().is_multiple_of(larger));
            assert!(larger.is_none_or(|larger| fpp_at(larger) > fpp), "{items}: {factor}");
        }
        assert_eq!(params.fold_factor(params.expected_items() * 2, fpp), None);
    }
}

#[test]
fn how_far_a_filter_shrinks_is_refused_or_keeps_the_rate() {
    let params = FilterParams::new(Layout::Blocked, 12_000 * 512, 8, 500_000, 0.01).unwrap();
    let to = |items, target_fpp| Shrink::To { items, target_fpp }.of(&params, 100_000);
    // A sixth of the size for its rate, a tenth for a higher one.
    assert_eq!(to(None, None).unwrap().0, 6);
    assert_eq!(to(None, Some(0.1)).unwrap().0, 10);
    let fourth = FilterParams::new(Layout::Blocked, 3_000 * 512, 8, 150_000, 0.01);
    assert_eq!(to(Some(150_000), None), Ok((4, fourth.unwrap())));
    // Nothing smaller, and nothing at all.
    assert_eq!(to(Some(450_000), None), Ok((1, params)));
    let expected_fpp = params.expected_fpp(900_000);
    let error = Error::NoShrink { items: 900_000, expected_fpp, target_fpp: 0.01 };
    assert_eq!(to(Some(900_000), None), Err(error));
    // For fewer keys than it has.
    let error = to(Some(10), None);
    assert!(matches!(error, Err(Error::FoldOverfull { items: 100_000, expected_items: 10, .. })));
    assert_eq!(to(None, Some(1.5)), Err(Error::FppOutOfRange { found: 1.5 }));
    assert_eq!(to(Some(0), None), Err(Error::ZeroItems));
    let by = |factor| Shrink::By(factor).of(&params, 100_000);
    assert_eq!(by(1), Ok((1, params)));
    assert_eq!(by(4).unwrap(), (4, params.folded(4, 0.01).unwrap()));
    assert!(matches!(by(12), Err(Error::FoldOverfull { factor: 12, items: 100_000, .. })));
    assert_eq!(by(7), Err(Error::NoFold { unit: "blocks", from: 12_000, factor: 7 }));
}

/// A chain with these layers, which are folded and built small.
fn chain(first_items: u64, target_fpp: f64, keys: Range<u64>) -> ScalableBloomFilter {
    let mut chain =
        ScalableBloomFilter::new(first_items, target_fpp, DigestFunction::xxh3(3)).unwrap();
    chain.insert_batch(&keys.collect::<Vec<_>>()).unwrap();
    chain
}

#[test]
fn a_chain_folds_to_the_one_layer_that_is_built_small() {
    // One layer with few keys; two, the second of which has just begun; of one part and of two.
    for (first_items, target_fpp, keys, layers) in
        [(48_640, 0.01, 500, 1), (10_000, 1e-4, 500, 1), (32, 0.01, 34, 2), (1_000, 1e-4, 1_051, 2)]
    {
        let name = format!("{first_items} at {target_fpp}");
        let large = chain(first_items, target_fpp, 0..keys);
        assert_eq!(large.num_layers(), layers, "{name}");
        let small = large.shrunk(Shrink::default()).unwrap().expect(&name);
        assert_eq!(small.num_layers(), 1);
        assert!(small.num_bytes() < large.num_bytes(), "{name}");
        let params = small.layers().next().unwrap().0;
        let first = params.expected_items();
        let mut built = ScalableBloomFilter::with_first_layer(
            params,
            first,
            target_fpp,
            *large.digest_function(),
        )
        .unwrap();
        built.insert_batch(&(0..keys).collect::<Vec<_>>()).unwrap();
        let [bits, expected] = [&small, &built].map(|it| it.segments().concat());
        assert!(bits == expected, "{name}");
        assert!(small.inserted_items().abs_diff(built.inserted_items()) <= 3, "{name}");
        // It can be saved, and read again.
        let read: ScalableBloomFilter =
            native::decode_as(&native::encode(&small, ""), None).unwrap().0;
        assert_eq!(read.segments(), small.segments(), "{name}");
        // And keeps its rate while it grows.
        let mut small = small;
        assert!(small.promised_fpp() <= target_fpp, "{name}: {}", small.promised_fpp());
        small.insert_batch(&(keys..50_000).collect::<Vec<_>>()).unwrap();
        assert!(small.promised_fpp() <= target_fpp && small.expected_fpp() <= target_fpp, "{name}");
        assert!((0..50_000u64).all(|key| small.contains(&key)), "{name}");
    }
}

#[test]
fn a_chain_that_does_not_fold_says_why() {
    let full = chain(100, 0.01, 0..20_000);
    let error = full.shrunk(Shrink::default()).unwrap_err();
    let all = full.num_layers() as u64;
    assert!(
        matches!(error, Error::NoCollapse { num_layers, .. } if u64::from(num_layers) == all),
        "{error}"
    );
    assert!(error.to_string().contains("layers fold has"), "{error}");
    let by = full.shrunk(Shrink::By(2)).unwrap_err();
    assert_eq!(by, Error::NoFold { unit: "layers", from: all, factor: 2 });
    // One layer that is full, and one that is to have another rate.
    let one = chain(1_000, 0.01, 0..990);
    assert!(one.shrunk(Shrink::default()).unwrap().is_none());
    let to = |items, target_fpp| one.shrunk(Shrink::To { items, target_fpp });
    assert!(matches!(to(None, Some(1e-9)), Err(Error::NoShrink { .. })));
    assert!(matches!(to(Some(10), Some(0.5)), Err(Error::FoldOverfull { .. })));
    assert!(matches!(to(None, Some(1.0)), Err(Error::FppOutOfRange { .. })));
    assert!(matches!(one.shrunk(Shrink::By(0)), Err(Error::NoFold { unit: "blocks", .. })));
}
