//! Lists of keys at their borders: line ends, marks, lines without a key, outputs that are closed.
//! That no cut of any form changes a key is tested in `mayhap_lists::borders`; here are some cuts
//! through real pipes, and the behaviour of the verbs.

use super::is_whole;
use crate::support::{fail, file, folder, json, json_and_talk, lines, run, start, stderr, succeed};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output};

const BUILD: [&str; 7] = ["build", "-q", "-n", "1k", "-p", "1e-9", "-o"];

/// A filter of these keys whose file does not record the treatment of carriage returns, like files
/// of mayhap 0.1 and of programs.
fn unrecorded(folder: &Path, name: &str, keys: &[&str]) {
    let builder = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(1e-9);
    let mut filter = builder.build().unwrap();
    for key in keys {
        assert!(filter.insert(key));
    }
    mayhap_store::save(&folder.join(name), &filter, "").unwrap();
}

/// The output of a command for input that arrives in two pieces; it reads the first before the
/// second is written: the first line must be printed by then.
fn in_two(folder: &Path, arguments: &[&str], first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut child = start(folder, arguments);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut stdout, mut all) = (BufReader::new(stdout), Vec::new());
    stdin.write_all(first).unwrap();
    stdout.read_until(b'\n', &mut all).unwrap();
    stdin.write_all(second).unwrap();
    drop(stdin);
    stdout.read_to_end(&mut all).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    all
}

/// With standard output closed.
fn closed(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    file(folder, "closed.in", input);
    let script = "exec \"$0\" \"$@\" >&- < closed.in";
    let program = env!("CARGO_BIN_EXE_mayhap");
    let mut shell = Command::new("sh");
    shell.args(["-c", script, program]).args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn the_key_of_a_line_does_not_depend_on_the_timing_of_the_pipe() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["weak"]].concat(), b"letmein\n");
    let list = b"letmein\r\nfoo\n";
    assert_eq!(succeed(folder, &["check", "weak"], list), b"letmein\r\n");
    let found = in_two(folder, &["check", "weak"], &list[..9], &list[9..]);
    assert_eq!(found, b"letmein\r\n");
    for flags in [&["-n", "9"][..], &["--exact"], &["-n", "9", "--state", "s"]] {
        let dedup = [&["dedup"], flags].concat();
        assert_eq!(succeed(folder, &dedup, b"a\r\na\n"), b"a\r\n", "{flags:?}");
        let _ = std::fs::remove_file(folder.join("s"));
        assert_eq!(in_two(folder, &dedup, b"a\r\n", b"a\nb\n"), b"a\r\nb\n", "{flags:?}");
    }
    let utf_16 = b"a\0b\0c\0\n\0d\0e\0f\0\n\0";
    assert!(fail(folder, &["dedup"], utf_16).contains("text in UTF-16LE"));
}

#[test]
fn every_cut_of_a_pipe_builds_the_same_filter() {
    let folder = folder();
    let folder = folder.path();
    let list = b"\xEF\xBB\xBFone\r\ntwo\nthree\r\n\r\nfo\rur\r";
    let build = |cut: usize, name: &str| {
        let mut child = start(folder, &[&BUILD[..], &[name, "--reproducible"]].concat());
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&list[..cut]).unwrap();
        stdin.flush().unwrap();
        stdin.write_all(&list[cut..]).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
        let keys = b"one\ntwo\nthree\n\nfo\rur\n";
        assert_eq!(succeed(folder, &["check", name], keys), keys, "cut at {cut}");
    };
    let step = if is_whole() { 1 } else { 7 };
    (0..=list.len()).step_by(step).for_each(|cut| build(cut, &format!("f{cut}")));
}

