//! Printed numbers, each against a model of its own: the inserted keys are known.

use super::is_whole;
use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"))
}

fn build(folder: &Path, name: &str, options: &[&str], keys: &[u8]) -> Value {
    let words = [&["build", "--json", "--force", "-o", name], options].concat();
    json(&succeed(folder, &words, keys))
}

fn info(folder: &Path, name: &str) -> Value {
    json(&succeed(folder, &["info", "--json", name], b""))
}

/// n / 2^64 of absent keys have the digest of one of n keys, whatever the bits: in every verb that
/// prints the rate now.
#[test]
fn the_rate_now_is_at_least_that_of_equal_digests() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..10_000);
    let least = 10_000.0 / 2f64.powi(64);
    for layout in ["blocked", "standard"] {
        let size = ["-n", "10000", "-p", "1.2e-15", "--layout", layout];
        let built = build(folder, "f", &size, &keys);
        let added = json(&succeed(folder, &["add", "--json", "f"], b""));
        let verified = json(&succeed(folder, &["verify", "--json", "--samples", "1000", "f"], b""));
        for (verb, found) in [
            ("build", number(&built, "estimated_fpp")),
            ("add", number(&added, "estimated_fpp")),
            ("info", number(&info(folder, "f"), "estimated_fpp")),
            ("verify", number(&verified, "estimated_fpp")),
        ] {
            // As the size was planned, within the effect of chance on the fill.
            assert!(found >= least && found < 1.3e-15, "{verb} of {layout}: {found}");
        }
    }
}

/// One answer to "is it full", by every verb.
#[test]
fn all_verbs_report_one_health() {
    let folder = folder();
    let folder = folder.path();
    let mut cases = vec![(58, 46), (15_712, 12_568)];
    let step = if is_whole() { 1 } else { 12 };
    cases.extend((60..180).step_by(step).map(|items| (items, items * 8 / 10)));
    for (items, count) in cases {
        let size = ["-n", &items.to_string(), "-p", "1%"];
        let built = build(folder, "f", &size, &lines("key", 0..count));
        let added = json(&succeed(folder, &["add", "--json", "f"], b""));
        let shown = info(folder, "f");
        assert_eq!(shown["health"], built["health"], "{count} of {items}: build");
        assert_eq!(shown["health"], added["health"], "{count} of {items}: add");
    }
}

/// The numbers of "(X of Y keys)" in a text, and the text before.
fn x_of_y(text: &str) -> (u64, u64) {
    let inside = text.split_once('(').unwrap().1;
    let inside = inside.split_once(')').unwrap().0;
    let (held, made_for) = inside.split_once(" of ").unwrap_or_else(|| panic!("{text}"));
    let plain = |text: &str| -> u64 {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|_| panic!("{text}"))
    };
    (plain(held), plain(made_for))
}

/// Keys are the distinct keys inserted, in every message: not the keys answered "new", which are
/// far fewer in a full filter with a high rate.
#[test]
fn a_full_filter_counts_the_keys_that_came_in_every_message() {
    let folder = folder();
    let folder = folder.path();
    for (fpp, items) in [("50%", 20_000u64), ("30%", 3_000), ("1%", 10_000)] {
        let n = items.to_string();
        let size = ["-n", &n, "-p", fpp];
        for verb in [&["build", "-o", "f", "--force"][..], &["dedup", "-o", "out", "--force"]] {
            let keys = lines("key", 0..2 * items);
            let text = fail(folder, &[verb, &size].concat(), &keys);
            let full = text.lines().find(|line| line.contains("is full (")).unwrap();
            let (held, made_for) = x_of_y(full);
            // All of these lines are distinct.
            let stopped = full.split_once("stopped after ").unwrap().1;
            let stopped: String = stopped.chars().filter(char::is_ascii_digit).collect();
            let stopped: f64 = stopped.parse().unwrap();
            assert_eq!(made_for, items);
            let off = held as f64 / stopped - 1.0;
            assert!(off.abs() < 0.04, "{verb:?} at {fpp}: {held} keys, {stopped} lines: {full}");
        }
    }
    // A far overfilled filter reports the same number as its summary.
    build(folder, "f", &["-n", "10", "-p", "1%", "--overfill"], &lines("key", 0..200));
    let text = fail(folder, &["add", "f"], b"another\n");
    let shown = info(folder, "f");
    let full = text.lines().find(|line| line.contains("is full (")).unwrap();
    assert_eq!(x_of_y(full).0, shown["distinct_items"].as_u64().unwrap(), "{text} {shown}");
    build(folder, "f", &["-n", "1", "-p", "1%"], b"a\n");
    let text = fail(folder, &["add", "f"], b"b\n");
    assert!(text.contains("(1 of 1 key)"), "{text}");
    let text = succeed(folder, &["plan", "-n", "1", "-p", "1%"], b"");
    assert!(String::from_utf8(text).unwrap().contains(" 1 key at a rate"));
}

