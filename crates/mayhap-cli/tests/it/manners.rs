//! Command-line manners: any bytes, pipes, exit codes, errors, help.

use crate::support::{
    closes_after_a_line, fail, file, folder, json, json_and_talk, lines, mayhap, run, stderr,
    succeed,
};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_closed_pipe_is_quiet_and_no_error() {
    // The paper cut: huniq and uq panic under `| head -1`.
    let folder = folder();
    let path = file(folder.path(), "in", &lines("key", 0..300_000));
    closes_after_a_line(folder.path(), &["dedup", "-n", "1M", path.to_str().unwrap()]);
}

#[test]
fn help_into_a_closed_pipe_is_quiet() {
    let folder = folder();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = mayhap(folder.path());
    let output = command.arg("--help").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn any_bytes_are_a_key() {
    // The paper cut: poppy and uq panic on bytes that are not UTF-8.
    let folder = folder();
    let mut input: Vec<u8> = (0..=255).filter(|&byte| byte != b'\n').collect();
    input.push(b'\n');
    input.extend_from_slice(b"\xFF\xFE\n\x00\n\xFF\xFE\n\x00\n\n\n");
    let kept = succeed(folder.path(), &["dedup"], &input);
    assert_eq!(kept, crate::support::first_of_each(&input));
    succeed(folder.path(), &["build", "-n", "10", "-o", "f"], b"\xFF\xFE\n\x00\n");
    let found = succeed(folder.path(), &["check", "f"], b"\xFF\n\xFF\xFE\nx\n\x00\n");
    assert_eq!(found, b"\xFF\xFE\n\x00\n");
}

#[test]
fn empty_input_is_fine() {
    let folder = folder();
    file(folder.path(), "empty", b"");
    assert_eq!(succeed(folder.path(), &["dedup"], b""), b"");
    assert_eq!(succeed(folder.path(), &["dedup", "empty"], b""), b"");
    succeed(folder.path(), &["build", "-o", "f", "empty"], b"");
    let output = run(folder.path(), &["check", "f", "empty"], b"");
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
}

#[test]
fn a_last_line_without_its_end_is_a_line() {
    let folder = folder();
    assert_eq!(succeed(folder.path(), &["dedup"], b"a\nb\na"), b"a\nb\n");
    assert_eq!(succeed(folder.path(), &["dedup"], b"a\nb"), b"a\nb\n");
    assert_eq!(succeed(folder.path(), &["dedup", "-0"], b"a\nb\0a\nb"), b"a\nb\0");
}

#[test]
fn one_carriage_return_before_a_line_feed_is_not_part_of_the_key_unless_raw() {
    let folder = folder();
    let input = b"a\r\na\nb\r\r\nb\r\n\r\n\n";
    assert_eq!(succeed(folder.path(), &["dedup", "--raw"], input), input);
    for flags in [&["dedup"][..], &["dedup", "--crlf"]] {
        assert_eq!(succeed(folder.path(), flags, input), b"a\r\nb\r\r\nb\r\n\r\n");
    }
}

#[test]
fn compressed_input_is_recognised_by_its_first_bytes() {
    let folder = folder();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let (first, second) = (lines("one", 0..5000), lines("two", 0..5000));
    let both = [first.as_slice(), &second].concat();
    let members = [gzip(&first), gzip(&second)].concat();
    let frames =
        [zstd::encode_all(&*first, 1).unwrap(), zstd::encode_all(&*second, 1).unwrap()].concat();
    for (name, compressed) in [("gzip", members), ("zstd", frames)] {
        file(folder.path(), name, &compressed);
        assert!(succeed(folder.path(), &["dedup", name], b"") == both, "{name} file");
        assert!(succeed(folder.path(), &["dedup"], &compressed) == both, "{name} pipe");
        let output = run(folder.path(), &["build", "--json", "-o", "f", "--force", name], b"");
        assert_eq!(json(&output.stdout)["expected_items"], 10_000, "{name}: counted");
        let talk = fail(folder.path(), &["dedup"], &compressed[..compressed.len() - 3]);
        assert!(talk.contains("cannot read standard input"), "{name}: {talk}");
    }
    // The beginning of a magic is text.
    assert_eq!(succeed(folder.path(), &["dedup"], b"\x1F\x8Bx"), b"\x1F\x8Bx\n");
    assert_eq!(succeed(folder.path(), &["dedup"], b"\x28\xB5"), b"\x28\xB5\n");
}

#[test]
fn a_full_disk_is_an_error() {
    let folder = folder();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    file(folder.path(), "in", &lines("key", 0..10));
    let mut command = mayhap(folder.path());
    let output = command.args(["dedup", "in"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let talk = stderr(&output);
    assert!(talk.contains("mayhap: cannot write standard output: No space left"), "{talk}");
    // A device is not "exists already".
    let talk = fail(folder.path(), &["dedup", "in", "-o", "/dev/full"], b"");
    assert!(talk.contains("mayhap: cannot write /dev/full: No space left"), "{talk}");
    succeed(folder.path(), &["build", "-o", "f", "in"], b"");
    for arguments in [["info", "f", "--fast"], ["check", "f", "in"], ["--help", "", ""]] {
        let output = mayhap(folder.path())
            .args(arguments.iter().filter(|argument| !argument.is_empty()))
            .stdout(full())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let talk = fail(folder.path(), &["dedup", "absent"], b"");
    assert!(talk.starts_with("mayhap: cannot open absent: No such file"), "{talk}");
    let talk = fail(folder.path(), &["dedup", "sub"], b"");
    assert!(talk.starts_with("mayhap: cannot read sub: is a directory"), "{talk}");
    // Noticed before anything is printed.
    file(folder.path(), "in", b"a\n");
    let output = run(folder.path(), &["dedup", "in", "absent"], b"");
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
}

#[test]
fn numbers_are_typed_as_people_do_and_wrong_ones_get_an_answer() {
    let folder = folder();
    for (count, rate) in [("10k", "0.1%"), ("1e4", "1/1000"), ("10_000", "1 in 1k")] {
        let output = run(folder.path(), &["dedup", "--json", "-n", count, "-p", rate], b"a\n");
        let summary = json_and_talk(&output.stderr).0;
        assert_eq!(summary["expected_items"], 10_000, "{count}");
        assert_eq!(summary["target_fpp"], 0.001, "{rate}");
    }
    // The paper cut: a rate of 5 accepted as given.
    let talk = fail(folder.path(), &["dedup", "-n", "10k", "-p", "5"], b"");
    assert!(talk.contains("did you mean 5%?"), "{talk}");
    for arguments in [["-n", "ten"], ["-p", "0"], ["-p", "NaN"], ["--mem", "1x"], ["-n", "-5"]] {
        let talk = fail(folder.path(), &["dedup", arguments[0], arguments[1]], b"");
        assert!(talk.starts_with("mayhap: "), "{arguments:?}: {talk}");
    }
    let talk = fail(folder.path(), &["dedup", "-n", "0"], b"");
    assert!(talk.contains("-n is 0"), "{talk}");
}

#[test]
fn filters_beyond_the_memory_are_refused_with_the_sizes() {
    let folder = folder();
    let talk = fail(folder.path(), &["create", "f", "-n", "1P", "-p", "1%"], b"");
    assert!(talk.contains("needs 1.12 PiB") || talk.contains("PiB, above the limit"), "{talk}");
    let arguments = ["create", "f", "-n", "10M", "-p", "1%", "--max-memory", "1MiB"];
    let talk = fail(folder.path(), &arguments, b"");
    assert!(talk.contains("above the limit of 1.00 MiB") && talk.contains("--max-memory"));
    assert!(!folder.path().join("f").exists());
}

#[test]
fn help_begins_with_examples() {
    let folder = folder();
    for verb in ["", "dedup", "build", "create", "add", "check", "info"] {
        for flag in ["-h", "--help"] {
            let arguments: Vec<&str> =
                [verb, flag].into_iter().filter(|argument| !argument.is_empty()).collect();
            let help = String::from_utf8(succeed(folder.path(), &arguments, b"")).unwrap();
            let example = format!("Examples:\n  mayhap {verb}");
            assert!(help.starts_with(example.trim_end()), "{verb}: {help}");
            let width = help.lines().map(|line| line.chars().count()).max();
            assert!(width <= Some(100), "{verb}: {width:?}");
        }
    }
    let help = String::from_utf8(succeed(folder.path(), &["--help"], b"")).unwrap();
    assert!(help.contains("Exit codes: 0"));
}

#[test]
fn color_is_only_used_when_asked_off_a_terminal() {
    let folder = folder();
    let escape = |arguments: &[&str]| fail(folder.path(), arguments, b"").contains('\x1B');
    assert!(!escape(&["dedup", "absent"]));
    assert!(!escape(&["--color", "never", "dedup", "absent"]));
    assert!(escape(&["--color", "always", "dedup", "absent"]));
    assert!(escape(&["dedup", "--color=always", "-n", "x"]));
    assert!(!escape(&["dedup", "-n", "x"]));
}

#[test]
fn help_of_a_verb_is_that_of_its_flag() {
    let folder = folder();
    let folder = folder.path();
    for verb in ["build", "ttl"] {
        let by_flag = succeed(folder, &[verb, "--help"], b"");
        assert_eq!(succeed(folder, &["help", verb], b""), by_flag, "{verb}");
        assert_eq!(succeed(folder, &["help", verb, "more"], b""), by_flag, "{verb}");
    }
    assert_eq!(succeed(folder, &["help"], b""), succeed(folder, &["--help"], b""));
    let unknown = fail(folder, &["help", "nothing"], b"");
    assert!(unknown.contains("unrecognized subcommand 'nothing'"), "{unknown}");
}

#[test]
fn one_line_is_not_lines() {
    let folder = folder();
    let folder = folder.path();
    let said = |arguments: &[&str]| stderr(&run(folder, arguments, b"a\n"));
    let build = said(&["build", "-n", "10", "-o", "f"]);
    assert!(build.contains("(1 line, "), "{build}");
    let dedup = said(&["dedup", "-n", "10"]);
    assert!(dedup.contains("read 1 line ("), "{dedup}");
    let two = stderr(&run(folder, &["add", "f"], b"a\nb\n"));
    assert!(two.contains("(2 lines, "), "{two}");
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = folder();
    let output = run(folder.path(), &["dedup", "-q", "-n", "10"], &lines("key", 0..9));
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(fail(folder.path(), &["dedup", "-q", "absent"], b"").starts_with("mayhap:"));
}

#[test]
fn with_json_stderr_is_one_object_on_each_line() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "100", "-o", "f"], b"a\n");
    file(folder, "one", b"a\n");
    let many = lines("key", 0..20);
    for (arguments, input, levels) in [
        (&["build", "--json", "-n", "10", "-o", "g"][..], &many[..], &["warning", "error"][..]),
        (&["check", "--json", "absent"], b"", &["error"]),
        (&["check", "--json", "f", "absent"], b"", &["error"]),
        (&["check", "--jsno", "--json", "f"], b"", &["error"]),
        (&["check", "--json", "--key-type"], b"", &["error"]),
        (&["info", "--json", "absent"], b"", &["error"]),
        (&["dedup", "--json", "-n", "9", "--field", "2"], b"a\n", &["warning"]),
        (&["check", "--json", "f", "--field", "2"], b"a\n", &["error"]),
        (&["build", "--json", "--force", "-o", "f", "one"], b"", &["info"]),
        (&["merge", "--json", "-o", "f", "absent"], b"", &["error"]),
    ] {
        let text = stderr(&run(folder, arguments, input));
        let objects = crate::support::json_lines(&text);
        let messages: Vec<_> = objects.iter().filter(|it| it["level"].is_string()).collect();
        for level in levels {
            let found = messages.iter().any(|message| message["level"] == **level);
            assert!(found, "{arguments:?} has no {level}: {text}");
        }
        assert!(messages.iter().all(|message| message["message"].as_str().is_some()), "{text}");
    }
    // The next step is printed as without it; the exit code is the usual one.
    let output = run(folder, &["check", "--json", "f", "--field", "2"], b"");
    let error = json(&output.stderr);
    assert_eq!(error["hint"], "omit --field: key options are stored in the filter's file");
    assert_eq!(output.status.code(), Some(2));
    // Only as a flag.
    assert!(fail(folder, &["check", "f", "--", "--json"], b"").starts_with("mayhap: cannot open"));
}

#[test]
fn a_key_in_place_of_a_file_is_answered_with_the_pipe() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["build", "-n", "100", "-o", "pw"], b"a\n");
    let talk = fail(folder, &["check", "pw", "letmein"], b"");
    let hint = "hint: inputs are files of keys; for keys on the command line: echo letmein | \
        mayhap check ...\n";
    assert!(talk.ends_with(hint), "{talk}");
    // The filter itself, and a list to build from, have other next steps.
    assert!(fail(folder, &["check", "absent"], b"").contains("create a filter with"));
    assert!(!fail(folder, &["build", "-o", "f", "absent"], b"").contains("echo"));
}

