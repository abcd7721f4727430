//! Keys that are not the line itself.

use crate::support::{fail, file, folder, json, json_and_talk, run, stderr, succeed};
use std::path::Path;

/// Runs the verb with its arguments, and expects this exit code: returns standard output and
/// messages.
fn out(folder: &Path, arguments: &[&str], input: &[u8], code: i32) -> (String, String) {
    let output = run(folder, arguments, input);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
}

#[test]
fn a_filter_asked_in_another_case_answers() {
    let folder = folder();
    let arguments = ["build", "-n", "10", "-p", "1e-9", "-o", "f", "--lower", "--trim"];
    succeed(folder.path(), &arguments, b"  Hunter2\nPassW0rd \n");
    let found = succeed(folder.path(), &["check", "f"], b"HUNTER2 \npassw0rd\nhunter3\n");
    assert_eq!(found, b"HUNTER2 \npassw0rd\n");
    // Repeating the flags changes nothing, and `add` cuts alike.
    succeed(folder.path(), &["check", "-q", "f", "--lower"], b"HUNTER2\n");
    let (_, talk) = out(folder.path(), &["add", "f"], b"HUNTER2\nNEW\n", 0);
    assert!(talk.contains("1 new, 1 already there"), "{talk}");
    succeed(folder.path(), &["check", "-q", "f"], b"new\n");
}

#[test]
fn options_that_contradict_each_other_or_the_file_are_refused() {
    let folder = folder();
    for flags in [
        &["--hex", "--lower"][..],
        &["--hex", "--normalize-url"],
        &["--field", "1", "--json-pointer", "/a"],
        &["--delim", ":"],
        &["--field", "0"],
        &["--field", "1-3"],
        &["--field", "1", "--delim", "::"],
        &["--field", "1", "--delim", ""],
        &["--json-pointer", "a"],
        &["--json-pointer", "/~"],
    ] {
        let talk = fail(folder.path(), &[&["build", "-n", "9", "-o", "f"], flags].concat(), b"");
        assert!(talk.starts_with("mayhap: "), "{flags:?}: {talk}");
        assert!(!folder.path().join("f").exists(), "{flags:?}");
    }
    let arguments = ["create", "f", "-n", "10", "--field", "3", "--delim", "\\t", "--lower"];
    succeed(folder.path(), &arguments, b"");
    for verb in ["add", "check"] {
        for (flags, message) in [
            (&["--field", "2"][..], "--field 2 is given, but f was created with --field 3"),
            (
                &["--field", "3", "--delim", ":"],
                "--delim : is given, but f was created with --delim \\t",
            ),
            (&["--trim"], "--trim is given, but f was created without --trim"),
            (&["--hex"], "--hex is given, but f was created without --hex"),
        ] {
            let talk = fail(folder.path(), &[&[verb, "f"], flags].concat(), b"");
            assert!(talk.contains(message), "{verb} {flags:?}: {talk}");
        }
    }
    succeed(folder.path(), &["create", "g", "-n", "10", "--lower"], b"");
    for verb in ["check", "which"] {
        let talk = fail(folder.path(), &[verb, "-f", "f", "-f", "g"], b"");
        assert!(talk.contains("f and g extract keys differently"), "{verb}: {talk}");
    }
}

/// Keys `41` (twice), `42`; lines 2, 3 and 5 have none.
const MIXED: &[u8] = b"a\t41\nb\nb\ta\nc\t41\nb\nd\t42";
const SECOND_HEX: [&str; 3] = ["--field", "2", "--hex"];
const SAID: &str = "warning: 3 lines have no key (first: line 2: no field 2)\n";
const SAID_AS_JSON: &str =
    r#"{"level":"warning","message":"3 lines have no key (first: line 2: no field 2)"}"#;

