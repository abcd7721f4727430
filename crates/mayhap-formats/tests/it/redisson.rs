//! Redisson.

use crate::golden::{self, Golden, Key, Names, double, hex, number, positions};
use crate::suite::{self, cases};
use mayhap_formats::{
    Error, ForeignFilter, Format, KeyType, Limits, RedissonConfig, RedissonFilter, RedissonScheme,
    RedissonSpelling, Shape, open_with,
};
use proptest::prelude::*;
use serde_json::Value;

const NAMES: Names = Names {
    inserted: "add_returned",
    not_new_at: "members_rule_add_returned_false_at",
    found: "contains",
    found_at: "probes_rule_contains_true_at",
};

#[test]
fn every_golden_file_is_answered_as_redisson_did() {
    let golden = Golden::of("redisson");
    for (name, json) in golden.described() {
        one_filter(&golden, &name, &json);
    }
    codecs(&golden.json("codec_bytes.json"));
    codecs(&golden.json("codec_bytes_old.json"));
    hashes(&golden.json("highwayhash128.json"));
    names(&golden.json("names.json"));
    far_positions(&golden.json("positions.json"));
    sizes(&golden.json("sizing.json"));
    golden.all_were_used();
}

/// The type of keys, and of the elements of the byte array codec, whose rules are plain text.
fn key_types(json: &Value) -> (KeyType, KeyType) {
    match json["codec"].as_str().unwrap() {
        "string" | "long-decimal" => (KeyType::Bytes, KeyType::Bytes),
        "bytes" => (KeyType::Hex, KeyType::Bytes),
        "kryo5-string" => (KeyType::KryoString, KeyType::KryoString),
        "kryo5-int" => (KeyType::KryoInt, KeyType::KryoInt),
        "kryo5-long" => (KeyType::KryoLong, KeyType::KryoLong),
        other => panic!("codec {other}"),
    }
}

fn config(fields: &Value) -> RedissonConfig {
    let fields = fields.as_object().unwrap().iter();
    RedissonConfig::parse(fields.map(|(name, value)| (&**name, value.as_str().unwrap()))).unwrap()
}

fn one_filter(golden: &Golden, name: &str, json: &Value) {
    let bytes = golden.bytes(json["file"].as_str().unwrap());
    let fields = &json["config_hash"];
    let limits = Limits::default();
    let filter = RedissonFilter::decode(&bytes, config(fields), &limits).unwrap();
    assert!(filter.encode() == bytes, "{name}: written back otherwise");
    for (field, value) in filter.config().unwrap().fields() {
        assert_eq!(fields[field], value, "{name}: {field}");
    }
    assert_eq!(RedissonConfig::key(json["name"].as_str().unwrap()), json["config_key"]);
    assert_eq!(filter.count_ones(), json["bit_count"].as_u64().unwrap(), "{name}");
    assert_eq!(filter.count(), json["count"].as_i64().unwrap(), "{name}");
    let shape = Shape {
        num_bits: json["size"].as_i64().unwrap(),
        num_hashes: json["hash_iterations"].as_u64().unwrap() as u32,
    };
    assert!(open_with(Format::Redisson, &bytes, shape, &limits).unwrap().encode() == bytes);

    // The explicit keys, whose bytes and positions are given too.
    let (explicit, by_rule) = key_types(json);
    for row in json["members_explicit"].as_array().unwrap() {
        let hashed = Key::explicit(row).encode(explicit).unwrap();
        assert_eq!(hashed, hex(row["hashed_bytes"].as_str().unwrap()), "{name}: {row}");
        let found = Value::from(positions(filter.scheme(), &hashed));
        assert_eq!(found, row["positions"], "{name}: {row}");
    }
    let num_explicit = json["members_explicit"].as_array().unwrap().len();
    let calls = std::cell::Cell::new(0);
    let encode = |key: &Key| {
        // Members are encoded twice in order: inserted, then queried with all others.
        let count = json["members_rule"]["count"].as_u64().unwrap() as usize + num_explicit;
        let at = calls.get();
        calls.set(at + 1);
        let is_explicit = at % count < num_explicit && at < 2 * count;
        key.encode(if is_explicit { explicit } else { by_rule }).unwrap()
    };
    let n = json["n"].as_i64().unwrap();
    let config = RedissonConfig::new(n, double(&json["p"]), RedissonSpelling::Exponent).unwrap();
    assert_eq!(&config, filter.config().unwrap(), "{name}");
    let mut empty = RedissonFilter::create(config, &limits).unwrap();
    golden::replay(name, json, NAMES, encode, &mut empty, &filter);
}

