//! Guava.

use crate::golden::{self, Golden, Key, PUT_AND_MIGHT_CONTAIN, double, hex, number, positions};
use crate::suite::{self, cases};
use mayhap_formats::{
    Error, ForeignFilter, Format, GuavaFilter, GuavaOptions, GuavaRelease, GuavaScheme,
    GuavaStrategy, KeyType, Limits, Reader, SharedGuavaFilter, detect, open,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

fn strategy(name: &Value) -> GuavaStrategy {
    match name.as_str().unwrap() {
        "MURMUR128_MITZ_32" => GuavaStrategy::Mitz32,
        "MURMUR128_MITZ_64" => GuavaStrategy::Mitz64,
        other => panic!("strategy {other}"),
    }
}

/// The bytes of a key by the name of its funnel.
fn encode(funnel: &str, key: &Key) -> Vec<u8> {
    let key_type = match funnel {
        "byteArray" | "string:UTF-8" => KeyType::Bytes,
        "unencodedChars" => KeyType::Utf16,
        "string:ISO-8859-1" => KeyType::Latin1,
        "integer" => KeyType::Int,
        "long" => KeyType::Long,
        // Its encoder replaces a lone surrogate.
        "string:UTF-16LE" => {
            let Key::Utf16(units) = key else { panic!("{key:?}") };
            let text = String::from_utf16_lossy(units);
            return text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        }
        other => panic!("funnel {other}"),
    };
    key.encode(key_type).unwrap()
}

fn decode(bytes: &[u8]) -> GuavaFilter {
    GuavaFilter::decode(bytes, &Limits::default()).unwrap()
}

#[test]
fn every_golden_file_is_answered_as_guava_did() {
    let golden = Golden::of("guava");
    for (name, json) in golden.described() {
        one_filter(&golden, &name, &json);
    }
    for (file, release) in
        [("kdiff_guava31", GuavaRelease::UpTo31), ("kdiff_guava33", GuavaRelease::From33)]
    {
        k_of_a_release(&golden, file, release);
    }
    sizes(&golden.json("sizing_guava31.json"), GuavaRelease::UpTo31);
    sizes(&golden.json("sizing_guava33.json"), GuavaRelease::From33);
    hashes(&golden.json("murmur3_128.json"));
    unions(&golden);
    malformed(&golden.json("malformed.json"));
    serialized(&golden);
    golden.all_were_used();
}

fn one_filter(golden: &Golden, name: &str, json: &Value) {
    let bytes = golden.bytes(json["file"].as_str().unwrap());
    let filter = open(Format::Guava, &bytes, &Limits::default()).unwrap();
    assert!(filter.encode() == bytes, "{name}: written back otherwise");
    assert_eq!(detect(&bytes)[0].format, Format::Guava, "{name}");

    let num_hashes = json["num_hash_functions"].as_u64().unwrap();
    assert_eq!(u64::from(filter.num_hashes()), num_hashes, "{name}");
    assert_eq!(filter.num_bits(), json["bit_size"].as_u64().unwrap(), "{name}");
    assert_eq!(filter.count_ones(), json["bit_count"].as_u64().unwrap(), "{name}");
    assert_eq!(filter.estimated_fpp(), double(&json["expected_fpp"]), "{name}");
    // Guava throws where there is no number.
    assert_eq!(filter.estimated_items(), json["approximate_element_count"].as_u64(), "{name}");
    assert_eq!(filter.facts()[0].value, json["strategy"].as_str().unwrap(), "{name}");

    let mut empty = GuavaFilter::create(
        &GuavaOptions {
            expected_insertions: number(&json["expected_insertions"]),
            fpp: double(&json["fpp"]),
            strategy: strategy(&json["strategy"]),
            release: GuavaRelease::UpTo31,
        },
        &Limits::default(),
    )
    .unwrap();
    let funnel = json["funnel"].as_str().unwrap();
    golden::replay(
        name,
        json,
        PUT_AND_MIGHT_CONTAIN,
        |key| encode(funnel, key),
        &mut empty,
        &*filter,
    );
}

fn k_of_a_release(golden: &Golden, file: &str, release: GuavaRelease) {
    let json = golden.json(&format!("{file}.json"));
    let bytes = golden.bytes(json["file"].as_str().unwrap());
    let filter = decode(&bytes);
    assert_eq!(u64::from(filter.num_hashes()), json["k"].as_u64().unwrap());
    assert_eq!(filter.expected_fpp(), double(&json["expected_fpp"]));
    assert_eq!(
        filter.approximate_element_count(),
        json["approximate_element_count"].as_u64(),
        "{file}"
    );
    let mut rebuilt = GuavaFilter::create(
        &GuavaOptions { fpp: 0.01, release, ..GuavaOptions::new(3) },
        &Limits::default(),
    )
    .unwrap();
    for i in 0..3 {
        rebuilt.insert_str(&format!("user:{i}"));
    }
    assert_eq!(rebuilt.encode(), bytes, "{file}");
    let prefix = json["probe_prefix"].as_str().unwrap();
    let count = json["probe_count"].as_u64().unwrap();
    let found: Vec<_> =
        (0..count).filter(|i| filter.contains_str(&format!("{prefix}{i}"))).collect();
    assert_eq!(Value::from(found), json["probes_true_at"], "{file}");
}

fn sizes(json: &Value, release: GuavaRelease) {
    for row in json["rows"].as_array().unwrap() {
        let options = GuavaOptions {
            fpp: double(&row["fpp"]),
            release,
            ..GuavaOptions::new(row["n"].as_i64().unwrap())
        };
        match options.num_longs_and_hashes() {
            Ok((longs, hashes)) => {
                assert_eq!(Some(u64::from(longs) * 64), row["bit_size"].as_u64(), "{row}");
                assert_eq!(Some(u64::from(hashes)), row["k"].as_u64(), "{row}");
            }
            Err(Error::Refused { message }) => {
                let (error, cause) = (row["error"].as_str().unwrap(), row["cause"].as_str());
                match cause {
                    None | Some("null") => {
                        // Java writes 4.9E-324 where Rust writes 5e-324; no such row is refused
                        // for its p alone.
                        assert_eq!(message, error, "{row}");
                    }
                    Some(cause) => assert_eq!(message, format!("{error}: {cause}"), "{row}"),
                }
            }
            Err(error) => panic!("{row}: {error}"),
        }
    }
}

/// The hash itself, over the bytes that each funnel and sink call makes of its value.
fn hashes(json: &Value) {
    let check = |bytes: &[u8], row: &Value| {
        let (h1, h2) = mur3::murmurhash3_x64_128(bytes, 0);
        let hex = |h: u64| format!("{h:016x}");
        assert_eq!(
            (&*hex(h1), &*hex(h2)),
            (row["h1"].as_str().unwrap(), row["h2"].as_str().unwrap())
        );
    };
    for row in json["bytes"].as_array().unwrap() {
        check(&hex(row["hex"].as_str().unwrap()), row);
    }
    for row in json["sink"].as_array().unwrap() {
        let value = row["value"].as_str().unwrap();
        let utf16 = || value.encode_utf16();
        let bytes = match row["op"].as_str().unwrap() {
            "putInt" => Key::Number(value.parse().unwrap()).encode(KeyType::Int).unwrap(),
            "putLong" => Key::Number(value.parse().unwrap()).encode(KeyType::Long).unwrap(),
            "putShort" => value.parse::<i16>().unwrap().to_le_bytes().to_vec(),
            "putChar" => value.parse::<u16>().unwrap().to_le_bytes().to_vec(),
            "putByte" => value.parse::<u8>().unwrap().to_le_bytes().to_vec(),
            "putBoolean" => vec![u8::from(value == "true")],
            "putDouble" => value.parse::<f64>().unwrap().to_le_bytes().to_vec(),
            "putFloat" => value.parse::<f32>().unwrap().to_le_bytes().to_vec(),
            "putUnencodedChars" | "putString UTF-16LE" => {
                Key::Utf16(utf16().collect()).encode(KeyType::Utf16).unwrap()
            }
            "putString UTF-8" => Key::Utf16(utf16().collect()).encode(KeyType::Bytes).unwrap(),
            "putString US-ASCII" => Key::Utf16(utf16().collect()).encode(KeyType::Ascii).unwrap(),
            "putString UTF-16" => {
                [0xFEFF].into_iter().chain(utf16()).flat_map(u16::to_be_bytes).collect()
            }
            "putInt; putString UTF-8; putLong; putBoolean(true)" => {
                let parts: Vec<_> = value.split('|').collect();
                let mut bytes = parts[0].parse::<i32>().unwrap().to_le_bytes().to_vec();
                bytes.extend(parts[1].as_bytes());
                bytes.extend(parts[2].parse::<i64>().unwrap().to_le_bytes());
                bytes.push(1);
                bytes
            }
            "sequentialFunnel(stringFunnel UTF-8) of [S, \"x\", S]" => {
                [value, "x", value].concat().into_bytes()
            }
            other => panic!("{other}"),
        };
        check(&bytes, row);
    }
}

fn unions(golden: &Golden) {
    let json = golden.json("union.json");
    let [a, b, ab] = ["a", "b", "ab"].map(|which| golden.bytes(&format!("union_{which}.bin")));
    let (mut filter, other) = (decode(&a), decode(&b));
    assert_eq!(filter.approximate_element_count(), json["approx_a"].as_u64());
    assert_eq!(other.approximate_element_count(), json["approx_b"].as_u64());
    assert!(!filter.contains_str("user:299") && other.contains_str("user:299"));
    filter.union_with(&other).unwrap();
    assert!(filter.encode() == ab);
    assert_eq!(filter.approximate_element_count(), json["approx_ab"].as_u64());
    assert_eq!(filter.expected_fpp(), double(&json["expected_fpp_ab"]));
    assert!((0..300).all(|i| filter.contains_str(&format!("user:{i}"))));
}

fn malformed(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let bytes = hex(row["hex"].as_str().unwrap());
        let mut reader = Reader::new(&bytes);
        let filter = GuavaFilter::read_from(&mut reader, &Limits::default());
        assert_eq!(filter.is_ok(), row["accepted"].as_bool().unwrap(), "{row}");
        let Ok(filter) = filter else { continue };
        assert_eq!(reader.left().len() as u64, row["bytes_left_unread"].as_u64().unwrap(), "{row}");
        assert_eq!(filter.expected_fpp(), double(&row["expected_fpp"]), "{row}");
        assert_eq!(
            filter.approximate_element_count(),
            row["approximate_element_count"].as_u64(),
            "{row}"
        );
        let left = reader.left().len() as u64;
        if left > 0 {
            let whole = GuavaFilter::decode(&bytes, &Limits::default());
            assert_eq!(whole.unwrap_err(), Error::TrailingBytes { found: left });
        }
    }
}

