//! bits-and-blooms/bloom for Go.

use crate::golden::{Golden, hex};
use crate::suite::{self, cases, damage, noise};
use crate::text::{ask_all, f64_of, keys, text, u64_of};
use mayhap_formats::{
    BitsAndBloomsFilter, BitsAndBloomsForm, BitsAndBloomsScheme, Error, ForeignFilter, Format,
    Limits, detect, open,
};
use proptest::prelude::*;

const FORMS: [BitsAndBloomsForm; 3] =
    [BitsAndBloomsForm::Binary, BitsAndBloomsForm::Json, BitsAndBloomsForm::Gob];

fn decode(bytes: &[u8]) -> Result<BitsAndBloomsFilter, Error> {
    BitsAndBloomsFilter::decode(bytes, &Limits::default())
}

fn boxed(bytes: &[u8], limits: &Limits) -> Result<Box<dyn ForeignFilter>, Error> {
    open(Format::BitsAndBlooms, bytes, limits)
}

#[test]
fn every_golden_file_is_answered_and_made_as_by_the_original() {
    let golden = Golden::of("bits-and-blooms");
    for name in ["a", "b", "big", "over", "tiny"] {
        one_filter(&golden, name);
    }
    sizing(&golden);
    locations(&golden);
    golden.all_were_used();
}

fn one_filter(golden: &Golden, name: &str) {
    let json = golden.json(&format!("bb_{name}.json"));
    let bytes = golden.bytes(&text(&json, "file"));
    let mut filter = decode(&bytes).unwrap();
    assert_eq!(filter.form(), BitsAndBloomsForm::Binary);
    assert_eq!(filter.num_bits(), u64_of(&json, "m"));
    assert_eq!(u64::from(filter.num_hashes()), u64_of(&json, "k"));
    assert_eq!(filter.count_ones(), u64_of(&json, "bit_count"));
    // The result on amd64 for a full filter.
    let size = filter.approximated_size().unwrap_or(0);
    assert_eq!(u64::from(size), u64_of(&json, "approximated_size"), "{name}");
    ask_all(name, &json, "probes_rule_test_true_at", &filter);
    assert!(filter.encode() == bytes, "{name}");
    assert!(detect(&bytes).iter().any(|found| found.format == Format::BitsAndBlooms), "{name}");

    let (n, p) = (u64_of(&json, "n"), f64_of(&json, "p"));
    let mut made = BitsAndBloomsFilter::create(n, p, &Limits::default()).unwrap();
    for key in keys(&json, "members") {
        made.insert(&key).unwrap();
    }
    assert!(made.encode() == bytes, "{name} made otherwise");

    let names = golden.names();
    let forms = [("bloom.json", BitsAndBloomsForm::Json), ("gob", BitsAndBloomsForm::Gob)];
    for (suffix, form) in forms {
        let file = format!("bb_{name}.{suffix}");
        if names.contains(&file) {
            let bytes = golden.bytes(&file);
            let other = decode(&bytes).unwrap();
            assert_eq!(other.form(), form);
            assert!(other.encode() == bytes, "{file}");
            filter.set_form(form);
            assert!(filter.encode() == bytes, "{file} made otherwise");
            let found = detect(&bytes);
            assert!(found.iter().any(|found| found.format == Format::BitsAndBlooms), "{file}");
        }
    }
}

fn sizing(golden: &Golden) {
    for row in golden.json("sizing.json")["rows"].as_array().unwrap() {
        let (n, p) = (u64_of(row, "n"), f64_of(row, "p"));
        let filter = BitsAndBloomsFilter::create(n, p, &Limits::default()).unwrap();
        let sizes = (filter.num_bits(), u64::from(filter.num_hashes()));
        assert_eq!(sizes, (u64_of(row, "m"), u64_of(row, "k")), "{n} {p}");
    }
}

