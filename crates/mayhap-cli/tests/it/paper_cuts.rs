//! The paper cuts of today's tools, each a test: [`COVERED`] names the tests that are elsewhere.

use crate::support::{file, folder, json, lines, mayhap, run, start, stderr, succeed};
use crate::verbs::verbs;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

/// The traps of other tools, or expectations of any tool, and the test that covers each.
const COVERED: [(&str, &str); 39] = [
    ("hit and miss have the same exit code", "check::check_exits_like_grep"),
    (
        "5000 keys in a filter for 100, no warning",
        "dedup::a_filter_warns_at_80_percent_and_stops_at_100",
    ),
    ("the same, for add", "check::add_says_what_changed_and_stops_when_full"),
    ("the same, for build", "check::build_counts_files_and_asks_for_n_on_a_pipe"),
    (
        "a burst into a window, no warning",
        "paper_cuts::a_rate_above_the_one_asked_for_is_warned_of",
    ),
    (
        "info tells the rate asked for when it is 100 %",
        "check::info_tells_the_truth_about_an_overfilled_filter",
    ),
    ("panic on what is not UTF-8", "manners::any_bytes_are_a_key"),
    ("panic under | head -1", "manners::a_closed_pipe_is_quiet_and_no_error"),
    ("the same, for every verb", "paper_cuts::no_verb_minds_a_closed_pipe"),
    (
        "\"unexpected EOF\" for a wrong file",
        "files::a_wrong_file_is_told_by_what_it_is_and_what_to_do",
    ),
    ("a higher rate than the one asked for", "check::the_rate_asked_for_is_the_rate_got"),
    ("a write for every line", "paper_cuts::lines_go_out_in_few_writes"),
    ("nobody says what was new", "check::add_says_what_changed_and_stops_when_full"),
    ("a filter that no other process can ask", "state::a_second_run_goes_on_where_the_first_ended"),
    (
        "a rate of 5 is taken",
        "manners::numbers_are_typed_as_people_do_and_wrong_ones_get_an_answer",
    ),
    ("talk among the data", "paper_cuts::data_goes_to_stdout_and_talk_to_stderr"),
    ("help without examples", "manners::help_begins_with_examples"),
    ("- is not standard input", "dedup::several_inputs_are_one_and_each_ends_its_last_line"),
    ("waits for keys from a terminal", "paper_cuts::a_terminal_gets_help_instead_of_a_silent_wait"),
    ("JSON that is none", "paper_cuts::json_is_json_for_every_verb"),
    ("-q is not quiet", "manners::quiet_says_nothing_but_errors"),
    ("colour in a file", "manners::color_is_only_used_when_asked_off_a_terminal"),
    ("NO_COLOR is ignored", "paper_cuts::no_color_holds_on_a_terminal_too"),
    ("nothing comes before everything was read", "dedup::lines_come_out_while_the_input_pauses"),
    ("Ctrl-C leaves half a file", "state::a_signal_ends_the_run_and_saves_all_that_was_printed"),
    ("kill -9 loses keys", "state::after_kill_9_no_line_is_lost_and_little_comes_again"),
    (
        "carriage returns",
        "manners::one_carriage_return_before_a_line_feed_is_not_part_of_the_key_unless_raw",
    ),
    ("NUL as a separator", "manners::a_last_line_without_its_end_is_a_line"),
    ("compressed input", "manners::compressed_input_is_recognised_by_its_first_bytes"),
    ("errors without a name or a next step", "manners::what_cannot_be_read_is_named"),
    ("sizes that no machine has", "manners::filters_beyond_the_memory_are_refused_with_the_sizes"),
    (
        "a file is replaced without being asked",
        "check::an_existing_filter_is_only_replaced_by_force",
    ),
    ("the same, for every verb", "paper_cuts::no_verb_replaces_a_file_unasked"),
    ("the input is the output", "dedup::an_input_is_never_the_output"),
    ("a full disk is success", "manners::a_full_disk_is_an_error"),
    (
        "half a filter is taken for one",
        "hostile::a_filter_file_that_is_cut_or_longer_is_never_taken",
    ),
    ("bit rot is taken for keys", "hostile::a_filter_file_with_a_flipped_bit_is_never_taken"),
    ("how keys are cut is forgotten", "check::key_options_stand_in_the_file_and_are_applied_again"),
    ("several filters, several runs", "check::several_filters_are_asked_at_once"),
];

