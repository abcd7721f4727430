//! Filters of other systems, by the golden files of `mayhap-formats`: files and answers of the
//! systems themselves.

use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A golden file.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-formats/tests/golden").join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

pub(crate) fn notes(name: &str) -> Value {
    serde_json::from_slice(&bytes(&format!("{name}.json"))).unwrap()
}

/// A number that may be written as text.
pub(crate) fn number(json: &Value) -> i64 {
    json.as_i64().unwrap_or_else(|| json.as_str().unwrap().parse().unwrap())
}

/// One golden filter: its options, and the names of the fields in its notes.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    m: &'static str,
    k: &'static str,
    not_new: &'static str,
    found: &'static str,
    /// The bytes before the bits, for making an empty filter.
    header: usize,
}

pub(crate) const LONG: &[&str] = &["--key-type", "long"];

const CASES: [Case; 8] = [
    guava("guava/long_mitz64", LONG),
    guava("guava/overfull_mitz64", &["--key-type", "bytes"]),
    guava("guava/large_mitz32", LONG),
    spark("spark/v2_long_seed42", LONG, 16),
    spark("spark/v1_big", LONG, 12),
    Case {
        name: "bits-and-blooms/bb_a",
        flags: &[],
        m: "m",
        k: "k",
        not_new: "",
        found: "probes_rule_test_true_at",
        header: 24,
    },
    Case {
        name: "magnuss/redis_a",
        flags: &["--format", "magnuss-redis", "--bits", "10099", "--hashes", "7"],
        m: "m",
        k: "k",
        not_new: "members_rule_changed_nothing_at",
        found: "probes_rule_contains_true_at",
        header: 0,
    },
    Case {
        name: "redisson/rb_kryo5_string",
        flags: &["--format", "redisson", "--bits", "7298", "--hashes", "5"],
        m: "size",
        k: "hash_iterations",
        not_new: "members_rule_add_returned_false_at",
        found: "probes_rule_contains_true_at",
        header: 0,
    },
];

const fn guava(name: &'static str, flags: &'static [&'static str]) -> Case {
    Case {
        name,
        flags,
        m: "bit_size",
        k: "num_hash_functions",
        not_new: "members_rule_put_returned_false_at",
        found: "probes_rule_might_contain_true_at",
        header: 6,
    }
}

const fn spark(name: &'static str, flags: &'static [&'static str], header: usize) -> Case {
    Case { header, k: "", ..guava(name, flags) }
}

impl Case {
    /// The golden file in a folder, as `f`.
    fn put(&self, folder: &Path) -> (Vec<u8>, Value) {
        let whole = bytes(&format!("{}.bin", self.name));
        file(folder, "f", &whole);
        (whole, notes(self.name))
    }

    fn with_flags<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, self.flags].concat()
    }
}

/// The keys of a rule, as lines.
pub(crate) fn of_rule(rule: &Value) -> Vec<String> {
    let count = rule["count"].as_i64().unwrap_or(0);
    let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
    let key = |i| match rule["kind"].as_str().unwrap() {
        "long" | "i64-wrapping" => {
            let step = number(&rule["step"]).wrapping_mul(i);
            number(&rule["start"]).wrapping_add(step).to_string()
        }
        _ => format!("{}{}{}", text("prefix"), number(&rule["from"]) + i, text("suffix")),
    };
    (0..count).map(key).collect()
}

/// The keys that are written one by one, as lines; keys that only Java can have are left out.
fn explicit(json: &Value) -> Option<Vec<String>> {
    let Some(rows) = json["members_explicit"].as_array() else { return Some(Vec::new()) };
    let line = |row: &Value| {
        let text = row.get("text").or_else(|| row["key"].get("text")).or(row.get("key"));
        let text = text.and_then(Value::as_str).map(str::to_owned);
        let text = text.or_else(|| Some(row["key"]["dec"].as_str()?.to_owned()))?;
        (!text.contains(['\n', '\u{FFFD}', '?'])).then_some(text)
    };
    rows.iter().map(line).collect()
}

