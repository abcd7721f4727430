//! Several fields, CSV, domains, expressions, case folding and SHA-1.

use super::*;

fn fields(numbers: &str, delim: u8) -> KeyOptions {
    KeyOptions { field: Some(Fields::parse(numbers).unwrap()), delim: Some(delim), ..options() }
}

#[test]
fn several_fields_are_one_key_in_the_order_of_their_numbers() {
    assert_eq!(text(&fields("1,3", b'\t'), "a\tb\tc\td").unwrap(), "a\x1Fc");
    assert_eq!(text(&fields("3,1", b'\t'), "a\tb\tc\td").unwrap(), "c\x1Fa");
    assert_eq!(text(&fields("2,2", b':'), "a:b").unwrap(), "b\x1Fb");
    assert_eq!(text(&fields("1,3", b','), "a,,").unwrap(), "a\x1F");
    let missing = Err(NoKey::Field(NonZeroU32::new(3).unwrap()));
    assert_eq!(text(&fields("1,3", b','), "a,b"), missing);
    // Each field has the form for itself.
    let trim = KeyOptions { trim: true, lower: true, ..fields("1,2", b'\t') };
    assert_eq!(text(&trim, " A\t B ").unwrap(), "a\x1Fb");
    let hex = KeyOptions { hex: true, ..fields("1,2", b',') };
    assert_eq!(cut(&hex, b"41,1f10").unwrap(), b"A\x1F\x10\x1F\x10\x10");
    assert_eq!(cut(&hex, b"41,x"), Err(NoKey::Hex));
}

#[test]
fn fields_of_csv_are_those_of_other_files() {
    let csv = KeyOptions { csv: true, delim: None, ..fields("2,1", 0) };
    assert_eq!(csv.delim(), b',');
    let key = text(&csv, "\"a, \"\"b\"\"\nc\",d").unwrap();
    assert_eq!(key, "d\x1Fa, \"b\"\nc");
    assert_eq!(text(&fields("2,1", b'\t'), "a, \"b\"\nc\td").unwrap(), key);
    // The carriage return of CR LF is no part of the last field, unless it is quoted.
    assert_eq!(text(&csv, "a,b\r").unwrap(), "b\x1Fa");
    assert_eq!(text(&csv, "a,\"b\r\"\r").unwrap(), "b\r\x1Fa");
    assert_eq!(text(&csv, "a,\"b"), Err(NoKey::Quote));
    let semicolon = KeyOptions { csv: true, ..fields("1", b';') };
    assert_eq!(text(&semicolon, "\"a;b\";c").unwrap(), "a;b");
}

#[test]
fn words_have_the_keys_of_their_hashes() {
    let words = KeyOptions { sha1: true, ..options() };
    // FIPS 180: the SHA-1 of "abc", and of nothing.
    let hex = KeyOptions { hex: true, ..options() };
    for (word, digits) in [
        ("abc", "A9993E364706816ABA3E25717850C26C9CD0D89D"),
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ] {
        assert_eq!(cut(&words, word.as_bytes()), cut(&hex, digits.as_bytes()), "{word}");
    }
    let lower = KeyOptions { trim: true, lower: true, ..words.clone() };
    assert_eq!(cut(&lower, b" ABC "), cut(&words, b"abc"));
}

#[test]
fn lists_of_words_and_of_hashes_query_one_another() {
    let hashes = KeyOptions { hex: true, unix_ms: true, ..field(1, b':') };
    let words = KeyOptions { sha1: true, trim: true, ..options() };
    let given = KeyOptions { unix_ms: true, ..words.for_new() };
    assert_eq!(hashes.clone().agree("f", &words).unwrap(), given);
    assert_eq!(hashes.clone().with_records_of("f", &words).unwrap(), given);
    let hex = KeyOptions { hex: true, ..options() };
    assert_eq!(words.clone().agree("f", &hex).unwrap(), hex.for_new());
    assert_eq!(
        problem(options().agree("f", &words)),
        "trim is given, but f was created without trim"
    );
    assert_eq!(
        problem(hashes.agree("f", &KeyOptions { fold: true, ..options() })),
        "fold is given, but f was created without fold"
    );
}

