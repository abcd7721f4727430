//! `rbloom`, `pybloom_live` and `pybloomfiltermmap3`.

use crate::golden::Golden;
use crate::suite::{self, Open, cases, damage, noise};
use crate::text::{ask_all, f64_of, indices, keys, text, u64_of};
use mayhap_formats::{
    Error, ForeignFilter, Format, KeyType, Limits, PyBloomFilterMmap, PyBloomLiveFilter,
    PyBloomLiveRelease, RbloomFilter, detect, open,
};
use proptest::prelude::*;
use serde_json::Value;

fn limits() -> Limits {
    Limits::default()
}

fn of_format(format: Format) -> Open {
    match format {
        Format::Rbloom => |bytes, limits| open(Format::Rbloom, bytes, limits),
        Format::PyBloomLive4 => |bytes, limits| open(Format::PyBloomLive4, bytes, limits),
        _ => |bytes, limits| open(Format::PyBloomFilterMmap, bytes, limits),
    }
}

#[test]
fn every_golden_file_is_answered_and_made_as_by_the_original() {
    let golden = Golden::of("python");
    for name in ["a", "b", "big"] {
        rbloom(&golden, &format!("rbloom_{name}"));
    }
    let json = golden.json("rbloom_k0.json");
    let error = RbloomFilter::decode(&golden.bytes("rbloom_k0.bin"), &limits()).unwrap_err();
    assert_eq!(error, Error::Zero { field: "number of hash functions" });
    let error =
        RbloomFilter::create(u64_of(&json, "n"), f64_of(&json, "p"), &limits()).unwrap_err();
    assert!(error.to_string().contains("contains everything"), "{error}");
    for name in ["a", "b"] {
        mmap(&golden, &format!("pybloommmap_{name}"));
    }
    // `releases.rs` has its keys.
    golden.bytes("pybloommmap_ints.bin");
    for name in ["a", "b", "sha384", "tinyslice"] {
        live(&golden, &format!("pybloomlive3_{name}"), PyBloomLiveRelease::V3);
        live(&golden, &format!("pybloomlive4_{name}"), PyBloomLiveRelease::V4);
    }
    golden.all_were_used();
}

fn rbloom(golden: &Golden, name: &str) {
    let json = golden.json(&format!("{name}.json"));
    let bytes = golden.bytes(&text(&json, "file"));
    let filter = RbloomFilter::decode(&bytes, &limits()).unwrap();
    assert_eq!(filter.num_bits(), u64_of(&json, "size_in_bits"));
    let items = f64_of(&json, "approx_items");
    assert!((filter.approx_items() - items).abs() <= items * 1e-12, "{name}");
    ask_all(name, &json, "probes_rule_contains_true_at", &filter);
    assert!(filter.encode() == bytes, "{name}");

    let mut made = RbloomFilter::create(u64_of(&json, "n"), f64_of(&json, "p"), &limits()).unwrap();
    for key in keys(&json, "members") {
        made.insert(&key).unwrap();
    }
    assert!(made.encode() == bytes, "{name} made otherwise");
}

/// The results of `add` for each member; it returns whether the key was present, `insert` whether
/// it was not.
fn insert_all(name: &str, json: &Value, filter: &mut dyn ForeignFilter) {
    let explicit = json["members_explicit"].as_array().unwrap();
    let explicit = explicit.iter().map(|row| row["add_returned"].as_bool().unwrap());
    let there = indices(&json["members_rule_add_returned_true_at"]);
    let rule = (0..).map(|i| there.contains(&i));
    for (key, there) in keys(json, "members").iter().zip(explicit.chain(rule)) {
        assert_eq!(filter.insert(key), Ok(!there), "{name}: {key:?}");
    }
}

fn mmap(golden: &Golden, name: &str) {
    let json = golden.json(&format!("{name}.json"));
    let bytes = golden.bytes(&text(&json, "file"));
    let filter = PyBloomFilterMmap::decode(&bytes, &limits()).unwrap();
    assert_eq!(filter.num_bits(), u64_of(&json, "num_bits"));
    assert_eq!(u64::from(filter.num_hashes()), u64_of(&json, "num_hashes"));
    assert_eq!(filter.capacity(), u64_of(&json, "capacity"));
    assert_eq!(filter.target_fpp(), f64_of(&json, "error_rate"));
    let seeds: Vec<u64> = filter.seeds().iter().map(|&seed| u64::from(seed)).collect();
    assert_eq!(json["hash_seeds"], serde_json::json!(seeds));
    ask_all(name, &json, "probes_rule_contains_true_at", &filter);
    assert!(filter.encode() == bytes, "{name}");
    assert_eq!(detect(&bytes)[0].format, Format::PyBloomFilterMmap);

    let (n, p) = (filter.capacity(), filter.target_fpp());
    let mut made = PyBloomFilterMmap::create(n, p, filter.seeds(), &limits()).unwrap();
    insert_all(name, &json, &mut made);
    // All but the pointer that the original leaves in the file.
    let (made, pointer) = (made.encode(), 1065..1077);
    assert!(made[..pointer.start] == bytes[..pointer.start], "{name}");
    assert!(made[pointer.end..] == bytes[pointer.end..], "{name}");
}

