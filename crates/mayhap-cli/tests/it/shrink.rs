//! Filters that become smaller without their keys.

use crate::crash::have_strace;
use crate::support::{fail, folder, held, json, lines, mayhap, run, start, stderr, succeed};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A filter of 240 KiB in 3,840 blocks, for far more than its 5,000 keys.
fn build(folder: &Path, name: &str, more: &[&str]) {
    let words = ["build", "-q", "--force", "-o", name, "--mem", "240KiB", "-p", "1%"];
    succeed(folder, &[&words, more].concat(), &lines("key", 0..5_000));
}

#[test]
fn a_filter_shrinks_to_the_one_built_small() {
    for layout in ["blocked", "standard"] {
        let folder = folder();
        let folder = folder.path();
        build(folder, "f", &["--layout", layout]);
        let all = ["shrink", "--json", "-o", "g", "f"];
        let shrunk = json(&succeed(folder, &all, b""));
        let factor = shrunk["factor"].as_u64().unwrap();
        assert!(factor >= 30 && shrunk["num_bytes_before"] == 240 << 10, "{shrunk}");
        let bytes = shrunk["num_bytes"].as_u64().unwrap();
        assert_eq!(bytes * factor, 240 << 10);
        let size = format!("{bytes}B");
        // The same keys at that size: the same rate, promise and bits.
        let words = ["build", "-q", "-o", "small", "--mem", &size, "-p", "1%", "--layout", layout];
        succeed(folder, &words, &lines("key", 0..5_000));
        let (g, small) =
            (fs::read(folder.join("g")).unwrap(), fs::read(folder.join("small")).unwrap());
        assert!(g[4096..] == small[4096..], "{layout}: the bits differ");
        let info = |name| json(&succeed(folder, &["info", "--json", name], b""));
        for field in ["estimated_fpp", "fill_ratio", "health", "expected_items", "target_fpp"] {
            let (of_g, of_small) = (info("g"), info("small"));
            assert_eq!(of_g[field], of_small[field], "{field}: {of_g}");
        }
        assert!(shrunk["estimated_fpp"].as_f64().unwrap() <= 0.011, "{shrunk}");
        let items = info("g")["inserted_items"].as_u64().unwrap();
        assert!((4_900..=5_000).contains(&items), "{items}");
        // In place it is the same, and the old file did not change meanwhile.
        assert_eq!(fs::metadata(folder.join("f")).unwrap().len() / 1024, 240 + 4);
        succeed(folder, &["shrink", "-q", "f"], b"");
        assert!(fs::read(folder.join("f")).unwrap()[4096..] == g[4096..]);
        assert_eq!(held(folder, "f", &lines("key", 0..5_000)), lines("key", 0..5_000));
        // Again there is nothing to do.
        let before = fs::read(folder.join("f")).unwrap();
        let output = run(folder, &["shrink", "f"], b"");
        assert!(stderr(&output).contains("f: unchanged, no smaller size"), "{}", stderr(&output));
        assert!(fs::read(folder.join("f")).unwrap() == before);
    }
}

#[test]
fn a_pipe_is_built_in_one_pass_to_the_file_that_its_size_gives() {
    for (layout, more) in [
        ("blocked", &["--mem", "1MiB", "--shrink"][..]),
        ("standard", &["--mem", "1MiB", "--shrink"]),
        ("standard", &["-n", "1M", "--shrink", "--seed", "7"]),
        ("blocked", &[]),
    ] {
        let folder = folder();
        let folder = folder.path();
        let keys = lines("key", (0..30_000).map(|i| i % 20_000));
        let words = ["build", "--json", "-p", "1%", "--layout", layout, "-o", "f"];
        let summary = json(&succeed(folder, &[&words, more].concat(), &keys));
        let bytes = summary["num_bytes"].as_u64().unwrap();
        // 9.6 or 10.1 bits a key, and less than twice as many.
        assert!((24_000..50_000).contains(&bytes), "{layout} {more:?}: {bytes}");
        assert!(summary["estimated_fpp"].as_f64().unwrap() < 0.0105, "{summary}");
        assert_eq!(summary["health"].as_str().map(|it| it == "over capacity"), Some(false));
        // The keys in another order, into a filter of that size.
        let size = format!("{bytes}B");
        let words = ["build", "-q", "-p", "1%", "--layout", layout, "-o", "g", "--reproducible"];
        let seed: &[&str] = if more.contains(&"--seed") { &["--seed", "7"] } else { &[] };
        let backwards = lines("key", (0..20_000).rev());
        succeed(folder, &[&words, &["--mem", &size][..], seed].concat(), &backwards);
        let (f, g) = (fs::read(folder.join("f")).unwrap(), fs::read(folder.join("g")).unwrap());
        assert!(f == g, "{layout} {more:?}");
    }
}

