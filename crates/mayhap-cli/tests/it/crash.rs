//! Signals, kill -9, full disks and inputs that end too early: no file is partial, no line is lost.

use crate::support::{
    fail, file, folder, json, limited, lines, mayhap, names, numbers, run, send_signal, start,
    stderr, succeed,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use test_servers::tool;

/// A state of each kind that can be one, with room for all lines of these tests: in a time window
/// within a fourteenth of it, since they arrive at once.
const KINDS: [&[&str]; 6] = [
    &["-n", "200k"],
    &[],
    &["--window", "200k"],
    &["--window", "7d", "-n", "200k"],
    &["--layout", "counting", "-n", "200k"],
    &["--layout", "compact", "-n", "200k"],
];

fn dedup<'a>(kind: &[&'a str], input: &[&'a str]) -> Vec<&'a str> {
    [&["dedup", "--state", "seen", "-p", "1e-9"], kind, input].concat()
}

/// The lines of several outputs, counted; a last one that was cut off does not count.
fn count_lines<'a>(outputs: impl IntoIterator<Item = &'a [u8]>) -> HashMap<&'a [u8], usize> {
    let mut counts = HashMap::new();
    for line in outputs.into_iter().flat_map(|output| output.split_inclusive(|&b| b == b'\n')) {
        if line.ends_with(b"\n") {
            *counts.entry(line).or_default() += 1;
        }
    }
    counts
}

/// All of `input` was printed, nothing else, and at most `again` lines more than once.
fn check_union(what: &str, input: &[u8], outputs: &[Vec<u8>], again: usize) {
    let (printed, wanted) = (count_lines(outputs.iter().map(Vec::as_slice)), count_lines([input]));
    for line in wanted.keys() {
        assert!(printed.contains_key(line), "{what}: {} is lost", String::from_utf8_lossy(line));
    }
    assert_eq!(printed.len(), wanted.len(), "{what}: lines that were not in the input");
    let repeats: usize = printed.values().map(|count| count - 1).sum();
    assert!(repeats <= again, "{what}: {repeats} lines were repeated");
}

#[test]
fn killed_at_random_points_no_line_is_lost_and_few_come_again() {
    let mut random = numbers(11);
    let mut kills = 0;
    for kind in KINDS {
        let folder = folder();
        let input = lines("key", (0..80_000).map(|i| i % 60_000));
        file(folder.path(), "in", &input);
        let mut outputs = Vec::new();
        for _ in 0..8 {
            let mut child = mayhap(folder.path())
                .args(dedup(kind, &["in"]))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut stdout = child.stdout.take().unwrap();
            // Reads slower than it writes, so that it is at work when it dies.
            let mut printed = vec![0; (random.next().unwrap() % 80_000) as usize];
            let mut length = 0;
            while length < printed.len() {
                match stdout.read(&mut printed[length..]).unwrap() {
                    0 => break,
                    more => length += more,
                }
            }
            printed.truncate(length);
            child.kill().unwrap();
            stdout.read_to_end(&mut printed).unwrap();
            let status = child.wait().unwrap();
            kills += usize::from(status.code().is_none());
            outputs.push(printed);
        }
        outputs.push(succeed(folder.path(), &dedup(kind, &["in"]), b""));
        check_union(&format!("{kind:?}"), &input, &outputs, 8 * 16_384);
        assert!(succeed(folder.path(), &dedup(kind, &["in"]), b"").is_empty(), "{kind:?}");
    }
    println!("{kills} kills");
    assert!(kills >= 30, "{kills} runs were killed");
}

pub(crate) fn have_strace() -> bool {
    let arguments = ["-qq", "-o", "/dev/null", "-e", "inject=flock:error=EIO:when=9", "true"];
    let have = Command::new("strace").args(arguments).status().is_ok_and(|s| s.success());
    tool(have, "strace, and that it may trace")
}

/// Runs a command with one failing system call, its output to `out`; returns whether the call was
/// made.
fn strike(folder: &Path, calls: &str, fault: &str, when: u32, arguments: &[&str]) -> bool {
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{fault}:when={when}"));
    let out = fs::File::create(folder.join("out")).unwrap();
    let mut command = Command::new("strace");
    command.args(["-qq", "-f", "-o", "trace", "-e", &trace, "-e", &inject]);
    command.arg(env!("CARGO_BIN_EXE_mayhap")).args(arguments).current_dir(folder);
    let status = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null()).status().unwrap();
    let trace = fs::read_to_string(folder.join("trace")).unwrap();
    let struck = trace.contains("INJECTED") || trace.contains("killed by SIGKILL");
    assert!(struck || status.success(), "{arguments:?} fails without a fault");
    struck
}

