use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::num::NonZeroU32;

mod more_keys;

fn options() -> KeyOptions {
    KeyOptions::default()
}

fn field(field: u32, delim: u8) -> KeyOptions {
    let field = NonZeroU32::new(field).map(Fields::one);
    KeyOptions { field, delim: Some(delim), ..options() }
}

fn pointer(text: &str) -> KeyOptions {
    KeyOptions { json_pointer: Some(JsonPointer::parse(text).unwrap()), ..options() }
}

/// The key of one line, after a key that must not change.
fn cut(options: &KeyOptions, line: &[u8]) -> Result<Vec<u8>, NoKey> {
    let mut keys = b"before".to_vec();
    let result = Cutter::new(options).unwrap().cut(line, &mut keys);
    let key = keys.strip_prefix(b"before").unwrap().to_vec();
    assert!(result.is_ok() || key.is_empty(), "a line without a key left {key:?}");
    result.map(|()| key)
}

fn text(options: &KeyOptions, line: &str) -> Result<String, NoKey> {
    cut(options, line.as_bytes()).map(|key| String::from_utf8(key).unwrap())
}

#[test]
fn lines_that_are_their_own_keys_are_not_cut() {
    for options in
        [options(), KeyOptions { nul: true, line_end: LineEnd::CrLf, unix_ms: true, ..options() }]
    {
        assert!(Cutter::new(&options).is_none());
    }
}

#[test]
fn fields_are_what_stands_between_delimiters_whatever_they_hold() {
    let third = field(3, b'\t');
    assert_eq!(text(&third, "a\tb\tc\td").unwrap(), "c");
    assert_eq!(text(&third, "a\t\t").unwrap(), "");
    assert_eq!(text(&third, "a\tb"), Err(NoKey::Field(NonZeroU32::new(3).unwrap())));
    assert_eq!(text(&field(1, b','), "no comma").unwrap(), "no comma");
    assert_eq!(text(&field(1, b','), "").unwrap(), "");
    assert_eq!(text(&field(2, b','), "\"a,b\",c").unwrap(), "b\"");
    assert_eq!(cut(&field(2, 0xFF), b"a\xFFb\0\xFE").unwrap(), b"b\0\xFE");
    let default = KeyOptions { delim: None, ..third };
    assert_eq!(text(&default, "a\tb\tc").unwrap(), "c");
}

#[test]
fn a_carriage_return_goes_before_the_last_field_is_cut() {
    let strip = KeyOptions { line_end: LineEnd::CrLf, ..field(2, b',') };
    assert_eq!(text(&strip, "a,b\r").unwrap(), "b");
    assert_eq!(text(&strip, "a,b\r\r").unwrap(), "b\r");
    assert_eq!(text(&field(2, b','), "a,b\r").unwrap(), "b", "not recorded");
    let keep = KeyOptions { line_end: LineEnd::Lf, ..field(2, b',') };
    assert_eq!(text(&keep, "a,b\r").unwrap(), "b\r");
    let nul = KeyOptions { nul: true, ..field(2, b',') };
    assert_eq!(text(&nul, "a,b\r").unwrap(), "b\r");
}

