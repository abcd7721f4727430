//! `mayhap dedup`.

use crate::support::{
    fail, file, first_of_each, folder, json, json_and_talk, lines, numbers, run, start, stderr,
    succeed,
};
use std::io::{BufRead, BufReader, Read, Write};

/// 300,000 lines of very different lengths, about half of them repeats.
fn mixed_lines() -> Vec<u8> {
    let mut input = Vec::new();
    for number in numbers(1).take(300_000) {
        let key = number % 130_000;
        let padding = "x".repeat((key % 97) as usize);
        writeln!(input, "https://example.org/{key}/{padding}").unwrap();
    }
    input
}

#[test]
fn dedup_keeps_the_first_of_equal_lines_in_order() {
    let (folder, input) = (folder(), mixed_lines());
    let path = file(folder.path(), "in", &input);
    let expected = first_of_each(&input);
    let path = path.to_str().unwrap();
    for arguments in [
        vec!["dedup", "-n", "200k", "-p", "1e-9"],
        vec!["dedup", "-n", "200k", "-p", "1e-9", "--layout", "blocked"],
        vec!["dedup", "-p", "1e-9"],
        vec!["dedup", "-p", "1e-9", path],
        vec!["dedup", "-p", "1e-9", "--seed", "7", path],
    ] {
        let output = run(folder.path(), &arguments, &input);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(output.stdout == expected, "{arguments:?}");
    }
}

#[test]
fn repeated_prints_exactly_the_other_lines() {
    let (folder, input) = (folder(), mixed_lines());
    let repeats = succeed(folder.path(), &["dedup", "-d", "-n", "200k", "-p", "1e-9"], &input);
    let mut seen = std::collections::HashSet::new();
    let expected: Vec<u8> = input
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| !seen.insert(*line))
        .flatten()
        .copied()
        .collect();
    assert!(repeats == expected);
}

#[test]
fn kept_and_dropped_add_up_and_the_loss_is_as_predicted() {
    let folder = folder();
    // Distinct lines only, so each line dropped is one lost: hundreds at 1 %.
    for (arguments, lines_in) in [
        (["dedup", "--json", "-p", "1%", "-n", "200k"], 200_000),
        (["dedup", "--json", "-p", "1%", "--mem", "300k"], 200_000),
        (["dedup", "--json", "-p", "1%", "--max-memory", "1G"], 3_000_000),
    ] {
        let input = lines("key", 0..lines_in);
        let output = run(folder.path(), &arguments, &input);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let summary = json_and_talk(&output.stderr).0;
        let number = |name: &str| summary[name].as_f64().unwrap();
        assert_eq!(number("lines_read"), lines_in as f64);
        assert_eq!(number("lines_kept") + number("lines_dropped"), lines_in as f64);
        let printed = output.stdout.split_inclusive(|&byte| byte == b'\n').count();
        assert_eq!(number("lines_kept"), printed as f64);
        let (lost, expected) = (number("lines_dropped"), number("expected_lost_lines"));
        assert!(expected > 100.0, "{arguments:?}: {expected}");
        let sigma = number("expected_lost_lines_sigma");
        assert!((sigma - expected.sqrt()).abs() < 1.0, "{sigma} for {expected}");
        assert!((lost - expected).abs() < 4.0 * sigma, "{arguments:?}: {lost} for {expected}");
    }
}

#[test]
fn a_filter_warns_at_80_percent_and_stops_at_100() {
    let folder = folder();
    // The paper cut: 5000 keys into n = 100 gave exit code 0 and no warning.
    let input = lines("key", 0..5000);
    let output = run(folder.path(), &["dedup", "-n", "100", "-p", "1e-9"], &input);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, lines("key", 0..100));
    let talk = stderr(&output);
    assert_eq!(talk.matches("warning:").count(), 1, "{talk}");
    assert!(talk.contains("80 % full"), "{talk}");
    assert!(talk.contains("the filter is full") && talk.contains("stopped after 100 lines"));
    assert!(talk.contains("hint:") && talk.contains("--overfill"));
}

#[test]
fn exactly_n_distinct_lines_fit_and_repeats_never_stop_a_full_filter() {
    let folder = folder();
    let input = lines("key", (0..100).chain(0..100).chain([5, 7]));
    let kept = succeed(folder.path(), &["dedup", "-n", "100", "-p", "1e-9"], &input);
    assert_eq!(kept, lines("key", 0..100));
    let input = lines("key", (0..100).chain(0..50).chain([200, 300]));
    let output = run(folder.path(), &["dedup", "-n", "100", "-p", "1e-9", "--json"], &input);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, lines("key", 0..100));
    assert!(stderr(&output).contains("stopped after 150 lines"), "{}", stderr(&output));
}

#[test]
fn overfill_goes_on_and_its_numbers_are_those_of_the_lines_and_of_the_filter() {
    let folder = folder();
    for lines_in in [1_500, 4_000, 50_000] {
        let state = format!("state-{lines_in}");
        let new = ["dedup", "-n", "1000", "-p", "1%", "--overfill", "--json", "--state", &state];
        let output = run(folder.path(), &new, &lines("key", 0..lines_in));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let summary = json_and_talk(&output.stderr).0;
        let printed = output.stdout.split_inclusive(|&byte| byte == b'\n').count() as u64;
        assert_eq!(summary["lines_read"], lines_in);
        assert_eq!(summary["lines_kept"], printed);
        assert_eq!(summary["lines_dropped"], lines_in - printed);
        assert_eq!(summary["items"], printed, "each that is printed was counted");
        // The rate that it reports is the rate of its answers, counted on a million keys.
        let arguments = ["verify", "--json", "--samples", "1M", &state];
        let found = json(&run(folder.path(), &arguments, b"").stdout);
        let (now, measured) = (&summary["estimated_fpp"], &found["measured_fpp"]);
        let (now, measured) = (now.as_f64().unwrap(), measured.as_f64().unwrap());
        let sigma = (now * (1.0 - now) / 1e6).sqrt();
        assert!((measured - now).abs() <= 3.0 * sigma, "{measured} of {now} ± {sigma}");
        assert!(now > 0.015, "above the requested rate: {now}");
    }
}