#[test]
fn struck_at_any_system_call_a_run_can_be_resumed() {
    if !have_strace() {
        return;
    }
    let input = lines("key", 0..9_000);
    let mut struck = 0;
    let kinds: [&[&str]; 3] =
        [&["-n", "9k"], &["--layout", "scalable", "-n", "2k"], &["--window", "9k"]];
    for kind in kinds {
        // A failed call is handled by the same code for every kind.
        let faults =
            if kind == kinds[0] { &["signal=KILL", "error=EIO"][..] } else { &["signal=KILL"] };
        let calls = [
            "write,pwrite64",
            "fsync",
            "fdatasync",
            "?rename,?renameat,?renameat2",
            "?unlink,?unlinkat",
            "ftruncate",
            "flock",
        ];
        for (calls, fault) in
            calls.iter().flat_map(|calls| faults.iter().map(move |fault| (calls, fault)))
        {
            for when in 1..100 {
                let folder = folder();
                file(folder.path(), "in", &input);
                if !strike(folder.path(), calls, fault, when, &dedup(kind, &["in"])) {
                    break;
                }
                struck += 1;
                let first = fs::read(folder.path().join("out")).unwrap();
                let second = succeed(folder.path(), &dedup(kind, &["in"]), b"");
                let what = format!("{kind:?}: {calls} {when} {fault}");
                check_union(&what, &input, &[first, second], 9_000);
                assert!(succeed(folder.path(), &dedup(kind, &["in"]), b"").is_empty(), "{what}");
            }
        }
    }
    println!("{struck} faults in dedup --state");
    assert!(struck > 100, "{struck}");
}

#[test]
fn a_build_that_is_stopped_leaves_nothing() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for extra in [&["-n", "1M"][..], &["--layout", "fuse"], &["--layout", "scalable"]] {
            let folder = folder();
            let mut child = start(folder.path(), &[&["build", "-o", "f"], extra].concat());
            let mut stdin = child.stdin.take().unwrap();
            // More than the pipe holds: the command reads, so its signal handlers are installed.
            stdin.write_all(&lines("key", 0..20_000)).unwrap();
            send_signal(&child, signal);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{extra:?}: {}", stderr(&output));
            assert!(stderr(&output).contains("nothing was written"), "{}", stderr(&output));
            assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
            drop(stdin);
        }
    }
}

#[test]
fn add_and_remove_that_are_stopped_have_saved_what_they_read() {
    let input = lines("key", 0..20_000);
    for (verb, make) in [
        ("add", &["--layout", "scalable"][..]),
        ("add", &["--layout", "window:50k"]),
        ("add", &["-n", "50k"]),
        ("remove", &["--layout", "counting", "-n", "50k"]),
        ("remove", &["--layout", "compact", "-n", "50k"]),
    ] {
        let folder = folder();
        succeed(folder.path(), &[&["create", "f", "-p", "1e-9"], make].concat(), b"");
        if verb == "remove" {
            succeed(folder.path(), &["add", "f"], &input);
        }
        let mut child = start(folder.path(), &[verb, "f", "--json"]);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&input).unwrap();
        send_signal(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{verb} {make:?}");
        let summary = json(&output.stdout);
        let read = summary["lines_read"].as_u64().unwrap();
        assert!(read > 0 && summary["complete"] == false, "{summary}");
        drop(stdin);
        let output = run(folder.path(), &["check", "f"], &input);
        let expected = if verb == "add" { 0..read } else { read..20_000 };
        assert!(output.stdout == lines("key", expected), "{verb} {make:?}");
        assert_eq!(names(folder.path()), ["f"]);
    }
}

