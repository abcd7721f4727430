//! Java-BloomFilter by `MagnusS` and its Redis variant.

use crate::golden::{self, Golden, Key, Names, double, hex, number, positions};
use crate::suite::{self, cases};
use mayhap_formats::{
    Error, ForeignFilter, Format, KeyType, Limits, MagnusFilter, MagnusForm, MagnusHash,
    MagnusScheme, MagnusSizing, Shape, detect, open, open_with,
};
use proptest::prelude::*;
use serde_json::Value;

const NAMES: Names = Names {
    inserted: "changed_any_bit",
    not_new_at: "members_rule_changed_nothing_at",
    found: "contains",
    found_at: "probes_rule_contains_true_at",
};

fn encode(key: &Key) -> Vec<u8> {
    key.encode(KeyType::Bytes).unwrap()
}

#[test]
fn every_golden_file_is_answered_as_the_class_did() {
    let golden = Golden::of("magnuss");
    for (name, json) in golden.described() {
        one_filter(&golden, &name, &json);
    }
    hashes(&golden.json("hashes.json"));
    sizes(&golden.json("sizing.json"));
    redis_positions(&golden.json("redis_positions.json"));
    serialized(&golden, "classic_a", 0.01);
    serialized(&golden, "classic_k1", 0.5);
    golden.all_were_used();
}

/// The constructor that the file was made by.
fn sizing(json: &Value) -> MagnusSizing {
    let expected_items = number(&json["n"]) as i32;
    let constructor = &json["ctor"];
    if let Some(num_bits) = constructor["bitSetSize"].as_i64() {
        return MagnusSizing::Bits { num_bits: num_bits as i32, expected_items };
    }
    if let Some(bits_per_item) = constructor["c"].as_f64() {
        let num_hashes = number(&constructor["k"]) as i32;
        return MagnusSizing::BitsPerItem { bits_per_item, expected_items, num_hashes };
    }
    let fpp = double(&json["f"]);
    match json["variant"].as_str().unwrap() {
        "classic" => MagnusSizing::Rate { fpp, expected_items },
        _ => MagnusSizing::RedisRate { fpp, expected_items },
    }
}

fn one_filter(golden: &Golden, name: &str, json: &Value) {
    let bytes = golden.bytes(json["file"].as_str().unwrap());
    let (format, form) = match json["variant"].as_str().unwrap() {
        "classic" => (Format::MagnusS, MagnusForm::BitSet),
        _ => (Format::MagnusRedis, MagnusForm::Redis),
    };
    assert!(open(format, &bytes, &Limits::default()).is_err(), "{name} needs m and k");
    let shape = Shape { num_bits: number(&json["m"]), num_hashes: number(&json["k"]) as u32 };
    let filter = open_with(format, &bytes, shape, &Limits::default()).unwrap();
    assert_eq!(filter.format(), format, "{name}");
    assert!(filter.encode() == bytes, "{name}: written back otherwise");
    assert_eq!(filter.count_ones(), json["bit_count"].as_u64().unwrap(), "{name}");

    let mut empty = MagnusFilter::create(&sizing(json), form, &Limits::default()).unwrap();
    assert_eq!(empty.num_bits(), filter.num_bits(), "{name}");
    assert_eq!(empty.num_hashes(), filter.num_hashes(), "{name}");
    golden::replay(name, json, NAMES, encode, &mut empty, &*filter);
}

/// Positions of 2^31 bits, which with m = −2^31 are the numbers themselves without their sign.
fn hashes(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let num_hashes = row["k"].as_u64().unwrap() as u32;
        let scheme = MagnusScheme::new(MagnusHash::Md5, num_hashes, i32::MIN).unwrap();
        let expected: Vec<u64> = row["hashes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hash| u64::from(number(hash).unsigned_abs() as u32 & 0x7FFF_FFFF))
            .collect();
        assert_eq!(positions(&scheme, &hex(row["hex"].as_str().unwrap())), expected, "{row}");
    }
}

fn sizes(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let (fpp, expected_items) = (double(&row["f"]), number(&row["n"]) as i32);
        let hashes = number(&row["k"]) as u32;
        for (sizing, m) in [
            (MagnusSizing::Rate { fpp, expected_items }, "m_classic"),
            (MagnusSizing::RedisRate { fpp, expected_items }, "m_redis"),
        ] {
            let expected = (number(&row[m]) as i32, hashes);
            match sizing.num_bits_and_hashes() {
                Ok(found) => assert_eq!(found, expected, "{row} {m}"),
                Err(error) => assert!(expected.0 == 0 || expected.1 == 0, "{row} {m}: {error}"),
            }
        }
    }
}