#[test]
fn dedup_loses_no_line_that_has_no_key() {
    let folder = folder();
    let dedup = |flags: &[&str]| {
        let arguments = [&["dedup", "-n", "10", "-p", "1e-9"], &SECOND_HEX[..], flags].concat();
        out(folder.path(), &arguments, MIXED, 0)
    };
    let (printed, talk) = dedup(&[]);
    assert_eq!(printed, "a\t41\nb\nb\ta\nb\nd\t42\n");
    assert!(talk.contains(SAID), "{talk}");
    assert!(talk.contains("read 6 lines") && talk.contains("kept 5, dropped 1"), "{talk}");
    let (printed, talk) = dedup(&["-d"]);
    assert_eq!(printed, "c\t41\n");
    assert!(talk.contains("printed 1 repeat, omitted 2 first occurrences"), "{talk}");
    let (_, talk) = dedup(&["--json"]);
    let summary = json_and_talk(talk.as_bytes()).0;
    assert_eq!((&summary["lines_kept"], &summary["lines_without_key"]), (&5.into(), &3.into()));
    assert_eq!((&summary["lines_dropped"], &summary["items"]), (&1.into(), &2.into()));
    assert_eq!(summary["lines_read"], 6);
    assert_eq!(dedup(&["-q"]).1, "");
    // Counted first: room for every line.
    file(folder.path(), "in", MIXED);
    let arguments = [&["dedup", "--json", "in"], &SECOND_HEX[..]].concat();
    let (printed, talk) = out(folder.path(), &arguments, b"", 0);
    assert_eq!(printed, "a\t41\nb\nb\ta\nb\nd\t42\n");
    assert_eq!(json_and_talk(talk.as_bytes()).0["expected_items"], 6);
}

#[test]
fn lines_without_a_key_are_not_inserted_and_not_removed() {
    let folder = folder();
    for layout in ["blocked", "compact", "counting", "fuse", "scalable"] {
        let mut arguments = vec!["build", "--force", "-o", "f", "--json", "--layout", layout];
        if layout != "fuse" {
            arguments.extend(["-n", "10", "-p", "1e-6"]);
        }
        arguments.extend(SECOND_HEX);
        let (summary, talk) = out(folder.path(), &arguments, MIXED, 0);
        let summary = json_and_talk(summary.as_bytes()).0;
        assert!(talk.contains(SAID_AS_JSON), "{layout}: {talk}");
        // A compact or counting filter counts every insertion.
        let items = if matches!(layout, "compact" | "counting") { 3 } else { 2 };
        let counts = ["lines_read", "new", "already_there", "lines_without_key", "items"];
        let counts = counts.map(|name| summary[name].as_u64().unwrap());
        assert_eq!(counts, [6, 2, 1, 3, items], "{layout}");
    }
    let arguments = [&["build", "-o", "c", "--layout", "counting", "-n", "10"], &SECOND_HEX[..]];
    succeed(folder.path(), &arguments.concat(), MIXED);
    let (summary, talk) = out(folder.path(), &["add", "c", "--json"], MIXED, 0);
    let summary = json_and_talk(summary.as_bytes()).0;
    assert_eq!((&summary["already_there"], &summary["lines_without_key"]), (&3.into(), &3.into()));
    assert!(talk.contains(SAID_AS_JSON), "{talk}");
    let (_, talk) = out(folder.path(), &["remove", "c"], MIXED, 0);
    assert!(talk.contains("3 removed, 0 not present (6 lines"), "{talk}");
    assert!(talk.contains(SAID), "{talk}");
    let (summary, _) = out(folder.path(), &["remove", "--json", "c"], b"x\nx\t41\nx\t43\n", 0);
    let summary = json_and_talk(summary.as_bytes()).0;
    let counts = ["removed", "not_there", "lines_without_key"];
    assert_eq!(counts.map(|name| summary[name].as_u64().unwrap()), [1, 1, 1]);
}

