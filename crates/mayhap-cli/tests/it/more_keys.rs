//! Keys of several fields, of CSV, of words and hashes, of domains and of URLs with their parents.

use crate::support::{fail, file, folder, json, json_and_talk, run, stderr, succeed};
use std::path::Path;

fn text(folder: &Path, arguments: &[&str], input: &str) -> String {
    String::from_utf8(succeed(folder, arguments, input.as_bytes())).unwrap()
}

const SMALL: [&str; 4] = ["-n", "100", "-p", "1e-9"];

fn build(folder: &Path, name: &str, flags: &[&str], input: &str) {
    succeed(folder, &[&["build", "-o", name], &SMALL[..], flags].concat(), input.as_bytes());
}

#[test]
fn several_fields_are_the_key_and_kept_in_the_file() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", &["--field", "1,3"], "a\tx\tb\nc\tx\td\n");
    assert_eq!(
        text(folder, &["check", "f"], "a\ty\tb\na\tx\td\nc\tz\td\te\n"),
        "a\ty\tb\nc\tz\td\te\n"
    );
    // The same keys from other places, and the order of the fields matters.
    let csv = ["filter", "f", "--csv", "--field", "2,1"];
    assert_eq!(text(folder, &csv, "b,a\na,b\n\"d\",\"c\"\n"), "b,a\n\"d\",\"c\"\n");
    let talk = fail(folder, &["check", "f", "--field", "3,1"], b"");
    assert!(talk.contains("--field 3,1 is given, but f was created with --field 1,3"), "{talk}");
    let key = json(&succeed(folder, &["info", "--json", "f"], b""))["key"].clone();
    assert_eq!((&key["fields"], &key["field"]), (&serde_json::json!([1, 3]), &().into()));
    let dedup = [&["dedup", "--field", "3,1", "--delim", ":"], &SMALL[..]].concat();
    assert_eq!(text(folder, &dedup, "a:1:b\na:2:b\nb:3:a\n"), "a:1:b\nb:3:a\n");
}

#[test]
fn records_of_csv_hold_line_feeds_and_go_out_as_they_came() {
    let folder = folder();
    let folder = folder.path();
    let input = "id,\"te\"\"xt\"\r\n1,\"a\nb\"\r\n2,\"a\nb\"\r\n3,a\r\n4,\"a\"\r\n";
    let dedup = [&["dedup", "--csv", "--field", "2"], &SMALL[..]].concat();
    let kept = "id,\"te\"\"xt\"\r\n1,\"a\nb\"\r\n3,a\r\n";
    assert_eq!(text(folder, &dedup, input), kept);
    build(folder, "f", &["--csv", "--field", "2", "--delim", ";"], "1;\"a;\n\"\n2;\"b\"\n");
    assert_eq!(text(folder, &["check", "f"], "\"\n\";b\n3;\"a;\n\"\n"), "\"\n\";b\n3;\"a;\n\"\n");
    // A record that does not end has no key, and takes nothing of the next list with it.
    file(folder, "one", b"a,\"b\n");
    file(folder, "two", b"a,\"b\na\"\na,b\n");
    let output = run(folder, &[&dedup[..], &["one", "two", "two"]].concat(), b"");
    assert_eq!(output.stdout, b"a,\"b\na,\"b\na\"\na,b\n");
    let talk = stderr(&output);
    assert!(talk.contains("1 line has no key (line 1: a quote that is not closed)"), "{talk}");
    for (flags, message) in [
        (&["--csv"][..], "--field"),
        (&["--csv", "--field", "1", "--delim", "\""], "--delim is a quote"),
    ] {
        let talk = fail(folder, &[&["build", "-n", "9", "-o", "g"], flags].concat(), b"");
        assert!(talk.contains(message), "{talk}");
    }
    let talk = fail(folder, &["check", "f", "--confirm", "two"], b"");
    assert!(talk.contains("--confirm searches lines, but f was created with --csv"), "{talk}");
}

#[test]
fn records_of_csv_are_whole_across_reads() {
    let folder = folder();
    let (mut input, mut kept) = (String::new(), String::new());
    for number in 0..40_000 {
        let filler = "x".repeat(number / 2 % 100);
        let record = format!("{number},\"{}\n{filler}\"\n", number / 2);
        input.push_str(&record);
        if number % 2 == 0 {
            kept.push_str(&record);
        }
    }
    let dedup = ["dedup", "--csv", "--field", "2", "-n", "100k", "-p", "1e-9"];
    assert!(text(folder.path(), &dedup, &input) == kept);
}

#[test]
fn words_are_checked_against_a_list_of_their_hashes() {
    let folder = folder();
    let folder = folder.path();
    // In the form of Have I Been Pwned: the SHA-1 of "password" and of "hunter2".
    let list =
        "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9\nF3BBBD66A63D4BF1747940578EC3D0103530E21D:2\n";
    build(folder, "pwned", &["--delim", ":", "--field", "1", "--hex"], list);
    let words = "hunter2\ncorrect horse\npassword\n";
    for verb in [&["check"][..], &["filter"], &["check", "--field", "1"]] {
        let found = text(folder, &[verb, &["pwned", "--sha1"]].concat(), words);
        assert_eq!(found, "hunter2\npassword\n", "{verb:?}");
    }
    // The other way round, and both as one.
    build(folder, "words", &["--sha1", "--lower", "--trim"], " Hunter2\n");
    assert_eq!(text(folder, &["check", "words"], "HUNTER2\nx\n"), "HUNTER2\n");
    let digits = "f3bbbd66a63d4bf1747940578ec3d0103530e21d\n";
    assert_eq!(text(folder, &["check", "words", "--hex"], digits), digits);
    let both = ["check", "-f", "pwned", "-f", "words", "--tag", "--sha1"];
    let talk = fail(folder, &both, b"");
    assert!(talk.contains("pwned and words extract keys differently"), "{talk}");
    let talk = fail(folder, &["build", "-n", "9", "-o", "g", "--sha1", "--hex"], b"");
    assert!(talk.contains("cannot be used with"), "{talk}");
    // Words can be added to a list of hashes.
    succeed(folder, &["add", "pwned", "--sha1"], b"letmein\n");
    let digits = "B7A875FC1EA228B9061041B7CEC4BD3C52AB3CE3:1\n";
    assert_eq!(text(folder, &["check", "pwned"], digits), digits);
}

