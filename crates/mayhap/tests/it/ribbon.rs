//! The frozen filter of the fewest bits: nothing is missed whatever it is built from, and p is
//! exact.

use super::{cases, digests};
use mayhap::native::{self, Fields, Header, Kind, Native};
use mayhap::sizing::ribbon::{expected_fpp, fitting, max_items, num_bits, width_for};
use mayhap::{Block, Digest, DigestFunction, Error, FuseWidth, RibbonFilter, RibbonParams};
use proptest::prelude::*;
use std::collections::HashSet;

/// The narrowest and the widest, whole groups of planes and others, and of two widths.
const WIDTHS: [FuseWidth; 7] = [
    FuseWidth::from_bits(4).unwrap(),
    FuseWidth::BITS_8,
    FuseWidth::from_bits(10).unwrap(),
    FuseWidth::from_bits(32).unwrap(),
    FuseWidth::mixed(7, 1 << 30).unwrap(),
    FuseWidth::mixed(15, 1).unwrap(),
    FuseWidth::mixed(31, u32::MAX).unwrap(),
];

fn build(width: FuseWidth, digests: &[Digest]) -> RibbonFilter {
    let filter =
        RibbonFilter::build(width, DigestFunction::default(), digests.iter().copied()).unwrap();
    assert_eq!(filter.len(), digests.iter().collect::<HashSet<_>>().len() as u64);
    assert_eq!(filter.contains_digests(digests).count_ones(), digests.len(), "false negative");
    assert!(digests.iter().all(|&digest| filter.contains_digest(digest)), "false negative");
    filter
}