#[test]
fn a_disk_that_fills_up_under_the_output_or_the_state_loses_no_line() {
    let input = lines("key", 0..60_000);
    for kind in KINDS {
        let folder = folder();
        file(folder.path(), "in", &input);
        // A state exists, so that only growing files meet the limit: 350 KB of output.
        succeed(folder.path(), &dedup(kind, &[]), b"");
        let output = limited(folder.path(), 600, &dedup(kind, &["in", "-o", "out"]));
        assert_eq!(output.status.code(), Some(2), "{kind:?}: {}", stderr(&output));
        let first = fs::read(folder.path().join("out")).unwrap();
        let second = succeed(folder.path(), &dedup(kind, &["in"]), b"");
        check_union(&format!("{kind:?}: output"), &input, &[first, second], 16_384);

        fs::remove_file(folder.path().join("seen")).unwrap();
        let _ = fs::remove_file(folder.path().join("seen.log"));
        succeed(folder.path(), &dedup(kind, &[]), b"");
        let output = limited(folder.path(), 200, &dedup(kind, &["in"]));
        assert_eq!(output.status.code(), Some(2), "{kind:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
        let second = succeed(folder.path(), &dedup(kind, &["in"]), b"");
        check_union(&format!("{kind:?}: state"), &input, &[output.stdout, second], 16_384);
        assert_eq!(names(folder.path()), ["in", "out", "seen"]);
    }
}

#[test]
fn a_disk_without_room_for_a_filter_leaves_the_old_one() {
    let folder = folder();
    file(folder.path(), "in", &lines("key", 0..1000));
    for layout in ["blocked", "compact", "counting", "scalable", "window:100k"] {
        let removes = matches!(layout, "compact" | "counting");
        let make = ["create", "f", "--force", "--layout", layout, "-n", "100k"];
        succeed(folder.path(), &make, b"");
        if removes {
            succeed(folder.path(), &["add", "f", "in"], b"");
        }
        let before = fs::read(folder.path().join("f")).unwrap();
        for arguments in [
            &["add", "f", "in"][..],
            &["remove", "f", "in"],
            &make,
            &["create", "new", "--layout", layout, "-n", "100k"],
            &["build", "-o", "new", "--layout", layout, "-n", "100k", "in"],
        ] {
            if arguments[0] == "remove" && !removes {
                continue;
            }
            let output = limited(folder.path(), 16, arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
            assert!(stderr(&output).contains("bytes free"), "{}", stderr(&output));
            assert!(fs::read(folder.path().join("f")).unwrap() == before, "{arguments:?}");
            assert_eq!(names(folder.path()), ["f", "in"], "{arguments:?}");
        }
    }
}

#[test]
fn an_input_that_ends_in_the_middle_is_resumed_without_a_gap() {
    let input = lines("key", 0..50_000);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&input).unwrap();
    let whole = encoder.finish().unwrap();
    for kind in KINDS {
        let folder = folder();
        file(folder.path(), "in.gz", &whole[..whole.len() * 2 / 3]);
        let output = run(folder.path(), &dedup(kind, &["in.gz"]), b"");
        assert_eq!(output.status.code(), Some(2), "{kind:?}");
        assert!(stderr(&output).contains("cannot read in.gz"), "{}", stderr(&output));
        assert!(!output.stdout.is_empty() && input.starts_with(&output.stdout));
        file(folder.path(), "in.gz", &whole);
        let second = succeed(folder.path(), &dedup(kind, &["in.gz"]), b"");
        check_union(&format!("{kind:?}"), &input, &[output.stdout, second], 0);
    }
    let folder = folder();
    file(folder.path(), "in.gz", &whole[..whole.len() * 2 / 3]);
    for extra in [&["-n", "50k"][..], &[], &["--layout", "fuse"]] {
        fail(folder.path(), &[&["build", "-o", "f", "in.gz"], extra].concat(), b"");
        assert_eq!(names(folder.path()), ["in.gz"]);
    }
    succeed(
        folder.path(),
        &["create", "f", "--layout", "counting", "-n", "50k", "-p", "1e-9"],
        b"",
    );
    fail(folder.path(), &["add", "f", "in.gz"], b"");
    let held = succeed(folder.path(), &["check", "f"], &input);
    assert!(!held.is_empty() && input.starts_with(&held), "the lines read are inside");
    fail(folder.path(), &["remove", "f", "in.gz"], b"");
    assert_eq!(run(folder.path(), &["check", "f"], &input).status.code(), Some(1));
}

#[test]
fn a_line_that_was_cut_off_with_its_file_comes_whole_from_the_next_run() {
    let folder = folder();
    file(folder.path(), "in", b"one\ntwo\nthr");
    assert_eq!(succeed(folder.path(), &dedup(&[], &["in"]), b""), b"one\ntwo\nthr\n");
    file(folder.path(), "in", b"one\ntwo\nthree\nfour\n");
    assert_eq!(succeed(folder.path(), &dedup(&[], &["in"]), b""), b"three\nfour\n");
}

/// Random histories of clean runs, killed runs and `add`, each kind against a `HashSet`.
#[test]
fn any_history_prints_each_line_once_but_for_those_of_a_killed_run() {
    for (seed, kind) in (0..).zip(KINDS.iter().cycle().take(15)) {
        let folder = folder();
        let mut random = numbers(100 + seed);
        // Lines that are surely in the state, and lines that a killed run may have recorded.
        let (mut sure, mut maybe) = (HashSet::new(), HashSet::new());
        for _ in 0..8 {
            let count = (random.next().unwrap() % 9_000) as usize;
            let keys: Vec<u64> =
                random.by_ref().take(count).map(|number| number % 20_000).collect();
            let input = lines("key", keys.iter().copied());
            match random.next().unwrap() % 4 {
                0 if folder.path().join("seen").exists() => {
                    succeed(folder.path(), &["add", "seen"], &input);
                    sure.extend(keys);
                }
                1 => {
                    let mut child = mayhap(folder.path())
                        .args(dedup(kind, &[]))
                        .stdin(Stdio::piped())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .spawn()
                        .unwrap();
                    child.stdin.take().unwrap().write_all(&input).unwrap();
                    child.kill().unwrap();
                    child.wait().unwrap();
                    maybe.extend(keys);
                }
                _ => {
                    let kept = succeed(folder.path(), &dedup(kind, &[]), &input);
                    let mut kept = kept.split_inclusive(|&b| b == b'\n').peekable();
                    for key in keys {
                        let line = lines("key", [key]);
                        let is_kept = kept.next_if(|next| **next == line[..]).is_some();
                        let is_new = !sure.contains(&key);
                        assert!(is_kept == is_new || is_new && maybe.contains(&key), "{kind:?}");
                        sure.insert(key);
                    }
                    assert!(kept.next().is_none(), "{kind:?}: in order, and no others");
                }
            }
        }
    }
}