pub(crate) fn joined(keys: &[String]) -> Vec<u8> {
    keys.iter().flat_map(|key| [key.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn info_tells_m_and_k_of_every_system() {
    for case in &CASES {
        let folder = folder();
        let (whole, notes) = case.put(folder.path());
        let info = succeed(folder.path(), &case.with_flags(&["info", "--json", "f"]), b"");
        let info = json(&info);
        assert_eq!(info["num_bits"], number(&notes[case.m]), "{}", case.name);
        if !case.k.is_empty() {
            assert_eq!(info["num_hashes"], number(&notes[case.k]), "{}", case.name);
        }
        assert_eq!(info["file_bytes"], whole.len(), "{}", case.name);
        let ones = notes.get("bit_count").or(notes.get("cardinality")).unwrap();
        let fill = number(ones) as f64 / number(&notes[case.m]) as f64;
        assert!((info["fill_ratio"].as_f64().unwrap() - fill).abs() < 1e-12, "{}", case.name);
        let text = succeed(folder.path(), &case.with_flags(&["info", "f"]), b"");
        assert!(String::from_utf8(text).unwrap().contains("rate now"), "{}", case.name);
    }
}

#[test]
fn check_prints_every_member_and_of_the_others_those_that_the_system_takes_for_one() {
    for case in &CASES {
        let folder = folder();
        let (_, notes) = case.put(folder.path());
        let members = joined(&of_rule(&notes["members_rule"]));
        let printed = succeed(folder.path(), &case.with_flags(&["check", "-q", "f"]), &members);
        assert!(printed.is_empty());
        let printed = succeed(folder.path(), &case.with_flags(&["check", "f"]), &members);
        assert!(printed == members, "{}: a member is absent", case.name);
        let probes = of_rule(&notes["probes_rule"]);
        let found = notes[case.found].as_array().unwrap();
        let found: Vec<String> =
            found.iter().map(|i| probes[i.as_u64().unwrap() as usize].clone()).collect();
        let output = run(folder.path(), &case.with_flags(&["check", "f"]), &joined(&probes));
        assert!(output.stdout == joined(&found), "{}: other false positives", case.name);
        assert_eq!(output.status.code(), Some(i32::from(found.is_empty())), "{}", case.name);
    }
}

#[test]
fn keys_added_to_an_empty_filter_give_the_file_that_the_system_wrote() {
    let mut done = 0;
    for case in &CASES {
        let folder = folder();
        let (whole, notes) = case.put(folder.path());
        let Some(mut members) = explicit(&notes) else { continue };
        let distinct = members.iter().collect::<std::collections::BTreeSet<_>>().len();
        let explicit = members.len();
        members.extend(of_rule(&notes["members_rule"]));
        let mut empty = whole[..case.header].to_vec();
        if case.header > 0 {
            empty.resize(whole.len(), 0);
        }
        file(folder.path(), "f", &empty);
        let arguments = case.with_flags(&["add", "--json", "f"]);
        let summary = json(&succeed(folder.path(), &arguments, &joined(&members)));
        let written = std::fs::read(folder.path().join("f")).unwrap();
        assert!(written == whole, "{}: written otherwise", case.name);
        if let Some(not_new) = notes[case.not_new].as_array() {
            let not_new = not_new.len() + explicit - distinct;
            assert_eq!(summary["already_there"], not_new, "{}", case.name);
        }
        assert_eq!(summary["lines_read"], members.len(), "{}", case.name);
        done += 1;
    }
    assert!(done >= 5, "only {done} filters could be written as lines");
}

#[test]
fn filters_merge_into_the_file_that_the_system_makes_of_them() {
    let folder = folder();
    for (a, b, both) in [
        ("guava/union_a.bin", "guava/union_b.bin", "guava/union_ab.bin"),
        ("spark/v1_merge_a.bin", "spark/v1_merge_b.bin", "spark/v1_merge_or.bin"),
        ("spark/v2_merge_a.bin", "spark/v2_merge_b.bin", "spark/v2_merge_or.bin"),
    ] {
        file(folder.path(), "a", &bytes(a));
        file(folder.path(), "b", &bytes(b));
        succeed(folder.path(), &["merge", "--force", "-o", "ab", "a", "b"], b"");
        assert!(std::fs::read(folder.path().join("ab")).unwrap() == bytes(both), "{both}");
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), bytes(a), "{a} changed");
    }
}

#[test]
fn filters_that_are_unlike_are_not_merged_and_what_differs_is_named() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "a", &bytes("guava/union_a.bin"));
    file(folder, "b", &bytes("guava/long_mitz64.bin"));
    file(folder, "c", &bytes("spark/v1_merge_a.bin"));
    succeed(folder, &["create", "d", "-n", "1000"], b"");
    for (other, differs) in [("b", "number of hash functions: 7 and 10"), ("c", "format: guava")] {
        let talk = fail(folder, &["merge", "-o", "made", "a", other], b"");
        assert!(talk.contains(differs), "{talk}");
    }
    assert!(fail(folder, &["merge", "-o", "made", "a", "d"], b"").contains("of guava"));
    fail(folder, &["merge", "-o", "made", "d", "a"], b"");
    assert!(!folder.join("made").exists());
}

