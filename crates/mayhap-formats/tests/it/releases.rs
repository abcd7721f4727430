//! Releases whose files look alike, and the encoding of a filter's keys.

use crate::golden::{Golden, hex};
use mayhap_formats::{
    Error, ForeignFilter, Format, GuavaFilter, GuavaFunnel, GuavaOptions, KeyChoice, KeyType,
    Limits, NewFilter, PyBloomFilterMmap, create, detect, open, unread,
};

/// By a separate script after the source of willf/bloom 2.0.0: m = 512, k = 5, `key 0` to `key 29`.
const WILLF: &str = "\
    00000000000002000000000000000005000000000000020090221022086100004a08610c40800382\
    00751c10063102000000019628608884e032c8081030a080183182a800204406004060e408c00003\
    9c08c01803806302";
/// By a separate script after the source of pybloomfiltermmap 0.3: the bits of 1,920, with the
/// seeds 11 to 66, `key 0` to `key 49`.
const AXIAK: &str = "\
    0340405050042444800081000002a010400004020540d001010000020012011c0400150111000008\
    0000472202018c40a0004204480888180412b0800200808800402048211000400a00000000828120\
    18006f00a0040728000040005a010000800000380a08088e03141000000000080000000201082100\
    0218200148420148080211020413004800420040151242812200182000108200100006204c481200\
    82000200608008508000041800002000220000040000088000080000040800480108000410005021\
    00100008000010000810200430004220448280c30630240040408a02088930850000041086010040";

fn found(filter: &dyn ForeignFilter, keys: impl Iterator<Item = String>) -> usize {
    keys.filter(|key| filter.contains(key.as_bytes())).count()
}

fn keys(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|i| format!("key {i}"))
}

#[test]
fn files_of_willf_before_murmur3_are_read_by_name() {
    let bytes = hex(WILLF);
    let old = open(Format::WillfFnv, &bytes, &Limits::default()).unwrap();
    assert_eq!((old.format(), found(&*old, keys(30))), (Format::WillfFnv, 30));
    assert_eq!(old.encode(), bytes);
    let new = open(Format::BitsAndBlooms, &bytes, &Limits::default()).unwrap();
    assert!(found(&*new, keys(30)) < 10);
    assert!(detect(&bytes).iter().all(|candidate| candidate.format == Format::BitsAndBlooms));
    let mut union = open(Format::WillfFnv, &bytes, &Limits::default()).unwrap();
    assert!(union.union_with(&*new).is_err() && union.union_with(&*old).is_ok());
}

#[test]
fn files_of_pybloomfiltermmap_03_are_read_by_name() {
    let mut bytes = Golden::of("python").bytes("pybloommmap_ints.bin")[..1_280].to_vec();
    bytes.extend(hex(AXIAK));
    let old = open(Format::PyBloomFilterMmap03, &bytes, &Limits::default()).unwrap();
    assert_eq!((old.format(), found(&*old, keys(50))), (Format::PyBloomFilterMmap03, 50));
    assert_eq!(old.encode(), bytes);
    let new = open(Format::PyBloomFilterMmap, &bytes, &Limits::default()).unwrap();
    assert!(found(&*new, keys(50)) < 10);
}

#[test]
fn ints_of_pybloomfiltermmap_are_longs() {
    let bytes = Golden::of("python").bytes("pybloommmap_ints.bin");
    let filter = PyBloomFilterMmap::decode(&bytes, &Limits::default()).unwrap();
    let mut scratch = Vec::new();
    let mut has = |number: i64| {
        let text = number.to_string();
        filter.contains(KeyType::Long.encode(text.as_bytes(), &mut scratch).unwrap())
    };
    assert_eq!((-20..180).filter(|i| has(i * 7919)).count(), 200);
    assert!((1..10_000).filter(|i| has(i * 7919 + 1)).count() < 200);
}

