//! The command's reports on lost keys, fill and rate: by all distinct keys in the input, and right
//! within 3 σ. Repeats are among the lines, so that not every dropped line is a lost one.

use crate::remote::{server, url};
use crate::support::{fail, folder, json, json_and_talk, lines, run, stderr, succeed};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use test_servers::Line;

/// `keys` distinct lines, and after each ten of them the same again.
fn with_repeats(keys: std::ops::Range<u64>) -> Vec<u8> {
    let tens = keys.clone().step_by(10);
    lines("key", tens.flat_map(|ten| (ten..ten + 10).chain(ten..ten + 10)))
}

/// The summary of a `dedup` of distinct keys and their repeats.
fn dedup(folder: &Path, arguments: &[&str], keys: std::ops::Range<u64>) -> Value {
    let arguments = [&["dedup", "--json"], arguments].concat();
    let output = run(folder, &arguments, &with_repeats(keys));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    json_and_talk(&output.stderr).0
}

fn number(summary: &Value, name: &str) -> f64 {
    summary[name].as_f64().unwrap_or_else(|| panic!("{name} of {summary}"))
}

/// The lost keys by a summary, against the truth: `keys` less the kept ones.
fn check_loss(name: &str, summary: &Value, keys: u64) {
    let lost = keys as f64 - number(summary, "lines_kept");
    let told = number(summary, "expected_lost_lines");
    let sigma = number(summary, "expected_lost_lines_sigma");
    println!("{name}: {told:.0} ± {sigma:.0} told, {lost} lost");
    assert!((told - lost).abs() <= 3.0 * sigma, "{name}: {told} ± {sigma} reported, {lost} lost");
    assert!(sigma < 0.1 * told, "{name}: ± {sigma} of {told} means nothing");
}

#[test]
fn the_loss_of_a_filter_at_capacity_and_far_beyond_is_foretold() {
    let folder = folder();
    for (layout, p, times) in [
        ("blocked", "0.1", 1),
        ("standard", "0.1", 1),
        ("blocked", "0.1", 3),
        ("blocked", "1%", 2),
        ("standard", "1%", 3),
        ("blocked", "1%", 10),
        ("standard", "1e-3", 5),
    ] {
        let keys = 20_000 * times;
        let arguments = ["-n", "20k", "-p", p, "--layout", layout, "--overfill"];
        let summary = dedup(folder.path(), &arguments, 0..keys);
        check_loss(&format!("{layout} at {p}, {times} n"), &summary, keys);
    }
}

#[test]
fn the_loss_of_a_growing_filter_is_foretold() {
    let folder = folder();
    for (p, first, keys) in [("0.1", "5000", 100_000), ("1%", "1000", 200_000)] {
        let arguments = ["-p", p, "--layout", "scalable", "--state", first, "-n", first];
        let summary = dedup(folder.path(), &arguments, 0..keys);
        check_loss(&format!("growing at {p}"), &summary, keys);
    }
}

#[test]
fn the_loss_of_a_run_is_that_of_the_run_alone() {
    let folder = folder();
    let state = ["--state", "seen", "--overfill"];
    let arguments = [&state[..], &["-n", "20k", "-p", "1%"]].concat();
    for (from, to, arguments) in
        [(0, 30_000, &arguments[..]), (30_000, 60_000, &state), (60_000, 120_000, &state)]
    {
        let summary = dedup(folder.path(), arguments, from..to);
        check_loss(&format!("{from} to {to}"), &summary, to - from);
    }
    // And the numbers of the file count all distinct keys in the input.
    let info = json(&succeed(folder.path(), &["info", "--json", "seen"], b""));
    let came = number(&info, "distinct_items");
    assert!((came / 120_000.0 - 1.0).abs() < 0.05, "{info}");
    assert!(number(&info, "inserted_items") < 75_000.0 && info["health"] == "over capacity");
    let text = String::from_utf8(succeed(folder.path(), &["info", "seen"], b"")).unwrap();
    assert!(text.contains("were taken for repeats"), "{text}");
}

#[test]
fn the_loss_of_a_counting_filter_is_foretold() {
    let folder = folder();
    succeed(folder.path(), &["create", "on", "--layout", "counting", "-n", "10k", "-p", "5%"], b"");
    let summary = dedup(folder.path(), &["--state", "on", "--overfill"], 0..30_000);
    check_loss("counting", &summary, 30_000);
}

