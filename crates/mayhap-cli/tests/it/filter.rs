//! `filter`, and the options that `check` shares with it: `-l` and `--confirm`.

use crate::support::{
    fail, file, folder, json, json_and_talk, lines, mayhap, numbers, run, start, stderr, succeed,
};
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

#[test]
fn filter_lets_through_what_may_be_in_the_set_and_writes_the_rest() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "100", "-p", "1e-9", "-o", "f"], b"a\nb\n");
    let input = b"x\na\ny\nb\na\n";
    assert_eq!(succeed(folder, &["filter", "f"], input), b"a\nb\na\n");
    assert_eq!(succeed(folder, &["filter", "-v", "f"], input), b"x\ny\n");
    assert_eq!(succeed(folder, &["filter", "f", "--rest", "r"], input), b"a\nb\na\n");
    assert_eq!(std::fs::read(folder.join("r")).unwrap(), b"x\ny\n");
    let talk = fail(folder, &["filter", "f", "--rest", "r"], input);
    assert!(talk.contains("r exists already"), "{talk}");
    assert_eq!(succeed(folder, &["filter", "-v", "f", "--rest", "r", "--force"], input), b"x\ny\n");
    assert_eq!(std::fs::read(folder.join("r")).unwrap(), b"a\nb\na\n");
    let output = run(folder, &["filter", "--json", "f"], b"x\ny\n");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let summary = json_and_talk(&output.stderr).0;
    assert_eq!((&summary["let_through"], &summary["held_back"]), (&0.into(), &2.into()));
    assert_eq!(succeed(folder, &["filter", "-q", "f"], input), b"a\nb\na\n");
    file(folder, "in", input);
    let talk = fail(folder, &["filter", "f", "in", "--rest", "in", "--force"], b"");
    assert!(talk.contains("INPUT in and --rest in are the same file"), "{talk}");
    assert_eq!(std::fs::read(folder.join("in")).unwrap(), input);
    fail(folder, &["filter"], b"");
    fail(folder, &["filter", "absent"], b"");
}

#[test]
fn filter_cuts_records_as_said_here_and_not_as_the_list_was() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "10", "-p", "1e-9", "-o", "f"], b"a\nb\n");
    assert_eq!(succeed(folder, &["filter", "-0", "f"], b"a\0x\0b\0"), b"a\0b\0");
    assert_eq!(succeed(folder, &["filter", "--crlf", "f"], b"a\r\nx\r\nb\n"), b"a\r\nb\n");
    succeed(folder, &["build", "-n", "10", "-p", "1e-9", "-0", "--crlf", "-o", "z"], b"a\0b\0");
    assert_eq!(succeed(folder, &["filter", "z"], b"a\r\nb\n"), b"a\r\nb\n");
}

