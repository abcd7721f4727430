//! Several commands that change one file at once: they take turns, and lose nothing.

use crate::support::{
    fail, file, folder, held, json, lines, mayhap, run, send_signal, start, stderr, succeed,
};
use mayhap_store::{FilterLock, LockOptions};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CREATE: [&str; 6] = ["create", "f", "-n", "1M", "-p", "1e-9"];

/// Waits until a condition holds; the limit is for conditions that never do.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number of lines of this input that the filter may hold.
fn count(folder: &Path, name: &str, input: &[u8]) -> u64 {
    let output = run(folder, &["check", "-c", name], input);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// The files in a folder, including hidden ones, except for the input.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with("in"));
    names.sort();
    names
}

#[test]
fn two_adds_at_once_lose_no_key() {
    let layouts = ["counting", "compact", "scalable"].map(|layout| ["--layout", layout]);
    for kind in [&[][..], &layouts[0], &layouts[1], &layouts[2]] {
        for from_files in [true, false] {
            let folder = folder();
            let folder = folder.path();
            succeed(folder, &[&CREATE[..], kind].concat(), b"");
            let inputs = [lines("a", 0..200_000), lines("b", 0..200_000)];
            std::thread::scope(|scope| {
                for (name, input) in ["in1", "in2"].iter().zip(&inputs) {
                    scope.spawn(move || {
                        if from_files {
                            file(folder, name, input);
                            succeed(folder, &["add", "-q", "f", name], b"");
                        } else {
                            succeed(folder, &["add", "-q", "f"], input);
                        }
                    });
                }
            });
            let all = inputs.concat();
            assert_eq!(count(folder, "f", &all), 400_000, "{kind:?}");
            let info = json(&succeed(folder, &["info", "--json", "f"], b""));
            assert_eq!(info["inserted_items"], 400_000, "{kind:?}");
            assert_eq!(names(folder), ["f"]);
        }
    }
}

/// The child, and its input, which stays open; all of `input` has been taken.
fn feed(folder: &Path, arguments: &[&str], input: &[u8]) -> (Child, std::process::ChildStdin) {
    let mut child = start(folder, arguments);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    (child, stdin)
}

#[test]
fn a_crawl_that_is_killed_keeps_what_add_had_taken_before_it_waited() {
    for kind in [&[][..], &["--layout", "counting"], &["--layout", "scalable"]] {
        let folder = folder();
        let folder = folder.path();
        succeed(folder, &[&CREATE[..], kind].concat(), b"");
        let input = lines("key", 0..200_000);
        let (mut child, stdin) = feed(folder, &["add", "-q", "f"], &input);
        wait_until("200,000 keys are there", || count(folder, "f", &input) == 200_000);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(stdin);
        assert_eq!(count(folder, "f", &input), 200_000, "{kind:?}");
        // The next one continues from there, and nothing is left behind.
        let output = run(folder, &["add", "--json", "f"], &lines("key", 190_000..210_000));
        let summary = json(&output.stdout);
        if kind != ["--layout", "counting"] {
            assert_eq!(summary["new"], 10_000);
        }
        assert!(stderr(&output).contains("recovered 200k lines"), "{}", stderr(&output));
        assert_eq!(names(folder), ["f"]);
    }
}

#[test]
fn a_slow_pipe_keeps_nobody_waiting() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &CREATE, b"");
    let (slow, mut stdin) = feed(folder, &["add", "--json", "f"], b"slow 1\n");
    wait_until("the first key is there", || count(folder, "f", b"slow 1\n") == 1);
    // It waits for input, and does not wait for the lock.
    for verb in ["add", "add"] {
        succeed(folder, &[verb, "-q", "--lock-timeout", "10s", "f"], &lines("quick", 0..1000));
    }
    stdin.write_all(b"slow 2\nquick-7\n").unwrap();
    drop(stdin);
    let output = slow.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // It has the keys that others have added meanwhile.
    let summary = json(&output.stdout);
    assert_eq!((&summary["new"], &summary["already_there"]), (&2.into(), &1.into()), "{summary}");
    let all = [&b"slow 1\nslow 2\n"[..], &lines("quick", 0..1000)].concat();
    assert_eq!(count(folder, "f", &all), 1002);
    assert_eq!(names(folder), ["f"]);
}

