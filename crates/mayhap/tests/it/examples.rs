//! The worked examples of the texts that explain Bloom filters, as they print them and as filters.

use mayhap::{
    AnyFilter, BloomFilter, Build, Digest, DigestFunction, FilterParams, Key, Layout, OwnedBlocks,
};

/// A key whose three bits are these, of a filter of 64 bits: found by trying, as the positions of
/// the texts are given and not hashed.
fn digest_at(expected: [u64; 3]) -> Digest {
    let params = *tiny(64).params();
    let is_found = |digest: &Digest| {
        let mut found: Vec<u64> = params.positions(*digest).collect();
        found.sort_unstable();
        found == expected
    };
    let golden = 0x9E37_79B9_7F4A_7C15u64;
    (1..u64::from(u32::MAX))
        .map(|i: u64| Digest::new(i.wrapping_mul(golden)))
        .find(is_found)
        .unwrap()
}

#[test]
fn on_paper_c_is_absent_from_20_bits_that_hold_a_and_b() {
    let [a, b, c] = [[0, 5, 7], [2, 8, 13], [0, 4, 7]].map(digest_at);
    let mut filter = tiny(64);
    assert!(filter.insert_digest(a) && filter.insert_digest(b));
    assert_eq!(positions(&filter), [0, 2, 5, 7, 8, 13]);
    assert!(filter.contains_digest(a) && filter.contains_digest(b));
    assert!(!filter.contains_digest(c), "bit 4 is clear");
}

#[test]
fn on_paper_two_names_share_a_bit_and_a_third_is_absent() {
    let [baidu, tencent, dianping] = [[1, 4, 7], [3, 4, 8], [1, 5, 8]].map(digest_at);
    let mut filter = tiny(64);
    assert!(filter.insert_digest(baidu) && filter.insert_digest(tencent));
    assert_eq!(positions(&filter), [1, 3, 4, 7, 8], "bit 4 belongs to both");
    assert!(filter.contains_digest(baidu) && filter.contains_digest(tencent));
    assert!(!filter.contains_digest(dianping), "bit 5 is clear, though 1 and 8 are set");
    // Deleting one name by clearing its bits deletes the other.
    let mut blocks = OwnedBlocks::zeroed(1).unwrap();
    blocks.as_mut()[0].0[0] = filter.storage().as_ref()[0].0[0] & !(1 << 1 | 1 << 4 | 1 << 7);
    let cleared = BloomFilter::from_parts(*filter.params(), *filter.digest_function(), blocks, 1);
    assert!(!cleared.unwrap().contains_digest(tencent));
}

fn tiny(num_bits: u64) -> BloomFilter {
    let params = FilterParams::new(Layout::Standard, num_bits, 3, 2, 0.01).unwrap();
    Build::empty(params, DigestFunction::default()).unwrap()
}

fn positions(filter: &BloomFilter) -> Vec<u64> {
    let lanes = filter.storage().as_ref().iter().flat_map(|block| block.0);
    lanes
        .enumerate()
        .flat_map(|(i, lane)| {
            (0..64).filter(move |bit| lane >> bit & 1 == 1).map(move |b| 64 * i as u64 + b)
        })
        .collect()
}

fn positions_of<K: Key + ?Sized>(num_bits: u64, key: &K) -> Vec<u64> {
    let mut filter = tiny(num_bits);
    filter.insert(key);
    positions(&filter)
}

fn union(left: &[u64], right: &[u64]) -> Vec<u64> {
    let both: std::collections::BTreeSet<u64> = left.iter().chain(right).copied().collect();
    both.into_iter().collect()
}

#[test]
fn with_3_hashes_1_and_10_are_there_and_a_third_number_that_misses_is_surely_absent() {
    let mut filter = tiny(64);
    assert!(filter.insert(&1u64) && filter.insert(&10u64));
    let (one, ten) = (positions_of(64, &1u64), positions_of(64, &10u64));
    assert_eq!((one.len(), ten.len()), (3, 3));
    assert_eq!(positions(&filter), union(&one, &ten));
    assert!(filter.contains(&1u64) && filter.contains(&10u64));
    let mut maybe = 0;
    for number in (0..100_000u64).filter(|&n| n != 1 && n != 10) {
        let all_set = positions_of_digest(&filter, number);
        assert_eq!(filter.contains(&number), all_set, "{number}");
        maybe += u32::from(all_set);
    }
    // (6/64)^3 = 8.2e-4: a bit that was set for another is the false positive of the text.
    assert!((60..105).contains(&maybe), "{maybe} false positives of 99,998");
}

/// Whether the specification's three positions of `number` are set.
fn positions_of_digest(filter: &BloomFilter, number: u64) -> bool {
    let digest = filter.digest(&number).get();
    let multipliers = [1, 0x6E78_9E6A_A1B9_65F5, 0x06C4_5D18_8009_454F];
    multipliers.iter().all(|&multiplier: &u64| {
        let product = u128::from(digest.wrapping_mul(multiplier));
        filter.storage().as_ref()[0].0[0] >> ((product * 64) >> 64) & 1 == 1
    })
}

#[test]
fn as_filters_the_names_are_there_and_the_third_is_absent() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let mut filter =
            AnyFilter::builder().layout(layout).expected_items(2).num_bits(512).build().unwrap();
        assert!(filter.insert("baidu") && filter.insert("tencent"));
        assert!(filter.contains("baidu") && filter.contains("tencent"));
        assert!(!filter.contains("dianping"));
    }
    let mut filter = tiny(64);
    for key in ["A", "B"] {
        filter.insert(key);
    }
    let both = union(&positions_of(64, "A"), &positions_of(64, "B"));
    assert_eq!(positions(&filter), both);
    assert!(!filter.contains("C"));
    assert!(positions_of(64, "C").iter().any(|position| !both.contains(position)));
}