#[test]
fn lists_with_mixed_line_ends_make_filters_of_their_lines() {
    let folder = folder();
    let folder = folder.path();
    let crlf: Vec<u8> = lines("b", 0..300)
        .iter()
        .flat_map(|&b| match b {
            b'\n' => vec![b'\r', b'\n'],
            b => vec![b],
        })
        .collect();
    let mix = [lines("a", 0..100), crlf, lines("c", 0..100)].concat();
    file(folder, "mix", &mix);
    let output = run(folder, &["build", "--json", "-p", "1e-6", "-o", "f", "mix"], b"");
    assert_eq!(json(&output.stdout)["lines_with_crlf"], 300);
    let said = "300 of 500 lines end with CR LF; the CR is not part of their keys";
    assert_eq!(stderr(&output).matches(said).count(), 1, "{}", stderr(&output));
    assert_eq!(succeed(folder, &["check", "-c", "f"], &lines("b", 0..300)), b"300\n");
    assert_eq!(succeed(folder, &["check", "f", "mix"], b""), mix);
    assert_eq!(json(&succeed(folder, &["info", "--json", "f"], b""))["crlf"], "strip");
    succeed(folder, &["create", "-q", "-n", "1k", "-p", "1e-9", "g"], b"");
    succeed(folder, &["add", "-q", "g", "mix"], b"");
    assert_eq!(succeed(folder, &["check", "-c", "g"], &lines("b", 0..300)), b"300\n");
    file(folder, "b", &lines("b", 0..300));
    assert_eq!(succeed(folder, &["dedup", "mix", "b"], b""), mix);
    // A lone carriage return stays, and so does the first of two.
    assert_eq!(succeed(folder, &["dedup"], b"x\ry\nx\r\r\nx\r\nx\n"), b"x\ry\nx\r\r\nx\r\n");
}

#[test]
fn raw_keeps_carriage_returns_and_the_file_knows() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["f", "--raw"]].concat(), b"a\r\nb\n");
    for verb in [&["check", "f"][..], &["check", "--raw", "f"], &["filter", "f"]] {
        assert_eq!(succeed(folder, verb, b"a\na\r\nb\nb\r\n"), b"a\r\nb\n", "{verb:?}");
    }
    assert_eq!(json(&succeed(folder, &["info", "--json", "f"], b""))["crlf"], "keep");
    assert!(fail(folder, &["check", "--crlf", "f"], b"").contains("--crlf is given, but f"));
    // The file's record takes precedence: with bytes as they are, no key would be found.
    succeed(folder, &[&BUILD[..], &["g"]].concat(), b"a\r\n");
    assert_eq!(succeed(folder, &["check", "--raw", "g"], b"a\r\n"), b"a\r\n");
}

#[test]
fn a_filter_without_a_record_is_queried_by_both_keys_of_a_line() {
    let folder = folder();
    let folder = folder.path();
    unrecorded(folder, "old", &["one\r", "two"]);
    let (list, found) = (b"one\none\r\ntwo\ntwo\r\nsix\r\n", b"one\r\ntwo\ntwo\r\n");
    for verb in [&["check", "old"][..], &["filter", "old"]] {
        assert_eq!(succeed(folder, verb, list), found, "{verb:?}");
    }
    let which = succeed(folder, &["which", "-f", "old"], list);
    assert_eq!(which, b"old\tone\r\nold\ttwo\nold\ttwo\r\n");
    // Also together with a filter that has a record.
    succeed(folder, &[&BUILD[..], &["new"]].concat(), b"six\n");
    let check = ["check", "-f", "old", "-f", "new"];
    assert_eq!(succeed(folder, &check, list), b"one\r\ntwo\ntwo\r\nsix\r\n");
    file(folder, "list", b"one\r\ntwo\r\n");
    succeed(folder, &["verify", "--samples", "1k", "old", "list"], b"");
    // Where the line ends are named there is one key.
    assert_eq!(succeed(folder, &["check", "--crlf", "old"], list), b"two\ntwo\r\n");
    // A state continues: nothing is printed again.
    let dedup = ["dedup", "-q", "--state", "old"];
    assert_eq!(succeed(folder, &dedup, list), b"one\nsix\r\n");
    assert_eq!(succeed(folder, &dedup, list), b"");
    assert_eq!(json(&succeed(folder, &["info", "--json", "old"], b""))["crlf"], "unrecorded");
}