#[test]
fn lines_without_a_key_are_not_looked_up_and_so_not_absent() {
    let folder = folder();
    for (name, key) in [("f", "x\t41\n"), ("g", "x\t43\n")] {
        let arguments = [&["build", "-n", "10", "-p", "1e-9", "-o", name], &SECOND_HEX[..]];
        succeed(folder.path(), &arguments.concat(), key.as_bytes());
    }
    let check = |flags: &[&str]| {
        let arguments = [&["check"], flags, &["-f", "f"]].concat();
        out(folder.path(), &arguments, MIXED, 2)
    };
    let (printed, talk) = check(&[]);
    assert_eq!(printed, "a\t41\nc\t41\n");
    let said = "mayhap: 3 lines have no key (first: line 2: no field 2): they were not looked up\n";
    assert!(talk.starts_with(said), "{talk}");
    assert_eq!(check(&["-v"]).0, "d\t42\n");
    assert_eq!(check(&["-c"]).0, "2\n");
    assert_eq!(check(&["-vc"]).0, "1\n");
    let summary = json(check(&["-c", "--json"]).0.as_bytes());
    assert_eq!(summary["lines_without_key"], 3);
    assert_eq!(summary["filters"][0]["surely_absent"], 1);
    let tagged = "f\ta\t41\nf\tc\t41\n";
    assert_eq!(check(&["--tag", "-f", "g"]).0, tagged);
    let absent = "g\ta\t41\ng\tc\t41\nf\td\t42\ng\td\t42\n";
    let (printed, _) =
        out(folder.path(), &["check", "-v", "--tag", "-f", "f", "-f", "g"], MIXED, 2);
    assert_eq!(printed, absent);
    let count = ["check", "-vc", "--tag", "--json", "-f", "f", "-f", "g"];
    let summary = json(out(folder.path(), &count, MIXED, 2).0.as_bytes());
    assert_eq!(summary["lines_selected"], 3);
    out(folder.path(), &["check", "f"], b"b\nb\n", 2);
    out(folder.path(), &["check", "-v", "f"], b"b\nb\n", 2);
    // Only the answers for the others.
    let (printed, talk) = out(folder.path(), &["check", "--skip-bad", "f"], MIXED, 0);
    assert_eq!((printed.as_str(), talk.as_str()), ("a\t41\nc\t41\n", SAID));
    out(folder.path(), &["check", "--skip-bad", "f"], b"b\nb\n", 1);
    let which = |flags: &[&str]| {
        let arguments = [&["which", "-f", "f", "-f", "g"], flags].concat();
        out(folder.path(), &arguments, MIXED, 2)
    };
    assert_eq!(which(&[]).0, "f\ta\t41\nf\tc\t41\n");
    assert_eq!(which(&["-a"]).0, "f\ta\t41\nf\tc\t41\n\td\t42\n");
    assert_eq!(json_and_talk(which(&["--json"]).1.as_bytes()).0["lines_without_key"], 3);
    out(folder.path(), &["which", "-f", "f"], b"b\n", 2);
}

#[test]
fn hashes_with_counts_are_asked_in_either_case() {
    let folder = folder();
    let list = b"000000005AD76BD555C1D6D771DE417A4B87E4B4:10\r\n\
        00000000A8DAE4228F821FB418F59826079BF368:4\r\n";
    let flags = ["build", "-p", "1e-9", "-o", "f", "--delim", ":", "--field", "1", "--hex"];
    file(folder.path(), "list", list);
    succeed(folder.path(), &[&flags[..], &["--crlf", "list"]].concat(), b"");
    let asked =
        b"00000000a8dae4228f821fb418f59826079bf368\n00000000a8dae4228f821fb418f59826079bf369\n";
    let (printed, talk) = out(folder.path(), &["check", "f"], asked, 0);
    assert_eq!((printed.as_bytes(), talk.as_str()), (&asked[..41], ""));
    // The key is the bytes: 20 of them.
    let plain = ["build", "-n", "2", "-p", "1e-9", "-o", "plain"];
    succeed(
        folder.path(),
        &plain,
        b"\x00\x00\x00\x00\xA8\xDA\xE4\x22\x8F\x82\x1F\xB4\x18\xF5\x98\x26\x07\x9B\xF3\x68\n",
    );
    let same = ["dedup", "--state", "plain", "--hex"];
    let talk = fail(folder.path(), &same, b"");
    assert!(talk.contains("--hex is given, but plain was created without --hex"), "{talk}");
}

