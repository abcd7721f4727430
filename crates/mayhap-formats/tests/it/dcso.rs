//! DCSO's `bloom`.

use crate::golden::{Golden, hex};
use crate::suite::{self, cases, damage, noise};
use crate::text::{ask_all, f64_of, keys, text, u64_of};
use flate2::read::GzDecoder;
use mayhap_formats::{DcsoFilter, Error, ForeignFilter, Format, Limits, detect, open};
use proptest::prelude::*;
use serde_json::Value;
use std::io::Read;

fn decode(bytes: &[u8]) -> Result<DcsoFilter, Error> {
    DcsoFilter::decode(bytes, &Limits::default())
}

fn boxed(bytes: &[u8], limits: &Limits) -> Result<Box<dyn ForeignFilter>, Error> {
    open(Format::Dcso, bytes, limits)
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

#[test]
fn every_golden_file_is_answered_and_made_as_by_the_original() {
    let golden = Golden::of("dcso");
    for name in ["a", "b", "c_gz", "over", "tiny"] {
        let json = golden.json(&format!("dcso_{name}.json"));
        one_filter(name, &json, &golden.bytes(&text(&json, "file")));
    }
    joined_and_data(&golden);
    damaged(&golden);
    golden.all_were_used();
}

fn one_filter(name: &str, json: &Value, bytes: &[u8]) {
    let filter = decode(bytes).unwrap();
    let header = &json["header"];
    assert_eq!(filter.capacity(), u64_of(header, "n"));
    assert_eq!(filter.target_fpp(), f64_of(header, "p"));
    assert_eq!(u64::from(filter.num_hashes()), u64_of(header, "k"));
    assert_eq!(filter.num_bits(), u64_of(header, "m"));
    assert_eq!(filter.num_items(), u64_of(header, "N"));
    assert_eq!(filter.data().len() as u64, u64_of(json, "data_len"));
    assert_eq!(filter.is_compressed(), json["gzip"].as_bool().unwrap());
    ask_all(name, json, "probes_rule_check_true_at", &filter);
    assert!(filter.encode() == bytes, "{name}");
    assert!(detect(bytes).iter().any(|found| found.format == Format::Dcso), "{name}");
    let plain = if filter.is_compressed() { gunzip(bytes) } else { bytes.to_vec() };
    // gzip has many forms; a changed file holds the inserted keys.
    let mut changed = filter.clone();
    let new = ForeignFilter::insert(&mut changed, b"a key of no list").unwrap();
    assert_eq!(changed.encode() != bytes, new, "{name}");
    assert_eq!(decode(&changed.encode()).unwrap(), changed);

    let (n, p) = (filter.capacity(), filter.target_fpp());
    let mut made = DcsoFilter::create(n, p, &Limits::default()).unwrap();
    for key in keys(json, "members") {
        made.insert(&key).unwrap();
    }
    assert!(made.encode() == plain, "{name} made otherwise");
}

fn joined_and_data(golden: &Golden) {
    let json = golden.json("dcso_join_data.json");
    let file = |name: &str| golden.bytes(&format!("dcso_{name}.bloom"));
    let mut joined = decode(&file("j1")).unwrap();
    joined.union_with(&decode(&file("j2")).unwrap()).unwrap();
    assert_eq!(joined.num_items(), 400);
    assert!(joined.encode() == file("joined"));

    let bytes = golden.bytes(&text(&json, "data_file"));
    let mut with_data = decode(&bytes).unwrap();
    assert_eq!(with_data.data(), hex(&text(&json, "data_hex")));
    assert!(with_data.encode() == bytes);
    let data = with_data.data().to_vec();
    with_data.set_data(b"").unwrap();
    assert_eq!(with_data.encode().len(), bytes.len() - data.len());
    with_data.set_data(&data).unwrap();
    assert!(with_data.encode() == bytes);
}

fn damaged(golden: &Golden) {
    for row in golden.json("dcso_bad.json")["rows"].as_array().unwrap() {
        let name = text(row, "file");
        let result = decode(&golden.bytes(&name));
        // k = 0 answers yes to everything: the original accepts it, this crate does not.
        let refused = row["exit"] != 0 || name.contains("zero_k");
        assert_eq!(result.is_err(), refused, "{name}: {result:?}");
    }
}

#[test]
fn filters_with_other_numbers_do_not_join() {
    let create = |n, p| DcsoFilter::create(n, p, &Limits::default()).unwrap();
    let mut filter = create(1_000, 0.01);
    for other in [create(1_001, 0.01), create(1_000, 0.011)] {
        let error = filter.union_with(&other).unwrap_err();
        assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    }
    let other: Box<dyn ForeignFilter> =
        boxed(&create(1_000, 0.01).encode(), &Limits::default()).unwrap();
    assert_eq!(ForeignFilter::union_with(&mut filter, &*other), Ok(()));
}

#[test]
fn the_next_hash_wraps_at_64_bits_before_the_remainder() {
    // The published positions of "hello".
    let mut filter = DcsoFilter::create(1_000, 0.01, &Limits::default()).unwrap();
    assert_eq!(filter.num_bits(), 9_585);
    filter.insert(b"hello").unwrap();
    let bytes = filter.encode();
    for position in [2273, 333, 9240, 2654, 2106, 3076, 4571] {
        assert!(bytes[48 + position / 8] >> (position % 8) & 1 == 1, "{position}");
    }
}

#[test]
fn a_bomb_is_refused_at_the_limit() {
    let mut zeros = DcsoFilter::create(10_000_000, 0.01, &Limits::default()).unwrap();
    zeros.set_compressed(true);
    let bytes = zeros.encode();
    assert!(bytes.len() < 100_000, "{} bytes", bytes.len());
    let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
    let error = DcsoFilter::decode(&bytes, &limits).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(decode(&bytes), Ok(zeros));
    // The bits are few, the data are not; nothing is cut off silently.
    let mut small = DcsoFilter::create(10, 0.01, &Limits::default()).unwrap();
    small.set_data(&vec![0; 10 << 20]).unwrap();
    small.set_compressed(true);
    let error = DcsoFilter::decode(&small.encode(), &limits).unwrap_err();
    assert!(matches!(error, Error::TooLarge { field: "decompressed size", .. }), "{error}");
}

#[test]
fn damaged_bytes_are_refused_or_kept() {
    let mut filter = DcsoFilter::create(20, 0.1, &Limits::default()).unwrap();
    filter.insert(b"hello").unwrap();
    damage("dcso", &filter.encode(), false, boxed);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_was_written_is_read(
        n in 1u64..2_000,
        p in 1e-6..0.5,
        keys: Vec<Vec<u8>>,
        data: Vec<u8>,
        gzip: bool,
    ) {
        let mut filter = DcsoFilter::create(n, p, &Limits::default()).unwrap();
        filter.set_data(&data).unwrap();
        filter.set_compressed(gzip);
        suite::is_read_again(&mut filter, &keys, |file| boxed(file, &Limits::default()))?;
        prop_assert_eq!(decode(&filter.encode()), Ok(filter));
    }

    #[test]
    fn any_bytes_are_refused_or_kept(bytes in noise()) {
        suite::are_refused_or_kept(&bytes, decode(&bytes))?;
    }
}