fn redis_positions(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let fpp = double(&row["f"]);
        let sizing = MagnusSizing::RedisRate { fpp, expected_items: number(&row["n"]) as i32 };
        let (num_bits, num_hashes) = sizing.num_bits_and_hashes().unwrap();
        assert_eq!(
            (i64::from(num_bits), i64::from(num_hashes)),
            (number(&row["m"]), number(&row["k"]))
        );
        let scheme = MagnusScheme::new(MagnusHash::Md5, num_hashes, num_bits).unwrap();
        let found = positions(&scheme, row["text"].as_str().unwrap().as_bytes());
        assert_eq!(Value::from(found), row["positions"], "{row}");
    }
}

/// The class's own stream of the filter whose bits are in the `.bin` of the same name.
fn serialized(golden: &Golden, name: &str, fpp: f64) {
    let bytes = golden.bytes(&format!("{name}.ser"));
    let json = golden.json(&format!("{name}.json"));
    let mut filter = MagnusFilter::decode(&bytes, &Limits::default()).unwrap();
    assert_eq!(detect(&bytes)[0].format, Format::MagnusS);
    assert!(filter.encode() == bytes, "{name}: written back otherwise");
    assert!(filter.bits().to_lsb_bytes().starts_with(&golden.bytes(&format!("{name}.bin"))));

    // Built from nothing, by the same additions.
    let members = golden::keys(&json, "members", NAMES.inserted, NAMES.not_new_at, false);
    let sizing = MagnusSizing::Rate { fpp, expected_items: number(&json["n"]) as i32 };
    let mut rebuilt =
        MagnusFilter::create(&sizing, MagnusForm::Serialized, &Limits::default()).unwrap();
    for (key, _) in &members {
        rebuilt.insert(&encode(key));
    }
    assert_eq!(filter.estimated_items(), Some(members.len() as u64), "{name}");
    assert!(rebuilt.encode() == bytes, "{name}: rebuilt otherwise");

    let expected = 1.0
        - (-f64::from(filter.num_hashes()) * members.len() as f64 / filter.num_bits() as f64).exp();
    let expected = expected.powf(f64::from(filter.num_hashes()));
    assert!((filter.estimated_fpp() - expected).abs() < 1e-12, "{name}");

    let added = filter.added().unwrap();
    filter.insert(b"one more");
    let again = MagnusFilter::decode(&filter.encode(), &Limits::default()).unwrap();
    assert_eq!(again.added(), Some(added + 1));
    assert!(again.contains(b"one more"));
}

#[test]
fn the_hash_of_the_least_int_is_0_bits_from_the_start_of_a_filter_of_2_to_the_31() {
    // Its first number is -2^31, whose absolute value overflows.
    let key = b"user:3266734699";
    let at = |num_bits| positions(&MagnusScheme::new(MagnusHash::Md5, 1, num_bits).unwrap(), key);
    assert_eq!(at(i32::MIN), [0]);
    assert_eq!(at(i32::MAX), [1]);
    assert_eq!(at(1000), [648]);
    assert_eq!(at(-1000), [648]);
    assert_eq!(at(-1), [0]);
}

#[test]
fn the_salt_wraps_after_256_digests() {
    let scheme = |hash, k| MagnusScheme::new(hash, k, i32::MAX).unwrap();
    let numbers = positions(&scheme(MagnusHash::Md5, 1100), b"key");
    assert_eq!(numbers[..76], numbers[1024..]);
    assert_ne!(numbers[..76], numbers[512..588]);
    let numbers = positions(&scheme(MagnusHash::Sha1, 1300), b"key");
    assert_eq!(numbers[..20], numbers[1280..]);
}

#[test]
fn sha_1_gives_five_numbers_a_digest() {
    // SHA-1 of 00 61 and of 01 61, from coreutils.
    let scheme = MagnusScheme::new(MagnusHash::Sha1, 6, i32::MIN).unwrap();
    let expected: [i32; 6] =
        [822_501_390, 52_939_383, 924_788_006, -545_698_088, 1_126_324_316, -673_246_007];
    let expected = expected.map(|number| u64::from(number.unsigned_abs()));
    assert_eq!(positions(&scheme, b"a"), expected);
}

#[test]
fn another_digest_reads_the_same_bits_elsewhere() {
    let sizing = MagnusSizing::Rate { fpp: 0.001, expected_items: 100 };
    let filter = MagnusFilter::create(&sizing, MagnusForm::BitSet, &Limits::default()).unwrap();
    let mut filter = filter.hashed_with(MagnusHash::Sha1).unwrap();
    filter.insert(b"a");
    assert!(filter.contains(b"a"));
    let other = filter.clone().hashed_with(MagnusHash::Md5).unwrap();
    assert!(!other.contains(b"a"));
    assert!(matches!(
        filter.union_with(&other),
        Err(Error::Incompatible { parameter: "digest", .. })
    ));
}