#[test]
fn a_merge_of_chains_beyond_their_rate_is_refused_and_writes_nothing() {
    let folder = folder();
    let folder = folder.path();
    let names = ["a", "b", "c", "d", "e", "f"];
    for (i, name) in (0u64..).zip(names) {
        let size = ["--layout", "scalable", "-n", "1k", "-p", "0.1%"];
        build(folder, name, &size, &lines("key", i * 16_000..(i + 1) * 16_000));
    }
    let text = fail(folder, &[&["merge", "-o", "all"], &names[..]].concat(), b"");
    assert!(text.contains("nothing was written") && text.contains("above 0.1 %"), "{text}");
    assert!(!folder.join("all").exists());
    let words = [&["merge", "--json", "--overfill", "-o", "all"], &names[..]].concat();
    let merged = json(&succeed(folder, &words, b""));
    assert!(number(&merged, "estimated_fpp") > 0.001, "{merged}");
    succeed(folder, &["merge", "-q", "-o", "two", "a", "a"], b"");
}

/// A rate of three digits in percent or two below, rounded once.
fn rounded(fpp: f64) -> String {
    if fpp >= 0.000_999_5 {
        let three: f64 = format!("{fpp:.2e}").parse().unwrap();
        let percent = format!("{:.3}", three * 100.0);
        return format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'));
    }
    format!("{fpp:.1e}").replace(".0e", "e")
}

#[test]
fn a_planned_rate_is_rounded_once() {
    let folder = folder();
    let folder = folder.path();
    let mut cases = vec![(550, 2.2e-5), (2_496, 6.98e-5)];
    let more = if is_whole() { 300 } else { 10 };
    cases.extend((1..=more).map(|i| (500 + 17 * i, 1.03e-5 * 1.017f64.powi(i))));
    for (items, fpp) in cases {
        let words = ["plan", "-n", &items.to_string(), "-p", &fpp.to_string()];
        let text = String::from_utf8(succeed(folder, &words, b"")).unwrap();
        let plan = json(&succeed(folder, &[&words[..], &["--json"]].concat(), b""));
        let best = &plan["best"];
        let row = text.lines().find(|line| line.contains(" predicted")).unwrap();
        let expected = format!("{} predicted", rounded(number(best, "expected_fpp")));
        assert!(row.contains(&expected), "{items} at {fpp}: {row}, not {expected}");
    }
    let text = String::from_utf8(run(folder, &["plan", "-n", &u64::MAX.to_string()], b"").stdout);
    assert!(!text.unwrap().contains("2.000e0"));
}

#[test]
fn a_segment_shows_the_bits_that_it_has() {
    let folder = folder();
    let folder = folder.path();
    let words = ["build", "-q", "-o", "s", "-n", "10k", "-p", "1%", "--segment", "1/3"];
    succeed(folder, &words, &lines("key", 0..1000));
    let shown = info(folder, "s");
    assert_eq!(number(&shown, "num_bits"), 8.0 * number(&shown, "num_bytes"), "{shown}");
    // Bits per key are of the whole filter.
    assert!((9.0..12.0).contains(&number(&shown, "bits_per_item")), "{shown}");
}

/// No amount of memory makes a filter with this many hashes usable.
#[test]
fn a_filter_of_too_many_hashes_is_not_allowed_by_more_memory() {
    let folder = folder();
    let folder = folder.path();
    let mut spark = Vec::new();
    spark.extend(1i32.to_be_bytes());
    spark.extend(2_012i32.to_be_bytes());
    spark.extend(318i32.to_be_bytes());
    spark.extend([0; 318 * 8]);
    file(folder, "spark", &spark);
    let text = fail(folder, &["info", "--format", "spark", "spark"], b"");
    assert!(text.contains("above the limit of 1100"), "{text}");
    assert!(!text.contains("--max-memory"), "{text}");
}