#[test]
fn every_test_that_covers_a_paper_cut_exists() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    for (cut, name) in COVERED {
        let (module, test) = name.split_once("::").unwrap();
        let text = std::fs::read_to_string(folder.join(format!("{module}.rs"))).unwrap();
        assert!(text.contains(&format!("#[test]\nfn {test}() {{")), "{cut}: no test {name}");
    }
}

/// Both ends of a terminal.
pub(crate) fn terminal() -> (File, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.to_bytes());
    let far = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (File::from(near), far)
}

#[test]
fn a_terminal_gets_help_instead_of_a_silent_wait() {
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "10", "-o", "f"], b"a\n");
    for arguments in [
        vec!["dedup"],
        vec!["dedup", "-n", "10", "-"],
        vec!["build", "-n", "10", "-o", "g"],
        vec!["add", "f"],
        vec!["check", "f"],
        vec!["which", "-f", "f"],
    ] {
        let (_near, far) = terminal();
        // A command that reads on would wait forever.
        let mut command = Command::new("timeout");
        command.args(["20", env!("CARGO_BIN_EXE_mayhap")]).args(&arguments);
        let output = command.current_dir(folder.path()).stdin(far).output().unwrap();
        let talk = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {talk}");
        assert!(talk.contains(&format!("Examples:\n  mayhap {}", arguments[0])), "{talk}");
        assert!(talk.contains("standard input is a terminal") && talk.contains("hint:"), "{talk}");
    }
    assert!(!folder.path().join("g").exists());
}

#[test]
fn no_color_holds_on_a_terminal_too() {
    let folder = folder();
    let talk = |no_color: Option<&str>| {
        let (mut near, far) = terminal();
        let mut command = mayhap(folder.path());
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        let status = command.args(["info", "absent"]).env("TERM", "xterm").stderr(far).status();
        assert_eq!(status.unwrap().code(), Some(2));
        // The command and its end of the terminal are gone: the output can be read.
        drop(command);
        let mut text = [0; 4096];
        let length = near.read(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    assert!(talk(None).contains("\x1B["));
    assert!(talk(Some("")).contains("\x1B["), "an empty value is none");
    let plain = talk(Some("1"));
    assert!(!plain.contains('\x1B') && plain.contains("mayhap: "), "{plain}");
}

#[test]
fn lines_go_out_in_few_writes() {
    // The paper cut: huniq and runiq write line by line, which takes half their time.
    let folder = folder();
    let mut child = start(folder.path(), &["dedup", "-n", "100k", "-p", "1e-9"]);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let input = lines("key", 0..50_000);
    let expected = input.len();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&input).unwrap();
        stdin
    });
    let mut printed = vec![0; expected];
    stdout.read_exact(&mut printed).unwrap();
    // Its input is open, so it is still running and can be inspected.
    let counts = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
    let writes = counts.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap();
    let writes: u64 = writes.parse().unwrap();
    drop(writer.join().unwrap());
    assert!(child.wait().unwrap().success());
    assert!((1..500).contains(&writes), "{writes} writes for 50,000 lines");
}

#[test]
fn a_rate_above_the_one_asked_for_is_warned_of() {
    let folder = folder();
    // A time window keeps its rate, and forgets excess keys early.
    succeed(folder.path(), &["create", "w", "--layout", "window:7d", "-n", "10k"], b"");
    let few = run(folder.path(), &["add", "w"], &lines("key", 0..500));
    assert!(!stderr(&few).contains("warning:"), "{}", stderr(&few));
    let burst = run(folder.path(), &["add", "--json", "w"], &lines("key", 0..30_000));
    assert_eq!(json(&burst.stdout)["health"], "over capacity");
    assert!(stderr(&burst).contains("keys early: more than 10.0k came"), "{}", stderr(&burst));
    let arguments = ["build", "-n", "100", "-p", "1%", "--overfill", "-o", "f"];
    let overfull = run(folder.path(), &arguments, &lines("key", 0..9000));
    assert!(
        stderr(&overfull).contains("its target 1 %: there are more keys"),
        "{}",
        stderr(&overfull)
    );
}