#[test]
fn a_value_shorter_than_m_is_zero_behind_its_end_and_keeps_its_length() {
    let open = |bytes: &[u8]| MagnusFilter::decode_redis(bytes, 1000, 3, &Limits::default());
    let mut filter = open(&[0x80, 0, 0]).unwrap();
    assert_eq!((filter.num_bits(), filter.count_ones()), (1000, 1));
    assert_eq!(filter.encode(), [0x80, 0, 0]);
    filter.insert(b"key");
    let longer = filter.encode();
    assert!(longer.len() > 3 && longer.last() != Some(&0));
    assert!(open(&longer).unwrap().contains(b"key"));
    assert_eq!(open(&[0; 126]).unwrap_err(), Error::TrailingBytes { found: 1 });
}

#[test]
fn filters_that_the_class_would_make_useless_are_refused() {
    let of = |fpp| MagnusSizing::Rate { fpp, expected_items: 10 }.num_bits_and_hashes();
    assert!(of(1.0).is_err() && of(2.0).is_err() && of(f64::NAN).is_err());
    let all = MagnusSizing::Rate { fpp: 0.0, expected_items: 10 };
    assert!(MagnusFilter::create(&all, MagnusForm::Redis, &Limits::default()).is_err());
    let none = MagnusSizing::RedisRate { fpp: 0.01, expected_items: 0 };
    assert!(none.num_bits_and_hashes().is_err());
}

/// Found by the fuzzer: an insertion can make a bitmap begin as Java's objects do.
#[test]
fn a_bitmap_that_begins_as_a_java_object_is_a_bitmap() {
    let shape = Shape { num_bits: 40, num_hashes: 1 };
    let bytes = [0xac, 0xed, 0, 5];
    let filter = open_with(Format::MagnusS, &bytes, shape, &Limits::default()).unwrap();
    assert_eq!((filter.num_bits(), filter.count_ones()), (40, 12));
    assert_eq!(filter.encode(), bytes);
}

/// Whatever byte of it is lost, even though m and k are given.
#[test]
fn a_damaged_java_object_is_not_taken_for_a_bitmap() {
    let sizing = MagnusSizing::Rate { fpp: 0.01, expected_items: 100 };
    let mut filter =
        MagnusFilter::create(&sizing, MagnusForm::Serialized, &Limits::default()).unwrap();
    filter.insert(b"a key");
    let whole = filter.encode();
    let shape =
        Shape { num_bits: filter.num_bits().cast_signed(), num_hashes: filter.num_hashes() };
    assert!(open_with(Format::MagnusS, &whole, shape, &Limits::default()).is_ok());
    for lost in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes.remove(lost);
        let opened = open_with(Format::MagnusS, &bytes, shape, &Limits::default());
        assert!(opened.is_err(), "byte {lost} is lost");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_bytes_give_an_error_or_the_same_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..40), num_bits: i32, num_hashes in 0u32..20,
    ) {
        let limits = Limits { max_bytes: 1 << 12, ..Limits::default() };
        let num_bits = num_bits >> 16;
        for decode in [MagnusFilter::decode_bitset, MagnusFilter::decode_redis] {
            suite::are_refused_or_kept(&bytes, decode(&bytes, num_bits, num_hashes, &limits))?;
        }
    }

    #[test]
    fn what_was_inserted_is_found_after_a_round_trip(
        keys: Vec<Vec<u8>>, n in 1i32..200, fpp in 1e-6..0.5f64,
    ) {
        let sizing = MagnusSizing::Rate { fpp, expected_items: n };
        let (num_bits, num_hashes) = sizing.num_bits_and_hashes().unwrap();
        let limits = Limits::default();
        for form in [MagnusForm::BitSet, MagnusForm::Redis, MagnusForm::Serialized] {
            let mut filter = MagnusFilter::create(&sizing, form, &limits).unwrap();
            suite::is_read_again(&mut filter, &keys, |bytes| suite::boxed(match form {
                MagnusForm::BitSet => {
                    MagnusFilter::decode_bitset(bytes, num_bits, num_hashes, &limits)
                }
                MagnusForm::Redis => {
                    MagnusFilter::decode_redis(bytes, num_bits, num_hashes, &limits)
                }
                MagnusForm::Serialized => MagnusFilter::decode(bytes, &limits),
            }))?;
        }
    }
}