#[test]
fn nothing_is_held_back_while_the_input_pauses() {
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "10", "-p", "1e-9", "-o", "f"], b"a\nb\n");
    let mut child = start(folder.path(), &["filter", "f", "--rest", "r"]);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut stdout = BufReader::new(stdout);
    let rest = || std::fs::read(folder.path().join("r")).unwrap();
    let mut line = String::new();
    for (input, expected, held_back) in [("x\na\n", "a\n", "x\n"), ("y\nb\n", "b\n", "x\ny\n")] {
        stdin.write_all(input.as_bytes()).unwrap();
        line.clear();
        // Arrives while the input is open: else this waits forever.
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, expected);
        // Both are flushed before the next read, in an unspecified order.
        let patience = Instant::now() + Duration::from_secs(300);
        while rest().len() < held_back.len() && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert_eq!(rest(), held_back.as_bytes());
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_ends_filter_quietly() {
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "10", "-o", "f"], b"a\n");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    file(folder.path(), "in", &b"a\n".repeat(100_000));
    let mut command = mayhap(folder.path());
    let output = command.args(["filter", "f", "in"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn check_l_prints_the_names_of_filters_that_may_hold_a_line() {
    let folder = folder();
    let folder = folder.path();
    for (name, input) in [("f", "a\nb\n"), ("g", "b\nc\n"), ("h", "z\n")] {
        succeed(folder, &["build", "-n", "10", "-p", "1e-9", "-o", name], input.as_bytes());
    }
    let check = |arguments: &[&str], input: &[u8]| {
        let all = ["check", "-l", "-f", "f", "-f", "g", "-f", "h"];
        let output = run(folder, &[&all[..], arguments].concat(), input);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(check(&[], b"c\na\n"), (0, "f\ng\n".into()));
    assert_eq!(check(&[], b"q\n"), (1, String::new()));
    assert_eq!(check(&["-v"], b"b\n"), (0, "h\n".into()));
    assert_eq!(check(&["-v"], b"b\na\n"), (0, "g\nh\n".into()));
    assert_eq!(check(&["-q"], b"c\n"), (0, String::new()));
    // With --json all is read, so that the numbers are of all lines.
    let all = ["check", "-l", "--json", "-f", "f", "-f", "g"];
    let output = run(folder, &all, b"a\nb\nb\n");
    assert_eq!(output.stdout, b"f\ng\n");
    assert_eq!(json_and_talk(&output.stderr).0["filters"][0]["maybe_present"], 3);
    fail(folder, &["check", "-l", "-c", "f"], b"");
}

#[test]
fn check_l_stops_reading_when_every_filter_is_named() {
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "10", "-o", "f"], b"a\n");
    let mut child = start(folder.path(), &["check", "-l", "f"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a\n").unwrap();
    // The input stays open: it still ends.
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "f\n");
    assert!(child.wait().unwrap().success());
    drop(stdin);
}

#[test]
fn confirmed_answers_are_exact() {
    let folder = folder();
    let folder = folder.path();
    // Lines of many lengths, some longer than one read, and an overfull filter.
    let line = |i: u64| {
        let length = if i.is_multiple_of(997) { 20_000 } else { (i % 50) as usize };
        [format!("{:x}-", i.wrapping_mul(0x9E37_79B9)).into_bytes(), vec![b'.'; length]].concat()
    };
    let mut keys: Vec<Vec<u8>> = (0..30_000).map(line).collect();
    keys.push(Vec::new());
    keys.push(vec![0xFF; 3]);
    keys.sort();
    let join = |lines: &[Vec<u8>]| {
        lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect::<Vec<u8>>()
    };
    let all = join(&keys);
    file(folder, "sorted", &all);
    succeed(folder, &["build", "-n", "3000", "-p", "1%", "--overfill", "-o", "f"], &all);
    let absent = lines("absent", 0..5000);
    let mixed = [all.clone(), absent.clone(), b"\xFF\xFF\xFF\xFF\n\x00\n".to_vec()].concat();
    let check = |arguments: &[&str]| {
        let all = ["check", "--confirm", "sorted", "f"];
        run(folder, &[&all[..], arguments].concat(), &mixed)
    };
    let output = check(&[]);
    assert!(output.stdout == all, "{}", stderr(&output));
    let talk = stderr(&output);
    assert!(talk.contains("lines that may be present were false positives"), "{talk}");
    let output = check(&["-c", "--json"]);
    let summary = json(&output.stdout);
    assert_eq!(summary["confirmed"], 30_002);
    assert_eq!(summary["lines_selected"], 30_002);
    assert!(summary["false_positives"].as_u64().unwrap() > 1000, "{summary}");
    let rest = [absent, b"\xFF\xFF\xFF\xFF\n\x00\n".to_vec()].concat();
    assert!(check(&["-v"]).stdout == rest);
    // A file without its last line end, one line, none.
    file(folder, "sorted", &all[..all.len() - 1]);
    assert!(check(&[]).stdout == all);
    file(folder, "sorted", b"absent-7");
    assert_eq!(
        check(&[]).stdout.as_slice(),
        if check(&["-c"]).stdout == b"0\n" { &b""[..] } else { b"absent-7\n" }
    );
    file(folder, "sorted", b"");
    let output = check(&[]);
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
    assert_eq!(
        run(folder, &["check", "-q", "--confirm", "sorted", "f"], b"\n").status.code(),
        Some(1)
    );
}

#[test]
fn confirm_cuts_keys_as_the_filter_does() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "10", "-p", "1e-9", "-0", "--crlf", "-o", "f"], b"a\0b\0c\0");
    file(folder, "sorted", b"a\r\0b\0");
    let found = succeed(folder, &["check", "--confirm", "sorted", "f"], b"b\r\0a\0c\0");
    assert_eq!(found, b"b\r\0a\0");
}