#[test]
fn a_wrong_key_type_finds_nothing_and_says_what_else_it_may_be() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", &bytes("guava/long_mitz64.bin"));
    let members = b"abc\n10000\n10001\n".as_slice();
    let output = run(folder, &["check", "f"], members);
    assert_eq!(output.status.code(), Some(1));
    let talk = stderr(&output);
    assert!(
        talk.contains("encoded as bytes") && talk.contains("no key was found as bytes"),
        "{talk}"
    );
    assert!(talk.contains("long"), "{talk}");
    // A text that is no number is no key: neither in it nor surely absent.
    let output = run(folder, &["check", "--key-type", "long", "--json", "f"], members);
    assert_eq!((output.status.code(), output.stdout), (Some(2), b"10000\n10001\n".to_vec()));
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("1 line is no key for f (first: line 1: "), "{talk}");
    let summary = talk.lines().find(|line| line.contains("lines_without_key")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(summary).unwrap()["lines_without_key"], 1);
    let output = run(folder, &["check", "-v", "--key-type", "long", "f"], members);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    assert!(
        fail(folder, &["check", "--key-type", "kryo-int", "f"], members).contains("no keys of")
    );
    // No note where no other type is possible.
    file(folder, "g", &bytes("guava/javaser_long_mitz64.ser"));
    assert_eq!(stderr(&run(folder, &["check", "g"], b"17\n")), "");
}

#[test]
fn any_bytes_are_a_key_where_bytes_are_hashed_and_only_there() {
    let folder = folder();
    let folder = folder.path();
    let mut empty = bytes("guava/union_a.bin");
    empty[6..].fill(0);
    file(folder, "f", &empty);
    let key = b"\xFF\xFE\x00odd\n".as_slice();
    succeed(folder, &["add", "--key-type", "bytes", "f"], key);
    assert_eq!(succeed(folder, &["check", "--key-type", "bytes", "f"], key), key);
    assert_eq!(
        succeed(folder, &["check", "--key-type", "hex", "f"], b"fffe006f6464\n"),
        b"fffe006f6464\n"
    );
    let output = run(folder, &["check", "--key-type", "utf16", "f"], key);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not valid UTF-8"));
}