fn live(golden: &Golden, name: &str, release: PyBloomLiveRelease) {
    let json = golden.json(&format!("{name}.json"));
    let bytes = golden.bytes(&text(&json, "file"));
    let filter = PyBloomLiveFilter::decode(&bytes, release, &limits()).unwrap();
    assert_eq!(u64::from(filter.num_hashes()), u64_of(&json, "num_slices"));
    let all_bits = u64_of(&json, "num_slices") * u64_of(&json, "bits_per_slice");
    assert_eq!(filter.num_bits(), all_bits);
    assert_eq!(filter.capacity(), u64_of(&json, "capacity"));
    assert_eq!(filter.target_fpp(), f64_of(&json, "error_rate"));
    assert_eq!(filter.num_items(), u64_of(&json, "count"));
    let hash = filter.facts().into_iter().find(|fact| fact.key == "hash").unwrap().value;
    assert_eq!(text(&json, "hash").trim_start_matches("openssl_"), hash);
    ask_all(name, &json, "probes_rule_contains_true_at", &filter);
    assert!(filter.encode() == bytes, "{name}");
    assert!(detect(&bytes).iter().any(|found| found.format == filter.format()), "{name}");

    let (n, p) = (filter.capacity(), filter.target_fpp());
    let mut made = PyBloomLiveFilter::create(n, p, release, &limits()).unwrap();
    insert_all(name, &json, &mut made);
    assert!(made.encode() == bytes, "{name} made otherwise");
}

#[test]
fn small_filters_of_one_release_are_not_those_of_the_other() {
    let golden = Golden::of("python");
    let (bytes, json) = (golden.bytes("pybloomlive3_a.bin"), golden.json("pybloomlive3_a.json"));
    let wrong = PyBloomLiveFilter::decode(&bytes, PyBloomLiveRelease::V4, &limits()).unwrap();
    let keys = keys(&json, "members");
    let found = keys.iter().filter(|key| wrong.contains(key)).count();
    assert!(found < keys.len() / 10, "{found} of {}", keys.len());
}

#[test]
fn a_key_more_than_the_capacity_is_the_last() {
    let mut filter = PyBloomLiveFilter::create(3, 1e-6, PyBloomLiveRelease::V4, &limits()).unwrap();
    for i in 0..4u8 {
        assert_eq!(filter.insert(&[i]), Ok(true));
    }
    let full = Error::Refused { message: "BloomFilter is at capacity".to_owned() };
    assert_eq!(filter.insert(&[9]), Err(full.clone()));
    // Found or not.
    assert_eq!(filter.insert(&[0]), Err(full));
    assert!(!filter.contains(&[9]));
}

#[test]
fn a_union_of_pybloom_live_counts_from_0() {
    let create = |n| PyBloomLiveFilter::create(n, 0.01, PyBloomLiveRelease::V3, &limits()).unwrap();
    let (mut left, mut right) = (create(100), create(100));
    left.insert(b"left").unwrap();
    right.insert(b"right").unwrap();
    assert!(!left.contains(b"right"));
    left.union_with(&right).unwrap();
    assert!(left.contains(b"left") && left.contains(b"right"));
    assert_eq!(left.num_items(), 0);
    assert!(left.union_with(&create(101)).is_err());
}

#[test]
fn the_number_of_slices_is_that_of_python_even_where_its_logarithm_is_off() {
    // math.log(2.0**29, 2) is 29.000000000000004, math.log(8, 2) is 3.
    for (exponent, slices) in [(29, 30), (3, 3)] {
        let p = 0.5f64.powi(exponent);
        let filter = PyBloomLiveFilter::create(10, p, PyBloomLiveRelease::V4, &limits()).unwrap();
        assert_eq!(filter.num_hashes(), slices);
    }
}