fn serialized(golden: &Golden) {
    let json = golden.json("javaser.json");
    let funnels = [
        ("javaser_utf8_mitz32.ser", "stringFunnel(UTF-8)", KeyType::Bytes),
        ("javaser_long_mitz64.ser", "longFunnel()", KeyType::Long),
        ("javaser_guava14_bytes.ser", "byteArrayFunnel()", KeyType::Bytes),
        ("javaser_guava14_long.ser", "longFunnel()", KeyType::Long),
    ];
    assert_eq!(json["files"].as_object().unwrap().len(), funnels.len());
    for (name, funnel, key_type) in funnels {
        let row = &json["files"][name];
        let bytes = golden.bytes(name);
        let mut filter = decode(&bytes);
        assert_eq!(detect(&bytes)[0].form, "Java serialization", "{name}");
        assert_eq!(filter.funnel().unwrap().to_string(), funnel, "{name}");
        assert_eq!(filter.key_types()[0], key_type, "{name}");
        assert!(filter.encode() == bytes, "{name}: written back otherwise");
        let stream = row.get("equals_writeTo").or(row.get("same_bits_as"));
        if let Some(stream) = stream {
            assert!(filter.to_stream() == golden.bytes(stream.as_str().unwrap()), "{name}");
        } else {
            assert_eq!((filter.num_bits(), filter.num_hashes()), (192, 4), "{name}");
        }
        let count = if name.contains("guava14_long") { 25 } else { 40 };
        for i in 0..count {
            let key = if key_type == KeyType::Long {
                Key::Number(i)
            } else {
                Key::Bytes(format!("user:{i}").into_bytes())
            };
            assert!(filter.contains(&key.encode(key_type).unwrap()), "{name}: {i}");
        }
        // The JVM's own bytes for the same bits, from the stream alone.
        let funnel = filter.funnel().unwrap().clone();
        let plain = decode(&filter.to_stream());
        assert!(plain.to_serialized(&funnel).unwrap() == bytes, "{name}: serialized otherwise");

        assert!(filter.insert(b"one more"));
        let again = decode(&filter.encode());
        assert!(again.contains(b"one more") && again.to_stream() == filter.to_stream(), "{name}");
    }
}