#[test]
fn filters_with_and_without_a_record_are_merged_into_one_without() {
    let folder = folder();
    let folder = folder.path();
    unrecorded(folder, "old", &["one\r"]);
    let build = ["build", "-q", "-n", "1000", "-p", "1e-9", "--layout", "blocked", "-o", "new"];
    let layout = json(&succeed(folder, &["info", "--json", "old"], b""))["layout"].clone();
    let build: Vec<&str> = build
        .iter()
        .map(|&word| if word == "blocked" { layout.as_str().unwrap() } else { word })
        .collect();
    succeed(folder, &build, b"two\r\n");
    for inputs in [["old", "new"], ["new", "old"]] {
        succeed(folder, &[&["merge", "-q", "--force", "-o", "both"], &inputs[..]].concat(), b"");
        let list = b"one\r\ntwo\nsix\n";
        assert_eq!(succeed(folder, &["check", "both"], list), b"one\r\ntwo\n", "{inputs:?}");
    }
}

#[test]
fn keys_with_carriage_returns_are_removed_from_old_counting_filters() {
    let folder = folder();
    let folder = folder.path();
    let filter = mayhap::CountingBloomFilter::builder();
    let mut filter = filter.expected_items(1000).target_fpp(1e-6).build().unwrap();
    filter.insert("a\r");
    filter.insert("b");
    mayhap_store::save(&folder.join("old"), &filter, "").unwrap();
    let removed = succeed(folder, &["remove", "--json", "old"], b"a\r\nb\r\nc\r\n");
    assert_eq!(json(&removed)["removed"], 2);
    assert_eq!(run(folder, &["check", "old"], b"a\r\nb\n").status.code(), Some(1));
}

#[test]
fn a_list_that_no_key_can_be_cut_of_builds_nothing() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "words", b"one\ntwo\nthree\nfeed\n");
    for flags in [&["--json-pointer", "/id"][..], &["--csv", "--field", "9"]] {
        for more in [&[][..], &["--skip-bad"]] {
            for layout in ["blocked", "fuse", "scalable", "matrix"] {
                let build = ["build", "-o", "f", "words", "--layout", layout];
                let talk = fail(folder, &[&build[..], flags, more].concat(), b"");
                assert!(talk.contains("4 lines have no key (first: line 1: "), "{talk}");
                assert!(talk.contains("nothing was written"), "{talk}");
                assert!(!folder.join("f").exists(), "{flags:?}, {layout}");
            }
        }
    }
    let segment = ["build", "--segment", "1/2", "-n", "1M", "-o", "f", "--hex", "words"];
    assert!(fail(folder, &segment, b"").contains("3 lines have no key"));
    let hex = ["build", "-o", "f", "--hex", "words"];
    let talk = fail(folder, &hex, b"");
    for word in ["3 lines have no key", "--sha1", "SHA-256", "NTLM", "--skip-bad"] {
        assert!(talk.contains(word), "{word}: {talk}");
    }
    assert!(!folder.join("f").exists());
    succeed(folder, &[&hex[..], &["--skip-bad"]].concat(), b"");
    for verb in [&["add", "f"][..], &["dedup", "--state", "f"]] {
        let talk = fail(folder, verb, b"one\ntwo\nfeed\n");
        assert!(talk.contains("2 lines have no key (first: line 1: "), "{verb:?}: {talk}");
        succeed(folder, &[verb, &["--skip-bad"]].concat(), b"one\ntwo\nfeed\n");
        succeed(folder, verb, b"one\nfeed\n");
    }
}