#[test]
fn domains_and_folded_words_are_one_key_in_many_spellings() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "d", &["--domain"], "Ann@Example.com\nhttps://bücher.example/a\n");
    let lines = "http://www.example.com/\nhttp://example.com.:80/\nbob@BÜCHER.example\nx\n";
    let found = "http://example.com.:80/\nbob@BÜCHER.example\n";
    assert_eq!(text(folder, &["check", "d"], lines), found);
    build(folder, "w", &["--fold"], "Straße\n");
    assert_eq!(text(folder, &["check", "w"], "STRASSE\nstraße\nstrase\n"), "STRASSE\nstraße\n");
    let talk = fail(folder, &["check", "w", "--domain"], b"");
    assert!(talk.contains("--domain is given, but w was created without --domain"), "{talk}");
    for flags in
        [&["--fold", "--lower"][..], &["--domain", "--hex"], &["--domain", "--url-prefixes"]]
    {
        let talk = fail(folder, &[&["build", "-n", "9", "-o", "g"], flags].concat(), b"");
        assert!(talk.contains("cannot be used with"), "{flags:?}: {talk}");
    }
}

const URLS: &str = "https://www.Evil.com:443/bad/x.html?q\nhttp://evil.com/good\n\
    http://a.b.c.phish.example/x\nhttp://phish.example2/\n";
const BAD: &str = "https://www.Evil.com:443/bad/x.html?q\nhttp://a.b.c.phish.example/x\n";

#[test]
fn urls_are_found_by_the_hosts_and_folders_above_them() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "bad", &["--url-prefixes"], "evil.com/bad/\nhttp://phish.example\n");
    for layout in ["scalable", "compact", "counting", "window:100", "fuse"] {
        let name = format!("bad-{}", layout.replace(':', "-"));
        let mut flags = vec!["build", "-o", &name, "--layout", layout, "--url-prefixes"];
        flags.extend(if layout == "fuse" { &[][..] } else { &SMALL[..] });
        succeed(folder, &flags, b"evil.com/bad/\nhttp://phish.example\n");
        assert_eq!(text(folder, &["check", &name], URLS), BAD, "{layout}");
    }
    assert_eq!(text(folder, &["check", "bad"], URLS), BAD);
    assert_eq!(text(folder, &["filter", "bad", "--url-prefixes"], URLS), BAD);
    assert_eq!(text(folder, &["check", "-c", "bad"], URLS), "2\n");
    let json_of = run(folder, &["check", "--json", "bad"], URLS.as_bytes());
    let summary = json_and_talk(&json_of.stderr).0;
    assert_eq!(summary["filters"][0]["maybe_present"], 2);
    assert_eq!(summary["filters"][0]["surely_absent"], 2);
    // The list is canonical itself: parents of a listed page are not listed.
    build(folder, "page", &["--url-prefixes"], "http://evil.com/bad/x.html?q\n");
    let page = ["check", "-f", "page", "-f", "bad", "--tag"];
    let tagged = "page\thttp://evil.com/bad/x.html?q\nbad\thttp://evil.com/bad/x.html?q\n\
        bad\thttp://evil.com/bad/\n";
    assert_eq!(text(folder, &page, "http://evil.com/bad/x.html?q\nhttp://evil.com/bad/\n"), tagged);
    let which = ["which", "-f", "page", "-f", "bad"];
    assert_eq!(
        text(folder, &which, "evil.com/bad/x.html?q\n"),
        "page,bad\tevil.com/bad/x.html?q\n"
    );
    // An exact answer is for any of them as well.
    file(folder, "sorted", b"evil.com/bad/\nphish.example/\n");
    assert_eq!(text(folder, &["check", "bad", "--confirm", "sorted"], URLS), BAD);
    file(folder, "sorted", b"phish.example/\n");
    let confirmed = text(folder, &["check", "bad", "--confirm", "sorted"], URLS);
    assert_eq!(confirmed, "http://a.b.c.phish.example/x\n");
    let talk = fail(folder, &["check", "--age", "bad-window-100"], b"");
    assert!(talk.contains("--age is for one key"), "{talk}");
    let several = ["build", "-n", "9", "-o", "g", "--url-prefixes", "--field", "1,2"];
    let talk = fail(folder, &several, b"");
    assert!(talk.contains("--url-prefixes is for one URL, but --field 1,2 is given"), "{talk}");
}

#[test]
fn urls_are_found_in_a_matrix_by_those_above_them() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "evil", b"evil.com/bad/\n");
    file(folder, "phish", b"phish.example\nevil.com/\n");
    let matrix = ["build", "--layout", "matrix", "-o", "m", "--url-prefixes", "-p", "1e-6"];
    succeed(folder, &[&matrix[..], &["evil", "phish"]].concat(), b"");
    let found = text(folder, &["which", "-a", "m"], URLS);
    let sets = found.lines().map(|line| line.split_once('\t').unwrap());
    let lines: Vec<(&str, &str)> = sets.collect();
    let expected = ["evil,phish", "phish", "phish", ""];
    assert!(lines.iter().copied().eq(expected.into_iter().zip(URLS.lines())), "{found}");
}