#[test]
fn a_string_funnel_of_guava_14_is_read_as_utf_16() {
    let golden = Golden::of("guava");
    let bytes = golden.bytes("javaser_guava14_long.ser");
    let text = |name: &str| [&[0, name.len() as u8], name.as_bytes()].concat();
    let long = text("com.google.common.hash.Funnels$LongFunnel");
    let string = text("com.google.common.hash.Funnels$StringFunnel");
    let at = bytes.windows(long.len()).position(|window| window == long).unwrap();
    let older = [&bytes[..at], &string, &bytes[at + long.len()..]].concat();
    let filter = decode(&older);
    assert_eq!(filter.key_types(), [KeyType::Utf16]);
    assert!(filter.encode() == older);
}

#[test]
fn positions_of_hello_are_those_of_guava() {
    let of = |strategy| positions(&GuavaScheme::new(strategy, 7, 150).unwrap(), b"hello");
    assert_eq!(of(GuavaStrategy::Mitz64), [898, 8731, 6964, 3405, 1638, 9471, 5912]);
    assert_eq!(of(GuavaStrategy::Mitz32), [8885, 2455, 4196, 7758, 6017, 4276, 7064]);
}

#[test]
fn mitz_32_never_leaves_the_first_2_to_the_31_bits() {
    // 2^32 bits; only positions are computed.
    let scheme = |strategy| GuavaScheme::new(strategy, 9, 1 << 26).unwrap();
    let highest = |strategy| {
        (0..2_000u32)
            .flat_map(|key| positions(&scheme(strategy), &key.to_le_bytes()))
            .max()
            .unwrap()
    };
    assert!(highest(GuavaStrategy::Mitz32) < 1 << 31);
    assert!(highest(GuavaStrategy::Mitz64) > 4_200_000_000);
}

