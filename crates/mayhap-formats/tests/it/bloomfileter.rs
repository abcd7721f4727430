//! `BloomFileter`.

use crate::golden::{Golden, Key, double, hex, number, positions};
use crate::suite::{self, cases};
use mayhap_formats::{
    BloomFileter, BloomFileterOptions, BloomFileterRate, BloomFileterScheme, Error, ForeignFilter,
    Format, KeyType, Limits, detect, open,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

const CLASS: &str = "com.unclezs.novel.utis.BloomFileter";

fn encode(key: &Key) -> Vec<u8> {
    key.encode(KeyType::Utf16).unwrap()
}

fn decode(bytes: &[u8]) -> BloomFileter {
    BloomFileter::decode(bytes, &Limits::default()).unwrap()
}

fn rate(json: &Value) -> BloomFileterRate {
    match json["rate"].as_str().unwrap() {
        "VERY_SMALL" => BloomFileterRate::VerySmall,
        "SMALL" => BloomFileterRate::Small,
        "MIDDLE" => BloomFileterRate::Middle,
        "HIGH" => BloomFileterRate::High,
        other => panic!("rate {other}"),
    }
}

fn options(json: &Value) -> BloomFileterOptions {
    BloomFileterOptions {
        rate: rate(json),
        auto_clear_rate: json["auto_clear_rate"].as_str().map(|rate| rate.parse().unwrap()),
        ..BloomFileterOptions::new(
            number(&json["data_count"]) as i32,
            json["class"].as_str().unwrap_or(CLASS),
        )
    }
}

fn indices(json: &Value) -> BTreeSet<usize> {
    json.as_array().into_iter().flatten().map(|i| i.as_u64().unwrap() as usize).collect()
}

#[test]
fn every_golden_file_is_answered_as_the_class_did() {
    let golden = Golden::of("bloomfileter");
    for name in golden.names() {
        let Some(stem) = name.strip_suffix(".json") else { continue };
        if stem != "sizing" {
            one_trace(&golden, stem);
        }
    }
    empty_and_cleared(&golden);
    sizes(&golden.json("sizing.json"));
    golden.all_were_used();
}

/// Every operation from the empty filter on, with every number; then the file, byte for byte.
fn one_trace(golden: &Golden, stem: &str) {
    let json = golden.json(&format!("{stem}.json"));
    let mut filter = BloomFileter::create(&options(&json), &Limits::default()).unwrap();
    assert_eq!(filter.num_bits(), json["size"].as_u64().unwrap(), "{stem}");
    assert_eq!(u64::from(filter.num_hashes()), json["k"].as_u64().unwrap(), "{stem}");
    for op in json["ops"].as_array().into_iter().flatten() {
        let key = encode(&Key::explicit(op));
        if let Some(expected) = op.get("positions") {
            assert_eq!(&Value::from(positions(filter.scheme(), &key)), expected, "{stem}: {op}");
        }
        match op["op"].as_str().unwrap() {
            "add" => filter.add_utf16(&key),
            _ => assert_eq!(
                filter.add_if_not_exist_utf16(&key),
                op["returned"].as_bool().unwrap(),
                "{stem}: {op}"
            ),
        }
        numbers(&filter, op);
    }
    let returned = indices(&json["then_rule_returned_true_at"]);
    let mut true_count = 0;
    for (i, key) in Key::of_rule(&json["then_rule"]).iter().enumerate() {
        let existed = filter.add_if_not_exist_utf16(&encode(key));
        true_count += u64::from(existed);
        if json.get("then_rule_returned_true_at").is_some() {
            assert_eq!(existed, returned.contains(&i), "{stem}: {key:?}");
        }
    }
    if let Some(count) = json["returned_true_count"].as_u64() {
        assert_eq!(true_count, count, "{stem}");
    }
    numbers(&filter, json.get("final").unwrap_or(&json));
    if let Some(bits) = json["bits_bitset_bytes_hex"].as_str() {
        let mut bytes = filter.bits().to_lsb_bytes();
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used);
        assert_eq!(bytes, hex(bits), "{stem}");
    }

    let bytes = golden.bytes(json["file"].as_str().unwrap());
    assert!(filter.encode() == bytes, "{stem}: rebuilt otherwise");
    assert_eq!(detect(&bytes)[0].format, Format::BloomFileter);
    let written = open(Format::BloomFileter, &bytes, &Limits::default()).unwrap();
    assert!(written.encode() == bytes, "{stem}: written back otherwise");
    let written = decode(&bytes);
    assert_eq!(written.auto_clear_rate(), filter.auto_clear_rate());
    assert_eq!(written.class_name(), json["class"].as_str().unwrap_or(CLASS));
    numbers(&written, json.get("final").unwrap_or(&json));
    let found = indices(&json["probes_rule_check_true_at"]);
    for (i, key) in Key::of_rule(&json["probes_rule"]).iter().enumerate() {
        assert_eq!(written.contains(&encode(key)), found.contains(&i), "{stem}: {key:?}");
    }
}

fn numbers(filter: &BloomFileter, json: &Value) {
    assert_eq!(i64::from(filter.use_count()), number(&json["use_count"]), "{json}");
    assert_eq!(filter.count_ones(), json["bit_count"].as_u64().unwrap(), "{json}");
    if let Some(rate) = json.get("use_rate") {
        assert_eq!(filter.use_rate(), double(rate), "{json}");
    }
}

