//! One filter of many parts: `build --segment`, `assemble`, and `build --reproducible`.

use crate::support::{fail, folder, json, run, succeed};
use std::fs;
use std::path::Path;

fn file(at: &Path, name: &str) -> Vec<u8> {
    fs::read(at.join(name)).unwrap()
}

/// A list of all keys, and the same in reverse.
fn lists(at: &Path) {
    let keys: Vec<String> = (0..30_000).map(|i| format!("Key-{i}")).collect();
    fs::write(at.join("keys.txt"), keys.join("\n")).unwrap();
    let reversed: Vec<_> = keys.into_iter().rev().collect();
    fs::write(at.join("reversed.txt"), reversed.join("\n")).unwrap();
}

const SIZE: [&str; 4] = ["-n", "30k", "-p", "1%"];

fn build(at: &Path, output: &str, list: &str, options: &[&str]) {
    let words = [&["build", "-q", "-o", output], &SIZE[..], options, &[list]].concat();
    succeed(at, &words, b"");
}

/// Segments of a list, and the words that put them together.
fn assemble(at: &Path, count: usize, list: &str, options: &[&str]) {
    let mut words = vec!["assemble".to_owned(), "-q".into(), "--force".into(), "-o".into()];
    words.push("all".into());
    for i in 1..=count {
        let (name, part) = (format!("part-{i}"), format!("{i}/{count}"));
        build(at, &name, list, &[&["--force", "--segment", &part], options].concat());
        words.insert(5, name);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    succeed(at, &words, b"");
}

#[test]
fn any_number_of_segments_is_the_file_that_is_built_at_once() {
    let folder = folder();
    let at = folder.path();
    lists(at);
    fs::write(at.join("secret"), "000102030405060708090a0b0c0d0e0f\n").unwrap();
    for options in [&[][..], &["--seed", "9", "--lower"], &["--key-file", "secret"]] {
        let whole = [&["--reproducible", "--layout", "blocked", "--force"], options].concat();
        build(at, "whole", "keys.txt", &whole);
        build(at, "again", "reversed.txt", &whole);
        assert!(file(at, "whole") == file(at, "again"), "{options:?}");
        for (count, list) in [(1, "keys.txt"), (3, "reversed.txt"), (9, "keys.txt")] {
            assemble(at, count, list, options);
            assert!(file(at, "all") == file(at, "whole"), "{options:?}: {count}");
        }
    }
    let key = ["check", "--key-file", "secret", "all"];
    let found = succeed(at, &key, &file(at, "keys.txt"));
    assert_eq!(String::from_utf8(found).unwrap().lines().count(), 30_000);
}

#[test]
fn segments_are_described_and_used_for_nothing_else() {
    let folder = folder();
    let at = folder.path();
    lists(at);
    let words = ["build", "--json", "-o", "part", "--segment", "2/4", "-n", "30k", "keys.txt"];
    let built = json(&succeed(at, &words, b""));
    assert_eq!((built["segment"].as_u64(), built["segments"].as_u64()), (Some(2), Some(4)));
    assert_eq!(built["lines_read"], 30_000);
    let ours = built["lines_of_segment"].as_u64().unwrap();
    assert!((6_000..9_000).contains(&ours), "{ours}");
    let info = json(&succeed(at, &["info", "--json", "part"], b""));
    assert_eq!(info["kind"], "segment");
    assert_eq!(info["first_digest"], built["first_digest"]);
    assert_eq!(info["last_digest"], built["last_digest"]);
    let text = String::from_utf8(succeed(at, &["info", "part"], b"")).unwrap();
    assert!(text.contains("pages 5 to 9 of 21") && !text.contains("unknown"), "{text}");
    for words in [
        &["check", "part"][..],
        &["add", "part"],
        &["merge", "-o", "all", "part"],
        &["verify", "part"],
        &["filter", "part"],
        &["dedup", "--state", "part"],
    ] {
        let text = fail(at, words, b"a\n");
        assert!(text.contains("one segment of a filter"), "{words:?}: {text}");
        assert!(text.contains("mayhap assemble"), "{words:?}: {text}");
    }
}

#[test]
fn what_has_no_segments_and_what_does_not_fit_is_refused() {
    let folder = folder();
    let at = folder.path();
    lists(at);
    let part = ["build", "-o", "p", "--segment", "1/2", "keys.txt"];
    assert!(fail(at, &part, b"").contains("-n must be given"));
    for layout in ["standard", "fuse", "matrix", "compact", "counting", "scalable"] {
        let text = fail(at, &[&part[..], &["-n", "9k", "--layout", layout]].concat(), b"");
        assert!(text.contains("only blocked filters have segments"), "{layout}: {text}");
    }
    for (number, word) in [("0/2", "I/N"), ("3/2", "I/N"), ("x", "I/N"), ("1/900", "1 to ")] {
        let text = fail(at, &["build", "-o", "p", "-n", "9k", "--segment", number], b"");
        assert!(text.contains(word), "{number}: {text}");
    }
    for layout in ["fuse", "compact", "counting", "scalable", "matrix"] {
        let words = ["build", "-o", "p", "--reproducible", "--layout", layout, "keys.txt"];
        assert!(fail(at, &words, b"").contains("--reproducible is for"), "{layout}");
    }
    assert!(!at.join("p").exists());
    for (name, part, seed) in [("a", "1/2", "0"), ("b", "2/2", "0"), ("c", "2/2", "1")] {
        build(at, name, "keys.txt", &["--segment", part, "--seed", seed]);
    }
    for (parts, word) in [
        (&["a"][..], "are missing"),
        (&["a", "b", "a"], "both have pages"),
        (&["a", "c"], "differ in digest seed"),
        (&["a", "keys.txt"], "looks like text"),
    ] {
        let text = fail(at, &[&["assemble", "-o", "all"], parts].concat(), b"");
        assert!(text.contains(word), "{parts:?}: {text}");
    }
    fs::write(at.join("b"), &file(at, "b")[..9_000]).unwrap();
    assert!(fail(at, &["assemble", "-o", "all", "a", "b"], b"").contains("truncated"));
    assert!(!at.join("all").exists());
}

#[test]
fn the_summary_has_the_numbers_of_the_whole_and_warns_of_too_many_keys() {
    let folder = folder();
    let at = folder.path();
    lists(at);
    for (name, part) in [("a", "1/2"), ("b", "2/2")] {
        succeed(at, &["build", "-q", "-o", name, "-n", "9k", "--segment", part, "keys.txt"], b"");
    }
    let output = run(at, &["assemble", "--json", "-o", "all", "b", "a"], b"");
    let summary = json(&output.stdout);
    assert_eq!(
        (summary["segments"].as_u64(), summary["layout"].as_str()),
        (Some(2), Some("blocked"))
    );
    assert_eq!(summary["health"], "over capacity");
    assert!(String::from_utf8(output.stderr).unwrap().contains("more keys than its capacity"));
    let text = fail(at, &["assemble", "-o", "all", "b", "a"], b"");
    assert!(text.contains("--force"), "{text}");
}
