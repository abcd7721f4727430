//! Compact filters: copies of keys, which come and go, and room for twice as many.

use crate::support::{fail, file, folder, held, json, json_and_talk, lines, run, stderr, succeed};
use std::fs;
use std::path::Path;

fn info(folder: &Path, name: &str) -> serde_json::Value {
    json(&succeed(folder, &["info", "--json", name], b""))
}

/// A compact filter named `c` with these options.
fn create(folder: &Path, options: &[&str]) {
    succeed(folder, &[&["create", "-q", "c", "--layout", "compact"], options].concat(), b"");
}

#[test]
fn each_added_line_is_a_copy_and_has_to_be_removed() {
    let folder = folder();
    let folder = folder.path();
    create(folder, &["-n", "1000", "-p", "1e-6"]);
    succeed(folder, &["add", "-q", "c"], &lines("key", 0..600));
    let again = json(&succeed(folder, &["add", "--json", "c"], &lines("key", 0..100)));
    assert_eq!((&again["new"], &again["items"]), (&0.into(), &700.into()));
    let gone = json(&succeed(folder, &["remove", "--json", "c"], &lines("key", 0..300)));
    assert_eq!((&gone["removed"], &gone["items"]), (&300.into(), &400.into()));
    let rest: Vec<u8> = [lines("key", 0..100), lines("key", 300..600)].concat();
    assert!(held(folder, "c", &lines("key", 0..600)) == rest);
    let absent = json(&succeed(folder, &["remove", "--json", "c"], &lines("other", 0..10)));
    assert_eq!((&absent["not_there"], &absent["items"]), (&10.into(), &400.into()));
    let shown = info(folder, "c");
    let names = ["copies", "distinct_fingerprints", "stuck_fingerprints", "num_hashes"];
    assert_eq!(names.map(|name| shown[name].as_u64().unwrap()), [400, 400, 0, 0], "{shown}");
    let bits = shown["num_bits"].as_f64().unwrap();
    assert_eq!(shown["bits_per_copy"].as_f64(), Some(bits / 400.0));
    assert_eq!(shown["num_bytes"].as_f64(), Some(bits / 8.0));
    let text = String::from_utf8(succeed(folder, &["info", "c"], b"")).unwrap();
    for row in ["copies      400 of 400 fingerprints", "when full   takes no more copies"] {
        assert!(text.contains(row), "{text}");
    }
}

/// A key with 15 copies stays, and is never lost.
#[test]
fn a_key_that_came_a_million_times_stays_and_others_have_room() {
    let folder = folder();
    let folder = folder.path();
    create(folder, &["-n", "1000", "-p", "1e-6"]);
    let hot = b"hot\n".repeat(1_000_000);
    succeed(folder, &["add", "-q", "c"], &[&hot[..], &lines("key", 0..980)].concat());
    let shown = info(folder, "c");
    assert_eq!((&shown["copies"], &shown["stuck_fingerprints"]), (&995.into(), &1.into()));
    let output = run(folder, &["remove", "c"], &b"hot\n".repeat(40));
    let text = stderr(&output);
    assert!(text.contains("40 keys are stored 15 times or more and stay"), "{text}");
    assert!(text.contains("c: 0 removed, 0 not present"), "{text}");
    assert_eq!(held(folder, "c", b"hot\nkey-1\nnever\n"), b"hot\nkey-1\n");
}

#[test]
fn a_full_one_takes_nothing_more_until_it_is_doubled() {
    let folder = folder();
    let folder = folder.path();
    create(folder, &["-n", "1000", "-p", "1e-6", "--lower"]);
    let output = run(folder, &["add", "c"], &lines("key", 0..1200));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    let full = "the filter is full (1,000 of 1,000 copies of keys); stopped after 1,000 lines";
    assert!(text.contains(full) && text.contains("double it with mayhap grow"), "{text}");
    for more in [&["add", "c"][..], &["add", "--overfill", "c"]] {
        // A repeat takes room too; in a dedup it does not.
        let text = stderr(&run(folder, more, b"key-1\n"));
        assert!(text.contains("copies of keys); stopped after 0 lines"), "{more:?}: {text}");
    }
    assert_eq!(succeed(folder, &["dedup", "--state", "c"], b"key-1\n"), b"");
    assert_eq!(info(folder, "c")["copies"], 1000);
    let before = fs::read(folder.join("c")).unwrap();
    let other = json(&succeed(folder, &["grow", "--json", "-o", "d", "c"], b""));
    assert_eq!(other["distinct_items"], 1000, "{other}");
    assert_eq!(
        (&other["before"]["expected_items"], &other["after"]["expected_items"]),
        (&1000.into(), &2000.into())
    );
    assert!(fs::read(folder.join("c")).unwrap() == before, "the old one stays as it is");
    succeed(folder, &["grow", "-q", "c"], b"");
    for name in ["c", "d"] {
        // It promises what it keeps: a bit of each fingerprint is spent.
        let fpp = info(folder, name)["target_fpp"].as_f64().unwrap();
        assert!((1.7e-6..=2.0e-6).contains(&fpp), "{name}: {fpp}");
        succeed(folder, &["add", "-q", name], &lines("KEY", 1000..2000));
        assert!(held(folder, name, &lines("Key", 0..2000)) == lines("Key", 0..2000), "{name}");
        succeed(folder, &["verify", "-q", name], b"");
        let gone = json(&succeed(folder, &["remove", "--json", name], &lines("key", 0..2000)));
        assert_eq!((&gone["removed"], &gone["items"]), (&2000.into(), &0.into()), "{name}");
    }
    for more in [&["-n", "9k"][..], &["-p", "1%"], &["--mem", "1M"], &["--layout", "fuse"]] {
        let text = fail(folder, &[&["grow", "c"], more].concat(), b"");
        assert!(text.contains("there are no digests to keep or use"), "{more:?}: {text}");
    }
    assert!(fail(folder, &["grow", "c", "--max-memory", "1k"], b"").contains("above the limit"));
}

