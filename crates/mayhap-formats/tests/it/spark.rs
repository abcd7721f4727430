//! Spark.

use crate::golden::{self, Golden, Key, PUT_AND_MIGHT_CONTAIN, double, hex, number, positions};
use crate::suite::{self, cases};
use mayhap_formats::{
    Error, ForeignFilter, Format, KeyType, Limits, Reader, SparkFilter, SparkOptions, SparkScheme,
    SparkVersion, detect, open,
};
use proptest::prelude::*;
use serde_json::Value;

const V2: SparkVersion = SparkVersion::V2 { seed: 0 };

/// Numbers are longs, whatever their column; everything else is bytes.
fn encode(key: &Key) -> Vec<u8> {
    let key_type = if matches!(key, Key::Number(_)) { KeyType::Long } else { KeyType::Bytes };
    key.encode(key_type).unwrap()
}

fn decode(bytes: &[u8]) -> SparkFilter {
    SparkFilter::decode(bytes, &Limits::default()).unwrap()
}

fn create(n: i64, fpp: f64, version: SparkVersion) -> SparkFilter {
    let options = SparkOptions { expected_items: n, fpp, version };
    SparkFilter::create(&options, &Limits::default()).unwrap()
}

#[test]
fn every_golden_file_is_answered_as_spark_did() {
    let golden = Golden::of("spark");
    for (name, json) in golden.described() {
        one_filter(&golden, &name, &json);
    }
    of_data_frames(&golden);
    merged(&golden, "v1");
    merged(&golden, "v2");
    for version in ["v1", "v2"] {
        serialized(&golden, version);
    }
    malformed(&golden.json("v1_malformed.json"));
    malformed(&golden.json("v2_malformed.json"));
    golden.all_were_used();
}

fn one_filter(golden: &Golden, name: &str, json: &Value) {
    let bytes = golden.bytes(json["file"].as_str().unwrap());
    let filter = open(Format::Spark, &bytes, &Limits::default()).unwrap();
    assert!(filter.encode() == bytes, "{name}: written back otherwise");
    assert_eq!(detect(&bytes)[0].format, Format::Spark, "{name}");
    assert_eq!(filter.num_bits(), json["bit_size"].as_u64().unwrap(), "{name}");
    assert_eq!(filter.count_ones(), json["cardinality"].as_u64().unwrap(), "{name}");
    assert_eq!(filter.estimated_fpp(), double(&json["expected_fpp"]), "{name}");

    let version = match json["version"].as_str().unwrap() {
        "V1" => SparkVersion::V1,
        _ => SparkVersion::V2 { seed: number(&json["seed"]) as i32 },
    };
    let mut empty = create(number(&json["expected_items"]), double(&json["fpp"]), version);
    assert_eq!(empty.version(), version, "{name}");
    golden::replay(name, json, PUT_AND_MIGHT_CONTAIN, encode, &mut empty, &*filter);
}

/// Made by `df.stat.bloomFilter` of a column of ids, of ints and of text.
fn of_data_frames(golden: &Golden) {
    let json = golden.json("df_stat_v1.json");
    for name in json["files"].as_object().unwrap().keys() {
        let bytes = golden.bytes(name);
        let mut rebuilt = create(1000, 0.01, SparkVersion::V1);
        for i in 0..1000 {
            if name.ends_with("_s.bin") {
                rebuilt.insert_str(&format!("user:{i}"));
            } else {
                rebuilt.insert_i64(i);
            }
        }
        assert!(rebuilt.encode() == bytes, "{name}");
        assert!(decode(&bytes).encode() == bytes, "{name}");
    }
}

fn merged(golden: &Golden, version: &str) {
    let [a, b, or, and] =
        ["a", "b", "or", "and"].map(|which| golden.bytes(&format!("{version}_merge_{which}.bin")));
    let mut united = decode(&a);
    united.union_with(&decode(&b)).unwrap();
    assert!(united.encode() == or, "{version}: merge");
    let mut common = decode(&a);
    common.intersect_with(&decode(&b)).unwrap();
    assert!(common.encode() == and, "{version}: intersect");
    assert!(a != or && a != and && or != and);
}