#[test]
fn an_add_that_is_never_done_lets_others_have_a_turn() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &CREATE, b"");
    let mut busy = start(folder, &["add", "-q", "--overfill", "f"]);
    let mut stdin = busy.stdin.take().unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Always the same keys, so that the filter does not fill up; once at least, however
            // late this thread has its turn.
            let block = lines("busy", 0..50_000);
            // ORDERING: Relaxed. The flag alone is handed over.
            loop {
                stdin.write_all(&block).unwrap();
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
            }
            drop(stdin);
        });
        wait_until("it is at work", || fs::read_dir(folder).unwrap().count() > 1);
        let output = run(folder, &["add", "-q", "f"], &lines("other", 0..100));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(busy.wait().unwrap().success());
    let all = [lines("busy", 0..50_000), lines("other", 0..100)].concat();
    assert_eq!(count(folder, "f", &all), 50_100);
}

#[test]
fn of_many_dedups_on_one_state_one_prints_each_line() {
    for kind in [
        &["-n", "100k"][..],
        &[],
        &["--window", "100k"],
        &["--layout", "counting", "-n", "100k"],
        &["--layout", "compact", "-n", "100k"],
    ] {
        let folder = folder();
        let folder = folder.path();
        let outputs: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let runs = (0..4u64).map(|i| {
                scope.spawn(move || {
                    // Each shares half of its lines with the next one; the pipe pauses now and
                    // then.
                    let dedup = ["dedup", "-q", "--state", "f", "-p", "1e-9"];
                    let mut child = start(folder, &[&dedup[..], kind].concat());
                    let mut stdin = child.stdin.take().unwrap();
                    let writer = std::thread::spawn(move || {
                        for part in 0..20 {
                            let first = i * 5_000 + part * 500;
                            stdin.write_all(&lines("key", first..first + 500)).unwrap();
                            std::thread::yield_now();
                        }
                    });
                    let output = child.wait_with_output().unwrap();
                    writer.join().unwrap();
                    assert_eq!(output.status.code(), Some(0), "{kind:?}: {}", stderr(&output));
                    output.stdout
                })
            });
            let runs: Vec<_> = runs.collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for line in outputs.iter().flat_map(|output| output.split_inclusive(|&b| b == b'\n')) {
            *counts.entry(line).or_default() += 1;
        }
        assert_eq!(counts.len(), 25_000, "{kind:?}");
        assert!(counts.values().all(|&count| count == 1), "{kind:?}: a line was printed twice");
        let printed = counts.keys().copied().collect::<Vec<_>>().concat();
        assert!(succeed(folder, &["dedup", "--state", "f"], &printed).is_empty(), "{kind:?}");
        assert_eq!(names(folder), ["f"], "{kind:?}");
    }
}

#[test]
fn adds_and_removals_at_once_are_counted_exactly() {
    for layout in ["counting", "compact"] {
        add_and_remove_at_once(layout);
    }
}

fn add_and_remove_at_once(layout: &str) {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&CREATE[..], &["--layout", layout]].concat(), b"");
    succeed(folder, &["add", "-q", "f"], &lines("old", 0..20_000));
    std::thread::scope(|scope| {
        for round in 0..3u64 {
            scope.spawn(move || {
                // Twice, so that one of them is left when it is removed once.
                let keys = lines("new", round * 1000..round * 1000 + 1000);
                succeed(folder, &["add", "-q", "f"], &[&keys[..], &keys].concat());
                succeed(folder, &["remove", "-q", "f"], &keys);
            });
            scope.spawn(move || {
                let keys = lines("old", round * 5000..round * 5000 + 5000);
                succeed(folder, &["remove", "-q", "f"], &keys);
            });
        }
    });
    assert_eq!(count(folder, "f", &lines("new", 0..3000)), 3000);
    assert_eq!(count(folder, "f", &lines("old", 0..15_000)), 0);
    assert_eq!(count(folder, "f", &lines("old", 15_000..20_000)), 5000);
    let info = json(&succeed(folder, &["info", "--json", "f"], b""));
    assert_eq!(info["inserted_items"], 8000);
    // Once more, and none of the new ones is left: each was inside once.
    succeed(folder, &["remove", "-q", "f"], &lines("new", 0..3000));
    assert_eq!(count(folder, "f", &lines("new", 0..3000)), 0);
}