#[test]
fn events_are_deduplicated_by_a_json_value() {
    let folder = folder();
    let events = br#"{"user":{"id":7,"at":"x"},"n":1}
{"n":2,"user":{"name":"b","id":"7"}}
{"n":3,"user":{"id":8}}
{"n":4}
{"n":5,"user":{"id":8}
{"user":{"id":8},"n":6}
"#;
    let arguments = ["dedup", "--json-pointer", "/user/id", "-n", "10", "-p", "1e-9"];
    let (printed, talk) = out(folder.path(), &arguments, events, 0);
    let numbers: Vec<&str> =
        printed.lines().map(|line| line.split("\"n\":").nth(1).unwrap()).collect();
    assert_eq!(numbers, ["1}", "3,\"user\":{\"id\":8}}", "4}", "5,\"user\":{\"id\":8}"]);
    assert!(
        talk.contains("2 lines have no key (first: line 4: no text, number, true or false at the"),
        "{talk}"
    );
}

#[test]
fn urls_in_other_spellings_are_repeats_from_run_to_run() {
    let folder = folder();
    let first = ["dedup", "--state", "seen", "-n", "10", "-p", "1e-9", "--normalize-url"];
    let input = b"https://Example.com\nHTTPS://example.com:443/#top\nexample.com\n";
    assert_eq!(succeed(folder.path(), &first, input), b"https://Example.com\nexample.com\n");
    let (printed, talk) =
        out(folder.path(), &["dedup", "--state", "seen"], b"https://example.com/\nhttps://b\n", 0);
    assert_eq!(printed, "https://b\n");
    assert!(!talk.contains("no key"), "{talk}");
}

#[test]
fn fields_of_records_that_end_with_nul_may_hold_line_feeds() {
    let folder = folder();
    let arguments = ["dedup", "-0", "--field", "2", "--delim", "\\n", "-n", "10", "-p", "1e-9"];
    let (printed, talk) = out(folder.path(), &arguments, b"a\nx\0b\nx\nc\0c\ny\0d\0", 0);
    assert_eq!(printed, "a\nx\0c\ny\0d\0");
    assert!(talk.contains("1 line has no key (line 4: no field 2)"), "{talk}");
}

#[test]
fn info_says_what_a_key_is() {
    let folder = folder();
    let create = |flags: &[&str]| {
        succeed(folder.path(), &[&["create", "f", "--force", "-n", "10"], flags].concat(), b"");
        let text = String::from_utf8(succeed(folder.path(), &["info", "f"], b"")).unwrap();
        let row =
            text.lines().find_map(|line| line.strip_prefix("key ")).unwrap().trim().to_owned();
        (row, json(&succeed(folder.path(), &["info", "--json", "f"], b""))["key"].clone())
    };
    let (row, key) = create(&[]);
    assert_eq!(row, "a line up to its line feed");
    assert_eq!((&key["field"], &key["trim"]), (&serde_json::Value::Null, &false.into()));
    let (row, key) = create(&["--field", "2", "--trim", "--hex", "--crlf"]);
    assert_eq!(
        row,
        "field 2, between \"\\t\", of a line up to its line feed, without \\r before it; no white \
         space around it; the bytes of its hex digits"
    );
    assert_eq!((&key["field"], &key["delim"]), (&2.into(), &"\\t".into()));
    assert_eq!((&key["hex"], &key["lower"]), (&true.into(), &false.into()));
    let (row, key) = create(&["--json-pointer", "/a b", "-0", "--normalize-url", "--lower"]);
    assert_eq!(
        row,
        "the JSON value at \"/a b\" of a line up to its NUL; as a normalized URL; ASCII letters in \
         lower case"
    );
    assert_eq!((&key["json_pointer"], &key["normalize_url"]), (&"/a b".into(), &true.into()));
}

#[test]
fn runs_of_keyed_and_keyless_lines_of_any_length_keep_their_order() {
    // Shorter and longer than a batch, in more than one buffer.
    let folder = folder();
    let (mut input, mut expected) = (String::new(), String::new());
    let (mut number, mut keyless) = (0, 0);
    for run in [1, 2, 1, 1023, 1024, 1025, 3000, 1, 1, 7, 5000, 1].repeat(4) {
        for _ in 0..run {
            number += 1;
            let line = format!("{number}\tkey-{:0>30}\n", number / 2);
            input.push_str(&line);
            if number == 1 || number % 2 == 0 {
                expected.push_str(&line);
            }
        }
        for _ in 0..=run % 1500 {
            keyless += 1;
            let line = format!("keyless {}\n", number % 3);
            input.push_str(&line);
            expected.push_str(&line);
        }
    }
    let arguments = ["dedup", "--json", "-n", "1M", "-p", "1e-9", "--field", "2"];
    let (printed, talk) = out(folder.path(), &arguments, input.as_bytes(), 0);
    assert!(printed == expected, "{} bytes, not {}", printed.len(), expected.len());
    let summary = json_and_talk(talk.as_bytes()).0;
    assert_eq!(summary["lines_without_key"], keyless);
    assert_eq!(summary["bytes_read"], input.len());
    assert!(talk.contains("(first: line 2: no field 2)"), "{talk}");
}
