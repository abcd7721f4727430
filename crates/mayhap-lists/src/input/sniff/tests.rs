use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn look(bytes: &[u8]) -> Result<usize, NotAList> {
    look_until(bytes, b'\n')
}

fn look_until(bytes: &[u8], separator: u8) -> Result<usize, NotAList> {
    sniff(&Sample { bytes, is_whole: true, total_bytes: None, separator })
}

const PLAIN: usize = 0;

#[test]
fn text_is_text_whatever_word_comes_first() {
    for word in ["PK", "ORCHARD", "PAR1", "BZh9", "SQLite", "7z", "Rar!", "ustar", "{\"m\":1}"] {
        let text =
            format!("{word}\nRedisBloom dump\nMBITARRAY\n\t\x1B[31mred\n{}", "x".repeat(300));
        assert_eq!(look(text.as_bytes()), Ok(PLAIN), "{word}");
    }
    assert_eq!(look(b""), Ok(PLAIN));
    assert_eq!(look("Ĝis morgaŭ\n".as_bytes()), Ok(PLAIN));
    assert_eq!(look(b"\xE9t\xE9 in Latin-1\n"), Ok(PLAIN));
}

#[test]
fn a_mark_is_no_part_of_keys_and_alone_an_empty_list() {
    for (bytes, mark_bytes) in [
        (&b"\xEF\xBB\xBFa\r\n"[..], 3),
        (b"\xEF\xBB\xBF", 3),
        (b"\xFF\xFE", 2),
        (b"\xFE\xFF", 2),
        (b"a\xEF\xBB\xBF\n", 0),
        (b"\xEF\xBB", 0),
        (b"\xFF\xFE\n", 0),
    ] {
        assert_eq!(look(bytes), Ok(mark_bytes), "{}", bytes.escape_ascii());
    }
}

/// Text in a wide encoding, low byte first or not.
fn wide(text: &str, low_first: bool) -> Vec<u8> {
    let bytes = |unit: u16| if low_first { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn utf_16_is_known_by_its_mark_and_by_its_zeros() {
    let encoding = |bytes: &[u8]| match look(bytes) {
        Err(NotAList::Text { encoding }) => Some(encoding),
        _ => None,
    };
    for text in ["key-1\nkey-2\n", "été\r\nhiver\r\n", "no end at all"] {
        assert_eq!(encoding(&wide(text, true)), Some("UTF-16LE"), "{text:?}");
        assert_eq!(encoding(&wide(text, false)), Some("UTF-16BE"), "{text:?}");
    }
    for text in ["\u{FEFF}key-1\n", "\u{FEFF}дом\nлес\n", "\u{FEFF}鍵"] {
        assert_eq!(encoding(&wide(text, true)), Some("UTF-16"), "{text:?}");
        assert_eq!(encoding(&wide(text, false)), Some("UTF-16"), "{text:?}");
    }
    assert_eq!(encoding(b"\xFF\xFE\0\0k\0\0\0"), Some("UTF-32"));
    // Bytes that begin as a mark does, and lines that end with NUL.
    for bytes in [&b"\xFF\xFE\n\x00\n"[..], b"\xFF\xFEab\ncd\n."] {
        assert_eq!(look(bytes), Ok(PLAIN), "{}", bytes.escape_ascii());
    }
    assert_eq!(look_until(&wide("abcdefgh", true), 0), Ok(PLAIN));
    assert_eq!(look(b"\0\0\0\0\0\0\0\0\n\0"), Ok(PLAIN), "zeros alone are no text");
}

#[test]
fn archives_and_data_are_named() {
    let mut tar = vec![b'a'; 257];
    tar[100..157].fill(0);
    tar.extend(b"ustar\0");
    for (bytes, what) in [
        (&b"PK\x03\x04\x14\0"[..], "a zip archive"),
        (b"7z\xBC\xAF\x27\x1C\0\x04", "a 7z archive"),
        (b"Rar!\x1A\x07\x01\0", "a RAR archive"),
        (b"\x1F\x9D\x90abc\0", "compress data"),
        (b"\x1F\x8B\x08\0\0", "gzip data, compressed twice"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (
            b"\x89mhplog\n\x01",
            "the log of a mayhap filter (the filter has the same name without .log)",
        ),
        (&tar, "a tar archive"),
    ] {
        assert_eq!(look(bytes).unwrap_err().to_string(), what);
    }
}

#[test]
fn filters_are_told_with_their_keys_where_these_are_counted() {
    let mut filter =
        mayhap::AnyFilter::builder().expected_items(9).target_fpp(0.01).build().unwrap();
    filter.insert("a");
    let header = Header::of(&filter, "").encode(0);
    assert_eq!(look(&header).unwrap_err().to_string(), "a mayhap filter of 1 key");
    assert_eq!(look(&header[..100]).unwrap_err().to_string(), "a mayhap filter");
    let guava = [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32];
    assert_eq!(look(&guava).unwrap_err().to_string(), "a guava filter");
    let json = br#"{"m":64,"k":1,"b":"AAAAAAAAAEAAAAAAAAAAIA=="}"#;
    assert_eq!(look(json).unwrap_err().to_string(), "a bits-and-blooms filter");
    assert_eq!(look(br#"{"m":64,"key":"one of many"}"#), Ok(PLAIN));
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any bytes after any mark: a verdict, and the same one again.
    #[test]
    fn any_bytes_have_a_verdict(
        mark in proptest::sample::select(vec![
            &b""[..], b"PK\x03\x04", b"\x89mayhap\n", b"{\"m\":", b"\xFF\xFE", b"\xAC\xED\0\x05sr",
            b"PAR1", b"\x15", b"MBITARRAY", b"\0\x01", b"RedisBloom dump\n", b"\xEF\xBB\xBF",
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        separator in proptest::sample::select(vec![b'\n', 0]),
        is_whole: bool,
        total_bytes: Option<u64>,
    ) {
        let bytes = [mark, &bytes].concat();
        let sample = Sample { bytes: &bytes, is_whole, total_bytes, separator };
        prop_assert_eq!(sniff(&sample), sniff(&sample));
    }

    /// Input without control characters is never refused, except for UTF-16 with its mark.
    #[test]
    fn text_is_never_refused(text in "[ -~\\t\\r\\n\u{A0}-\u{2FFF}]{0,600}") {
        prop_assert!(look(text.as_bytes()).is_ok());
    }
}
