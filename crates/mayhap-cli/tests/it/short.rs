//! Short files: written on request, and taken by every verb that takes a file.

use crate::support::{fail, folder, held, json, lines, names, run, stderr, succeed};
use std::path::Path;

/// A short file with the keys `key-0` to `key-99`.
fn build(folder: &Path, name: &str, options: &[&str]) -> Vec<u8> {
    let arguments = [&["build", "-o", name, "--short", "-n", "100", "-p", "1%"], options].concat();
    succeed(folder, &arguments, &lines("key", 0..100));
    std::fs::read(folder.join(name)).unwrap()
}

fn bytes(folder: &Path, name: &str) -> usize {
    std::fs::metadata(folder.join(name)).unwrap().len() as usize
}

#[test]
fn a_hundred_keys_at_one_percent_have_at_most_200_bytes() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "blocked", &[]);
    build(folder, "standard", &["--layout", "standard"]);
    assert_eq!((bytes(folder, "blocked"), bytes(folder, "standard")), (200, 193));
    succeed(folder, &["build", "-o", "pages", "-n", "100", "-p", "1%"], &lines("key", 0..100));
    assert_eq!(bytes(folder, "pages"), 8200);
    let info = json(&succeed(folder, &["info", "--json", "blocked"], b""));
    assert_eq!((&info["file_bytes"], &info["num_bytes"]), (&200.into(), &128.into()));
    let text = String::from_utf8(succeed(folder, &["info", "standard"], b"")).unwrap();
    assert!(text.contains("193"), "{text}");
}

#[test]
fn every_verb_that_reads_a_file_reads_a_short_one() {
    let folder = folder();
    let folder = folder.path();
    let short = build(folder, "a", &["--lower"]);
    let keys = lines("KEY", 0..100);
    assert_eq!(held(folder, "a", &keys), keys, "with its key options");
    assert!(held(folder, "a", &lines("other", 0..100)).len() < 100);
    for arguments in [
        &["info", "a"] as &[&str],
        &["info", "--fast", "a"],
        &["verify", "a"],
        &["detect", "a"],
        &["filter", "a"],
        &["which", "a"],
    ] {
        let output = run(folder, arguments, b"");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&output));
    }
    let said = fail(folder, &["dedup", "a"], b"");
    assert!(said.contains("a is a mayhap filter of 100 keys, not a list"), "{said}");
    assert_eq!(std::fs::read(folder.join("a")).unwrap(), short);
    let build_other = ["build", "-o", "b", "--lower", "-n", "100", "-p", "1%"];
    succeed(folder, &build_other, &lines("key", 50..150));
    succeed(folder, &["merge", "-o", "both", "a", "b", "--overfill"], b"");
    let keys = lines("key", 0..150);
    assert_eq!(held(folder, "both", &keys), keys);
}

#[test]
fn a_damaged_short_file_is_refused_and_left_as_it_is() {
    let folder = folder();
    let folder = folder.path();
    let sound = build(folder, "a", &[]);
    for at in [0, 8, 9, 10, 25, 63, 64, 100, sound.len() - 1] {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x10;
        for bytes in [&damaged[..], &sound[..at]] {
            std::fs::write(folder.join("a"), bytes).unwrap();
            for arguments in [
                &["check", "a"] as &[&str],
                &["info", "a"],
                &["verify", "a"],
                &["add", "a"],
                &["merge", "-o", "b", "a"],
                &["convert", "a", "--to", "mayhap", "-o", "b"],
            ] {
                let output = run(folder, arguments, b"key-1\n");
                let code = output.status.code();
                // What verify calls damaged is a finding.
                let found = arguments[0] == "verify" && at >= 8;
                let talk = stderr(&output);
                assert_eq!(code, Some(if found { 1 } else { 2 }), "{arguments:?} {at}: {talk}");
                assert!(found || talk.contains("hint: "), "{arguments:?} {at}: {talk}");
            }
            assert_eq!(std::fs::read(folder.join("a")).unwrap(), bytes);
            assert_eq!(names(folder), ["a"]);
        }
    }
}