#[test]
fn a_list_that_needs_more_than_its_memory_stops_and_writes_nothing() {
    let folder = folder();
    let folder = folder.path();
    let small = ["build", "-o", "f", "-p", "1%", "--mem", "4KiB", "--shrink"];
    let talk = fail(folder, &small, &lines("key", 0..9_000));
    assert!(talk.contains("the filter is full") && talk.contains("more --mem"), "{talk}");
    assert!(!folder.join("f").exists());
    // Taken all the same, it has the size of its memory.
    let all = [&small[..], &["--overfill", "--json"]].concat();
    let full = json(&succeed(folder, &all, &lines("key", 0..9_000)));
    assert!(full["num_bytes"] == 4_096 && full["health"] == "over capacity", "{full}");
    for (more, problem) in [
        (&["--layout", "scalable"][..], "--shrink is for blocked and standard"),
        (&["--frozen"], "--shrink is for blocked and standard"),
        (&["--layout", "matrix"], "--shrink is for blocked and standard"),
        (&["--preset", "8", "-n", "9"], "--shrink is for blocked and standard"),
        (&["--format", "guava", "-n", "9"], "--shrink is for blocked and standard"),
        (&["--segment", "1/2", "-n", "9"], "cannot be used with"),
    ] {
        let words = [&["build", "-o", "g", "--shrink"], more].concat();
        let talk = fail(folder, &words, b"a\n");
        assert!(talk.contains(problem), "{more:?}: {talk}");
    }
}

/// Files of unlike sizes, where one is a multiple of the other.
#[test]
fn larger_files_are_folded_to_the_smallest_by_a_merge() {
    let folder = folder();
    let folder = folder.path();
    for (name, size, keys) in [("a", "240KiB", 0..3_000), ("b", "40KiB", 2_000..5_000)] {
        let words = ["build", "-q", "-o", name, "--mem", size, "-p", "1%"];
        succeed(folder, &words, &lines("key", keys));
    }
    let words = ["build", "-q", "-o", "one", "--mem", "40KiB", "-p", "1%"];
    succeed(folder, &words, &lines("key", 0..5_000));
    for order in [["a", "b"], ["b", "a"]] {
        let words = [&["merge", "--json", "--force", "-o", "all"], &order[..]].concat();
        let merged = json(&succeed(folder, &words, b""));
        assert!(merged["num_bytes"] == 40 << 10 && merged["health"] == "ok", "{merged}");
        let (all, one) = (fs::read(folder.join("all")).unwrap(), fs::read(folder.join("one")));
        assert!(all[4096..] == one.unwrap()[4096..], "{order:?}");
    }
    succeed(folder, &["build", "-q", "-o", "odd", "--mem", "41KiB", "-p", "1%"], b"x\n");
    let talk = fail(folder, &["merge", "-o", "none", "b", "odd"], b"");
    assert!(talk.contains("size") && talk.contains("mayhap shrink --factor"), "{talk}");
}