#[test]
fn a_filter_of_more_than_2_to_the_31_bits_is_sized_as_by_guava() {
    let options = GuavaOptions { fpp: 0.01, ..GuavaOptions::new(1_000_000_000) };
    let (longs, hashes) = options.num_longs_and_hashes().unwrap();
    assert_eq!((u64::from(longs) * 64, hashes), (9_585_058_432, 7));
}

#[test]
fn a_stream_that_claims_16_gib_is_refused_before_anything_is_allocated() {
    let bytes = [1, 1, 0x7F, 0xFF, 0xFF, 0xFF];
    let generous = Limits { max_bytes: u64::MAX, ..Limits::default() };
    assert_eq!(
        GuavaFilter::decode(&bytes, &generous).unwrap_err(),
        Error::Truncated { field: "bits", needed: 8 * (i32::MAX as u64), left: 0 }
    );
    let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
    assert!(matches!(GuavaFilter::decode(&bytes, &limits), Err(Error::TooLarge { .. })));
}

#[test]
fn streams_may_follow_one_another() {
    let golden = Golden::of("guava");
    let (a, b) = (golden.bytes("union_a.bin"), golden.bytes("union_b.bin"));
    let both = [a.clone(), b.clone()].concat();
    let mut reader = Reader::new(&both);
    for expected in [a, b] {
        let filter = GuavaFilter::read_from(&mut reader, &Limits::default()).unwrap();
        assert!(filter.encode() == expected);
    }
    reader.finish().unwrap();
}