fn codecs(json: &Value) {
    let codecs: &[(&str, &str, KeyType)] = &[
        ("String", "StringCodec", KeyType::Bytes),
        ("String", "Kryo5Codec", KeyType::KryoString),
        ("String", "MarshallingCodec", KeyType::MarshallingString),
        ("String", "JsonJacksonCodec", KeyType::JacksonString),
        ("Integer", "LongCodec/IntegerCodec/StringCodec", KeyType::Bytes),
        ("Integer", "Kryo5Codec", KeyType::KryoInt),
        ("Integer", "MarshallingCodec", KeyType::MarshallingInt),
        ("Integer", "JsonJacksonCodec", KeyType::Bytes),
        ("Long", "LongCodec/StringCodec", KeyType::Bytes),
        ("Long", "Kryo5Codec", KeyType::KryoLong),
        ("Long", "MarshallingCodec", KeyType::MarshallingLong),
        ("Long", "JsonJacksonCodec", KeyType::JacksonLong),
    ];
    let mut checked = 0;
    for row in json["rows"].as_array().unwrap() {
        let of = |name: &str| row[name].as_str();
        let key = match of("utf16be") {
            Some(units) => {
                let units = hex(units);
                let units = units.as_chunks::<2>().0.iter();
                Key::Utf16(units.map(|&unit| u16::from_be_bytes(unit)).collect())
            }
            None => Key::Number(number(&row["dec"])),
        };
        for &(of_type, codec, key_type) in codecs {
            if of("type") == Some(of_type) && row.get(codec).is_some() {
                let bytes = key.encode(key_type).unwrap();
                assert_eq!(bytes, hex(of(codec).unwrap()), "{codec}: {row}");
                checked += 1;
            }
        }
        let names = row.as_object().unwrap().keys().filter(|name| name.contains("Codec")).count();
        assert_eq!(names, 2, "{row}");
    }
    assert_eq!(checked, 2 * json["rows"].as_array().unwrap().len());
}

/// With a size of −2^63 the first two positions are h0 and h0 + h1 without their sign bits.
fn hashes(json: &Value) {
    let scheme = RedissonScheme::new(2, i64::MIN).unwrap();
    for row in json["rows"].as_array().unwrap() {
        let half = |name: &str| u64::from_str_radix(row[name].as_str().unwrap(), 16).unwrap();
        let without_sign = |n: u64| n & i64::MAX as u64;
        let expected =
            [without_sign(half("h0")), without_sign(half("h0").wrapping_add(half("h1")))];
        assert_eq!(positions(&scheme, &hex(row["hex"].as_str().unwrap())), expected, "{row}");
    }
}

fn names(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        assert_eq!(RedissonConfig::key(row["name"].as_str().unwrap()), row["config_key"]);
    }
}

fn far_positions(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let (n, p) = (row["n"].as_i64().unwrap(), double(&row["p"]));
        let config = RedissonConfig::new(n, p, RedissonSpelling::Plain).unwrap();
        assert_eq!(config.size(), row["size"].as_i64().unwrap());
        let scheme = RedissonScheme::new(config.num_hashes(), config.size()).unwrap();
        let key = Key::Utf16(row["text"].as_str().unwrap().encode_utf16().collect());
        for (codec, key_type) in [
            ("StringCodec_positions", KeyType::Bytes),
            ("Kryo5Codec_positions", KeyType::KryoString),
        ] {
            let found = positions(&scheme, &key.encode(key_type).unwrap());
            assert_eq!(Value::from(found), row[codec], "{row}");
        }
    }
}