#[test]
fn folded_and_lower_case_differ_beyond_ascii() {
    let fold = KeyOptions { fold: true, ..options() };
    assert_eq!(text(&fold, "MASSE Maße ÄÖ").unwrap(), "masse masse äö");
    assert_eq!(cut(&fold, b"\xFFA").unwrap(), b"\xFFa");
    let url = KeyOptions { normalize_url: true, ..fold };
    assert_eq!(text(&url, "HTTP://Ex.Com/AÉ").unwrap(), "http://ex.com/a%c3%89");
}

#[test]
fn domains_and_expressions_are_forms_of_a_key() {
    let domain = KeyOptions { domain: true, ..fields("2", b',') };
    assert_eq!(text(&domain, "1,Ann@Example.COM.").unwrap(), "example.com");
    assert_eq!(text(&domain, "1,/"), Err(NoKey::Domain));
    let url = KeyOptions { url_prefixes: true, ..options() };
    assert_eq!(text(&url, "https://Evil.com:443/a/../b?c#d").unwrap(), "evil.com/b?c");
    assert_eq!(text(&url, "https://"), Err(NoKey::Expression));
}

#[test]
fn headers_of_the_new_options_are_what_the_page_says() {
    let all = KeyOptions { csv: true, delim: None, fold: true, sha1: true, ..fields("3,1", 0) };
    let text = "csv=rfc4180\ndelim=,\nfields=3,1\nfold=unicode\nsha1=digest\n";
    assert_eq!(all.to_header(), text);
    let read = KeyOptions::from_header("f", text).unwrap();
    assert!(read.cuts_like(&all));
    for (options, text) in [
        (KeyOptions { domain: true, ..options() }, "domain=host\n"),
        (KeyOptions { url_prefixes: true, ..options() }, "url-prefixes=safe-browsing\n"),
    ] {
        assert_eq!(options.to_header(), text);
        assert_eq!(KeyOptions::from_header("f", text).unwrap(), options);
    }
    for (text, message) in [
        ("delim=,\nfield=1,3\n", "fields are counted from 1"),
        ("delim=,\nfields=1\n", "fields are counted from 1"),
        ("delim=,\nfields=1,\n", "fields are counted from 1"),
        ("delim=,\nfield=1\nfields=1,3\n", "field and fields contradict each other"),
        ("csv=rfc4180\n", "csv needs field"),
        ("hex=decode\nsha1=digest\n", "hex and sha1 contradict each other"),
        ("lower=ascii\nfold=unicode\n", "lower and fold contradict each other"),
        ("domain=host\nurl-prefixes=safe-browsing\n", "domain and url-prefixes contradict"),
        ("url-prefixes=safe-browsing\nsha1=digest\n", "url-prefixes and sha1 contradict"),
        (
            "delim=,\nfields=1,2\nurl-prefixes=safe-browsing\n",
            "url-prefixes and fields contradict each other",
        ),
    ] {
        let message_of = problem(KeyOptions::from_header("f", text));
        assert!(message_of.contains(message), "{text:?}: {message_of}");
    }
    let many = ["1"; 33].join(",");
    assert_eq!(Fields::parse(&many).unwrap_err().to_string(), "it names 33 fields, at most 32");
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Two lists of fields are one key only if they are the same.
    #[test]
    fn joined_fields_are_unambiguous(
        [one, other] in proptest::array::uniform2(
            proptest::collection::vec("[a\x10\x1F]{0,3}", 2..3)
        )
    ) {
        let key = |fields_: &[String]| cut(&fields("1,2", b','), fields_.join(",").as_bytes());
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }
}