#[test]
fn the_size_follows_from_the_keys_the_rate_or_the_factor() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", &[]);
    let shrunk = |more: &[&str]| {
        let all = [&["shrink", "--json", "--force", "-o", "g", "f"], more].concat();
        json(&succeed(folder, &all, b""))
    };
    let half = shrunk(&["--factor", "2"]);
    assert!(half["factor"] == 2 && half["num_bytes"] == 120 << 10, "{half}");
    let (own, looser) = (shrunk(&[]), shrunk(&["-p", "10%"]));
    assert!(looser["factor"].as_u64() > own["factor"].as_u64(), "{looser}");
    assert_eq!(looser["target_fpp"], 0.1);
    assert!(looser["estimated_fpp"].as_f64().unwrap() < 0.11);
    let room = shrunk(&["-n", "60k"]);
    assert!(room["factor"].as_u64() < own["factor"].as_u64(), "{room}");
    assert!(room["expected_items"] == 60_000 && room["target_fpp"] == 0.01, "{room}");
    assert_eq!(room["health"], "ok");
    // As it is, but with another promise, and whole.
    let copy = shrunk(&["-p", "1e-10"]);
    assert!(copy["factor"] == 1 && copy["target_fpp"] == 1e-10, "{copy}");
    assert!(copy["expected_items"].as_u64().unwrap() >= 5_000, "{copy}");
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out_and_changes_nothing() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", &[]);
    let before = fs::read(folder.join("f")).unwrap();
    for (more, problem, hint) in [
        (&["--factor", "7"][..], "3840 blocks do not fold by 7", "factors are 2, 3, 4, 5, 6, 8"),
        (&["-p", "1e-15"], "cannot shrink: at its size the rate", "a fold raises the rate"),
        (&["-n", "10M"], "the rate for 10,000,000 keys is", "choose a -p above"),
        (&["-n", "100"], "after a fold by", "--overfill"),
        (&["--factor", "3840"], "after a fold by 3840 it would be for", "a smaller --factor"),
        (&["--max-memory", "300KiB"], "above the limit", "--max-memory"),
        (&["-o", "f"], "f", "o"),
    ] {
        let talk = fail(folder, &[&["shrink", "f"], more].concat(), b"");
        assert!(talk.contains(problem) && talk.contains(hint), "{more:?}: {talk}");
        assert!(fs::read(folder.join("f")).unwrap() == before, "{more:?}");
    }
    let full = json(&succeed(folder, &["shrink", "--json", "--overfill", "-n", "100", "f"], b""));
    assert_eq!(full["health"], "over capacity");
    for (make, kind) in [
        (&["--layout", "counting"][..], "a counting filter"),
        (&["--layout", "compact"], "a compact filter"),
        (&["--layout", "window:1k"], "a window"),
        (&["--layout", "fuse"], "a fuse filter"),
        (&["--segment", "1/2", "-n", "10k"], "one segment"),
        (&["--format", "guava", "-n", "100"], "is a guava filter, which does not fold"),
        (&["--format", "parquet", "-n", "100"], "records no rate"),
    ] {
        let sized = matches!(make[1], "counting" | "compact");
        let size: &[&str] = if sized { &["-n", "100"] } else { &[] };
        let words = [&["build", "-q", "--force", "-o", "k"], make, size].concat();
        succeed(folder, &words, b"a\nb\n");
        let talk = fail(folder, &["shrink", "k"], b"");
        assert!(talk.contains(kind) && talk.contains("\nhint: "), "{make:?}: {talk}");
    }
    let talk = fail(folder, &["shrink", "redis://127.0.0.1:1/0/x"], b"");
    assert!(talk.contains("shrink folds files") && talk.contains("mayhap pull"), "{talk}");
}