fn sizes(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let (n, p) = (row["n"].as_i64().unwrap(), double(&row["p"]));
        let of = |spelling| RedissonConfig::new(n, p, spelling);
        match of(RedissonSpelling::Exponent) {
            Ok(config) => {
                assert_eq!(Some(config.size()), row["size"].as_i64(), "{row}");
                let hashes = u64::from(config.num_hashes());
                assert_eq!(Some(hashes), row["hash_iterations"].as_u64(), "{row}");
                let plain = of(RedissonSpelling::Plain).unwrap();
                assert_eq!(config.fields()[3].1, row["falseProbability_field"], "{row}");
                let before = &row["falseProbability_field_before_3_30_0"];
                assert_eq!(plain.fields()[3].1, *before, "{row}");
                for config in [config, plain] {
                    let fields = config.fields();
                    let fields = fields.iter().map(|(name, value)| (*name, &**value));
                    assert_eq!(RedissonConfig::parse(fields).unwrap(), config);
                }
            }
            Err(Error::Refused { message }) => assert_eq!(row["error"], message, "{row}"),
            Err(error) => panic!("{row}: {error}"),
        }
    }
}

#[test]
fn half_a_surrogate_pair_is_encoded_as_by_each_codec() {
    let encode = |key_type: KeyType| {
        let mut scratch = Vec::new();
        key_type.encode_utf16(&[0x61, 0xD800], &mut scratch).map(<[u8]>::to_vec)
    };
    assert_eq!(encode(KeyType::Bytes).unwrap(), b"a?");
    assert_eq!(encode(KeyType::KryoString).unwrap(), b"\x03\x83a\xED\xA0\x80");
    assert_eq!(encode(KeyType::MarshallingString).unwrap(), b"\x04\x3E\x02a\xED\xA0\x80");
    assert!(matches!(encode(KeyType::JacksonString), Err(Error::BadKey { .. })));
}

#[test]
fn lengths_of_marshalled_strings_wrap_at_256_and_65536() {
    let head = |len: usize| {
        let mut scratch = Vec::new();
        let text = "x".repeat(len);
        let bytes = KeyType::MarshallingString.encode(text.as_bytes(), &mut scratch).unwrap();
        bytes[..bytes.len() - len].to_vec()
    };
    assert_eq!(head(255), [4, 0x3E, 255]);
    assert_eq!(head(256), [4, 0x3E, 0]);
    assert_eq!(head(257), [4, 0x3F, 1, 1]);
    assert_eq!(head(65_535), [4, 0x3F, 255, 255]);
    assert_eq!(head(65_536), [4, 0x3F, 0, 0]);
    assert_eq!(head(65_537), [4, 0x40, 0, 1, 0, 1]);
}

#[test]
fn a_negative_size_works_by_its_absolute_value() {
    let config = RedissonConfig::new(-5, 0.01, RedissonSpelling::Exponent).unwrap();
    assert_eq!(config.size(), -47);
    let mut filter = RedissonFilter::create(config, &Limits::default()).unwrap();
    assert!(filter.insert(b"a") && filter.contains(b"a"));
    assert_eq!(filter.num_bits(), 47);
}

#[test]
fn a_config_with_a_field_missing_or_wrong_is_refused() {
    let right = [
        ("size", "9585"),
        ("hashIterations", "7"),
        ("expectedInsertions", "1000"),
        ("falseProbability", "0.01"),
    ];
    assert!(RedissonConfig::parse(right).is_ok());
    for at in 0..4 {
        let without = right.into_iter().enumerate().filter(|(i, _)| *i != at).map(|(_, f)| f);
        assert!(RedissonConfig::parse(without).is_err(), "without {}", right[at].0);
        for wrong in ["", "x", "-1.5", "99999999999999999999"] {
            let mut fields = right;
            fields[at].1 = wrong;
            assert!(RedissonConfig::parse(fields).is_err(), "{} = {wrong:?}", fields[at].0);
        }
    }
    for (at, wrong) in [(0, "0"), (0, "4294967295"), (1, "0"), (1, "-7"), (3, "1.5"), (3, "NaN")] {
        let mut fields = right;
        fields[at].1 = wrong;
        assert!(RedissonConfig::parse(fields).is_err(), "{} = {wrong:?}", fields[at].0);
    }
}

