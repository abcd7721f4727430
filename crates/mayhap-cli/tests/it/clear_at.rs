//! `--clear-at`: a plain filter that starts over whenever a given share of its bits is set.

use crate::places::Serve;
use crate::support::{fail, folder, json, json_and_talk, lines, run, start, stderr, succeed};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

/// Room for 1,000 keys at 1 %, with which half of the bits are set.
const SIZE: [&str; 6] = ["-n", "1000", "-p", "1%", "--layout", "standard"];

fn dedup<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["dedup", "--clear-at", "50%"], &SIZE[..], more].concat()
}

#[test]
fn a_line_is_a_repeat_until_the_filter_is_cleared_and_new_after_it() {
    let folder = folder();
    let input =
        [lines("key", 0..10_000), lines("key", 9_990..10_000), lines("key", 0..10)].concat();
    let output = run(folder.path(), &dedup(&["--json"]), &input);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (summary, talk) = json_and_talk(&output.stderr);
    // Half of the bits are set at 945 to 960 keys: the checks are 15 keys apart.
    let times = summary["times_cleared"].as_u64().unwrap();
    assert_eq!(times, 10, "{talk:?}");
    let said = talk.iter().filter(|line| line.starts_with("cleared with 5")).count();
    assert_eq!(said as u64, times, "{talk:?}");
    // The last ten are dropped, the first ten are new again, and a rate between 0 and 1 % of all
    // others is lost.
    let kept = String::from_utf8(output.stdout).unwrap();
    let of = |key: u64| kept.lines().filter(|line| *line == format!("key-{key}")).count();
    assert!((9_990..10_000).all(|key| of(key) == 1));
    assert!((0..10).all(|key| of(key) == 2), "{kept}");
    let lost = 10_010 - kept.lines().count();
    let (expected, sigma) = (
        summary["expected_lost_lines"].as_f64().unwrap(),
        summary["expected_lost_lines_sigma"].as_f64().unwrap(),
    );
    assert!((10.0..60.0).contains(&expected), "{expected}");
    assert!((lost as f64 - expected).abs() <= 4.0 * sigma, "{lost} of {expected} ± {sigma}");
    // Without it, the filter is full at the first thousand.
    let full = run(folder.path(), &[&["dedup"], &SIZE[..]].concat(), &input);
    assert_eq!(full.status.code(), Some(2));
}

#[test]
fn the_file_of_a_state_is_cleared_too_and_goes_on_from_there() {
    let folder = folder();
    let folder = folder.path();
    let state = dedup(&["--state", "seen", "--json"]);
    let first = run(folder, &state, &lines("key", 0..2_500));
    let cleared = json_and_talk(&first.stderr).0["times_cleared"].as_u64();
    assert_eq!(cleared, Some(2), "{}", stderr(&first));
    let info = json(&succeed(folder, &["info", "--json", "seen"], b""));
    let items = info["inserted_items"].as_u64().unwrap();
    assert!((550..650).contains(&items), "{items}: keys after the second clearing");
    let found = succeed(folder, &["check", "seen"], &lines("key", 2_490..2_500));
    assert_eq!(found, lines("key", 2_490..2_500));
    let old = run(folder, &["check", "seen"], &lines("key", 0..200));
    assert!(old.stdout.split(|&byte| byte == b'\n').count() < 10, "they are forgotten");
    // The next run continues with the set bits, and `add` clears as well.
    let second = run(folder, &state, &lines("other", 0..700));
    assert_eq!(json_and_talk(&second.stderr).0["times_cleared"].as_u64(), Some(1));
    let add = run(folder, &["add", "--clear-at", "1/2", "seen"], &lines("more", 0..1_500));
    assert_eq!(add.status.code(), Some(0), "{}", stderr(&add));
    assert_eq!(stderr(&add).matches("cleared with 5").count(), 1, "{}", stderr(&add));
    assert!(succeed(folder, &["check", "seen"], b"more-1499\n") == b"more-1499\n");
}

