//! The frozen filter: nothing is missed whatever it is built from, and p is exact.

use super::{cases, digests};
use mayhap::native::{self, Fields, Kind, Native};
use mayhap::{BinaryFuse, Block, Digest, DigestFunction, Error, FuseParams, FuseWidth};
use proptest::prelude::*;
use std::collections::HashSet;

/// Those of all releases, the narrowest and the widest, and two of which a share has one bit more.
const WIDTHS: [FuseWidth; 6] = [
    FuseWidth::BITS_8,
    FuseWidth::BITS_16,
    FuseWidth::from_bits(4).unwrap(),
    FuseWidth::from_bits(32).unwrap(),
    FuseWidth::mixed(9, 1 << 30).unwrap(),
    FuseWidth::mixed(31, u32::MAX).unwrap(),
];

fn build(width: FuseWidth, digests: &[Digest]) -> BinaryFuse {
    let filter =
        BinaryFuse::build(width, DigestFunction::default(), digests.iter().copied()).unwrap();
    assert_eq!(filter.len(), digests.iter().collect::<HashSet<_>>().len() as u64);
    assert_eq!(filter.contains_digests(digests).count_ones(), digests.len(), "false negative");
    assert!(digests.iter().all(|&digest| filter.contains_digest(digest)), "false negative");
    filter
}

proptest! {
    #![proptest_config(cases(64))]

    /// Duplicates, tiny sets, extreme digests: `digests` makes them all.
    #[test]
    fn every_digest_is_found(digests in digests(600)) {
        for width in WIDTHS {
            build(width, &digests);
        }
    }

    #[test]
    fn the_order_and_the_number_of_times_do_not_matter(digests in digests(300)) {
        let filter = build(FuseWidth::BITS_8, &digests);
        let mut again: Vec<Digest> = digests.iter().rev().copied().collect();
        again.extend(&digests);
        let other = build(FuseWidth::BITS_8, &again);
        prop_assert_eq!(filter.params(), other.params());
        prop_assert_eq!(filter.storage().as_ref(), other.storage().as_ref());
    }

    /// Batches of every length answer like single queries, for present and absent digests.
    #[test]
    fn batches_answer_as_one_at_a_time(members in digests(200), asked in digests(300)) {
        for width in WIDTHS {
            let filter = build(width, &members);
            let batch: Vec<bool> = filter.contains_digests(&asked).iter().collect();
            let single: Vec<bool> =
                asked.iter().map(|&digest| filter.contains_digest(digest)).collect();
            prop_assert_eq!(batch, single);
        }
    }
}

#[test]
fn an_empty_filter_says_no_to_everything() {
    for width in WIDTHS {
        let filter = build(width, &[]);
        assert!(filter.is_empty() && filter.expected_fpp() == 0.0);
        let asked: Vec<Digest> = (0..100_000).map(Digest::new).collect();
        assert_eq!(filter.contains_digests(&asked).count_ones(), 0);
        assert!(asked.iter().all(|&digest| !filter.contains_digest(digest)));
    }
}

/// Digests that are no hashes: the seed's mixing must be enough.
#[test]
fn structured_digests_are_built_and_found() {
    let items = if cfg!(miri) { 100 } else { 100_000u64 };
    let patterns: [fn(u64) -> u64; 6] = [
        |i| i,
        |i| i << 44,
        |i| u64::MAX - i,
        |i| i.swap_bytes(),
        |i| i * 0x1_0000_0001,
        |i| i / 7,
    ];
    for pattern in patterns {
        let digests: Vec<Digest> = (0..items).map(|i| Digest::new(pattern(i))).collect();
        let filter = build(FuseWidth::BITS_8, &digests);
        if !cfg!(miri) {
            // 3.9 in 1000, also for absent neighbours of keys inside.
            let asked: Vec<Digest> =
                (0..items).map(|i| Digest::new(pattern(i) ^ 1 << 43)).collect();
            let inside: HashSet<&Digest> = digests.iter().collect();
            let absent: Vec<Digest> =
                asked.iter().filter(|digest| !inside.contains(digest)).copied().collect();
            assert!(absent.len() > 10_000, "the pattern leaves none to ask");
            check_rate(&filter, &absent);
        }
    }
    let equal = vec![Digest::new(0); 5000];
    assert_eq!(build(FuseWidth::BITS_16, &equal).len(), 1);
}

/// Within 3.5 σ of the prediction; σ is for counting alone, as filters of one width do not differ.
fn check_rate(filter: &BinaryFuse, absent: &[Digest]) -> f64 {
    let p = filter.expected_fpp();
    let (asked, found) = (absent.len() as f64, filter.contains_digests(absent).count_ones() as f64);
    let deviation = (found - asked * p) / (asked * p * (1.0 - p)).sqrt();
    println!("{:?}: {found} of {asked}, {deviation:+.2} σ", filter.params());
    assert!(deviation.abs() <= 3.5, "{deviation} σ");
    deviation
}

