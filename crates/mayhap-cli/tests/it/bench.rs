//! `mayhap bench`: its measurements, and that it leaves files alone.

use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use serde_json::Value;
use std::path::Path;

fn measured(folder: &Path, arguments: &[&str]) -> Value {
    let fast = &["bench", "--json", "--seconds", "0.01"];
    json(&succeed(folder, &[&fast[..], arguments].concat(), b""))
}

fn is_time(value: &Value) -> bool {
    value.as_f64().is_some_and(|nanoseconds| nanoseconds > 0.0 && nanoseconds < 1e6)
}

/// The measured rate is within four standard deviations of the predicted one.
fn check_rate(report: &Value) {
    let number = |name: &str| report[name].as_f64().unwrap();
    let (keys, fpp) = (number("absent_keys"), number("estimated_fpp"));
    assert!(keys >= 1e6, "{report}");
    // Except for the last digit, which JSON's reader may change.
    assert!((number("measured_fpp") - number("false_positives") / keys).abs() < 1e-15);
    let expected = keys * fpp;
    let off = (number("false_positives") - expected).abs();
    assert!(off < 4.0 * (expected * (1.0 - fpp)).sqrt().max(1.0), "{report}");
}

#[test]
fn a_made_filter_is_filled_measured_and_keeps_its_rate() {
    let folder = folder();
    for (layout, items) in [("blocked", 20_000), ("standard", 20_000), ("blocked", 100)] {
        let count = items.to_string();
        let arguments = ["-n", &count, "-p", "1%", "--layout", layout];
        let report = measured(folder.path(), &arguments);
        assert_eq!(
            (report["kind"].as_str(), report["expected_items"].as_u64()),
            (Some(layout), Some(items))
        );
        // Full, whatever the time: both are filled many times in it.
        assert_eq!(report["inserted_keys"], items, "{report}");
        for operation in ["digest", "insert", "hit", "miss"] {
            for call in ["single", "batch"] {
                assert!(is_time(&report[operation][call]), "{operation} {call}: {report}");
            }
        }
        let names: Vec<&str> = mayhap::kernel_names().collect();
        assert!(names.contains(&report["kernel"].as_str().unwrap()), "{report}");
        check_rate(&report);
        if items > 100 {
            let fpp = report["estimated_fpp"].as_f64().unwrap();
            assert!((0.008..0.012).contains(&fpp), "{report}");
        }
    }
}

#[test]
fn a_file_is_asked_as_it_is_and_left_alone() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..1000));
    succeed(folder, &["build", "-o", "f", "-n", "10k", "-p", "1%", "keys"], b"");
    // Later keys are in the log, and count.
    succeed(folder, &["dedup", "--state", "f"], &lines("more", 0..500));
    let contents = |name: &str| std::fs::read(folder.join(name)).ok();
    let before = (contents("f"), contents("f.log"));
    let report = measured(folder, &["f"]);
    assert_eq!((report["file"].as_str(), report["items"].as_u64()), (Some("f"), Some(1500)));
    assert_eq!(report["inserted_keys"], 10_000);
    // A tenth full: far below the rate that it is made for.
    assert!(report["estimated_fpp"].as_f64().unwrap() < 1e-4, "{report}");
    check_rate(&report);
    assert!(before == (contents("f"), contents("f.log")));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2 + usize::from(before.1.is_some()));
}

#[test]
fn kinds_are_asked_in_batches() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..1000));
    succeed(folder, &["build", "-o", "fuse", "--layout", "fuse", "-p", "1%", "keys"], b"");
    let report = measured(folder, &["fuse"]);
    assert!(is_time(&report["miss"]["batch"]) && report["hit"]["batch"].is_null(), "{report}");
    check_rate(&report);
    // It refuses more keys than it has.
    succeed(folder, &["build", "-o", "full", "--layout", "compact", "-p", "1%", "keys"], b"");
    let report = measured(folder, &["full"]);
    assert_eq!((&report["items"], &report["inserted_keys"]), (&1000.into(), &1000.into()));
    check_rate(&report);
    for layout in ["compact", "counting", "window:20k", "scalable"] {
        let items = if layout.starts_with("window") { vec![] } else { vec!["-n", "20k"] };
        let report = measured(folder, &[&["--layout", layout, "-p", "1%"], &items[..]].concat());
        assert!(report["miss"]["single"].is_null(), "{report}");
        for operation in ["insert", "hit", "miss"] {
            assert!(is_time(&report[operation]["batch"]), "{layout} {operation}: {report}");
        }
        check_rate(&report);
    }
}

#[test]
fn the_table_says_what_it_is_and_whose_figures() {
    let folder = folder();
    let output = run(folder.path(), &["bench", "-n", "1k", "-p", "1%", "--seconds", "0.01"], b"");
    let (text, talk) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    for row in
        ["filter", "memory", "kernel", "ns per key", "digest", "insert", "hit", "miss", "rate"]
    {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(talk.contains("this run on this machine"), "{talk}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = folder();
    file(folder.path(), "text", b"not a filter\n");
    let cases: [(&[&str], &str); 6] = [
        (&["absent"], "create a filter with mayhap build"),
        (&["text"], "are the arguments in order?"),
        (&["f", "-n", "10"], "cannot be used with"),
        (&["-n", "0"], "-n is 0"),
        (&["--seconds", "0"], "write 0.01 to 3600"),
        (&["-n", "1T", "--max-memory", "1M"], "--max-memory"),
    ];
    for (arguments, step) in cases {
        let talk = fail(folder.path(), &[&["bench"], arguments].concat(), b"");
        assert!(talk.starts_with("mayhap: ") && talk.contains(step), "{arguments:?}: {talk}");
    }
}

#[test]
fn a_kernel_can_be_forced_and_all_are_compared() {
    let folder = folder();
    let sizes = ["bench", "--seconds", "0.01", "-n", "1k", "-p", "1%"];
    let arguments = [&sizes[..], &["--kernels", "--json"]].concat();
    let reports = json(&succeed(folder.path(), &arguments, b""));
    let kernels: Vec<&str> =
        reports.as_array().unwrap().iter().map(|run| run["kernel"].as_str().unwrap()).collect();
    // Each run used the kernel that it was limited to.
    assert_eq!(kernels, mayhap::kernel_names().collect::<Vec<_>>());
    let output = run(folder.path(), &[&sizes[..], &["--kernels"]].concat(), b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), 1 + kernels.len(), "{text}");
    assert!(text.lines().last().unwrap().starts_with("scalar"), "{text}");
}
