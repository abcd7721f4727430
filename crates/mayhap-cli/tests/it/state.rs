//! `dedup --state`: from run to run, through signals and kill -9.

use crate::support::{
    fail, file, folder, json, lines, mayhap, run, send_signal, start, stderr, succeed,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const FIRST: [&str; 7] = ["dedup", "--state", "seen", "-n", "100k", "-p", "1e-9"];
const NEXT: [&str; 3] = ["dedup", "--state", "seen"];

#[test]
fn a_second_run_goes_on_where_the_first_ended() {
    let folder = folder();
    assert_eq!(succeed(folder.path(), &FIRST, b"a\nb\na\n"), b"a\nb\n");
    assert_eq!(succeed(folder.path(), &NEXT, b"b\nc\n"), b"c\n");
    assert_eq!(succeed(folder.path(), &FIRST, b"c\nd\n"), b"d\n");
    // It is an ordinary filter file, too.
    assert_eq!(succeed(folder.path(), &["check", "seen"], b"a\nd\nx\n"), b"a\nd\n");
    succeed(folder.path(), &["add", "seen"], b"e\n");
    assert_eq!(succeed(folder.path(), &NEXT, b"e\nf\n"), b"f\n");
}

#[test]
fn a_new_state_of_a_plain_layout_needs_n_and_an_old_one_refuses_other_numbers() {
    let folder = folder();
    let talk = fail(folder.path(), &[&NEXT[..], &["--layout", "blocked"]].concat(), b"a\n");
    assert!(talk.contains("-n is needed") && talk.contains("--state seen -n 10M"), "{talk}");
    assert!(!folder.path().join("seen").exists());
    succeed(folder.path(), &FIRST, b"a\n");
    for (extra, message) in [
        (["-n", "1M"], "-n 1000000 is given, but seen was created with -n 100000"),
        (["-p", "1%"], "-p 0.01 is given, but seen was created with -p 0.000000001"),
        (["--layout", "blocked"], "but seen was created with --layout standard"),
        (["--seed", "3"], "--seed 3 is given, but seen was created with --seed 0"),
        (["-0", "-q"], "-0 is given, but seen was created without -0"),
    ] {
        let talk = fail(folder.path(), &[&NEXT[..], &extra].concat(), b"b\n");
        assert!(talk.contains(message), "{extra:?}: {talk}");
    }
    assert_eq!(succeed(folder.path(), &NEXT, b"a\nb\n"), b"b\n");
}

#[test]
fn key_options_are_known_from_the_state() {
    let folder = folder();
    succeed(folder.path(), &[&FIRST[..], &["-0"]].concat(), b"a\nb\0");
    assert_eq!(succeed(folder.path(), &NEXT, b"a\nb\0c\0"), b"c\0");
    let talk = fail(folder.path(), &[&NEXT[..], &["--crlf"]].concat(), b"c\r\0");
    assert!(talk.contains("--crlf is given, but seen was created without --crlf"), "{talk}");
}

#[test]
fn a_full_state_stops_and_keeps_what_it_printed() {
    let folder = folder();
    let arguments = ["dedup", "--state", "seen", "-n", "100", "-p", "1e-9"];
    let output = run(folder.path(), &arguments, &lines("key", 0..500));
    assert_eq!((output.status.code(), output.stdout), (Some(2), lines("key", 0..100)));
    let output = run(folder.path(), &NEXT, &lines("key", 50..500));
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
    assert!(stderr_has(&output.stderr, "stopped after 50 lines"));
}

fn stderr_has(stderr: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(stderr).contains(text)
}

/// Starts a run whose input stays open, sends lines and waits until they are printed.
fn start_and_print(
    folder: &Path,
    arguments: &[&str],
    input: &[u8],
) -> (Child, ChildStdin, ChildStdout) {
    let mut child = start(folder, arguments);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (to_send, length) = (input.to_vec(), input.len());
    let writer = std::thread::spawn(move || {
        stdin.write_all(&to_send).unwrap();
        stdin
    });
    let mut printed = vec![0; length];
    stdout.read_exact(&mut printed).unwrap();
    assert!(printed == input);
    (child, writer.join().unwrap(), stdout)
}

#[test]
fn a_signal_ends_the_run_and_saves_all_that_was_printed() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = folder();
        let input = lines("key", 0..20_000);
        let (mut child, stdin, mut stdout) = start_and_print(folder.path(), &FIRST, &input);
        // The input is still open: the run has to notice while it waits.
        send_signal(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code));
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
        let log = std::fs::metadata(folder.path().join("seen.log")).map_or(0, |log| log.len());
        assert!(log < 8 * 20_000, "the checkpoint has emptied the log: {log}");
        let kept = succeed(folder.path(), &NEXT, &lines("key", 0..30_000));
        assert!(kept == lines("key", 20_000..30_000));
    }
}