#[test]
fn the_loss_of_a_filter_on_a_server_is_foretold_and_its_stop_goes_by_all_that_came() {
    let Some(server) = server() else { return };
    let (folder, seen) = (folder(), url(&server, "seen"));
    let arguments = ["--state", &seen, "-n", "5000", "-p", "0.1", "--overfill"];
    let summary = dedup(folder.path(), &arguments, 0..15_000);
    check_loss("redis", &summary, 15_000);
    // A distant server gets more lines at once.
    let line = Line::start(server.port(), Duration::from_millis(5)).unwrap();
    let far = format!("{}/0/far", line.url());
    let arguments = ["--state", &far, "-n", "5000", "-p", "0.1", "--overfill"];
    let summary = dedup(folder.path(), &arguments, 0..15_000);
    check_loss("redis, far", &summary, 15_000);
    // Where hardly a bit is clear, one new key in hundreds gives the estimate.
    let often = url(&server, "often");
    let arguments = ["--state", &often, "-n", "20k", "-p", "0.1", "--overfill"];
    let summary = dedup(folder.path(), &arguments, 0..200_000);
    check_loss("redis, ten times", &summary, 200_000);
    let full = url(&server, "full");
    let arguments = ["dedup", "--json", "--state", &full, "-n", "20k", "-p", "0.3"];
    let output = run(folder.path(), &arguments, &with_repeats(0..60_000));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    check_rate(folder.path(), &full, 0.3);
}

/// Checks that the filter has the requested rate, within 3 σ of chance in sampling and in its bits,
/// whose rate differs from filter to filter by 7/√n of it at most.
fn check_rate(folder: &Path, name: &str, target: f64) {
    let arguments = ["verify", "--json", "--samples", "1M", name];
    let found = json(&succeed(folder, &arguments, b""));
    let (measured, items) = (number(&found, "measured_fpp"), number(&found, "expected_items"));
    let asking = (target * (1.0 - target) / 1_048_576.0).sqrt();
    let sigma = asking.hypot(2.0 * target / items.sqrt());
    println!("{name}: {measured:.5} for {target}, {:+.2} σ", (measured - target) / sigma);
    assert!((measured - target).abs() <= 3.0 * sigma, "{name}: {measured} for {target}: {found}");
    assert_eq!(found["rate_verdict"], "as predicted", "{found}");
}

#[test]
fn a_filter_stops_at_the_rate_that_was_asked_for() {
    let folder = folder();
    for layout in ["blocked", "standard"] {
        for (target, p) in [(0.3, "0.3"), (0.1, "0.1"), (0.01, "0.01")] {
            let name = format!("{layout}-{p}");
            let make = ["create", &name, "-n", "100k", "-p", p, "--layout", layout];
            succeed(folder.path(), &make, b"");
            let talk = fail(folder.path(), &["add", &name], &with_repeats(0..200_000));
            assert!(talk.contains("80 % full (80.0k of 100k keys)"), "{talk}");
            assert!(talk.contains("the filter is full"), "{talk}");
            check_rate(folder.path(), &name, target);
            let info = json(&succeed(folder.path(), &["info", "--json", &name], b""));
            let came = number(&info, "distinct_items");
            assert!((came / 100_000.0 - 1.0).abs() < 0.01, "{info}");
            assert_eq!(
                (&info["health"], &info["headroom_items"]),
                (&"near capacity".into(), &0.into())
            );
        }
    }
}

/// Whatever is swallowed by chance: the number of keys that a filter was made for fits.
#[test]
fn exactly_the_keys_that_it_was_made_for_fit_with_all_their_repeats() {
    let folder = folder();
    for seed in 0..20 {
        for p in ["0.3", "1%"] {
            let seed = seed.to_string();
            let arguments = ["dedup", "--json", "-n", "2000", "-p", p, "--seed", &seed];
            let output = run(folder.path(), &arguments, &with_repeats(0..2000));
            assert_eq!(output.status.code(), Some(0), "seed {seed}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_merge_counts_what_one_filter_would_have_counted() {
    let folder = folder();
    let make = |name: &str, keys: std::ops::Range<u64>| {
        let arguments = ["build", "-q", "-o", name, "-n", "20k", "-p", "0.1", "--overfill"];
        succeed(folder.path(), &[&arguments[..], &["-"]].concat(), &lines("key", keys));
    };
    make("left", 0..20_000);
    make("right", 10_000..30_000);
    make("one", 0..30_000);
    let merge = ["merge", "-q", "--overfill", "-o", "both", "left", "right"];
    succeed(folder.path(), &merge, b"");
    let info = |name: &str| json(&succeed(folder.path(), &["info", "--json", name], b""));
    let (both, one) = (info("both"), info("one"));
    let count = |info: &Value| number(info, "inserted_items");
    assert!((count(&both) / count(&one) - 1.0).abs() < 0.01, "{both} {one}");
    assert!((number(&both, "distinct_items") / 30_000.0 - 1.0).abs() < 0.02, "{both}");
    assert_eq!(both["health"], "over capacity");
}