#[test]
fn a_verb_that_changes_a_short_file_replaces_it() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "a", &["--trim"]);
    let before = bytes(folder, "a");
    let output = run(folder, &["add", "--overfill", "a"], &lines("more", 0..20));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(bytes(folder, "a"), before, "it stays short");
    let keys = [lines("key", 0..100), lines("more", 0..20)].concat();
    assert_eq!(held(folder, "a", &keys), keys);
    succeed(folder, &["clear", "--force", "a"], b"");
    assert!(held(folder, "a", &keys).is_empty());
    assert_eq!(names(folder), ["a"]);
}

#[test]
fn dedup_goes_on_with_a_short_file() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "a", &["--layout", "standard"]);
    let input = [lines("key", 0..100), lines("more", 0..5)].concat();
    let fresh = succeed(folder, &["dedup", "--state", "a", "--overfill"], &input);
    assert_eq!(fresh, lines("more", 0..5));
    assert_eq!(held(folder, "a", &input), input);
    assert_eq!(names(folder), ["a"]);
}

#[test]
fn convert_writes_the_other_form_of_the_same_filter() {
    let folder = folder();
    let folder = folder.path();
    let short = build(folder, "a", &["--trim"]);
    succeed(folder, &["convert", "a", "--to", "mayhap", "-o", "pages"], b"");
    assert_eq!(bytes(folder, "pages"), 8200);
    succeed(folder, &["convert", "pages", "--to", "mayhap-short", "-o", "again"], b"");
    assert_eq!(std::fs::read(folder.join("again")).unwrap(), short);
    let same = fail(folder, &["convert", "a", "--to", "mayhap-short", "-o", "b"], b"");
    assert!(same.contains("a is a short file already") && same.contains("hint: "), "{same}");
    let exists = fail(folder, &["convert", "a", "--to", "mayhap", "-o", "pages"], b"");
    assert!(exists.contains("--force"), "{exists}");
    // Keyed filters are converted without their key.
    std::fs::write(folder.join("k"), "000102030405060708090a0b0c0d0e0f").unwrap();
    succeed(folder, &["build", "-o", "s", "-n", "9", "-p", "1%", "--key-file", "k"], b"one\n");
    succeed(folder, &["convert", "s", "--to", "mayhap-short", "-o", "t"], b"");
    assert_eq!(succeed(folder, &["check", "t", "--key-file", "k"], b"one\n"), b"one\n");
}

#[test]
fn what_has_no_short_form_is_refused_by_name_and_size() {
    let folder = folder();
    let folder = folder.path();
    for layout in ["scalable", "counting", "compact", "ribbon", "fuse", "window:9"] {
        let arguments = ["build", "-o", "a", "--short", "-n", "9", "-p", "1%", "--layout", layout];
        let refused = fail(folder, &arguments, b"one\n");
        assert!(refused.contains("has no short form") && refused.contains("hint: "), "{refused}");
    }
    let arguments = ["build", "-o", "a", "--short", "-n", "4000", "-p", "1%"];
    let refused = fail(folder, &arguments, b"one\n");
    let expected = "a: a short file of this filter has 5128 bytes, at most 4095 fit";
    assert!(refused.contains(expected), "{refused}");
    assert!(names(folder).is_empty());
    succeed(folder, &["build", "-o", "large", "-n", "1M", "-p", "1%"], b"one\n");
    let refused = fail(folder, &["convert", "large", "--to", "mayhap-short", "-o", "a"], b"");
    assert!(refused.contains("bytes, at most 4095 fit"), "{refused}");
    succeed(folder, &["create", "grows", "--layout", "scalable", "-p", "1%"], b"");
    let refused = fail(folder, &["convert", "grows", "--to", "mayhap-short", "-o", "a"], b"");
    assert!(refused.contains("a scalable filter has no short form"), "{refused}");
    assert_eq!(names(folder), ["grows", "large"]);
}

#[test]
fn what_is_no_filter_or_no_form_gets_advice_that_is_true_of_it() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-q", "--short", "-n", "9", "-o", "f"], b"key\n");
    let error = fail(folder, &["convert", "f", "--to", "mayhap-packed", "-o", "g"], b"");
    assert!(error.contains("can be written as mayhap, mayhap-short"), "{error}");
    let error = fail(folder, &["convert", "f", "--to", "guava", "-o", "g"], b"");
    assert!(error.contains("build one from the keys, or query this one as it is;"), "{error}");
    std::fs::write(folder.join("empty"), b"").unwrap();
    let error = fail(folder, &["move", "empty", "g"], b"");
    assert!(error.contains("an empty file") && !error.contains("other systems"), "{error}");
}