/// Sizes by 0.6.3: n, p, m, k.
#[test]
fn small_filters_of_pybloomfiltermmap_have_128_bits_at_least() {
    for (n, p, m, k) in [
        (1, 0.1, 128, 3),
        (1, 0.5, 128, 1),
        (2, 0.3, 128, 1),
        (5, 0.01, 128, 6),
        (13, 0.01, 128, 6),
        (14, 0.01, 144, 6),
        (100, 0.2, 336, 2),
        (10, 0.001, 144, 9),
    ] {
        let new = NewFilter::new(n, p);
        let filter = create(Format::PyBloomFilterMmap, &new, &Limits::default()).unwrap();
        assert_eq!((filter.num_bits(), filter.num_hashes()), (m, k), "{n} at {p}");
        assert!(open(filter.format(), &filter.encode(), &Limits::default()).is_ok());
    }
}

#[test]
fn text_of_java_in_utf16_has_its_byte_order() {
    let encode = |key_type: KeyType, text: &str| {
        let mut scratch = Vec::new();
        key_type.encode(text.as_bytes(), &mut scratch).unwrap().to_vec()
    };
    assert_eq!(encode(KeyType::Utf16Be, "h\u{20AC}"), [0, 0x68, 0x20, 0xAC]);
    assert_eq!(encode(KeyType::Utf16Bom, "h"), [0xFE, 0xFF, 0, 0x68]);
    // `"".getBytes(UTF_16)` is empty.
    assert!(encode(KeyType::Utf16Bom, "").is_empty());
}

#[test]
fn a_recorded_type_is_taken_another_refused_and_a_guess_named() {
    let limits = Limits::default();
    let stream = GuavaFilter::create(&GuavaOptions::new(100), &limits).unwrap();
    let guess = KeyChoice::of(&stream, None).unwrap();
    assert!(guess.is_guess && guess.key_type == KeyType::Bytes);
    assert!(!KeyChoice::of(&stream, Some(KeyType::Long)).unwrap().is_guess);
    for (charset, key_type) in [
        ("UTF-8", KeyType::Bytes),
        ("UTF-16LE", KeyType::Utf16),
        ("UTF-16BE", KeyType::Utf16Be),
        ("UTF-16", KeyType::Utf16Bom),
        ("ISO-8859-1", KeyType::Latin1),
    ] {
        let funnel = GuavaFunnel::String { charset: charset.to_owned() };
        let bytes = stream.to_serialized(&funnel).unwrap();
        let filter = GuavaFilter::decode(&bytes, &limits).unwrap();
        let choice = KeyChoice::of(&filter, None).unwrap();
        assert_eq!((choice.key_type, choice.is_guess), (key_type, false), "{charset}");
        assert!(KeyChoice::of(&filter, Some(KeyType::Hex)).is_ok());
        let wrong = KeyChoice::of(&filter, Some(KeyType::Long)).unwrap_err();
        assert!(matches!(wrong, Error::WrongKeyType { .. }), "{wrong}");
    }
    // A charset that is damaged, or not known, is no reason to take lines for hex digits.
    let unknown = GuavaFunnel::String { charset: "UTF-9".to_owned() };
    let bytes = stream.to_serialized(&unknown).unwrap();
    let filter = GuavaFilter::decode(&bytes, &limits).unwrap();
    assert!(matches!(KeyChoice::of(&filter, None), Err(Error::UnknownKeys { .. })));
    assert!(KeyChoice::of(&filter, Some(KeyType::Hex)).is_ok());
}

#[test]
fn a_scalable_filter_of_pybloom_live_is_known_by_its_lengths() {
    let filter = Golden::of("python").bytes("pybloomlive4_a.bin");
    let mut bytes = 4i32.to_le_bytes().to_vec();
    bytes.extend(0.5f64.to_le_bytes());
    bytes.extend(100u64.to_le_bytes());
    bytes.extend(0.01f64.to_le_bytes());
    bytes.extend(2i32.to_le_bytes());
    bytes.extend([filter.len() as u64; 2].iter().flat_map(|len| len.to_le_bytes()));
    bytes.extend([&filter[..], &filter[..]].concat());
    assert_eq!(unread(&bytes), Some("a ScalableBloomFilter of pybloom_live"));
    assert!(detect(&bytes).is_empty());
    bytes.push(0);
    assert_eq!(unread(&bytes), None);
}