/// A chain of several layers folds to one while a size has room for the keys of all.
#[test]
fn a_growing_filter_shrinks_to_one_layer_and_goes_on_growing() {
    let folder = folder();
    let folder = folder.path();
    let chain = |name, keys: u64| {
        let words = ["create", "-q", "--layout", "scalable", "-n", "32", "-p", "1%", name];
        succeed(folder, &words, b"");
        succeed(folder, &["add", "-q", name], &lines("key", 0..keys));
    };
    chain("f", 34);
    let before = fs::read(folder.join("f")).unwrap();
    let copy = json(&succeed(folder, &["shrink", "--json", "-o", "g", "f"], b""));
    assert_eq!((&copy["num_bytes_before"], &copy["num_bytes_after"]), (&3_776.into(), &64.into()));
    assert!(copy["factor"] == 59 && copy["health"] == "ok", "{copy}");
    assert!(copy["target_fpp"] == 0.01 && copy["estimated_fpp"].as_f64().unwrap() < 0.01);
    assert!(fs::read(folder.join("f")).unwrap() == before);
    let talk = stderr(&run(folder, &["shrink", "f"], b""));
    assert!(talk.contains("f: folded by 59, 3.69 KiB to 64 B"), "{talk}");
    let [f, g] = ["f", "g"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(f[4096..] == g[4096..]);
    for name in ["f", "g"] {
        assert_eq!(held(folder, name, &lines("key", 0..34)), lines("key", 0..34));
        // It grows on, within its rate.
        succeed(folder, &["add", "-q", name], &lines("key", 34..20_000));
        assert_eq!(held(folder, name, &lines("key", 0..20_000)), lines("key", 0..20_000));
        let info = json(&succeed(folder, &["info", "--json", name], b""));
        assert!(info["health"] == "ok" && info["estimated_fpp"].as_f64().unwrap() < 0.01, "{info}");
    }
    let full = fs::read(folder.join("f")).unwrap();
    for (more, problem, hint) in [
        (&[][..], "layers fold is", "mayhap grow --layout blocked"),
        (&["-p", "2%"], "above", "choose a higher -p"),
        (&["--factor", "2"], "layers do not fold by 2", "single layer"),
        (&["--overfill"], "this one grows", "omit it"),
    ] {
        let talk = fail(folder, &[&["shrink", "f"], more].concat(), b"");
        assert!(talk.contains(problem) && talk.contains(hint), "{more:?}: {talk}");
        assert!(fs::read(folder.join("f")).unwrap() == full, "{more:?}");
    }
    // A single layer with few keys.
    let words = ["create", "-q", "--layout", "scalable", "-n", "48640", "-p", "1%", "one"];
    succeed(folder, &words, b"");
    succeed(folder, &["add", "-q", "one"], &lines("key", 0..500));
    let one = json(&succeed(folder, &["shrink", "--json", "one"], b""));
    assert!(one["factor"].as_u64().unwrap() > 20 && one["health"] == "ok", "{one}");
    let again = run(folder, &["shrink", "one"], b"");
    assert!(stderr(&again).contains("unchanged, no smaller size"), "{}", stderr(&again));
    assert_eq!(held(folder, "one", &lines("key", 0..500)), lines("key", 0..500));
}

#[test]
fn keys_in_the_log_and_digests_beside_it_are_kept() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", &["--keep-digests"]);
    succeed(folder, &["shrink", "-q", "f"], b"");
    succeed(folder, &["add", "-q", "--overfill", "f"], &lines("more", 0..100));
    succeed(folder, &["grow", "-q", "-p", "1e-9", "f"], b"");
    let all = [lines("key", 0..5_000), lines("more", 0..100)].concat();
    assert_eq!(held(folder, "f", &all), all);
    assert!(held(folder, "f", &lines("other", 0..1_000)).is_empty());
    // A state whose run was killed: its lines are in the log alone.
    build(folder, "s", &[]);
    let mut child = mayhap(folder)
        .args(["dedup", "--state", "s", "-p", "1%"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&lines("logged", 0..50)).unwrap();
    // Other processes find it in the log: the file has 5,000 keys.
    while held(folder, "s", &lines("logged", 0..50)).len() < 9 {}
    child.kill().unwrap();
    child.wait().unwrap();
    let logged = held(folder, "s", &lines("logged", 0..50));
    assert!(!logged.is_empty());
    for words in [&["shrink", "-q", "-o", "t", "s"][..], &["shrink", "-q", "s"]] {
        succeed(folder, words, b"");
    }
    assert!(!folder.join("s.log").exists());
    for name in ["s", "t"] {
        assert_eq!(held(folder, name, &logged), logged, "{name}");
    }
}

#[test]
fn a_parquet_filter_folds_by_halves() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", 0..1_000);
    for (name, items) in [("f", "100k"), ("small", "1k")] {
        let words = ["build", "-q", "-o", name, "--format", "parquet", "-p", "1%", "-n", items];
        succeed(folder, &words, &keys);
    }
    let before = fs::metadata(folder.join("f")).unwrap().len();
    let copy = ["shrink", "--json", "-o", "g", "-p", "1%", "f"];
    let shrunk = json(&succeed(folder, &copy, b""));
    let factor = shrunk["factor"].as_u64().unwrap();
    assert!(factor >= 64 && factor.is_power_of_two(), "{shrunk}");
    let after = shrunk["num_bytes_after"].as_u64().unwrap();
    assert_eq!(after * factor, shrunk["num_bytes_before"].as_u64().unwrap());
    assert_eq!(held(folder, "g", &keys).len() / keys.len(), 1);
    assert!(shrunk["estimated_fpp"].as_f64().unwrap() < 0.02, "{shrunk}");
    assert_eq!(fs::metadata(folder.join("f")).unwrap().len(), before, "the old one is as it was");
    // The one built small, byte for byte.
    let small = fs::metadata(folder.join("small")).unwrap().len();
    // Powers of two, with a header.
    let factor = before.next_power_of_two() / small.next_power_of_two();
    let by = ["shrink", "-q", "--factor", &factor.to_string(), "f"];
    succeed(folder, &by, b"");
    assert!(fs::read(folder.join("f")).unwrap() == fs::read(folder.join("small")).unwrap());
    let talk = fail(folder, &["shrink", "f", "--factor", "3"], b"");
    assert!(talk.contains("do not fold by 3"), "{talk}");
}