#[test]
#[cfg(not(miri))]
fn the_rate_is_exact() {
    // Seeds 0 to 2, sizes from one key to a million.
    for (width, probes) in [(FuseWidth::BITS_8, 400_000u64), (FuseWidth::BITS_16, 8_000_000)] {
        for (seed, items) in [(0, 1u64), (1, 100), (1, 10_000), (2, 1_000_000)] {
            let function = DigestFunction::xxh3(seed);
            let filter = BinaryFuse::from_keys(width, function, 0..items).unwrap();
            assert_eq!(filter.len(), items);
            let absent: Vec<Digest> =
                ((1 << 40)..(1 << 40) + probes).map(|key| function.digest(&key)).collect();
            let deviation = check_rate(&filter, &absent);
            assert!(deviation.abs() <= 3.0);
            let expected = 0.5f64.powi(width.bits().cast_signed());
            assert!((filter.expected_fpp() / expected - 1.0).abs() < 1e-6);
        }
    }
}

#[test]
#[cfg(not(miri))]
fn a_million_keys_take_9_1_bits_each() {
    for (width, limit) in [(FuseWidth::BITS_8, 9.1), (FuseWidth::BITS_16, 18.2)] {
        let keys: Vec<u64> = (0..1_000_000).collect();
        let filter = BinaryFuse::from_keys(width, DigestFunction::default(), &keys).unwrap();
        assert!(filter.num_bytes() as f64 * 8.0 / 1e6 <= limit);
        assert_eq!(filter.contains_batch(&keys).count_ones(), keys.len());
    }
}

/// The formulas of `crates/mayhap/NATIVE-FORMAT.md`, written down a second time.
#[test]
fn the_filter_is_what_the_format_page_says() {
    let function = DigestFunction::default();
    let filter = BinaryFuse::from_keys(FuseWidth::BITS_8, function, 0..1000u64).unwrap();
    let params = filter.params();
    let bytes: Vec<u8> =
        filter.storage().as_ref().iter().flat_map(|b| b.0).flat_map(u64::to_le_bytes).collect();
    let length = 1u128 << params.log2_segment_length();
    let found = |key: u64| {
        let mut h = function.digest(&key).get().wrapping_add(params.seed());
        for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53u64] {
            h = (h ^ h >> 33).wrapping_mul(factor);
        }
        h ^= h >> 33;
        let q = u128::from(h.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let a = (u128::from(h) * u128::from(params.segment_count()) * length) >> 64;
        let b = (a + length) ^ ((q >> 44) % length);
        let c = (a + 2 * length) ^ ((q >> 24) % length);
        [a, b, c].iter().fold(0, |x, &slot| x ^ bytes[slot as usize]) == (q >> 8) as u8
    };
    assert!((0..1000).all(found));
    assert!((1000..20_000u64).all(|key| found(key) == filter.contains(&key)));
}

#[test]
fn parts_that_no_filter_has_are_refused() {
    let new = |items, log2, count| FuseParams::new(FuseWidth::BITS_8, items, 1, log2, count);
    assert!(matches!(new(5, 19, 1), Err(Error::OutOfRange { .. })));
    assert!(matches!(new(5, 2, 0), Err(Error::OutOfRange { .. })));
    assert!(matches!(new(5, 18, u64::MAX), Err(Error::OutOfRange { .. })));
    assert!(matches!(new(13, 2, 1), Err(Error::OutOfRange { parameter: "items", .. })));
    let params = new(12, 2, 1).unwrap();
    assert_eq!((params.num_bits(), params.num_blocks()), (96, 1));
    let from = |params, blocks: &[Block]| {
        BinaryFuse::from_parts(params, DigestFunction::default(), blocks.to_vec()).map(|_| ())
    };
    let mut blocks = [Block::default(); 2];
    assert!(matches!(from(params, &blocks), Err(Error::WrongLength { .. })));
    blocks[0].0[1] = u64::from(u32::MAX);
    assert!(from(params, &blocks[..1]).is_ok());
    blocks[0].0[1] = 1 << 32;
    assert!(matches!(from(params, &blocks[..1]), Err(Error::BadField { found: 1, .. })));
    // Without keys nothing is set.
    blocks[0].0[1] = 1;
    assert!(matches!(from(new(0, 2, 1).unwrap(), &blocks[..1]), Err(Error::BadField { .. })));
}