#[test]
fn filters_of_several_systems_and_of_ours_are_asked_at_once() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "guava", &bytes("guava/union_a.bin"));
    file(folder, "spark", &bytes("spark/v1_string.bin"));
    succeed(folder, &["build", "-q", "-n", "100", "-o", "ours"], b"user:5\nuser:900\n");
    let filters = ["-f", "guava", "-f", "ours", "-f", "spark"];
    let check = [&["check", "--tag"], &filters[..]].concat();
    let keys = b"user:5\nuser:900\nnobody\n".as_slice();
    let expected = "guava\tuser:5\nours\tuser:5\nspark\tuser:5\nours\tuser:900\nspark\tuser:900\n";
    assert_eq!(String::from_utf8(succeed(folder, &check, keys)).unwrap(), expected);
    let which = [&["which"], &filters[..]].concat();
    let expected = "guava,ours,spark\tuser:5\nours,spark\tuser:900\n";
    assert_eq!(String::from_utf8(succeed(folder, &which, keys)).unwrap(), expected);
    let through = succeed(folder, &["filter", "guava"], keys);
    assert_eq!(through, b"user:5\n");
}

#[test]
fn add_stops_where_the_file_says_it_is_full() {
    let folder = folder();
    let folder = folder.path();
    // It counts 1,001 additions, and was made for 1,000.
    let whole = bytes("magnuss/classic_a.ser");
    file(folder, "f", &whole);
    let talk = fail(folder, &["add", "f"], b"user:1\nuser:2\nnobody\nuser:3\n");
    assert!(talk.contains("is full") && talk.contains("after 2 lines"), "{talk}");
    // The class counts present keys as well.
    let info = json(&succeed(folder, &["info", "--json", "f"], b""));
    assert_eq!(info["facts"]["added"], 1003);
    let talk = stderr(&run(folder, &["add", "--overfill", "f"], b"nobody\n"));
    assert!(talk.contains("its capacity is 1,000 keys"), "{talk}");
    assert_eq!(succeed(folder, &["check", "f"], b"nobody\nno\n"), b"nobody\n");
    // Without such a number half of the bits are warned of.
    file(folder, "f", &bytes("guava/union_a.bin"));
    let keys = lines("key", 0..1000);
    let talk = stderr(&run(folder, &["add", "--key-type", "bytes", "f"], &keys));
    assert!(talk.contains("half of the bits of f are set"), "{talk}");
    // The options of cutting keys cannot be kept.
    let talk = stderr(&run(folder, &["add", "--field", "2", "f"], b"a\tuser:7\nb\n"));
    assert!(talk.contains("cannot record that"), "{talk}");
    assert_eq!(succeed(folder, &["check", "-c", "--field", "2", "f"], b"z\tuser:7\n"), b"1\n");
}

#[test]
fn verify_finds_absent_keys_damage_and_a_rate_above_what_was_asked() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", &bytes("guava/long_mitz64.bin"));
    let members: Vec<String> = (10_000..10_100).map(|i: u64| i.to_string()).collect();
    let members = file(folder, "keys", &joined(&members));
    let verify = |arguments: &[&str]| {
        run(folder, &[&["verify", "--json", "--key-type", "long", "f"], arguments].concat(), b"")
    };
    let report = json(&verify(&[members.to_str().unwrap()]).stdout);
    assert_eq!((&report["verdict"], &report["keys_read"]), (&"good".into(), &100.into()));
    let (measured, predicted) = (report["measured_fpp"].as_f64(), report["estimated_fpp"].as_f64());
    let off = measured.unwrap() / predicted.unwrap() - 1.0;
    assert!(off.abs() < 0.1 && report["rate_verdict"] == "as predicted", "{report}");
    file(folder, "keys", b"10000\nabc\n77\n");
    let output = verify(&["keys"]);
    let report = json(&output.stdout);
    assert_eq!((output.status.code(), &report["keys_absent"]), (Some(1), &1.into()), "{report}");
    assert_eq!(report["lines_without_key"], 1);
    assert_eq!(report["first_absent"][0], "line 3: \"77\"");
    let whole = bytes("guava/long_mitz64.bin");
    file(folder, "f", &whole[..1000]);
    assert_eq!(verify(&[]).status.code(), Some(2), "a cut file is not detected");
    let output = verify(&["--format", "guava"]);
    assert_eq!((output.status.code(), &json(&output.stdout)["verdict"]), (Some(1), &"off".into()));
}