fn empty_and_cleared(golden: &Golden) {
    let (empty, cleared) = (golden.bytes("bf_empty.obj"), golden.bytes("bf_cleared.obj"));
    for bytes in [&empty, &cleared] {
        let mut filter = decode(bytes);
        assert_eq!((filter.use_count(), filter.count_ones()), (0, 0));
        assert!(filter.encode() == *bytes);
        assert!(!filter.add_if_not_exist("a") && filter.check("a"));
        filter.clear();
        assert!(filter.encode() == *bytes, "cleared otherwise");
    }
}

fn sizes(json: &Value) {
    for row in json["rows"].as_array().unwrap() {
        let options = options(row);
        // A size of 0 divides by zero in the class; it is refused here.
        match options.size() {
            Ok(size) => assert_eq!(Some(i64::from(size)), row["size"].as_i64(), "{row}"),
            Err(error) => {
                assert!(matches!(error, Error::Refused { .. }), "{row}: {error}");
                assert!(row.get("error").is_some() || row["size"] == 0, "{row}: {error}");
            }
        }
    }
}

#[test]
fn the_first_two_characters_change_places() {
    let options = BloomFileterOptions::new(1000, CLASS);
    let mut filter = BloomFileter::create(&options, &Limits::default()).unwrap();
    assert!(!filter.add_if_not_exist("ab"));
    assert!(filter.add_if_not_exist("ba") && filter.check("ba"));
    assert!(!filter.check("abc") && !filter.check("aab"));
}

#[test]
fn the_product_of_the_least_int_has_a_position() {
    // h = 2^31, so -2^31, by the digits of 2^31 in the mixed radix of the hash.
    let mut units = [0u16; 12];
    let mut rest = 1u32 << 31;
    for i in (1..12u16).rev() {
        units[usize::from(i)] = (rest % u32::from(i)) as u16;
        rest /= u32::from(i);
    }
    units[0] = rest as u16;
    let key: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let scheme = BloomFileterScheme::new(BloomFileterRate::VerySmall, 1000).unwrap();
    // Times 2 it wraps to 0; times 3, 5 and 7 to itself.
    assert_eq!(positions(&scheme, &key), [0, 648, 648, 648]);
}

#[test]
fn a_bitset_whose_last_word_was_in_use_keeps_only_words_in_use() {
    // Like a JVM: the length of a new one is kept, the length of one that was read is not.
    let options = BloomFileterOptions::new(40, CLASS);
    let mut filter = BloomFileter::create(&options, &Limits::default()).unwrap();
    let empty_bytes = filter.encode().len();
    filter.add("a");
    filter.clear();
    assert_eq!(filter.encode().len(), empty_bytes);
    while filter.bits().words().last() == Some(&0) {
        filter.add(&filter.use_count().to_string());
    }
    let mut read = decode(&filter.encode());
    read.clear();
    assert_eq!(read.encode().len(), empty_bytes - 8 * filter.bits().words().len());
    assert!(!decode(&read.encode()).check("a"));
    filter.clear();
    assert_eq!(filter.encode().len(), empty_bytes);
}

#[test]
fn a_rate_of_0_clears_before_every_addition_and_none_never() {
    let of = |auto_clear_rate| {
        let options =
            BloomFileterOptions { auto_clear_rate, ..BloomFileterOptions::new(10, CLASS) };
        let mut filter = BloomFileter::create(&options, &Limits::default()).unwrap();
        filter.add("a");
        filter.add("b");
        (filter.check("a"), filter.check("b"), filter.use_count())
    };
    assert_eq!(of(Some(0.0)), (false, true, 16));
    assert_eq!(of(None), (true, true, 32));
}

#[test]
fn a_stream_with_another_seed_uid_or_more_bytes_is_refused() {
    let bytes = Golden::of("bloomfileter").bytes("bf_small_7.obj");
    let limits = Limits::default();
    let refused = |at: usize, name: &str| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        match BloomFileter::decode(&changed, &limits) {
            Err(Error::BadField { field, .. }) => assert_eq!(field, name),
            result => panic!("{name}: {result:?}"),
        }
    };
    let find = |what: &[u8]| bytes.windows(what.len()).position(|window| window == what).unwrap();
    refused(find(&[0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5]) + 11, "seeds");
    refused(find(&(-5_221_305_273_707_291_280i64).to_be_bytes()), "serialVersionUID");
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(
        BloomFileter::decode(&longer, &limits).unwrap_err(),
        Error::TrailingBytes { found: 1 }
    );
    for len in 0..bytes.len() {
        assert!(BloomFileter::decode(&bytes[..len], &limits).is_err(), "{len} bytes");
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn changed_bytes_give_an_error_or_the_same_bytes(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = Golden::of("bloomfileter").bytes("bf_autoclear_0_5.obj");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let limits = Limits { max_bytes: 1 << 16, ..Limits::default() };
        suite::are_refused_or_kept(&bytes, BloomFileter::decode(&bytes, &limits))?;
    }

    #[test]
    fn what_was_added_is_found_after_a_round_trip(
        keys: Vec<String>, n in 1i32..200, rate in 0usize..4,
    ) {
        let rate = [
            BloomFileterRate::VerySmall, BloomFileterRate::Small,
            BloomFileterRate::Middle, BloomFileterRate::High,
        ][rate];
        let options = BloomFileterOptions { rate, ..BloomFileterOptions::new(n, "a.B") };
        let mut filter = BloomFileter::create(&options, &Limits::default()).unwrap();
        for key in &keys {
            filter.add(key);
        }
        let read = decode(&filter.encode());
        prop_assert!(keys.iter().all(|key| read.check(key)));
        prop_assert_eq!(read.use_count(), filter.use_count());
        prop_assert!(read.encode() == filter.encode());
    }
}