fn serialized(golden: &Golden, version: &str) {
    let bytes = golden.bytes(&format!("{version}_merge_a.ser"));
    let mut filter = decode(&bytes);
    assert!(filter.to_stream() == golden.bytes(&format!("{version}_merge_a.bin")));
    assert!(filter.encode() == bytes, "{version}: written back otherwise");
    assert_eq!(detect(&bytes)[0].form, "Java serialization");
    assert!(filter.insert(b"one more"));
    let again = decode(&filter.encode());
    assert!(again.contains(b"one more") && again.to_stream() == filter.to_stream());
}

/// Everything that Spark refuses is refused; where it accepts, following bytes are left unread, and
/// filters that could not be queried or answer yes to everything are refused.
fn malformed(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let bytes = hex(row["hex"].as_str().unwrap());
        let mut reader = Reader::new(&bytes);
        let filter = SparkFilter::read_from(&mut reader, &Limits::default());
        let num_hashes = bytes.get(4..8).map_or(0, |k| i32::from_be_bytes(k.try_into().unwrap()));
        let accepted = row["accepted"].as_bool().unwrap()
            && num_hashes > 0
            && row["bit_size"].as_u64().unwrap() > 0;
        assert_eq!(filter.is_ok(), accepted, "{row}: {filter:?}");
        let Ok(filter) = filter else { continue };
        assert_eq!(filter.num_bits(), row["bit_size"].as_u64().unwrap(), "{row}");
        assert_eq!(filter.contains_i64(1), row["might_contain_1"].as_bool().unwrap(), "{row}");
        let left = reader.left().len() as u64;
        let whole = SparkFilter::decode(&bytes, &Limits::default());
        assert_eq!(whole.is_err(), left > 0, "{row}");
    }
}

fn scheme(version: SparkVersion, num_longs: u32) -> SparkScheme {
    SparkScheme::new(version, 7, num_longs).unwrap()
}

#[test]
fn positions_of_hello_are_those_of_spark() {
    let of = |version| positions(&scheme(version, 150), b"hello");
    assert_eq!(of(SparkVersion::V1), [2425, 5773, 9323, 8475, 7074, 8022, 176]);
    assert_eq!(of(V2), [8582, 7181, 5780, 4379, 2978, 1577, 176]);
}

#[test]
fn v1_never_leaves_the_first_2_to_the_31_bits_and_v2_does() {
    // 2^32 bits; only positions are computed.
    let highest = |version| {
        let keys =
            (0..2_000i64).flat_map(|key| positions(&scheme(version, 1 << 26), &key.to_le_bytes()));
        keys.max().unwrap()
    };
    assert!(highest(SparkVersion::V1) < 1 << 31);
    assert!(highest(V2) > 4_200_000_000);
}

#[test]
fn sizes_that_spark_refuses_are_refused_in_its_words() {
    for (n, fpp, words) in [
        (1, 0.0, "False positive probability must be within range (0.0, 1.0)"),
        (1, 1.0, "False positive probability must be within range (0.0, 1.0)"),
        (0, 0.01, "Expected insertions must be positive"),
        (-5, 0.01, "Expected insertions must be positive"),
        (1, 0.9, "Number of bits must be positive"),
        (1, f64::NAN, "Number of bits must be positive"),
        (i64::MAX, 0.01, "Can't allocate enough space for 9223372036854775807 bits"),
    ] {
        let options = SparkOptions { fpp, ..SparkOptions::new(n) };
        match options.num_longs_and_hashes() {
            Err(Error::Refused { message }) => assert_eq!(message, words, "{n} {fpp}"),
            result => panic!("{n} {fpp}: {result:?}"),
        }
    }
}

#[test]
fn a_stream_that_claims_16_gib_is_refused_before_anything_is_allocated() {
    let bytes = [0, 0, 0, 1, 0, 0, 0, 5, 0x7F, 0xFF, 0xFF, 0xFF];
    let generous = Limits { max_bytes: u64::MAX, ..Limits::default() };
    assert_eq!(
        SparkFilter::decode(&bytes, &generous).unwrap_err(),
        Error::Truncated { field: "bits", needed: 8 * (i32::MAX as u64), left: 0 }
    );
}