#[test]
fn a_file_too_large_for_its_lines_to_fit_grows_instead() {
    let folder = folder();
    file(folder.path(), "in", &lines("key", (0..400_000).map(|i| i % 1000)));
    let arguments = ["dedup", "-p", "1e-9", "--max-memory", "10MiB", "--json"];
    let arguments = [&arguments[..], &["in"]].concat();
    // 400,000 lines would fit; with a tenth of the memory only the 1000 distinct ones do.
    let output = run(folder.path(), &arguments, b"");
    assert_eq!(json_and_talk(&output.stderr).0["expected_items"], 400_000);
    let input = lines("key", (0..4_000_000).map(|i| i % 1000));
    file(folder.path(), "in", &input);
    let output = run(folder.path(), &arguments, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json_and_talk(&output.stderr).0["layout"], "scalable");
    assert_eq!(output.stdout, lines("key", 0..1000));
    let talk = fail(folder.path(), &["dedup", "--layout", "standard"], b"a\n");
    assert!(talk.contains("-n or --mem"), "{talk}");
}

#[test]
fn memory_alone_sizes_the_filter() {
    let folder = folder();
    let output = run(folder.path(), &["dedup", "--mem", "64KiB", "--json"], b"a\n");
    assert_eq!(json_and_talk(&output.stderr).0["num_bytes"], 65_536);
}

#[test]
fn a_growing_filter_stops_at_its_memory_limit_and_loses_no_line_before() {
    let folder = folder();
    let input = lines("key", 0..3_000_000);
    let arguments = ["dedup", "-p", "1e-9", "--max-memory", "8MiB"];
    let output = run(folder.path(), &arguments, &input);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let printed = output.stdout.len();
    assert!(printed > 1 << 20 && printed < input.len());
    assert!(output.stdout[..] == input[..printed]);
}

#[test]
fn lines_come_out_while_the_input_pauses() {
    let folder = folder();
    for arguments in [&["dedup", "-n", "1000"][..], &["dedup"]] {
        let mut child = start(folder.path(), arguments);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        for text in ["one\n", "two\n"] {
            stdin.write_all(text.as_bytes()).unwrap();
            let mut line = String::new();
            // Would wait forever if the line were held back.
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, text);
        }
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success() && rest.is_empty());
    }
}

#[test]
fn several_inputs_are_one_and_each_ends_its_last_line() {
    let folder = folder();
    file(folder.path(), "a", b"one\ntwo");
    file(folder.path(), "b", b"two\nthree");
    let kept = succeed(folder.path(), &["dedup", "a", "-", "b"], b"one\nzero");
    assert_eq!(kept, b"one\ntwo\nzero\nthree\n");
}

#[test]
fn output_goes_to_a_file_that_is_only_replaced_by_force() {
    let folder = folder();
    file(folder.path(), "out", b"precious");
    let talk = fail(folder.path(), &["dedup", "-o", "out"], b"a\na\n");
    assert!(talk.contains("exists already") && talk.contains("--force"), "{talk}");
    assert_eq!(std::fs::read(folder.path().join("out")).unwrap(), b"precious");
    succeed(folder.path(), &["dedup", "-o", "out", "--force"], b"a\na\n");
    assert_eq!(std::fs::read(folder.path().join("out")).unwrap(), b"a\n");
}

#[test]
fn an_input_is_never_the_output() {
    let folder = folder();
    let path = file(folder.path(), "in", b"a\na\n");
    let talk = fail(folder.path(), &["dedup", "in", "-o", "in", "--force"], b"");
    assert!(talk.contains("FILE in and -o in are the same file"), "{talk}");
    let appending = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut command = crate::support::mayhap(folder.path());
    let output = command.args(["dedup", "in"]).stdout(appending).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(std::fs::read(&path).unwrap(), b"a\na\n");
}

#[test]
fn a_line_longer_than_the_buffer_is_a_line_and_the_limit_names_it() {
    let folder = folder();
    let long = "y".repeat(3 << 20);
    let input = format!("a\n{long}\nb\n{long}\na\n{long}z");
    let kept = succeed(folder.path(), &["dedup"], input.as_bytes());
    assert!(kept == format!("a\n{long}\nb\n{long}z\n").into_bytes());
    let output = run(folder.path(), &["dedup", "--max-line", "1MiB"], input.as_bytes());
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b"a\n"[..]));
    let talk = stderr(&output);
    assert!(talk.contains("line 2 is longer than the limit of 1.00 MiB"), "{talk}");
    // A line of exactly the limit passes.
    succeed(folder.path(), &["dedup", "--max-line", "3MiB"], format!("{long}\n").as_bytes());
    let longer = format!("{long}y\n");
    fail(folder.path(), &["dedup", "--max-line", "3MiB"], longer.as_bytes());
    let output = run(folder.path(), &["dedup", "--max-line", "3"], b"one\ntwo\nfour\nsix\n");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b"one\ntwo\n"[..]));
    assert!(stderr(&output).contains("line 3 is longer than the limit of 3 B"));
}