#[test]
fn unlike_filters_are_not_united() {
    let create = |n, p| {
        let config = RedissonConfig::new(n, p, RedissonSpelling::Exponent).unwrap();
        RedissonFilter::create(config, &Limits::default()).unwrap()
    };
    let mut filter = create(100, 0.01);
    let mut same = create(100, 0.01);
    same.insert(b"b");
    filter.insert(b"a");
    for other in [create(101, 0.01), create(100, 0.02)] {
        assert!(matches!(filter.union_with(&other), Err(Error::Incompatible { .. })));
    }
    assert!(!filter.contains(b"b"));
    filter.union_with(&same).unwrap();
    assert!(filter.contains(b"a") && filter.contains(b"b"));
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_bytes_give_an_error_or_the_same_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..40), size: i64, num_hashes in 0u32..20,
    ) {
        let limits = Limits { max_bytes: 1 << 12, ..Limits::default() };
        let read = RedissonFilter::decode_bare(&bytes, size >> 48, num_hashes, &limits);
        suite::are_refused_or_kept(&bytes, read)?;
    }

    #[test]
    fn what_was_inserted_is_found_after_a_round_trip(
        keys: Vec<Vec<u8>>, n in 1i64..200, p in 1e-6..0.5f64,
    ) {
        let config = RedissonConfig::new(n, p, RedissonSpelling::Plain).unwrap();
        let mut filter = RedissonFilter::create(config.clone(), &Limits::default()).unwrap();
        suite::is_read_again(&mut filter, &keys, |file| {
            suite::boxed(RedissonFilter::decode(file, config.clone(), &Limits::default()))
        })?;
    }
}

/// The positions of a key depend on each other, so that the rate is not `(set bits / size)^k`,
/// least of all where a size is even.
#[test]
fn the_rate_is_that_of_absent_keys_whatever_divides_the_size() {
    const PROBES: u64 = 1_000_000;
    let limits = Limits::default();
    // Sizes by `tryInit` for 1,000 to 20,000 keys, and some that are divisible by many twos.
    for (size, num_hashes, keys) in [
        (9_585, 7, 1_000),
        (9_586, 7, 1_000),
        (95_850, 7, 10_000),
        (95_851, 7, 10_000),
        (95_852, 7, 10_000),
        (95_872, 7, 10_000),
        (65_536, 7, 7_000),
        (131_072, 10, 9_000),
        (191_702, 13, 10_000),
        (62_352, 4, 10_000),
        (48_000, 3, 10_000),
        (9_600, 1, 3_000),
    ] {
        let mut filter = RedissonFilter::decode_bare(&[], size, num_hashes, &limits).unwrap();
        assert_eq!(filter.estimated_fpp(), 0.0);
        for key in 0..keys {
            filter.insert(format!("key {key}").as_bytes());
        }
        let found = (0..PROBES).filter(|i| filter.contains(format!("absent {i}").as_bytes()));
        let (found, fpp) = (found.count() as f64, filter.estimated_fpp());
        let expected = fpp * PROBES as f64;
        // The errors of the count, and of the draws.
        let drawn = if fpp > 1e-3 { 0.008 } else { 0.02 };
        let deviation = (expected * (1.0 - fpp) + (drawn * expected).powi(2)).sqrt();
        let usual = filter.bits().fill_ratio().powf(f64::from(num_hashes));
        let off = (found - expected) / deviation;
        println!("{size} k = {num_hashes}: {fpp:.6}, {:.2} of the usual, {off:+.2}", fpp / usual);
        assert!(off.abs() < 3.0, "{size}: {found} of {expected}, {off} standard deviations");
        // The usual formula is for independent positions; a few positions nearly are.
        let near = if num_hashes < 4 { 0.99..1.02 } else { 1.1..5.0 };
        assert!(near.contains(&(fpp / usual)), "{size}: {fpp} {usual}");
    }
}