#[test]
fn contents_of_an_object_are_cut_into_blocks_of_1024_bytes() {
    // The golden object's class, with the contents of a filter of 12 + 2400 bytes.
    let small = Golden::of("spark").bytes("v1_merge_a.ser");
    let first = small.iter().position(|&byte| byte == 0x7A).unwrap();
    let contents = create(2000, 0.01, SparkVersion::V1).encode();
    let object = |lengths: [usize; 3]| {
        let mut bytes = small[..first].to_vec();
        let mut rest = &contents[..];
        for len in lengths {
            bytes.push(0x7A);
            bytes.extend((len as u32).to_be_bytes());
            bytes.extend(&rest[..len]);
            rest = &rest[len..];
        }
        assert!(rest.is_empty());
        bytes.push(0x78);
        bytes
    };
    let bytes = object([1024, 1024, 364]);
    let mut filter = decode(&bytes);
    assert!(filter.encode() == bytes);
    filter.insert(b"key");
    assert!(decode(&filter.encode()).contains(b"key"));
    // Split otherwise, it could not be written back.
    let other = SparkFilter::decode(&object([1024, 1000, 388]), &Limits::default());
    assert!(matches!(other, Err(Error::BadField { field: "blocks", .. })));
}

#[test]
fn unlike_filters_are_not_merged_and_stay_as_they_are() {
    let mut filter = create(500, 0.01, V2);
    filter.insert_str("a");
    let before = filter.encode();
    for (mut other, differs) in [
        (create(500, 0.01, SparkVersion::V1), "version"),
        (create(500, 0.01, SparkVersion::V2 { seed: 7 }), "seed"),
        (create(5000, 0.01, V2), "number of bits"),
    ] {
        other.insert_str("b");
        for result in [filter.union_with(&other), filter.intersect_with(&other)] {
            match result {
                Err(Error::Incompatible { parameter, .. }) => assert_eq!(parameter, differs),
                result => panic!("{differs}: {result:?}"),
            }
        }
        assert!(filter.encode() == before, "{differs}");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_decodes_is_encoded_to_the_same_bytes(
        mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        plausible: bool,
    ) {
        if plausible && bytes.len() >= 24 {
            let offset = if bytes[3] % 2 == 0 { 16 } else { 12 };
            let longs = (bytes.len() - offset) / 8;
            bytes.truncate(offset + longs * 8);
            let version = u32::from(bytes[3] % 2 == 0) + 1;
            bytes[..4].copy_from_slice(&version.to_be_bytes());
            bytes[4..6].fill(0);
            bytes[offset - 4..offset].copy_from_slice(&(longs as u32).to_be_bytes());
        }
        suite::are_refused_or_kept(&bytes, SparkFilter::decode(&bytes, &Limits::default()))?;
    }

    #[test]
    fn a_batch_answers_as_key_by_key(
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..100),
        numbers in prop::collection::vec(any::<i64>(), 0..100),
        n in 1i64..200, fpp in 1e-4..0.4f64, old: bool, seed: i32,
    ) {
        let version = if old { SparkVersion::V1 } else { SparkVersion::V2 { seed } };
        let mut filter = create(n, fpp, version);
        let numbers: Vec<_> = numbers.into_iter().map(i64::to_le_bytes).collect();
        let numbers = numbers.iter().map(|number| &number[..]);
        let keys: Vec<_> = numbers.chain(keys.iter().map(|key| &key[..])).collect();
        for key in keys.iter().step_by(3) {
            filter.insert(key);
        }
        let mut found = mayhap::Bitmap::new();
        filter.contains_batch(&keys, &mut found);
        let one_by_one: Vec<_> = keys.iter().map(|key| filter.contains(key)).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), one_by_one);
    }

    #[test]
    fn what_was_inserted_is_found_after_a_round_trip(
        keys: Vec<Vec<u8>>, n in 1i64..500, fpp in 1e-6..0.4f64, old: bool, seed: i32,
    ) {
        let version = if old { SparkVersion::V1 } else { SparkVersion::V2 { seed } };
        let mut filter = create(n, fpp, version);
        let open = |file: &[u8]| open(Format::Spark, file, &Limits::default());
        suite::is_read_again(&mut filter, &keys, open)?;
        prop_assert_eq!(decode(&filter.encode()).version(), version);
    }
}