#[test]
fn data_goes_to_stdout_and_talk_to_stderr() {
    let folder = folder();
    let output = run(folder.path(), &["dedup", "-n", "10"], b"a\nb\na\n");
    assert_eq!(output.stdout, b"a\nb\n");
    assert!(stderr(&output).contains("kept 2"), "{}", stderr(&output));
    let output = run(folder.path(), &["build", "-n", "10", "-o", "f"], b"a\n");
    assert_eq!(output.stdout, b"");
    assert!(!output.stderr.is_empty());
    let output = run(folder.path(), &["check", "f"], b"a\nb\n");
    assert_eq!((&*output.stdout, stderr(&output).as_str()), (&b"a\n"[..], ""));
}

/// Every verb that reads a filter, in every way, with arguments that succeed.
fn readers(folder: &std::path::Path) -> Vec<Vec<String>> {
    succeed(folder, &["build", "-n", "1k", "-o", "plain"], &lines("key", 0..100));
    succeed(folder, &["create", "counting", "--layout", "counting", "-n", "1k"], b"");
    succeed(folder, &["add", "counting"], &lines("key", 0..100));
    file(folder, "in", &lines("key", 0..100));
    let mut readers = Vec::new();
    for verb in verbs(folder) {
        for name in ["plain", "counting"] {
            for mut way in verb.ways_to_read(name, "in") {
                for (flag, little) in [("--seconds", "0.01"), ("--samples", "1k")] {
                    if verb.has(flag) {
                        way.extend([flag.to_owned(), little.to_owned()]);
                    }
                }
                let words: Vec<&str> = way.iter().map(String::as_str).collect();
                let is_good = run(folder, &words, b"").status.code() == Some(0);
                let _ = std::fs::remove_file(folder.join("made"));
                if is_good {
                    readers.push(way);
                }
            }
        }
    }
    assert!(readers.len() >= 8, "{readers:?}");
    readers
}

#[test]
fn no_verb_minds_a_closed_pipe() {
    let folder = folder();
    for way in readers(folder.path()) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = mayhap(folder.path());
        let output = command.args(&way).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let _ = std::fs::remove_file(folder.path().join("made"));
        let talk = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{way:?}: {talk}");
        assert!(!talk.contains("mayhap:") && !talk.contains("pipe"), "{way:?}: {talk}");
    }
}

#[test]
fn json_is_json_for_every_verb() {
    let folder = folder();
    let with_json: Vec<String> = verbs(folder.path())
        .into_iter()
        .filter(|verb| verb.has("--json"))
        .map(|v| v.name)
        .collect();
    let mut asked = 0;
    for mut way in readers(folder.path()) {
        if !with_json.contains(&way[0]) {
            continue;
        }
        way.push("--json".into());
        let words: Vec<&str> = way.iter().map(String::as_str).collect();
        let output = run(folder.path(), &words, b"");
        let _ = std::fs::remove_file(folder.path().join("made"));
        // A second run may find nothing any more, as with `remove`.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{way:?}: {}", stderr(&output));
        let is_object = |stream: &[u8]| stream.ends_with(b"}\n") && json(stream).is_object();
        assert!(is_object(&output.stdout) || is_object(&output.stderr), "{way:?}");
        asked += 1;
    }
    assert!(asked >= 6, "{asked}");
}

#[test]
fn no_verb_replaces_a_file_unasked() {
    let folder = folder();
    readers(folder.path());
    let mut asked = 0;
    for verb in verbs(folder.path()).iter().filter(|verb| verb.has("--output")) {
        for inputs in [&["in"][..], &["plain"], &["plain", "in"], &["fpp"]] {
            file(folder.path(), "there", b"precious");
            let words = [&[&*verb.name, "--output", "there"], inputs].concat();
            let output = run(folder.path(), &words, b"a\n");
            assert_eq!(output.status.code(), Some(2), "{words:?}");
            let left = std::fs::read(folder.path().join("there")).unwrap();
            assert_eq!(left, b"precious", "{words:?}");
            asked += usize::from(stderr(&output).contains("exists already"));
        }
    }
    assert!(asked >= 3, "{asked} were refused for this reason");
}
