//! `dedup --exact`: the keys themselves.

use crate::support::{
    fail, first_of_each, folder, json_and_talk, lines, numbers, run, stderr, succeed,
};
use std::io::Write;

fn mixed_lines() -> Vec<u8> {
    let mut input = Vec::new();
    for number in numbers(5).take(200_000) {
        writeln!(input, "{}{}", number % 90_000, "y".repeat((number % 90_000 % 211) as usize))
            .unwrap();
    }
    input.extend(b"\n\na\r\na\n\xFF\0\xFE\n\xFF\0\xFE\n");
    input
}

#[test]
fn exact_keeps_the_first_of_equal_lines_and_repeated_prints_the_others() {
    let (folder, input) = (folder(), mixed_lines());
    let exact = ["dedup", "--exact", "--raw"];
    let kept = succeed(folder.path(), &exact, &input);
    assert!(kept == first_of_each(&input));
    let repeats = succeed(folder.path(), &[&exact[..], &["-d"]].concat(), &input);
    assert_eq!(kept.len() + repeats.len(), input.len());
    let mut seen = std::collections::HashSet::new();
    let split = input.split_inclusive(|&byte| byte == b'\n');
    let expected: Vec<u8> = split.filter(|line| !seen.insert(*line)).flatten().copied().collect();
    assert!(repeats == expected);
    assert_eq!(succeed(folder.path(), &["dedup", "--exact"], b"a\r\na\nb"), b"a\r\nb\n");
    assert_eq!(succeed(folder.path(), &["dedup", "--exact", "-0"], b"a\nb\0a\0a\nb"), b"a\nb\0a\0");
    assert_eq!(succeed(folder.path(), &["dedup", "--exact"], b""), b"");
}

#[test]
fn exact_says_what_it_costs_and_what_a_filter_would_have() {
    let folder = folder();
    let input = lines("key", (0..300_000).chain(0..100));
    let output = run(folder.path(), &["dedup", "--exact", "--json"], &input);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary = json_and_talk(&output.stderr).0;
    assert_eq!((&summary["items"], &summary["layout"]), (&300_000.into(), &"exact".into()));
    assert_eq!(summary["lines_kept"], 300_000);
    assert_eq!(summary["lines_dropped"], 100);
    assert_eq!(summary["expected_lost_lines"], 0.0);
    // The keys and their lengths, and 9 bytes for each of 2^19 slots.
    let keys = lines("key", 0..300_000).len() as u64;
    let bytes = summary["num_bytes"].as_u64().unwrap();
    assert!(bytes > keys + 9 * (1 << 19) - 700_000 && bytes < 9 << 20, "{bytes}");
    let instead = &summary["instead"];
    assert!(instead["num_bytes"].as_u64().unwrap() < 900_000, "{instead}");
    let lost = instead["lost_lines"].as_f64().unwrap();
    assert!(lost > 2.0 && lost < 8.0, "{instead}");
    let talk = stderr(&run(folder.path(), &["dedup", "--exact"], &input));
    assert!(talk.contains("exact: ") && talk.contains(" for 300,000 keys; a filter at"), "{talk}");
    assert!(talk.contains("would take") && talk.contains("and lose about"), "{talk}");
}

#[test]
fn exact_stops_at_the_memory_limit_and_names_the_line() {
    let folder = folder();
    let input = lines("key", 0..1_000_000);
    let output = run(folder.path(), &["dedup", "--exact", "--max-memory", "8MiB"], &input);
    assert_eq!(output.status.code(), Some(2));
    let printed = output.stdout.split_inclusive(|&byte| byte == b'\n').count() as u64;
    assert!(printed > 100_000 && input.starts_with(&output.stdout));
    let talk = stderr(&output);
    let line = mayhap_cli::io::messages::grouped(printed + 1);
    assert!(talk.contains("above the limit of 8.00 MiB"), "{talk}");
    assert!(talk.contains(&format!("stopped at line {line}")), "{talk}");
    assert!(talk.contains("hint: ") && talk.contains("--max-memory"), "{talk}");
}

#[test]
fn exact_has_no_use_for_the_numbers_of_a_filter() {
    let folder = folder();
    for extra in [
        &["--state", "seen"][..],
        &["-n", "10"],
        &["-p", "1%"],
        &["--mem", "1M"],
        &["--layout", "blocked"],
        &["--window", "10"],
        &["--overfill"],
        &["--seed", "3"],
    ] {
        let talk = fail(folder.path(), &[&["dedup", "--exact"], extra].concat(), b"a\n");
        assert!(talk.contains("--exact") && talk.contains("cannot be used with"), "{talk}");
    }
    assert!(!folder.path().join("seen").exists());
}