#[test]
fn every_verb_that_changes_a_file_waits_for_its_lock_and_says_for_whom() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "in", b"a\nb\n");
    succeed(folder, &["create", "f", "-n", "100"], b"");
    succeed(folder, &["create", "c", "--layout", "counting", "-n", "100"], b"");
    let guava = concat!(env!("CARGO_MANIFEST_DIR"), "/../mayhap-formats/tests/golden/guava");
    let guava = fs::read_dir(guava).unwrap().map(|entry| entry.unwrap().path());
    let guava = guava.filter(|path| path.extension().is_some_and(|end| end == "bin")).min();
    let guava = guava.expect("a golden file of Guava");
    for name in ["g", "h"] {
        fs::copy(&guava, folder.join(name)).unwrap();
    }
    let verbs: [(&str, &[&str]); 9] = [
        ("f", &["add", "f", "in"]),
        ("c", &["remove", "c", "in"]),
        ("f", &["build", "--force", "-o", "f", "in"]),
        ("f", &["create", "--force", "f", "-n", "100"]),
        ("new", &["create", "new", "-n", "100"]),
        ("f", &["merge", "--force", "-o", "f", "f"]),
        ("f", &["dedup", "--state", "f", "in"]),
        ("g", &["add", "--key-type", "bytes", "g", "in"]),
        ("g", &["convert", "--force", "h", "--to", "guava-java", "--key-type", "bytes", "-o", "g"]),
    ];
    for (name, arguments) in verbs {
        let verb = arguments[0];
        let before = fs::read(folder.join(name)).ok();
        let mut holder = LockOptions::new("a test");
        let lock = FilterLock::take(&folder.join(name), &mut holder).unwrap();
        let with = |timeout| [arguments, &["--lock-timeout", timeout]].concat();
        let talk = fail(folder, &with("0"), b"");
        let process = format!("process {} (a test)", std::process::id());
        assert!(talk.contains(&process) && talk.contains("--lock-timeout"), "{verb}: {talk}");
        assert!(talk.contains(&format!(".{name}.mayhap-lck")), "{verb}: {talk}");
        assert!(!talk.contains("waiting for"), "{verb}: {talk}");
        // After a second it reports the process that it waits for.
        let talk = fail(folder, &with("1200ms"), b"");
        let waits = format!("waiting for {process}, which is changing {name}\n");
        assert!(talk.contains(&waits), "{verb}: {talk}");
        // At least the requested time; a busy machine takes longer.
        let waited = talk.split_once("waited ").and_then(|(_, rest)| rest.split_once(" s"));
        let seconds: f64 = waited.and_then(|(number, _)| number.parse().ok()).unwrap_or(0.0);
        assert!(seconds >= 1.2, "{verb}: {talk}");
        assert_eq!(fs::read(folder.join(name)).ok(), before, "{verb}");
        // And it continues when its turn has come.
        let child = start(folder, &[arguments, &["-q"]].concat());
        wait_until("it waits", || lock.is_wanted());
        drop(lock);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb}: {}", stderr(&output));
    }
    assert_eq!(names(folder), ["c", "f", "g", "h", "new"]);
}

#[test]
fn readers_wait_for_nobody() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "f", "-n", "100"], b"");
    succeed(folder, &["add", "f"], b"a\n");
    let _lock = FilterLock::take(&folder.join("f"), &mut LockOptions::new("a test")).unwrap();
    for arguments in [
        &["check", "f"][..],
        &["filter", "f"],
        &["which", "-f", "f"],
        &["info", "f"],
        &["verify", "f"],
        &["merge", "-o", "all", "f", "f"],
        &["plan", "-n", "10"],
    ] {
        succeed(folder, arguments, b"a\n");
    }
}

#[test]
fn a_wait_for_the_lock_ends_with_a_signal() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &CREATE, b"");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let lock = FilterLock::take(&folder.join("f"), &mut LockOptions::new("a test")).unwrap();
        let child = start(folder, &["add", "f"]);
        wait_until("it waits", || lock.is_wanted());
        send_signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
    assert_eq!(names(folder), ["f"]);
}

#[test]
fn what_a_killed_command_leaves_of_its_lock_is_used_again_and_other_files_are_not() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &CREATE, b"");
    let mut child = start(folder, &["add", "f"]);
    let mut stdin = child.stdin.take().unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let block = lines("busy", 0..50_000);
            // ORDERING: Relaxed. The flag alone is handed over.
            while !is_done.load(Ordering::Relaxed) {
                if stdin.write_all(&block).is_err() {
                    break;
                }
            }
        });
        let lock = folder.join(".f.mayhap-lck");
        wait_until("it holds the lock", || lock.exists());
        child.kill().unwrap();
        is_done.store(true, Ordering::Relaxed);
    });
    child.wait().unwrap();
    file(folder, ".f.mayhap-lck", b"mayhap-lock\n4711 mayhap add\n");
    succeed(folder, &["add", "--lock-timeout", "0", "f"], b"a\n");
    assert_eq!(names(folder), ["f"]);
    file(folder, ".f.mayhap-lck", b"my notes");
    let talk = fail(folder, &["add", "f"], b"b\n");
    assert!(talk.contains(".f.mayhap-lck") && talk.contains("but is not one"), "{talk}");
    assert_eq!(fs::read(folder.join(".f.mayhap-lck")).unwrap(), b"my notes");
}