#[test]
fn unlike_filters_are_not_united_and_stay_as_they_are() {
    let create = |n, fpp, strategy| {
        let options = GuavaOptions { fpp, strategy, ..GuavaOptions::new(n) };
        GuavaFilter::create(&options, &Limits::default()).unwrap()
    };
    let mut filter = create(500, 0.01, GuavaStrategy::Mitz64);
    filter.insert_str("a");
    let before = filter.encode();
    let others = [
        (create(500, 0.3, GuavaStrategy::Mitz64), "number of hash functions"),
        (create(5000, 0.01, GuavaStrategy::Mitz64), "number of bits"),
        (create(500, 0.01, GuavaStrategy::Mitz32), "strategy"),
    ];
    for (mut other, differs) in others {
        other.insert_str("b");
        match filter.union_with(&other) {
            Err(Error::Incompatible { parameter, .. }) => assert_eq!(parameter, differs),
            result => panic!("{differs}: {result:?}"),
        }
        assert!(filter.encode() == before, "{differs}");
    }
    // n and p are in no file: other ones with the same m and k are compatible.
    let mut other = create(499, 0.01, GuavaStrategy::Mitz64);
    other.insert_str("b");
    filter.union_with(&other).unwrap();
    assert!(filter.contains_str("a") && filter.contains_str("b"));
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_decodes_is_encoded_to_the_same_bytes(
        mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        plausible: bool,
    ) {
        if plausible && bytes.len() >= 14 {
            let longs = (bytes.len() - 6) / 8;
            bytes.truncate(6 + longs * 8);
            bytes[0] &= 1;
            bytes[2..6].copy_from_slice(&(longs as u32).to_be_bytes());
        }
        suite::are_refused_or_kept(&bytes, GuavaFilter::decode(&bytes, &Limits::default()))?;
    }

    #[test]
    fn what_was_inserted_is_found_after_a_round_trip(
        keys: Vec<Vec<u8>>, n in 1i64..500, fpp in 1e-6..0.6f64, narrow: bool,
    ) {
        let strategy = if narrow { GuavaStrategy::Mitz32 } else { GuavaStrategy::Mitz64 };
        let options = GuavaOptions { fpp, strategy, ..GuavaOptions::new(n) };
        let mut filter = GuavaFilter::create(&options, &Limits::default()).unwrap();
        let open = |file: &[u8]| open(Format::Guava, file, &Limits::default());
        suite::is_read_again(&mut filter, &keys, open)?;
    }
}

#[test]
fn many_threads_fill_a_shared_filter_as_one_fills_its_own() {
    const THREADS: i64 = 4;
    const KEYS: i64 = 20_000;
    // At this rate, no key shares all of its bits with others.
    let options = GuavaOptions { fpp: 1e-9, ..GuavaOptions::new(60_000) };
    let mut alone = GuavaFilter::create(&options, &Limits::default()).unwrap();
    // Keys that are already inside count too.
    for key in -1000..0 {
        alone.insert_i64(key);
    }
    let shared = SharedGuavaFilter::from(alone.clone());
    assert_eq!(shared.count_ones(), alone.bits().count_ones());
    let new: BTreeSet<i64> = std::thread::scope(|scope| {
        // Half of the keys of each thread are also inserted by the next one, at the same time.
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || {
                    let keys = thread * KEYS / 2..thread * KEYS / 2 + KEYS;
                    let is_new = |key: &i64| shared.insert(&key.to_le_bytes());
                    let new: Vec<i64> = keys.clone().filter(is_new).collect();
                    assert!(keys.into_iter().all(|key| shared.contains(&key.to_le_bytes())));
                    new
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // For each key, one thread or more gets the answer "new".
    assert!(new.into_iter().eq(0..(THREADS + 1) * KEYS / 2));
    for key in 0..(THREADS + 1) * KEYS / 2 {
        alone.insert_i64(key);
    }
    assert_eq!(shared.count_ones(), alone.bits().count_ones());
    assert_eq!(shared.expected_fpp().to_bits(), alone.expected_fpp().to_bits());
    assert_eq!(shared.approximate_element_count(), alone.approximate_element_count());
    assert_eq!(GuavaFilter::from(shared).encode(), alone.encode());
}