fn locations(golden: &Golden) {
    for row in golden.json("locations.json")["rows"].as_array().unwrap() {
        let key = hex(&text(row, "hex"));
        let expected = row["locations"].as_array().unwrap();
        let found: Vec<String> = BitsAndBloomsScheme::locations(&key)
            .take(expected.len())
            .map(|location| format!("{location:016x}"))
            .collect();
        assert_eq!(*expected, found, "{key:?}");
    }
}

#[test]
fn long_keys_are_hashed_like_short_ones() {
    // 255 bytes are the last that need no allocation.
    let mut filter = BitsAndBloomsFilter::with_sizes(1 << 20, 4, &Limits::default()).unwrap();
    for len in 250..260 {
        let key = vec![b'x'; len];
        assert!(filter.insert(&key).unwrap());
        let mut longer = key.clone();
        longer.push(1);
        let third: Vec<u64> = BitsAndBloomsScheme::locations(&key).take(3).collect();
        let (h2, h3) = mur3::murmurhash3_x64_128(&longer, 0);
        let (h0, h1) = mur3::murmurhash3_x64_128(&key, 0);
        let expected = [h0, h1.wrapping_add(h3), h0.wrapping_add(h3.wrapping_mul(2))];
        assert_eq!(third, expected, "{h2}");
    }
}

#[test]
fn a_length_that_is_not_m_is_refused() {
    let mut bytes = BitsAndBloomsFilter::with_sizes(100, 3, &Limits::default()).unwrap().encode();
    bytes[23] = 99;
    let error = decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "length of the bit set is 99, allowed is m");
}

#[test]
fn base64_of_either_alphabet_is_read_and_kept() {
    let mut filter = BitsAndBloomsFilter::with_sizes(640, 3, &Limits::default()).unwrap();
    filter.set_form(BitsAndBloomsForm::Json);
    for i in 0..200u8 {
        filter.insert(&[i]).unwrap();
    }
    let url = String::from_utf8(filter.encode()).unwrap();
    let standard = url.replace('-', "+").replace('_', "/");
    assert_ne!(url, standard);
    for text in [url, standard] {
        assert_eq!(decode(text.as_bytes()).unwrap().encode(), text.as_bytes());
        let spaced = text.replace(',', ", ");
        assert_eq!(decode(spaced.as_bytes()).unwrap().encode(), text.as_bytes());
    }
}

#[test]
fn filters_of_other_sizes_do_not_merge() {
    let create = |m, k| BitsAndBloomsFilter::with_sizes(m, k, &Limits::default()).unwrap();
    let mut filter = create(100, 3);
    filter.insert(b"left").unwrap();
    for other in [create(101, 3), create(100, 4)] {
        assert!(filter.union_with(&other).is_err());
    }
    let mut other = create(100, 3);
    other.insert(b"right").unwrap();
    assert!(!filter.contains(b"right"));
    filter.union_with(&other).unwrap();
    assert!(filter.contains(b"left") && filter.contains(b"right"));
}

#[test]
fn damaged_bytes_are_refused_or_kept() {
    let mut filter = BitsAndBloomsFilter::create(20, 0.1, &Limits::default()).unwrap();
    filter.insert(b"hello").unwrap();
    damage("binary", &filter.encode(), false, boxed);
    filter.set_form(BitsAndBloomsForm::Gob);
    damage("gob", &filter.encode(), false, boxed);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_was_written_is_read(
        m in 1u64..2_000,
        k in 1u64..20,
        keys: Vec<Vec<u8>>,
        form in 0usize..3,
    ) {
        let mut filter = BitsAndBloomsFilter::with_sizes(m, k, &Limits::default()).unwrap();
        filter.set_form(FORMS[form]);
        suite::is_read_again(&mut filter, &keys, |file| boxed(file, &Limits::default()))?;
    }

    #[test]
    fn any_bytes_are_refused_or_kept(bytes in noise()) {
        let read = decode(&bytes);
        // JSON may be written otherwise.
        if !read.as_ref().is_ok_and(|filter| filter.form() == BitsAndBloomsForm::Json) {
            suite::are_refused_or_kept(&bytes, read)?;
        }
    }
}