#[test]
fn two_names_that_lead_to_one_file_share_its_lock() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("deep")).unwrap();
    succeed(folder, &["create", "deep/f", "-n", "1M", "-p", "1e-9"], b"");
    symlink("deep/f", folder.join("one")).unwrap();
    symlink("one", folder.join("two")).unwrap();
    std::thread::scope(|scope| {
        for name in ["one", "two", "deep/f"] {
            scope.spawn(move || {
                succeed(folder, &["add", "-q", name], &lines(name, 0..30_000));
            });
        }
    });
    let all = ["one", "two", "deep/f"].map(|name| lines(name, 0..30_000)).concat();
    assert_eq!(count(folder, "two", &all), 90_000);
    assert_eq!(names(&folder.join("deep")), ["f"]);
    assert!(fs::symlink_metadata(folder.join("one")).unwrap().is_symlink());
}

#[test]
fn a_filter_of_another_system_is_added_to_in_turns_too() {
    let folder = folder();
    let folder = folder.path();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../mayhap-formats/tests/golden/guava");
    let golden = fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path());
    let golden = golden.filter(|path| path.extension().is_some_and(|end| end == "bin")).min();
    fs::copy(golden.unwrap(), folder.join("g")).unwrap();
    let key = ["--key-type", "bytes"];
    let add = [&["add", "--overfill", "-q", "g"][..], &key].concat();
    let (slow, mut stdin) = feed(folder, &add, b"slow 1\n");
    let check = [&["check", "g"][..], &key].concat();
    wait_until("the first key is there", || run(folder, &check, b"slow 1\n").stdout == b"slow 1\n");
    succeed(folder, &[&add[..], &["--lock-timeout", "10s"]].concat(), &lines("quick", 0..50));
    stdin.write_all(b"slow 2\n").unwrap();
    drop(stdin);
    let output = slow.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let all = [&b"slow 1\nslow 2\n"[..], &lines("quick", 0..50)].concat();
    assert!(run(folder, &check, &all).stdout == all, "a key is lost");
    assert_eq!(names(folder), ["g"]);
}

#[test]
fn what_is_replaced_while_it_is_added_to_is_an_error_that_says_so() {
    for (replace, verb) in [
        (&["create", "--force", "f", "-n", "1M"][..], "add"),
        (&["build", "--force", "-o", "f", "in"], "add"),
        (&["build", "--force", "-o", "f", "in"], "dedup"),
    ] {
        let folder = folder();
        let folder = folder.path();
        file(folder, "in", b"other\n");
        succeed(folder, &CREATE, b"");
        let arguments: &[&str] =
            if verb == "add" { &["add", "f"] } else { &["dedup", "--state", "f"] };
        let mut child = start(folder, arguments);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"first\n").unwrap();
        wait_until("the first key is there", || held(folder, "f", b"first\n") == b"first\n");
        succeed(folder, replace, b"");
        assert_eq!(held(folder, "f", b"first\n"), b"", "{replace:?}");
        stdin.write_all(b"second\n").unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{replace:?}: {}", stderr(&output));
        let talk = stderr(&output);
        assert!(talk.contains("was replaced or removed by another program"), "{talk}");
        assert_eq!(held(folder, "f", b"first\nsecond\n"), b"", "{replace:?}");
        assert_eq!(names(folder), ["f"]);
    }
}

#[test]
fn a_run_that_had_nothing_to_add_yet_adds_to_what_is_there_now() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "in", b"other\n");
    succeed(folder, &CREATE, b"");
    let mut child = mayhap(folder)
        .args(["add", "--json", "f"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It has opened the filter, and given the lock up again.
    stdin.write_all(b"never finished").unwrap();
    wait_until("it has begun", || !names(folder).contains(&".f.mayhap-lck".to_owned()));
    succeed(folder, &["build", "--force", "-o", "f", "-p", "1e-9", "-n", "1M", "in"], b"");
    stdin.write_all(b" until now\nother\n").unwrap();
    drop(stdin);
    let mut summary = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut summary).unwrap();
    let mut rest = Vec::new();
    child.stdout.take().map(|mut stdout| stdout.read_to_end(&mut rest));
    assert!(child.wait().unwrap().success());
    let summary = json(summary.as_bytes());
    assert_eq!((&summary["new"], &summary["already_there"]), (&1.into(), &1.into()), "{summary}");
    let all = b"never finished until now\nother\n";
    assert_eq!(held(folder, "f", all), all);
}