/// A process that is adding continues with the grown filter.
#[test]
fn a_state_that_is_doubled_goes_on() {
    let folder = folder();
    let folder = folder.path();
    let dedup = ["dedup", "--state", "c", "--layout", "compact", "-n", "1000", "-p", "1e-6"];
    assert_eq!(succeed(folder, &dedup, &lines("key", 0..900)), lines("key", 0..900));
    succeed(folder, &["grow", "-q", "c"], b"");
    let again = lines("key", 500..1900);
    assert!(succeed(folder, &["dedup", "--state", "c"], &again) == lines("key", 900..1900));
    // A line counts once, so a removal makes it new.
    succeed(folder, &["remove", "-q", "c"], &lines("key", 0..10));
    assert!(
        succeed(folder, &["dedup", "--state", "c"], &lines("key", 0..20)) == lines("key", 0..10)
    );
    assert!(!folder.join("c.digests").exists());
}

#[test]
fn copies_add_up_when_filters_are_merged_and_there_has_to_be_room() {
    let folder = folder();
    let folder = folder.path();
    for (name, keys) in [("a", 0..700), ("b", 600..1300), ("c", 2000..2700)] {
        let create = ["create", "-q", name, "--layout", "compact", "-n", "2000", "-p", "1e-6"];
        succeed(folder, &create, b"");
        succeed(folder, &["add", "-q", name], &lines("key", keys));
    }
    let output = run(folder, &["merge", "--json", "-o", "all", "a", "b"], b"");
    let text = stderr(&output);
    assert!(text.contains("a key of several files has to be removed as often"), "{text}");
    assert_eq!(json(&output.stdout)["items"], 1400);
    let text = fail(folder, &["merge", "-o", "none", "a", "b", "c"], b"");
    assert!(text.contains("full (2,100 of 2,000 copies of keys); nothing was written"), "{text}");
    assert!(!folder.join("none").exists());
    succeed(folder, &["create", "-q", "d", "--layout", "compact", "-n", "3000"], b"");
    assert!(fail(folder, &["merge", "-o", "none", "a", "d"], b"").contains("cannot be merged"));
}

/// Without -n there is room for a copy of each line, however often keys come.
#[test]
fn a_list_with_repeats_is_built_without_its_number() {
    let folder = folder();
    let folder = folder.path();
    for (name, keys, times) in [("once", 20_000, 1), ("twice", 10_000, 2), ("often", 2_000, 14)] {
        file(folder, "in", &lines("key", (0..keys * times).map(|i| i % keys)));
        let build = ["build", "--json", "-p", "1e-6", "--layout", "compact", "-o", name, "in"];
        let output = run(folder, &build, b"");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let summary = json(&output.stdout);
        let (new, items) = (summary["new"].as_u64().unwrap(), &summary["items"]);
        assert_eq!((new.div_ceil(1000), items), (keys / 1000, &(keys * times).into()), "{summary}");
    }
    // One key that fills the list counts 15 times at most.
    file(folder, "in", &[&b"hot\n".repeat(100_000)[..], &lines("key", 0..100)].concat());
    succeed(folder, &["build", "-q", "--layout", "compact", "-o", "hot", "in"], b"");
    assert_eq!(info(folder, "hot")["copies"], 115);
    assert!(info(folder, "hot")["expected_items"].as_u64().unwrap() < 3_000);
}

/// `create` makes the filter that `plan` proposes.
#[test]
fn a_plan_with_removal_is_a_compact_filter() {
    let folder = folder();
    let folder = folder.path();
    let plan = ["plan", "--json", "-n", "10k", "-p", "1%", "--delete"];
    let plan = json(&succeed(folder, &plan, b""));
    let create = plan["create"].as_str().unwrap();
    assert_eq!(create, "mayhap create seen.mayhap -n 10k -p 1% --layout compact");
    let words: Vec<&str> = create.split(' ').skip(1).collect();
    let made = run(folder, &[&words[..], &["--json"]].concat(), b"");
    let made = json_and_talk(&made.stdout).0;
    assert_eq!(
        (&made["layout"], &made["num_bytes"]),
        (&"compact".into(), &plan["best"]["num_bytes"])
    );
}