/// Keys that one of them clears are gone for the other, which then has all later ones.
#[test]
fn two_that_share_a_file_clear_it_for_both() {
    let folder = folder();
    let folder = folder.path();
    let mut first = Talking::start(folder);
    let mut second = Talking::start(folder);
    assert_eq!(first.new_of(0..10), 10);
    assert_eq!(second.new_of(0..10), 0, "the first has them");
    // More than half of the bits: cleared once, by the first.
    let new = first.new_of(100..1_300);
    assert!((1_180..=1_200).contains(&new), "{new}");
    assert_eq!(second.new_of(1_290..1_300), 0, "inserted after the filter was cleared");
    assert_eq!(second.new_of(0..10), 10, "these were forgotten");
    assert_eq!(first.new_of(0..10), 0);
    first.end();
    second.end();
    assert_eq!(succeed(folder, &["check", "seen"], b"key-1299\nkey-5\n"), b"key-1299\nkey-5\n");
}

/// A `dedup` that is fed line by line.
struct Talking {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    rounds: u64,
}

impl Talking {
    fn start(folder: &Path) -> Self {
        let mut child = start(folder, &dedup(&["--state", "seen", "-q"]));
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, rounds: 0 }
    }

    /// The number of these keys that are printed.
    fn new_of(&mut self, keys: std::ops::Range<u64>) -> usize {
        self.rounds += 1;
        // New in any case, so that the end is known.
        let end = format!("end-{}-{}", self.child.id(), self.rounds);
        let input = [lines("key", keys), format!("{end}\n").into_bytes()].concat();
        self.stdin.write_all(&input).unwrap();
        let mut printed = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "it has ended");
            if line.trim_end() == end {
                return printed;
            }
            printed += 1;
        }
    }

    fn end(mut self) {
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn what_cannot_be_cleared_is_refused_and_no_file_is_made() {
    let folder = folder();
    let folder = folder.path();
    for more in [
        &["--state", "s"][..],
        &["--state", "s", "-n", "1000", "--layout", "scalable"],
        &["--state", "s", "-n", "1000", "--layout", "counting"],
        &["--state", "s", "-n", "1000", "--layout", "compact"],
        &[],
    ] {
        let arguments = [&["dedup", "--clear-at", "50%"], more].concat();
        let talk = fail(folder, &arguments, b"one\n");
        assert!(talk.contains("--clear-at is for plain filters"), "{more:?}: {talk}");
    }
    assert!(!folder.join("s").exists());
    for wrong in [&["--window", "10k"][..], &["--exact"], &["--overfill"]] {
        let arguments = [&["dedup", "-n", "1000", "--clear-at", "50%"], wrong].concat();
        assert!(fail(folder, &arguments, b"one\n").contains("cannot be used with"), "{wrong:?}");
    }
    for share in ["0", "1", "100%", "-1", "half"] {
        let arguments = ["dedup", "-n", "1000", &format!("--clear-at={share}")];
        assert!(fail(folder, &arguments, b"one\n").contains("--clear-at"), "{share}");
    }
    succeed(folder, &["create", "-q", "c", "--layout", "counting", "-n", "100"], b"");
    let talk = fail(folder, &["add", "--clear-at", "50%", "c"], b"one\n");
    assert!(talk.contains("not for counting"), "{talk}");
    // Digests would bring back forgotten keys.
    succeed(folder, &["build", "-q", "--keep-digests", "-n", "100", "-o", "k"], b"one\n");
    let talk = fail(folder, &["add", "--clear-at", "50%", "k"], b"two\n");
    assert!(talk.contains("digests of all keys are kept"), "{talk}");
}

/// A filter of `mayhap serve` that clears itself is never full for its writers.
#[test]
fn a_filter_on_a_server_clears_itself() {
    let folder = folder();
    let folder = folder.path();
    let serve = Serve::start(folder);
    let mut stream = TcpStream::connect(("127.0.0.1", serve.port())).unwrap();
    stream.write_all(b"BF.RESERVE s 0.01 2000 CLEARAT 0.5\r\n").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK\r\n");
    let url = serve.url("s");
    let summary = json(&succeed(folder, &["add", "--json", &url], &lines("key", 0..10_000)));
    assert!(summary["new"].as_u64() > Some(9_900), "{summary}");
    let talk = String::from_utf8(succeed(folder, &["info", &url], b"")).unwrap();
    assert!(talk.contains("forgets all keys") && talk.contains("clearing"), "{talk}");
    let found = run(folder, &["check", &url], &lines("key", 0..10_000)).stdout;
    let found = found.split(|&byte| byte == b'\n').count();
    assert!((1..4_000).contains(&found), "{found} of 10,000 are left");
    let talk = fail(folder, &["add", "--clear-at", "50%", &url], b"one\n");
    assert!(talk.contains("CLEARAT"), "{talk}");
}