fn of(width: FuseWidth, function: DigestFunction, items: u64) -> RibbonFilter {
    let filter = RibbonFilter::from_keys(width, function, 0..items).unwrap();
    assert_eq!(filter.len(), items);
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

/// Filters that no near cache holds are queried in groups, whose lines are requested ahead.
#[test]
#[cfg(not(miri))]
fn batches_of_a_large_filter_answer_as_one_at_a_time() {
    let function = DigestFunction::xxh3(3);
    let filter = of(FuseWidth::mixed(19, 1 << 31).unwrap(), function, 1_000_000);
    assert!(filter.num_bytes() > 2 << 20);
    let asked: Vec<Digest> = (999_000..1_003_333).map(|key: u64| function.digest(&key)).collect();
    for len in [0, 1, 31, 32, 33, 64, 97, asked.len()] {
        let batch = filter.contains_digests(&asked[..len]);
        assert!(batch.iter().zip(&asked).all(|(found, &key)| found == filter.contains_digest(key)));
    }
    assert!(filter.contains_digests(&asked).iter().take(1_000).all(|found| found));
}

/// Within 3 σ of the prediction; σ is for counting alone, as filters of one width do not differ.
#[test]
#[cfg(not(miri))]
fn measured_rates_are_the_ones_that_were_asked_for() {
    for (seed, items, asked, probes) in [
        (0, 1u64, 0.01, 400_000u64),
        (1, 5_000, 0.003, 1_000_000),
        (2, 1_000_000, 0.04, 400_000),
        (3, 1_000_000, 0.01, 1_000_000),
        (4, 1_000_000, 0.001, 4_000_000),
        (5, 300_000, 1e-4, 10_000_000),
        (6, 100_000, 1e-6, 40_000_000),
    ] {
        let function = DigestFunction::xxh3(seed);
        let digests = (0..items).map(|key| function.digest(&key));
        let filter = RibbonFilter::build_for_target(asked, function, digests).unwrap();
        let expected = filter.expected_fpp();
        // One key is in one part, and the answer of the other is "surely not".
        let is_exact = expected > asked * 0.999_999;
        assert!(expected <= asked && (is_exact || items == 1), "{expected} for {asked}");
        let mut found = 0;
        let mut batch = vec![Digest::new(0); 1 << 16];
        for start in (0..probes).step_by(batch.len()) {
            let len = batch.len().min((probes - start) as usize);
            for (key, digest) in (1 << 40 | start..).zip(&mut batch[..len]) {
                *digest = function.digest(&key);
            }
            found += filter.contains_digests(&batch[..len]).count_ones();
        }
        let mean = probes as f64 * expected;
        let deviation = (found as f64 - mean) / (mean * (1.0 - expected)).sqrt();
        println!("{items} keys at {asked}: {found} of {probes}, {deviation:+.2} σ");
        assert!(deviation.abs() <= 3.0, "{asked}: {deviation} σ");
    }
}

/// A share of the keys with one bit more costs up to 0.09 bits a key over log2(1/p); the rest is
/// what the construction costs.
#[test]
#[cfg(not(miri))]
fn bits_per_key_are_as_documented_and_as_expected() {
    for (items, over) in [(10_000u64, 1.036), (200_000, 1.008), (1_000_000, 1.006)] {
        for (bits, wider) in [(4, 0), (4, 3 << 30), (6, 0), (9, 1 << 31), (20, 0)] {
            let width = FuseWidth::mixed(bits, wider).unwrap();
            let filter = of(width, DigestFunction::xxh3(items), items);
            let found = filter.num_bits() as f64 / items as f64;
            assert!(found <= width.mean_bits() * over, "{items} keys, {width:?}: {found}");
            let expected = num_bits(width, items).unwrap() as f64 / items as f64;
            let less = if items < 100_000 { 0.975 } else { 0.998 };
            assert!((less..=1.0005).contains(&(found / expected)), "{found}, not {expected}");
        }
    }
}

#[test]
fn bits_keys_and_widths_are_each_others_inverse() {
    for items in [1u64, 100, 3_000, 1_000_000, 1 << 33] {
        for asked in [0.5, 0.04, 0.01, 1e-3, 1e-6, 1e-9] {
            let width = width_for(items, asked).unwrap();
            let fpp = expected_fpp(width, items);
            assert!(fpp <= asked && (fpp > asked * 0.999_999 || width.bits() == 4));
            let bits = num_bits(width, items).unwrap();
            let widest = fitting(items, bits).unwrap();
            // Segments are whole, so that a little more share may take fewer bits.
            let less = if items < 100_000 { 1.0 } else { 0.01 };
            assert!(widest.mean_bits() >= width.mean_bits() - less, "{items}: {widest:?}");
            assert!(num_bits(widest, items).unwrap() <= bits);
            let most = max_items(width, bits);
            assert!(most + most / 10 + 64 >= items && num_bits(width, most).unwrap() <= bits);
        }
        assert_eq!(width_for(items, 1e-10), None);
        assert_eq!(fitting(items, 63), None);
    }
    assert!(matches!(num_bits(FuseWidth::BITS_8, u64::MAX), Err(Error::TooLarge { .. })));
    assert!(matches!(num_bits(FuseWidth::BITS_8, 1 << 55), Err(Error::TooLarge { .. })));
}

/// The formulas of `crates/mayhap/NATIVE-FORMAT.md`, written down a second time: bit by bit.
#[test]
fn the_filter_is_what_the_format_page_says() {
    let function = DigestFunction::default();
    let items = if cfg!(miri) { 300 } else { 6_000u64 };
    for (bits, wider) in [(4u32, 0u32), (7, 1 << 30), (17, 3 << 30), (31, u32::MAX), (32, 0)] {
        let filter = of(FuseWidth::mixed(bits, wider).unwrap(), function, items);
        let words: Vec<u64> = filter.storage().as_ref().iter().flat_map(|b| b.0).collect();
        let limit = u128::from(wider) << 32;
        let [wide, narrow] = filter.params().segments().clone();
        let of_wide = wide.iter().sum::<u64>() * (u64::from(bits) + 1);
        let of_narrow = narrow.iter().sum::<u64>() * u64::from(bits);
        let found = |key: u64| {
            let d = function.digest(&key).get();
            let mut h = d;
            for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53u64] {
                h = (h ^ h >> 33).wrapping_mul(factor);
            }
            h ^= h >> 33;
            let is_wide = u128::from(d) < limit;
            let (layers, b, first, range, mut at, mut codes_at) = if is_wide {
                (&wide, bits + 1, 0, limit, 0, of_wide.next_multiple_of(8) + of_narrow)
            } else {
                let codes: u64 = wide.iter().map(|s| s.div_ceil(4).div_ceil(21)).sum();
                let at = of_wide.next_multiple_of(8);
                (&narrow, bits, limit, (1 << 64) - limit, at, at + of_narrow + codes)
            };
            for (i, &segments) in layers.iter().enumerate() {
                let starts = u128::from(64 * segments - 63);
                let place = if i == 0 {
                    ((u128::from(d) - first) * ((starts << 64) / range)) >> 64
                } else {
                    (u128::from(h.wrapping_mul(splitmix64(i as u64) | 1)) * starts) >> 64
                } as u64;
                let code = words[(codes_at + place / 256 / 21) as usize] >> (place / 256 % 21 * 3);
                if place % 256 >= [0, 8, 16, 24, 36, 52, 80, 256][(code & 7) as usize] {
                    let fingerprint = h.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
                    return (0..u64::from(b)).all(|c| {
                        let (u, b) = (c / 8 * 8, u64::from(b));
                        let bit = |slot: u64| {
                            let word = at + u * segments + slot / 64 * 8.min(b - u) + c - u;
                            words[word as usize] >> (slot % 64) & 1
                        };
                        let coefficient = |j: &u64| (h | 1) >> j & 1 == 1;
                        let slots = (0..64).filter(coefficient).map(|j| bit(place + j));
                        slots.fold(0, |sum, bit| sum ^ bit) == fingerprint >> c & 1
                    });
                }
                at += segments * u64::from(b);
                codes_at += segments.div_ceil(4).div_ceil(21);
            }
            false
        };
        assert!((0..items).all(found), "{bits}, {wider}");
        let last = items + if cfg!(miri) { 100 } else { 20_000u64 };
        assert!((items..last).all(|key| found(key) == filter.contains(&key)), "{bits}, {wider}");
    }
}