#[test]
fn after_kill_9_no_line_is_lost_and_little_comes_again() {
    let folder = folder();
    let input = lines("key", 0..20_000);
    let (mut child, stdin, _stdout) = start_and_print(folder.path(), &FIRST, &input);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    let kept = succeed(folder.path(), &NEXT, &lines("key", 0..30_000));
    // The last chunk may be printed again, and new lines must be printed.
    let new = lines("key", 20_000..30_000);
    assert!(kept.ends_with(&new));
    let again = kept.split(|&byte| byte == b'\n').count() - 1 - 10_000;
    assert!(again <= 16_384, "{again} of 20,000 lines again");
    assert_eq!(succeed(folder.path(), &NEXT, &lines("key", 0..30_000)), b"");
}

#[test]
fn after_a_pause_even_kill_9_repeats_nothing() {
    let folder = folder();
    let (mut child, mut stdin, stdout) = start_and_print(folder.path(), &FIRST, b"a\nb\n");
    let mut stdout = BufReader::new(stdout);
    // A later line in the output proves that the pause before it was reached, which records.
    stdin.write_all(b"c\n").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = succeed(folder.path(), &NEXT, b"a\nb\nd\n");
    assert_eq!(kept, b"d\n");
}

#[test]
fn a_full_disk_records_only_what_is_out() {
    let folder = folder();
    file(folder.path(), "in", &lines("key", 0..50_000));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = mayhap(folder.path());
    let output = command.args(FIRST).arg("in").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let kept = succeed(folder.path(), &[&NEXT[..], &["in"]].concat(), b"");
    assert!(kept == lines("key", 0..50_000), "nothing was printed, so everything is printed now");
}

#[test]
fn a_closed_pipe_loses_no_line_for_the_next_run() {
    let folder = folder();
    let input = lines("key", 0..90_000);
    file(folder.path(), "in", &input);
    let mut child = mayhap(folder.path())
        .args(FIRST)
        .arg("in")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = vec![0; 1000];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let kept = succeed(folder.path(), &[&NEXT[..], &["in"]].concat(), b"");
    assert!(!kept.is_empty() && input.ends_with(&kept), "a suffix is printed, without a gap");
}

#[test]
fn a_state_in_use_can_be_asked_and_added_to() {
    let folder = folder();
    let (mut child, mut stdin, stdout) = start_and_print(folder.path(), &FIRST, b"a\n");
    let mut stdout = BufReader::new(stdout);
    for (arguments, input, printed) in [
        (&NEXT[..], &b"a\nb\n"[..], &b"b\n"[..]),
        (&["add", "seen"], b"b\nc\n", b""),
        (&NEXT, b"b\nc\nd\n", b"d\n"),
        (&["check", "seen"], b"a\nb\nc\nd\ne\n", b"a\nb\nc\nd\n"),
    ] {
        assert_eq!(succeed(folder.path(), arguments, input), printed, "{arguments:?}");
    }
    let info = json(&succeed(folder.path(), &["info", "--json", "seen"], b""));
    assert_eq!((&info["inserted_items"], &info["log"]), (&4.into(), &"there".into()));
    // The first run has all of that when it continues.
    stdin.write_all(b"d\nb\nc\ne\n").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "e\n");
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(!folder.path().join("seen.log").exists());
    let output = run(folder.path(), &NEXT, b"e\nf\n");
    assert_eq!(output.stdout, b"f\n", "{}", stderr(&output));
}