#[test]
fn confirm_and_filter_know_the_form_of_keys_from_the_filter() {
    let folder = folder();
    let folder = folder.path();
    let list = b"0AFF:3\n1bee:9\n";
    let hashes = ["--delim", ":", "--field", "1", "--hex"];
    let build = ["build", "-n", "9", "-p", "1e-9", "-o", "f", "-"];
    succeed(folder, &[&build[..], &hashes].concat(), list);
    // Confirmed by the file it was made of, whatever the case and the count.
    file(folder, "sorted", list);
    let check = ["check", "--confirm", "sorted", "f"];
    assert_eq!(succeed(folder, &check, b"0aff:1\n1c:1\n1BEE\n"), b"0aff:1\n1BEE\n");
    file(folder, "sorted", b"1bee:9\n");
    let output = run(folder, &check, b"0aff:1\n");
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
    assert!(stderr(&output).contains("1 of 1 lines that may be present were false positives"));
    // The stream's records are JSON; their keys are hex digits as the list's.
    let stream = b"{\"sha\":\"1bEE\"}\n{\"sha\":\"1bef\"}\nno JSON\n";
    let filter = ["filter", "--json-pointer", "/sha", "f"];
    let output = run(folder, &filter, stream);
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b"{\"sha\":\"1bEE\"}\n"[..]));
    assert!(stderr(&output).contains("1 line has no key (line 3: not JSON)"));
    let talk = fail(folder, &["filter", "--lower", "--field", "1", "f"], stream);
    assert!(talk.contains("--lower"), "{talk}");
}

#[test]
fn a_file_that_is_seen_not_to_be_sorted_is_refused() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "100k", "-o", "f"], &lines("key", 0..50_000));
    let check = |input: &[u8]| fail(folder, &["check", "--confirm", "sorted", "f"], input);
    file(folder, "sorted", b"b\na\n");
    assert!(check(b"").contains("sorted is not sorted by its keys: the line at byte 2"));
    // In the order of the numbers, which is not that of the bytes.
    file(folder, "sorted", &lines("key", 0..50_000));
    assert!(check(b"").contains("LC_ALL=C sort -o sorted sorted"));
    // Any order, noticed before anything is read.
    let shuffled: Vec<u8> = lines("key", numbers(3).take(50_000));
    file(folder, "sorted", &shuffled);
    let talk = check(b"key-1\n");
    assert!(talk.contains("out of order"), "{talk}");
    // One line at a wrong place is noticed by a search that passes it.
    let mut keys: Vec<String> = (0..50_000).map(|i| format!("key-{i}\n")).collect();
    keys.sort();
    let last = keys[20_000].clone();
    keys[20_000] = "a\n".into();
    file(folder, "sorted", keys.concat().as_bytes());
    let talk = check(last.as_bytes());
    assert!(talk.contains("out of order"), "{talk}");

    file(folder, "sorted", b"\x1F\x8B\x08aaaaa");
    assert!(check(b"").contains("is compressed"));
    let talk = fail(folder, &["check", "--confirm", "/dev/null", "f"], b"");
    assert!(talk.contains("not a regular file"), "{talk}");
    let talk = fail(folder, &["check", "--confirm", "sorted", "-f", "f", "-f", "f"], b"");
    assert!(talk.contains("--confirm works with one filter"), "{talk}");
    file(folder, "sorted", &vec![b'x'; 100_000]);
    let arguments = ["check", "--confirm", "sorted", "--max-line", "10k", "f"];
    let talk = fail(folder, &arguments, b"key-1\n");
    assert!(talk.contains("is longer than"), "{talk}");
}