#[test]
fn a_plot_is_not_named_as_another_kind_of_picture() {
    let folder = folder();
    let folder = folder.path();
    for name in ["x.png", "x.PDF"] {
        let talk = fail(folder, &["plot", "fpp", "-o", name], b"");
        assert!(talk.contains(&format!("{name} would be ")) && talk.contains("SVG"), "{talk}");
        assert!(!folder.join(name).exists());
    }
    for name in ["x.svg", "x.html", "x"] {
        succeed(folder, &["plot", "fpp", "-o", name], b"");
    }
}

#[test]
fn one_of_a_kind_is_singular_and_kinds_have_one_name() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "one", b"a\n");
    let build = stderr(&run(folder, &["build", "-o", "f", "one"], b""));
    assert!(build.starts_with("counted 1 line with 1 distinct key\n"), "{build}");
    assert!(build.contains(": 1 of 1 key, fill"), "{build}");
    let info = String::from_utf8(succeed(folder, &["info", "f"], b"")).unwrap();
    assert!(info.contains(" 1 key at a rate of ") && info.contains(" 1 key\n"), "{info}");
    let repeats = stderr(&run(folder, &["dedup", "-d", "-n", "10"], b"a\na\n"));
    assert!(repeats.contains("printed 1 repeat, omitted 1 first occurrence\n"), "{repeats}");
    // From a pipe the filter grows: as scalable as one in a file.
    let grown = run(folder, &["dedup", "--json"], b"a\n");
    assert_eq!(json_and_talk(&grown.stderr).0["layout"], "scalable");
    let named = run(folder, &["build", "--json", "--layout", "scalable", "-o", "s"], b"a\n");
    assert_eq!(json(&named.stdout)["layout"], "scalable");
}