/// Killed at any system call that writes, the file is the old filter or the new one, whole.
#[test]
fn a_kill_leaves_the_old_filter_or_the_new_one() {
    if !have_strace() {
        return;
    }
    let (mut old, mut new) = (0, 0);
    let calls = ["write,pwrite64", "fsync", "fdatasync", "?rename,?renameat,?renameat2"];
    for call in calls.iter().chain(&["?unlink,?unlinkat", "ftruncate", "flock"]) {
        for when in 1..100 {
            let folder = folder();
            let folder = folder.path();
            build(folder, "f", &[]);
            let before = fs::read(folder.join("f")).unwrap();
            let inject = format!("inject={call}:signal=KILL:when={when}");
            let trace = format!("trace={call}");
            let mut command = Command::new("strace");
            command.args(["-qq", "-f", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.arg(env!("CARGO_BIN_EXE_mayhap")).args(["shrink", "-q", "f"]);
            let status = command.current_dir(folder).stdin(Stdio::null()).status().unwrap();
            let after = fs::read(folder.join("f")).unwrap();
            succeed(folder, &["info", "-q", "f"], b"");
            assert_eq!(held(folder, "f", &lines("key", 0..5_000)), lines("key", 0..5_000));
            if status.success() {
                assert!(after.len() < before.len());
                break;
            }
            if after == before {
                old += 1;
            } else {
                assert!(after.len() < before.len(), "{call} {when}");
                new += 1;
            }
            // The next one succeeds, whatever was left.
            succeed(folder, &["shrink", "-q", "f"], b"");
            assert!(fs::metadata(folder.join("f")).unwrap().len() < before.len() as u64);
        }
    }
    println!("{old} kills left the old filter, {new} the new one");
    assert!(old > 3 && new > 0, "{old} {new}");
}

#[test]
fn a_process_that_is_adding_goes_on_with_the_smaller_filter() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "f", &[]);
    let mut child = start(folder, &["add", "-q", "f"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&lines("first", 0..10)).unwrap();
    // Waits until the other process gives way, in a pause.
    succeed(folder, &["shrink", "-q", "-n", "10k", "f"], b"");
    stdin.write_all(&lines("second", 0..10)).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let all = [lines("key", 0..5_000), lines("first", 0..10), lines("second", 0..10)].concat();
    assert_eq!(held(folder, "f", &all), all);
    let info = json(&succeed(folder, &["info", "--json", "f"], b""));
    assert_eq!(info["expected_items"], 10_000);
}

/// Their sizes are the smallest and a multiple of 3, which is no prime number.
#[test]
fn a_filter_that_is_too_small_to_fold_is_not_called_one_of_a_prime_size() {
    let folder = folder();
    let folder = folder.path();
    for (items, bits, factor, why) in [
        ("1", "64 bits", "2", "a: it does not fold by 2: num_bits is 32, must be from 64"),
        ("1", "64 bits", "3", "a: 64 bits do not fold by 3"),
        ("7", "69 bits", "3", "a: it does not fold by 3: num_bits is 23, must be from 64"),
    ] {
        let build = ["build", "-o", "a", "--force", "--layout", "standard", "-p", "1%", "-n"];
        succeed(folder, &[&build[..], &[items]].concat(), b"key\n");
        let info = String::from_utf8(succeed(folder, &["info", "a"], b"")).unwrap();
        assert!(info.contains(bits), "{info}");
        let refused = fail(folder, &["shrink", "a", "--factor", factor], b"");
        assert!(refused.contains(why), "{refused}");
        assert!(refused.contains("hint: no factor leaves a size"), "{refused}");
    }
}