#[test]
fn growing_without_a_number_never_makes_a_filter_smaller() {
    let folder = folder();
    let folder = folder.path();
    for (items, count, least) in [(50_000, 4_001, 50_000), (100, 90, 180), (100, 10, 100)] {
        let size = ["-n", &items.to_string(), "-p", "1%", "--keep-digests"];
        build(folder, "f", &size, &lines("key", 0..count));
        let grown = json(&succeed(folder, &["grow", "--json", "f"], b""));
        assert_eq!(number(&grown["after"], "expected_items"), f64::from(least), "{grown}");
        let found = succeed(folder, &["check", "-c", "f"], &lines("key", 0..count));
        assert_eq!(String::from_utf8(found).unwrap().trim(), count.to_string());
        fs::remove_file(folder.join("f.digests")).unwrap();
    }
}

#[test]
fn keys_stuck_in_saturated_counters_are_reported_and_still_count() {
    let folder = folder();
    let folder = folder.path();
    let create = ["create", "-q", "--layout", "counting", "-n", "1000", "-p", "1%", "c"];
    succeed(folder, &create, b"");
    let others = lines("other", 0..10);
    succeed(folder, &["add", "-q", "c"], &[&b"hot\n".repeat(20)[..], &others].concat());
    let output = run(folder, &["remove", "c"], &b"hot\n".repeat(40));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("40 keys are in saturated counters and stay"), "{text}");
    assert!(text.contains("c: 0 removed, 0 not present"), "{text}");
    let output = run(folder, &["remove", "--json", "c"], b"hot\nother-1\nnever\n");
    let text = stderr(&output);
    assert!(text.contains("1 key is in saturated counters and stays"), "{text}");
    let removed = json(&output.stdout);
    let counts = ["removed", "staying", "not_there", "items"].map(|name| removed[name].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(1), Some(29)], "{removed}");
    let found = succeed(folder, &["check", "-c", "c"], &[&b"hot\n"[..], &others].concat());
    assert_eq!(found, b"10\n");
    // Removing keys that stay makes no room.
    let mut taken = 0;
    for round in 0..5 {
        let keys = lines("more", round * 900..(round + 1) * 900);
        let keys = [&b"hot\n".repeat(20)[..], &keys].concat();
        taken += usize::from(run(folder, &["add", "-q", "c"], &keys).status.code() == Some(0));
        succeed(folder, &["remove", "-q", "c"], &b"hot\n".repeat(950));
    }
    assert_eq!(taken, 1, "rounds that had room");
    let shown = info(folder, "c");
    assert!(number(&shown, "inserted_items") >= 1_000.0, "{shown}");
    assert!(number(&shown, "estimated_fpp") < 0.012, "{shown}");
}

/// A filter that lets nearly everything through warns its users when queried, in one line.
#[test]
fn an_overfilled_filter_says_so_when_it_is_queried() {
    let folder = folder();
    let folder = folder.path();
    let layouts = ["blocked", "standard", "counting"];
    for layout in layouts {
        let size = ["-n", "10", "-p", "1%", "--overfill", "--layout", layout];
        build(folder, "full", &size, &lines("key", 0..600));
        build(folder, "good", &["-n", "10", "-p", "1%", "--layout", layout], &lines("key", 0..10));
        for words in [&["check", "-c"][..], &["filter"], &["which", "-f"]] {
            let absent = lines("absent", 0..50);
            let full = run(folder, &[words, &["full"]].concat(), &absent);
            let text = stderr(&full);
            let said = text.lines().filter(|line| line.contains("is overfilled (")).count();
            assert_eq!(said, 1, "{words:?} of {layout}: {text}");
            assert!(text.contains("full: it is") && text.contains("of absent keys"), "{text}");
            let good = run(folder, &[words, &["good"]].concat(), &absent);
            assert_eq!(stderr(&good), "", "{words:?} of {layout}");
        }
    }
    // Copies count, and are no reason to warn.
    let size = ["-n", "10", "-p", "1%", "--overfill", "--layout", "counting"];
    build(folder, "copies", &size, &b"a\n".repeat(14));
    assert_eq!(stderr(&run(folder, &["check", "-c", "copies"], b"a\n")), "");
}