#[test]
fn pickled_texts_are_those_of_python() {
    let mut scratch = Vec::new();
    let mut pickle =
        |text: &str| KeyType::PickledStr.encode(text.as_bytes(), &mut scratch).map(<[u8]>::to_vec);
    // pickle.dumps("", 4), and that of a longer string.
    assert_eq!(pickle("").unwrap(), b"\x80\x04\x95\x04\0\0\0\0\0\0\0\x8C\0\x94.");
    assert_eq!(pickle("hi").unwrap(), b"\x80\x04\x95\x06\0\0\0\0\0\0\0\x8C\x02hi\x94.");
    let long = pickle(&"x".repeat(256)).unwrap();
    assert!(long.starts_with(b"\x80\x04\x95\x07\x01\0\0\0\0\0\0X\0\x01\0\0xx"));
    assert!(pickle(&"x".repeat(65_535)).is_ok());
    assert!(pickle(&"x".repeat(65_536)).is_err());
    assert!(KeyType::PickledStr.encode(b"\xFF", &mut Vec::new()).is_err());
}

#[test]
fn as_many_seeds_are_drawn_as_by_the_original() {
    // The rate of a golden file, and rates at and about powers of two.
    for (p, seeds) in [(0.01, 6), (0.5, 1), (0.9, 1), (0.25, 2), (0.26, 1), (1e-300, 256)] {
        assert_eq!(PyBloomFilterMmap::default_num_hashes(p), seeds, "{p}");
    }
}

#[test]
fn filters_with_other_seeds_have_no_union() {
    let create = |seeds: &[u32]| PyBloomFilterMmap::create(100, 0.01, seeds, &limits()).unwrap();
    let mut filter = create(&[1, 2, 3]);
    assert!(filter.union_with(&create(&[1, 2, 4])).is_err());
    let mut other = create(&[1, 2, 3]);
    other.insert(b"right").unwrap();
    filter.union_with(&other).unwrap();
    assert!(filter.contains(b"right"));
    assert!(PyBloomFilterMmap::create(100, 0.01, &[7; 257], &limits()).is_err());
    assert!(PyBloomFilterMmap::create(100, 0.01, &[], &limits()).is_err());
}

#[test]
fn damaged_bytes_are_refused_or_kept() {
    let mut filter = RbloomFilter::create(20, 0.1, &limits()).unwrap();
    filter.insert(b"hello").unwrap();
    damage("rbloom", &filter.encode(), true, of_format(Format::Rbloom));
    let mut filter = PyBloomLiveFilter::create(20, 0.1, PyBloomLiveRelease::V4, &limits()).unwrap();
    filter.insert(b"hello").unwrap();
    damage("pybloom_live", &filter.encode(), false, of_format(Format::PyBloomLive4));
    let mut filter = PyBloomFilterMmap::create(20, 0.1, &[1, 2, 3], &limits()).unwrap();
    filter.insert(b"hello").unwrap();
    damage("pybloomfiltermmap", &filter.encode(), false, of_format(Format::PyBloomFilterMmap));
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_was_written_is_read(
        n in 1u64..2_000,
        p in 1e-6..0.45,
        keys: Vec<Vec<u8>>,
        seeds in prop::collection::vec(any::<u32>(), 1..20),
    ) {
        let mut filters: Vec<Box<dyn ForeignFilter>> = vec![
            Box::new(RbloomFilter::create(n, p, &limits()).unwrap()),
            Box::new(PyBloomFilterMmap::create(n, p, &seeds, &limits()).unwrap()),
            Box::new(PyBloomLiveFilter::create(n, p, PyBloomLiveRelease::V3, &limits()).unwrap()),
            Box::new(PyBloomLiveFilter::create(n, p, PyBloomLiveRelease::V4, &limits()).unwrap()),
        ];
        for filter in &mut filters {
            let format = filter.format();
            suite::is_read_again(&mut **filter, &keys, |file| open(format, file, &limits()))?;
        }
    }

    #[test]
    fn any_bytes_are_refused_or_kept(bytes in noise()) {
        use Format::{PyBloomFilterMmap, PyBloomLive3, PyBloomLive4, Rbloom};
        for format in [Rbloom, PyBloomLive3, PyBloomLive4, PyBloomFilterMmap] {
            if let Ok(mut filter) = open(format, &bytes, &limits()) {
                suite::are_kept(&bytes, &mut *filter)?;
            }
        }
    }

    #[test]
    fn a_hash_of_rbloom_goes_its_own_way(hash: i128, other: i128) {
        let mut filter = RbloomFilter::create(1_000, 1e-6, &limits()).unwrap();
        prop_assert!(filter.insert_hash(hash));
        prop_assert!(!filter.insert_hash(hash) && filter.contains_hash(hash));
        prop_assert!(other == hash || !filter.contains_hash(other));
    }
}