#[test]
fn a_line_without_a_key_is_not_absent() {
    let folder = folder();
    let folder = folder.path();
    let build = [&BUILD[..], &["f", "--hex"]].concat();
    succeed(folder, &build, b"feed\nbeef\n");
    let list = b"feed\nhunter2\ncafe\nbeef\nno\n";
    for (verb, printed) in [
        (&["check", "f"][..], &b"feed\nbeef\n"[..]),
        (&["check", "-v", "f"], b"cafe\n"),
        (&["check", "-c", "f"], b"2\n"),
        (&["check", "-vc", "f"], b"1\n"),
        (&["check", "-v", "--tag", "f"], b"f\tcafe\n"),
        (&["which", "-f", "f"], b"f\tfeed\nf\tbeef\n"),
        (&["which", "-a", "-f", "f"], b"f\tfeed\n\tcafe\nf\tbeef\n"),
    ] {
        let output = run(folder, verb, list);
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), printed), "{verb:?}");
        let talk = stderr(&output);
        for word in ["2 lines have no key (first: line 2: ", "not looked up", "--sha1", "NTLM"] {
            assert!(talk.contains(word), "{verb:?}, {word}: {talk}");
        }
        let skipping = run(folder, &[verb, &["--skip-bad"]].concat(), list);
        assert_eq!((skipping.status.code(), &*skipping.stdout), (Some(0), printed), "{verb:?}");
    }
    for flags in [&[][..], &["-v"]] {
        let filter = [&["filter", "--hex", "f", "--rest", "rest", "--force"], flags].concat();
        let output = run(folder, &filter, list);
        assert_eq!(output.status.code(), Some(2));
        let rest = std::fs::read(folder.join("rest")).unwrap();
        let [maybe, absent] = [&b"feed\nbeef\n"[..], b"cafe\n"];
        let expected = if flags.is_empty() { (maybe, absent) } else { (absent, maybe) };
        assert_eq!((&*output.stdout, &*rest), expected, "{flags:?}");
    }
    let output = run(folder, &["check", "--json", "f"], list);
    let summary = json_and_talk(&output.stderr).0;
    assert_eq!(summary["lines_without_key"], 2);
    assert_eq!(summary["filters"][0]["surely_absent"], 1);
    // "Not weak" cannot be answered.
    assert_eq!(run(folder, &["check", "-q", "f"], b"hunter2\n").status.code(), Some(2));
    assert_eq!(run(folder, &["check", "-q", "f"], b"feed\nhunter2\n").status.code(), Some(0));
}

#[test]
fn records_that_do_not_go_with_the_form_of_a_filter_are_refused() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["f", "--url-prefixes"]].concat(), b"x.example/a\n");
    for verb in ["filter", "check", "add"] {
        let talk = fail(folder, &[verb, "f", "--field", "1,2"], b"x.example\t/a\n");
        assert!(talk.contains("url-prefixes") || talk.contains("--field 1,2 is given"), "{talk}");
    }
}

#[test]
fn a_mark_alone_is_an_empty_list() {
    let folder = folder();
    let folder = folder.path();
    for mark in [&b"\xEF\xBB\xBF"[..], b"\xFF\xFE", b"\xFE\xFF"] {
        file(folder, "mark", mark);
        let built = succeed(folder, &["build", "--force", "--json", "-o", "f", "mark"], b"");
        assert_eq!((&json(&built)["lines_read"], &json(&built)["new"]), (&0.into(), &0.into()));
        assert_eq!(succeed(folder, &["dedup", "mark"], b""), b"");
        assert_eq!(succeed(folder, &["dedup"], mark), b"");
        file(folder, "more", b"a\n");
        assert_eq!(succeed(folder, &["dedup", "mark", "more"], b""), b"a\n");
    }
    succeed(folder, &[&BUILD[..], &["f", "--force"]].concat(), b"a\n");
    file(folder, "filters", b"\xEF\xBB\xBFf\r\n");
    assert_eq!(succeed(folder, &["which", "-F", "filters"], b"a\n"), b"f\ta\n");
}

#[test]
fn output_that_is_closed_is_an_error_and_loses_nothing() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["f"]].concat(), b"a\n");
    for verb in [
        &["dedup", "--state", "s", "-n", "9"][..],
        &["dedup", "--exact"],
        &["check", "f"],
        &["check", "-c", "f"],
        &["filter", "f"],
        &["which", "-f", "f"],
        &["info", "f"],
        &["verify", "f"],
        &["plan", "-n", "9"],
        &["detect", "f"],
        &["add", "--json", "f"],
    ] {
        let output = closed(folder, verb, b"a\n");
        let talk = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {talk}");
        assert!(talk.contains("cannot write standard output: Bad file descriptor"), "{talk}");
    }
    assert_eq!(succeed(folder, &["dedup", "-q", "--state", "s"], b"a\n"), b"a\n");
    // A command that prints nothing needs no output.
    assert_eq!(closed(folder, &["check", "-q", "f"], b"a\n").status.code(), Some(0));
    assert_eq!(closed(folder, &["build", "-n", "9", "-o", "g"], b"a\n").status.code(), Some(0));
}