fn splitmix64(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[test]
fn a_saved_filter_comes_back_bit_for_bit() {
    let function = DigestFunction::xxh3(9);
    for width in WIDTHS {
        for items in [0u64, 1, 2, 1000, 3000] {
            let filter = of(width, function, if cfg!(miri) { items.min(50) } else { items });
            let items = filter.len();
            let bytes = native::encode(&filter, "trim=yes\n");
            let (copy, header): (RibbonFilter, Header) = native::decode_as(&bytes, None).unwrap();
            assert_eq!((header.kind(), header.version()), (Kind::Ribbon, 4));
            assert_eq!(copy.params(), filter.params());
            assert!((0..5000u64).all(|key| copy.contains(&key) == filter.contains(&key)));
            assert!((0..items).all(|key| copy.contains(&key)));
            assert_eq!(native::encode(&copy, "trim=yes\n"), bytes);
            assert_eq!(native::encode(&copy.try_clone().unwrap(), "trim=yes\n"), bytes);
            assert!(matches!(native::decode(&bytes, None), Err(Error::WrongKind { .. })));
        }
    }
}

#[test]
fn parts_that_no_filter_has_are_refused() {
    let width = FuseWidth::mixed(9, 1 << 31).unwrap();
    let new = |items, wide: &[u64], narrow: &[u64], rest| {
        RibbonParams::new(width, items, [wide.to_vec(), narrow.to_vec()], rest)
    };
    assert!(new(0, &[], &[], 0).is_ok() && new(1, &[1], &[], 0).is_ok());
    for refused in [
        new(1, &[], &[], 0),
        new(0, &[1], &[], 0),
        new(1, &[0], &[], 0),
        new(129, &[1], &[], 0),
        new(1, &[u64::MAX], &[], 0),
        new(1, &[1 << 50], &[], 0),
        new(1, &[1; 30], &[], 0),
        new(1, &[], &[1; 30], 0),
        new(1, &[1], &[], 2),
        new(u64::MAX, &[], &[], u64::MAX),
    ] {
        assert!(refused.is_err(), "{refused:?}");
    }
    // Without a share of wider fingerprints there are no layers of them, and few digests have
    // few places.
    let one_of_2_to_32 = FuseWidth::mixed(9, 1).unwrap();
    let many = [vec![1 << 27], vec![]];
    assert!(RibbonParams::new(FuseWidth::BITS_8, 1, [vec![1], vec![]], 0).is_err());
    assert!(RibbonParams::new(one_of_2_to_32, 1, many.clone(), 0).is_err());
    assert!(RibbonParams::new(width, 1, many, 0).is_ok());
    // 10 words of slots, 6 of zeros, 9 of slots, 2 of codes, 2 of digests.
    let params = new(100, &[1], &[1], 2).unwrap();
    assert_eq!((params.num_bits(), params.num_blocks(), params.num_slots()), (29 * 64, 4, 128));
    let from = |blocks: &[Block]| {
        let function = DigestFunction::default();
        RibbonFilter::from_parts(params.clone(), function, blocks.to_vec()).map(|_| ())
    };
    let mut blocks = [Block::default(); 5];
    assert!(matches!(from(&blocks), Err(Error::WrongLength { .. })));
    let mut with = |word: usize, value| {
        let before = blocks[word / 8].0[word % 8];
        blocks[word / 8].0[word % 8] = value;
        let result = from(&blocks[..4]);
        if result.is_err() {
            blocks[word / 8].0[word % 8] = before;
        }
        result
    };
    assert!(matches!(with(0, 0), Err(Error::BadField { field: "order of digests", .. })));
    assert!(with(28, 1).is_ok() && with(9, u64::MAX).is_ok() && with(24, u64::MAX).is_ok());
    assert!(matches!(with(27, 1), Err(Error::BadField { field: "order of digests", .. })));
    for word in [10, 15, 29, 31] {
        assert!(matches!(with(word, 1), Err(Error::BadField { field: "unused bits", .. })));
    }
    assert!(with(25, 7).is_ok() && with(26, 7).is_ok());
    for code in [25, 26] {
        assert!(with(code, 8).is_err() && with(code, 1 << 63).is_err());
    }
}

/// Each field, forged under a right checksum: a sender must not choose panics or memory.
#[test]
fn forged_fields_are_refused() {
    let width = FuseWidth::mixed(9, 1 << 30).unwrap();
    let good = of(width, DigestFunction::default(), 99).fields();
    assert_eq!((good.layers.len(), RibbonFilter::segment_blocks(&good).unwrap().len()), (2, 1));
    let forge = |change: &dyn Fn(&mut Fields)| {
        let mut fields = good.clone();
        change(&mut fields);
        RibbonFilter::segment_blocks(&fields)
    };
    for value in [0, 1, 3, 8, 16, 64, 1 << 31, 1 << 32, (1 << 32) + 9, 1 << 63, u64::MAX] {
        for i in 0..7 {
            if good.extra[i] != value {
                assert!(forge(&|f| f.extra[i] = value).is_err(), "extra {i} = {value}");
            }
        }
        for (layer, number) in (0..8).map(|i| (i / 4, i % 4)) {
            if good.layers[layer][number] != value {
                let forged = forge(&|f| f.layers[layer][number] = value);
                assert!(forged.is_err(), "number {number} of layer {layer} = {value}");
            }
        }
        assert!(forge(&|f| f.num_bits = value).is_err(), "num_bits = {value}");
        assert!(forge(&|f| f.inserted_items = value).is_err(), "inserted_items = {value}");
        assert!(forge(&|f| f.expected_items = value).is_err(), "expected_items = {value}");
        assert!(value == 1 || forge(&|f| f.num_hashes = value as u32).is_err());
        assert!(forge(&|f| f.target_fpp = f64::from_bits(value)).is_err());
    }
    assert!(forge(&|f| f.layout = 1).is_err());
    assert!(forge(&|f| f.layers.push([1, 0, 0, 0])).is_err());
    assert!(forge(&|f| f.layers.clear()).is_err());
}

/// Places at the end of a layer, of the last bucket and of the body are inside, whatever is there.
#[test]
fn any_contents_give_answers() {
    for (width, wide, narrow, rest) in [
        (FuseWidth::mixed(9, 1 << 31).unwrap(), vec![1, 1], vec![5], 1),
        (FuseWidth::from_bits(32).unwrap(), vec![], vec![85, 3, 1], 0),
        (FuseWidth::mixed(4, u32::MAX).unwrap(), vec![1; 29], vec![1; 29], 0),
        (FuseWidth::mixed(4, 1 << 31).unwrap(), vec![], vec![2], 0),
    ] {
        let params = RibbonParams::new(width, 60, [wide, narrow], rest).unwrap();
        let words = params.num_bits() as usize / 64;
        for fill in [0, u64::MAX, 0x5555_5555_5555_5555] {
            // Codes cannot be filled at random: bits past the last are refused.
            let slots: usize = words - rest as usize - params.segments().iter().flatten().count();
            let mut blocks = vec![Block::default(); params.num_blocks() as usize];
            for word in (0..slots.saturating_sub(8)).filter(|word| word % 3 > 0) {
                blocks[word / 8].0[word % 8] = fill;
            }
            let function = DigestFunction::default();
            let Ok(filter) = RibbonFilter::from_parts(params.clone(), function, blocks) else {
                continue;
            };
            let edges = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
            let asked: Vec<Digest> = edges.into_iter().chain(0..200).map(Digest::new).collect();
            let batch = filter.contains_digests(&asked);
            let mut one_by_one = asked.iter().map(|&digest| filter.contains_digest(digest));
            assert!(batch.iter().all(|found| Some(found) == one_by_one.next()));
        }
    }
}

/// The example of `crates/mayhap/NATIVE-FORMAT.md`.
#[test]
fn the_example_of_the_format_page_is_right() {
    let width = FuseWidth::mixed(9, 1 << 31).unwrap();
    let function = DigestFunction::default();
    let filter = RibbonFilter::from_keys(width, function, ["a", "b", "c"]).unwrap();
    assert_eq!(filter.params().segments(), &[vec![1], vec![1]]);
    assert_eq!(filter.num_bits(), 1728);
    let words: Vec<u64> = filter.storage().as_ref().iter().flat_map(|block| block.0).collect();
    let set = (0..words.len()).filter(|&i| words[i] != 0).map(|i| (i, words[i]));
    let expected = [(0, 1), (4, 1), (6, 1), (7, 1), (17, 9), (19, 8), (20, 8), (21, 1)];
    assert_eq!(set.collect::<Vec<_>>(), [&expected[..], &[(22, 9), (23, 8)]].concat());
}