#[test]
fn json_pointers_lead_to_texts_numbers_and_truth_values() {
    let line = r#" {"user":{"id":1.50e2,"name":"a\u00e9\n","up":true,"a/b":"s","m~n":"t","":"e"},
        "tags":["x",{"y":"z"},-0],"none":null} "#;
    for (at, key) in [
        ("/user/id", Ok("1.50e2")),
        ("/user/name", Ok("aé\n")),
        ("/user/up", Ok("true")),
        ("/user/a~1b", Ok("s")),
        ("/user/m~0n", Ok("t")),
        ("/user/", Ok("e")),
        ("/tags/0", Ok("x")),
        ("/tags/1/y", Ok("z")),
        ("/tags/2", Ok("-0")),
        ("/tags/3", Err(NoKey::Value)),
        ("/tags/00", Err(NoKey::Value)),
        ("/tags/-", Err(NoKey::Value)),
        ("/tags/+0", Err(NoKey::Value)),
        ("/tags", Err(NoKey::Value)),
        ("/user", Err(NoKey::Value)),
        ("/none", Err(NoKey::Value)),
        ("/none/x", Err(NoKey::Value)),
        ("/user/id/x", Err(NoKey::Value)),
        ("/user/name/x", Err(NoKey::Value)),
        ("/user/up/x", Err(NoKey::Value)),
        ("/absent", Err(NoKey::Value)),
        ("", Err(NoKey::Value)),
    ] {
        assert_eq!(text(&pointer(at), line), key.map(Into::into), "{at}");
    }
    assert_eq!(text(&pointer(""), r#" "whole" "#).unwrap(), "whole");
    assert_eq!(text(&pointer(""), " 12345678901234567890123 ").unwrap(), "12345678901234567890123");
}

#[test]
fn the_last_of_members_with_one_name_counts() {
    assert_eq!(text(&pointer("/a"), r#"{"a":1,"b":2,"a":3}"#).unwrap(), "3");
    assert_eq!(text(&pointer("/a"), r#"{"a":1,"\u0061":3}"#).unwrap(), "3");
    assert_eq!(text(&pointer("/a/b"), r#"{"a":{"b":1},"a":null}"#), Err(NoKey::Value));
}

#[test]
fn a_line_that_is_not_json_to_its_end_has_no_key() {
    for line in [
        "",
        "{\"a\":1",
        "{\"a\":1}x",
        "{\"a\":1} {\"a\":2}",
        "{\"a\":1,}",
        "{\"a\":1,\"b\":01}",
        "{\"a\":1,\"b\":tru}",
        "{'a':1}",
        "{\"a\":\"\t\"}",
        "\u{FEFF}{\"a\":1}",
        "NaN",
    ] {
        assert_eq!(text(&pointer("/a"), line), Err(NoKey::Json), "{line}");
    }
    assert_eq!(cut(&pointer("/a"), b"{\"a\":1,\"b\":\"\xFF\"}"), Err(NoKey::Json));
    // Half a character: no UTF-8 as a value, no harm elsewhere.
    assert_eq!(text(&pointer("/a"), r#"{"a":"\ud800"}"#), Err(NoKey::Value));
    assert_eq!(text(&pointer("/a"), r#"{"a":1,"b":"\ud800","\ud800":2}"#).unwrap(), "1");
}

#[test]
fn deep_json_is_skipped_and_pointers_are_followed_as_far_as_they_may_be_long() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let line = format!("{{\"deep\":{open}{close},\"a\":1}}");
    assert_eq!(text(&pointer("/a"), &line).unwrap(), "1");
    let (open, close) = ("[".repeat(100), "]".repeat(100));
    assert_eq!(text(&pointer(&"/0".repeat(100)), &format!("{open}7{close}")).unwrap(), "7");
}

#[test]
fn pointers_that_are_none_or_too_long_are_refused() {
    for (text, message) in [
        ("user/id".to_owned(), "it must begin with /: /user/id"),
        ("/a~2".into(), "a ~ in a name is written ~0, and a / is written ~1"),
        ("/a~".into(), "a ~ in a name is written ~0, and a / is written ~1"),
        ("/a".repeat(101), "it has 101 names, at most 100"),
        (
            format!("/{}", "\0".repeat(900)),
            "it takes 1801 bytes of a filter's header, at most 1800",
        ),
    ] {
        assert_eq!(JsonPointer::parse(&text).unwrap_err().to_string(), message);
    }
    let longest = pointer(&format!("/{}a", "\0".repeat(899)));
    let all = KeyOptions { trim: true, normalize_url: true, lower: true, nul: true, ..longest };
    let all = KeyOptions { line_end: LineEnd::CrLf, unix_ms: true, ..all };
    assert!(all.to_header().len() <= 2048, "{}", all.to_header().len());
}

#[test]
fn trimming_takes_ascii_white_space_and_lowering_ascii_letters() {
    let trim = KeyOptions { trim: true, ..options() };
    assert_eq!(text(&trim, " \t\r\n\x0Ca b\x0B \u{A0}").unwrap(), "a b\x0B \u{A0}");
    assert_eq!(text(&trim, " \t ").unwrap(), "");
    let lower = KeyOptions { lower: true, ..options() };
    assert_eq!(text(&lower, "AbZ[@ÄÖİ").unwrap(), "abz[@ÄÖİ");
    assert_eq!(cut(&lower, b"A\xC3").unwrap(), b"a\xC3");
}

#[test]
fn hex_digits_in_either_case_are_the_same_bytes() {
    let hex = KeyOptions { hex: true, ..options() };
    assert_eq!(cut(&hex, b"00ffAaBc").unwrap(), [0, 0xFF, 0xAA, 0xBC]);
    for line in ["", "a", "abc", "0x12", "zz", "12 ", "1g", "g1", "é"] {
        assert_eq!(cut(&hex, line.as_bytes()), Err(NoKey::Hex), "{line}");
    }
    assert_eq!(cut(&hex, b"abcdx1"), Err(NoKey::Hex));
    let trimmed = KeyOptions { trim: true, ..field(2, b':') };
    assert_eq!(cut(&KeyOptions { hex: true, ..trimmed }, b"x: 0A ").unwrap(), [10]);
}

#[test]
fn lower_case_comes_after_the_normal_form_of_a_url() {
    let url = KeyOptions { normalize_url: true, ..options() };
    assert_eq!(text(&url, "HTTP://Ex.Com/Aé").unwrap(), "http://ex.com/A%C3%A9");
    assert_eq!(cut(&url, b"http://a/\xFF"), Err(NoKey::Url));
    // Parsed once, it is file:///C:///a, which is parsed as another one.
    let once = text(&url, "file://l///C|/a").unwrap();
    assert_eq!(text(&url, &once).unwrap(), once);
    let both = KeyOptions { lower: true, ..url };
    assert_eq!(text(&both, "HTTP://Ex.Com/Aé").unwrap(), "http://ex.com/a%c3%a9");
}

/// The table of `docs/keys.md`: input, key.
#[test]
fn the_page_tells_the_truth_about_urls() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keys.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("<!-- ").find_map(|part| part.strip_prefix("url table -->")).unwrap();
    let url = KeyOptions { normalize_url: true, ..options() };
    let mut rows = 0;
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let plain = |cell: &str| cell.trim_matches('`').replace("⇥", "\t");
        let expected = match cells[1] {
            "no key" => Err(NoKey::Url),
            key => Ok(plain(key)),
        };
        assert_eq!(text(&url, &plain(cells[0])), expected, "{row}");
        rows += 1;
    }
    assert!(rows >= 30, "only {rows} rows were found");
}

#[test]
fn headers_are_what_the_page_says() {
    let all = KeyOptions {
        nul: true,
        line_end: LineEnd::CrLf,
        trim: true,
        hex: true,
        unix_ms: true,
        ..field(3, b'\t')
    };
    let text =
        "separator=nul\ncrlf=strip\ndelim=\\t\nfield=3\ntrim=ascii\nhex=decode\nclock=unix-ms\n";
    assert_eq!(all.to_header(), text);
    assert_eq!(KeyOptions { delim: None, ..all }.to_header(), text);
    let all = KeyOptions { normalize_url: true, lower: true, ..pointer("/a\nb\\\u{9B}é") };
    let text = "json-pointer=/a\\nb\\\\\\xC2\\x9Bé\nnormalize-url=whatwg\nlower=ascii\n";
    assert_eq!(all.to_header(), text);
    assert_eq!(KeyOptions::from_header("f", text).unwrap(), all);
    assert_eq!(options().to_header(), "");
}

#[test]
fn headers_without_sense_are_refused() {
    for (text, message) in [
        ("lower=yes\n", r#"f: the filter has the key option "lower=yes", which is unknown"#),
        ("lower\n", r#"f: the filter has the key option "lower", which is unknown"#),
        ("crlf=strip\r\n", r#"option "crlf=strip\r", which is unknown"#),
        ("\n", r#"option "", which is unknown"#),
        ("delim=:\nfield=0\n", r#""field=0": fields are counted from 1"#),
        ("delim=:\nfield=+1\n", r#""field=+1": fields are counted from 1"#),
        ("delim=:\nfield=4294967296\n", "fields are counted from 1 to 4294967295"),
        ("delim=::\nfield=1\n", r#""delim=::": it has 2 bytes, a delimiter has one"#),
        ("delim=\\q\nfield=1\n", "a delimiter is one byte, or one of"),
        ("delim=\nfield=1\n", "it has 0 bytes, a delimiter has one"),
        ("delim=:\ndelim=;\nfield=1\n", "delim appears twice"),
        ("trim=ascii\ntrim=ascii\n", "trim appears twice"),
        ("delim=:\n", "delim and field need each other"),
        ("field=1\n", "delim and field need each other"),
        ("delim=:\nfield=1\njson-pointer=/a\n", "field and json-pointer contradict each other"),
        ("hex=decode\nlower=ascii\n", "hex and lower contradict each other"),
        ("lower=ascii\nupper=ascii\n", "lower and upper contradict each other"),
        ("crlf=keep\ncrlf=strip\n", "crlf appears twice"),
        ("hex=decode\nnormalize-url=whatwg\n", "hex and normalize-url contradict each other"),
        ("json-pointer=a\n", r#""json-pointer=a": it must begin with /: /a"#),
        ("json-pointer=/\\xFF\n", r#""json-pointer=/\\xFF": no text"#),
        ("json-pointer=/\\\n", "no text"),
    ] {
        let Err(error) = KeyOptions::from_header("f", text) else {
            panic!("{text:?} was read");
        };
        let problem = error.to_string();
        assert!(problem.contains(message), "{text:?}: {problem}");
    }
}

fn problem(result: Result<KeyOptions, Error>) -> String {
    let Err(error) = result else { panic!("{result:?}") };
    error.to_string()
}

#[test]
fn options_that_are_given_agree_with_the_file_or_both_are_named() {
    let file = KeyOptions { lower: true, ..field(3, b'\t') };
    let agree = |given: &KeyOptions| file.clone().agree("f", given);
    for given in [
        options(),
        KeyOptions { lower: true, ..options() },
        KeyOptions { delim: None, ..field(3, 0) },
        field(3, b'\t'),
    ] {
        assert_eq!(agree(&given).unwrap(), file);
    }
    for (given, message) in [
        (field(2, b'\t'), "field 2 is given, but f was created with field 3"),
        (field(3, b':'), "delim : is given, but f was created with delim \\t"),
        (pointer("/a"), "json-pointer /a is given, but f was created without json-pointer"),
        (
            KeyOptions { trim: true, lower: true, ..options() },
            "trim is given, but f was created without trim",
        ),
        (KeyOptions { nul: true, ..options() }, "nul is given, but f was created without nul"),
    ] {
        assert_eq!(problem(agree(&given)), message);
    }
    let file = pointer("/a/b");
    assert_eq!(
        problem(file.agree("f", &pointer("/a"))),
        "json-pointer /a is given, but f was created with json-pointer /a/b"
    );
}

#[test]
fn other_records_keep_the_form_of_the_file() {
    let file = KeyOptions { lower: true, nul: true, unix_ms: true, ..field(3, b':') };
    let given = KeyOptions { line_end: LineEnd::CrLf, ..pointer("/a") };
    let mixed = file.clone().with_records_of("f", &given).unwrap();
    assert_eq!(mixed, KeyOptions { lower: true, unix_ms: true, ..given.clone() });
    let plain = file.clone().with_records_of("f", &options()).unwrap();
    assert_eq!(plain, KeyOptions { lower: true, unix_ms: true, ..options() });
    let trim = KeyOptions { trim: true, ..given };
    assert_eq!(
        problem(file.with_records_of("f", &trim)),
        "trim is given, but f was created without trim"
    );
}

#[test]
fn options_that_cut_alike_are_told_from_others() {
    let tab = field(3, b'\t');
    assert!(tab.cuts_like(&KeyOptions { delim: None, unix_ms: true, ..tab.clone() }));
    assert!(!tab.cuts_like(&field(3, b' ')));
    assert!(!tab.cuts_like(&KeyOptions { trim: true, ..tab.clone() }));
    assert!(!options().cuts_like(&KeyOptions { hex: true, ..options() }));
}

#[test]
fn a_cutter_can_be_sent_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<(Cutter, KeyTable)>();
}

#[test]
fn runs_of_the_table_are_the_longest_of_lines_alike() {
    let mut cutter = Cutter::new(&KeyOptions { hex: true, ..options() }).unwrap();
    let mut table = KeyTable::default();
    for _ in 0..2 {
        table.cut(&mut cutter, [&b"x"[..], b"", b"41", b"4242", b"z", b"43"].into_iter());
        assert_eq!(table.run_from(0..6), (0..2, Some(NoKey::Hex)));
        assert_eq!(table.run_from(1..6), (1..2, Some(NoKey::Hex)));
        assert_eq!(table.run_from(2..6), (2..4, None));
        assert_eq!(table.run_from(4..6), (4..5, Some(NoKey::Hex)));
        assert_eq!(table.run_from(5..6), (5..6, None));
        assert_eq!(table.run_from(6..6), (6..6, None));
        assert_eq!(table.run_from(2..3), (2..3, None));
        assert_eq!(table.keys(2..4).collect::<Vec<_>>(), [&b"A"[..], b"BB"]);
        assert_eq!(table.keys(5..6).collect::<Vec<_>>(), [&b"C"[..]]);
    }
}

fn any_options() -> impl Strategy<Value = KeyOptions> {
    let pointer = proptest::collection::vec("[^~/]{0,8}|~0|~1", 0..5)
        .prop_map(|names| names.iter().flat_map(|name| ["/", name]).collect::<String>());
    let numbers = proptest::collection::vec(1..5u32, 2..4)
        .prop_map(|numbers| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    let record = prop_oneof![
        Just(options()),
        (1..u32::MAX, any::<u8>()).prop_map(|(number, delim)| field(number, delim)),
        (1..4u32, any::<u8>(), any::<bool>())
            .prop_map(|(number, delim, csv)| KeyOptions { csv, ..field(number, delim) }),
        (numbers, any::<u8>(), any::<bool>()).prop_map(|(numbers, delim, csv)| {
            KeyOptions { csv, field: Fields::parse(&numbers).ok(), ..field(1, delim) }
        }),
        pointer.prop_map(|text| self::pointer(&text)),
    ];
    let line_end = prop_oneof![Just(LineEnd::Unrecorded), Just(LineEnd::CrLf), Just(LineEnd::Lf)];
    (record, (any::<[bool; 3]>(), line_end), 0..5u8, 0..4u8, any::<bool>()).prop_map(
        |(record, ([nul, trim, unix_ms], line_end), spelling, case, sha1)| {
            let is_one = !record.field.as_ref().is_some_and(Fields::are_several);
            let (hex, normalize_url, domain) = (spelling == 1, spelling == 2, spelling == 3);
            let url_prefixes = spelling == 4 && is_one;
            let (lower, fold, upper) = (case == 1 && !hex, case == 2 && !hex, case == 3 && !hex);
            let sha1 = sha1 && !hex && !url_prefixes;
            let record = KeyOptions { nul, line_end, trim, hex, normalize_url, unix_ms, ..record };
            KeyOptions { lower, upper, domain, url_prefixes, fold, sha1, ..record }
        },
    )
}

/// Lines that have something to cut.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        (
            "[ \t\r]{0,2}(HTTPS?|file|mailto|a|data):/{0,3}",
            "[a-zA-Z0-9.:@/\\\\%#?&= é-]{0,30}[ \t]?"
        )
            .prop_map(|(scheme, rest)| (scheme + &rest).into_bytes()),
        "\\{\"a\":[\"0-9a-f{}\\[\\],:\\\\ ]{0,20}\\}".prop_map(String::into_bytes),
        "[0-9a-fA-F:,\t]{0,40}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn options_survive_their_header(options in any_options()) {
        let text = options.to_header();
        prop_assert!(text.len() <= 2048);
        let read = KeyOptions::from_header("f", &text).unwrap();
        prop_assert_eq!(&read, &options);
        prop_assert!(read.cuts_like(&options));
        prop_assert!(read.agree("f", &options).is_ok());
    }

    #[test]
    fn cutting_never_panics_and_leaves_other_keys_alone(
        options in any_options(), line in any_line()
    ) {
        if Cutter::new(&options).is_some() {
            let _ = cut(&options, &line);
        }
    }

    #[test]
    fn a_normal_form_is_its_own_normal_form(
        line in any_line(), trim: bool, spelling in 0..4u8, case in 0..3u8
    ) {
        let (normalize_url, domain) = (spelling == 1, spelling == 2);
        let (url_prefixes, lower, fold) = (spelling == 3, case == 1, case == 2);
        let form = KeyOptions {
            trim, lower, normalize_url, domain, url_prefixes, fold, ..options()
        };
        if Cutter::new(&form).is_some() && let Ok(key) = cut(&form, &line) {
            prop_assert_eq!(cut(&form, &key), Ok(key));
        }
    }

    #[test]
    fn fields_are_those_of_a_split(
        line in proptest::collection::vec(0..4u8, 0..20), number in 1..8u32
    ) {
        let expected = line.split(|&byte| byte == 1).nth(number as usize - 1);
        let key = cut(&field(number, 1), &line).ok();
        prop_assert_eq!(key.as_deref(), expected);
    }

    #[test]
    fn json_values_are_those_that_serde_json_points_at(
        (at, value) in (any_pointer(), any_json())
    ) {
        let line = value.to_string();
        let expected = match value.pointer(&at) {
            Some(serde_json::Value::String(text)) => Ok(text.clone()),
            Some(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => {
                Ok(value.to_string())
            }
            _ => Err(NoKey::Value),
        };
        prop_assert_eq!(text(&pointer(&at), &line), expected);
    }
}

fn any_pointer() -> impl Strategy<Value = String> {
    "(/(a|b|0|1|~0|~1|)){0,3}"
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        "[a\"\\\\\n é]{0,4}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 30, 4, |inner| {
        let name = "a|b|0|~|/|";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            proptest::collection::btree_map(name, inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}