#[test]
fn the_first_process_of_a_container_ends_on_sigterm() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["f"]].concat(), b"a\n");
    let inside = |command: &str| {
        let mut bounded = Command::new("timeout");
        let unshare = ["-s", "KILL", "60", "unshare", "--pid", "--fork", "--kill-child"];
        let arguments = [&unshare[..], &["--mount-proc", "sh", "-c", command]].concat();
        bounded.args(arguments).current_dir(folder).output()
    };
    if !inside("true").is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED: no namespace of processes may be made here");
    }
    let program = env!("CARGO_BIN_EXE_mayhap");
    for verb in ["check f", "which -f f", "verify f -"] {
        for signal in ["TERM", "INT"] {
            // Another process of the namespace sends it once both are handled, or never will be.
            let script = format!(
                "rm -f in; mkfifo in; exec 3<>in; (i=0; \
                 until grep -q 'SigCgt:.*4..[2367abef]$' /proc/1/status || [ $i -gt 2000 ]; \
                 do i=$((i+1)); done; kill -{signal} 1) & exec {program} {verb} <&3"
            );
            let output = inside(&script).unwrap();
            let code = if signal == "TERM" { 143 } else { 130 };
            assert_eq!(output.status.code(), Some(code), "{verb}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_to_its_end() {
    let folder = folder();
    let folder = folder.path();
    // More than the reader and the pipe hold, so that the appended lines arrive before the end.
    let (before, after) = (lines("before", 0..400_000), lines("after", 0..100_000));
    let path = file(folder, "log", &before);
    let mut child = start(folder, &["dedup", "--json", "log"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut all = Vec::new();
    // It has counted the lines.
    stdout.read_until(b'\n', &mut all).unwrap();
    let mut log = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    log.write_all(&after).unwrap();
    log.write_all(&before[..1_000_000]).unwrap();
    stdout.read_to_end(&mut all).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lost = before.len() + after.len() - all.len();
    // At the default rate of 1e-4, 10 of the 100,000 later lines and a few of the others.
    assert!(lost < 100 * 12, "{lost} bytes are missing");
    let summary = json_and_talk(&output.stderr).0;
    assert_eq!(summary["complete"], true);
    assert!(summary["expected_lost_lines"].as_f64().unwrap() < 60.0, "{summary}");
}

#[test]
fn a_build_that_meets_more_keys_keeps_those_that_fit() {
    let folder = folder();
    let folder = folder.path();
    let build = ["build", "-n", "100", "-p", "1e-9", "-o", "f"];
    let talk = fail(folder, &build, &lines("key", 0..200));
    assert!(talk.contains("--on-full keep") && !folder.join("f").exists(), "{talk}");
    let keep = [&build[..], &["--on-full", "keep"]].concat();
    let talk = fail(folder, &keep, &lines("key", 0..200));
    assert!(talk.contains("stopped after 100 lines"), "{talk}");
    assert!(talk.contains("the filter has the keys up to there"), "{talk}");
    assert_eq!(succeed(folder, &["check", "f"], &lines("key", 0..200)), lines("key", 0..100));
    let over = [&build[..], &["--force", "--on-full", "overfill"]].concat();
    succeed(folder, &over, &lines("key", 0..200));
    assert_eq!(succeed(folder, &["check", "-c", "f"], &lines("key", 0..200)), b"200\n");
    let fuse = ["build", "--layout", "fuse", "--on-full", "keep", "-o", "g"];
    assert!(fail(folder, &fuse, b"a\n").contains("--on-full keep is for filters"));
}

#[test]
fn keys_in_upper_case_are_found_by_any() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&BUILD[..], &["f", "--upper"]].concat(), b"DA39a3\n");
    let list = b"da39a3\nDA39A3\n\xC3\xA4\n";
    assert_eq!(succeed(folder, &["check", "f"], list), b"da39a3\nDA39A3\n");
    assert_eq!(json(&succeed(folder, &["info", "--json", "f"], b""))["key"]["upper"], true);
    for other in ["--lower", "--fold", "--hex"] {
        let talk = fail(folder, &["dedup", "--upper", other], b"");
        assert!(talk.contains("cannot be used with"), "{other}: {talk}");
    }
}