#[test]
fn a_saved_filter_comes_back_bit_for_bit() {
    let function = DigestFunction::xxh3(9);
    for width in WIDTHS {
        for items in [0u64, 1, 2, 1000] {
            let filter = BinaryFuse::from_keys(width, function, 0..items).unwrap();
            let bytes = native::encode(&filter, "trim=yes\n");
            let (copy, header): (BinaryFuse, _) = native::decode_as(&bytes, None).unwrap();
            assert_eq!((header.kind(), header.key_options()), (Kind::Fuse, "trim=yes\n"));
            assert_eq!(copy.params(), filter.params());
            assert!((0..3000u64).all(|key| copy.contains(&key) == filter.contains(&key)));
            assert!((0..items).all(|key| copy.contains(&key)));
            assert_eq!(native::encode(&copy, "trim=yes\n"), bytes);
            assert!(matches!(native::decode(&bytes, None), Err(Error::WrongKind { .. })));
        }
    }
}

/// Recorded before there were other widths: the same set gives the same file in every release.
#[test]
fn files_of_widths_8_and_16_are_those_of_all_releases() {
    for (seed, items, sums) in [
        (0, 0u64, [0x876D_0927_90F1_1142, 0x5EDC_98F4_7248_12C7u64]),
        (1, 1, [0xCF49_23FD_BFB7_21D2, 0xE4FF_022B_13EF_8AFF]),
        (2, 1_000, [0x845E_A036_8A7D_9BDA, 0x8DC6_DBFC_1A27_CFBC]),
        (3, 20_000, [0xC16A_0F94_61C7_05B3, 0xE2CC_B7CB_976E_4F1C]),
        (4, 150_000, [0x13E3_4A9E_1AD7_DE3D, 0xD5AA_953B_343A_C221]),
    ] {
        for (width, sum) in [FuseWidth::BITS_8, FuseWidth::BITS_16].into_iter().zip(sums) {
            let filter = BinaryFuse::from_keys(width, DigestFunction::xxh3(seed), 0..items);
            let bytes = native::encode(&filter.unwrap(), "");
            assert_eq!(xxhash_rust::xxh3::xxh3_64(&bytes), sum, "{items} keys, {width:?}");
        }
    }
}

/// Each field, forged under a right checksum: a sender must not choose panics or memory.
#[test]
fn forged_fields_are_refused() {
    let filter = BinaryFuse::from_keys(FuseWidth::BITS_8, DigestFunction::default(), 0..99u64);
    let good = filter.unwrap().fields();
    assert_eq!(BinaryFuse::segment_blocks(&good).unwrap().len(), 1);
    let forge = |change: &dyn Fn(&mut Fields)| {
        let mut fields = good.clone();
        change(&mut fields);
        BinaryFuse::segment_blocks(&fields)
    };
    // Any width that others have, but without the bits that it takes.
    for value in [0, 1, 7, 9, 16, 64, 1 << 32, (1 << 32) + 8, 1 << 63, u64::MAX] {
        for i in 0..7 {
            if i != 3 && good.extra[i] != value {
                assert!(forge(&|f| f.extra[i] = value).is_err(), "extra {i} = {value}");
            }
        }
        assert!(forge(&|f| f.num_bits = value).is_err(), "num_bits = {value}");
        assert!(forge(&|f| f.inserted_items = value).is_err(), "inserted_items = {value}");
        assert!(forge(&|f| f.expected_items = value).is_err(), "expected_items = {value}");
        assert!(forge(&|f| f.num_hashes = value as u32).is_err(), "num_hashes = {value}");
        assert!(forge(&|f| f.target_fpp = f64::from_bits(value)).is_err());
    }
    assert!(forge(&|f| f.layout = 1).is_err());
    assert!(forge(&|f| f.layers.push([1; 4])).is_err());
    // Any seed is one that could have served.
    assert!(forge(&|f| f.extra[3] ^= 1).is_ok());
}

/// The example of `crates/mayhap/NATIVE-FORMAT.md`.
#[test]
fn the_example_of_the_format_page_is_right() {
    let function = DigestFunction::default();
    let filter = BinaryFuse::from_keys(FuseWidth::BITS_8, function, ["a", "b", "c"]).unwrap();
    let params = filter.params();
    assert_eq!(params.seed(), 0xE220_A839_7B1D_CDAF);
    assert_eq!((params.log2_segment_length(), params.segment_count()), (3, 1));
    let lanes: Vec<u64> = filter.storage().as_ref().iter().flat_map(|block| block.0).collect();
    assert_eq!(lanes[0], 0xEA9B_0000_0000_00F6);
    assert!(lanes[1..].iter().all(|&lane| lane == 0));
}
