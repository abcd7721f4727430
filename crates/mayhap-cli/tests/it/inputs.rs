//! An input is never an output: every verb, every two of its files, every way to name one file.

use crate::support::{file, folder, lines, mayhap, stderr, succeed};
use mayhap_cli::cmd::command;
use mayhap_cli::files::{Role, path_arguments};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The use of the file of an argument by a verb, as its help promises it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Writes,
    /// Reads it, and writes it again.
    Changes,
    /// Writes it, also over a filter that it reads.
    Merges,
    /// Instead of standard output.
    StandsForStdout,
}
use Use::{Changes, Merges, Reads, StandsForStdout, Writes};

/// A verb: its other required arguments, and for each argument that is a path its flag (empty for a
/// positional one), the use of the file, and the sample that it accepts.
type Rows = &'static [(&'static str, &'static [&'static str], &'static [Row])];
type Row = (&'static str, &'static str, Use, &'static str);

const KEY: Row = ("key_file", "--key-file", Reads, "key");
const NEW_KEY: Row = ("new_key_file", "--new-key-file", Writes, "key");
const LISTS: Row = ("files", "", Reads, "list");
const ROWS: Rows = &[
    (
        "dedup",
        &["-n", "1k"],
        &[
            ("output", "-o", StandsForStdout, "list"),
            ("state", "--state", Changes, "plain"),
            KEY,
            NEW_KEY,
            LISTS,
        ],
    ),
    ("build", &["-n", "1k"], &[("output", "-o", Writes, "plain"), KEY, NEW_KEY, LISTS]),
    ("freeze", &[], &[("output", "-o", Writes, "plain"), KEY, NEW_KEY, LISTS]),
    ("create", &["-n", "1k"], &[KEY, NEW_KEY, ("file", "", Writes, "plain")]),
    ("add", &[], &[KEY, ("file", "", Changes, "plain"), LISTS]),
    ("remove", &[], &[KEY, ("file", "", Changes, "counting"), LISTS]),
    (
        "check",
        &[],
        &[
            ("filters", "-f", Reads, "plain"),
            ("filter_list", "-F", Reads, "names"),
            ("confirm", "--confirm", Reads, "sorted"),
            KEY,
            LISTS,
        ],
    ),
    (
        "filter",
        &[],
        &[KEY, ("rest", "--rest", Writes, "list"), ("file", "", Reads, "plain"), LISTS],
    ),
    ("clear", &[], &[KEY, ("file", "", Changes, "plain")]),
    ("delete", &[], &[KEY, ("file", "", Changes, "plain")]),
    ("grow", &[], &[KEY, ("file", "", Changes, "plain"), ("output", "-o", Writes, "plain")]),
    ("shrink", &[], &[KEY, ("file", "", Changes, "plain"), ("output", "-o", Writes, "plain")]),
    ("ttl", &["redis://127.0.0.1:1/0/x"], &[KEY]),
    ("ui", &["redis://127.0.0.1:1"], &[KEY]),
    ("info", &[], &[KEY, ("file", "", Reads, "plain")]),
    ("verify", &[], &[KEY, ("file", "", Reads, "plain"), ("keys", "", Reads, "list")]),
    ("merge", &[], &[("output", "-o", Merges, "plain"), KEY, ("files", "", Reads, "plain")]),
    ("assemble", &[], &[("output", "-o", Merges, "segment"), ("files", "", Reads, "segment")]),
    (
        "which",
        &[],
        &[("filters", "-f", Reads, "plain"), ("filter_list", "-F", Reads, "names"), KEY, LISTS],
    ),
    ("detect", &[], &[("files", "", Reads, "plain")]),
    (
        "convert",
        &["--to", "guava-java"],
        &[("output", "-o", Writes, "guava"), ("file", "", Reads, "guava")],
    ),
    ("push", &["redis://127.0.0.1:1/0/x"], &[KEY, ("file", "", Reads, "plain")]),
    ("pull", &["redis://127.0.0.1:1/0/x"], &[KEY, ("file", "", Writes, "plain")]),
    ("move", &[], &[KEY, ("from", "", Reads, "plain"), ("to", "", Changes, "plain")]),
    ("list", &["redis://127.0.0.1:1"], &[]),
    ("rename", &["redis://127.0.0.1:1/0/x", "y"], &[]),
    ("orphans", &["redis://127.0.0.1:1"], &[]),
    (
        "serve",
        &["--check-config"],
        &[
            ("config", "--config", Reads, "config"),
            ("password_file", "--password-file", Reads, "key"),
        ],
    ),
    // Folders, in which no existing file is written.
    ("backup", &["data", "-o", "copy"], &[]),
    ("restore", &["copy", "--data", "data"], &[]),
    ("health", &["127.0.0.1:1"], &[]),
    ("plan", &["-n", "1k", "-p", "1%"], &[]),
    ("explain", &["-m", "20", "-k", "3", "A"], &[]),
    ("plot", &["fpp"], &[("output", "-o", StandsForStdout, "list")]),
    ("bench", &["--seconds", "0.01"], &[KEY, NEW_KEY, ("file", "", Reads, "plain")]),
    ("completions", &["bash"], &[]),
    ("man", &[], &[("out", "--out", Writes, "folder")]),
];

/// Arguments that name no file but a filter on a server.
const URLS: &[(&str, &str)] = &[
    ("push", "url"),
    ("pull", "url"),
    ("list", "url"),
    ("orphans", "url"),
    ("rename", "from"),
    ("rename", "to"),
    ("ttl", "url"),
    ("ui", "url"),
];

/// Files that verbs with other files beside them read as they read a key.
const READ_AS_KEYS: [&str; 4] = ["tls_ca", "tls_cert", "tls_key", "like"];

#[test]
fn the_table_has_every_file_of_every_verb() {
    let command = command();
    let mut expected: Vec<(String, String)> = Vec::new();
    for verb in command.get_subcommands() {
        assert!(ROWS.iter().any(|row| row.0 == verb.get_name()), "no row for {}", verb.get_name());
        for arg in path_arguments(verb) {
            let (verb, id) = (verb.get_name(), arg.get_id().as_str());
            assert!(mayhap_cli::files::role_of(verb, id).is_some(), "{verb} {id} has no role");
            if READ_AS_KEYS.contains(&id) {
                assert_eq!(mayhap_cli::files::role_of(verb, id), Some(Role::Reads));
            } else if !URLS.contains(&(verb, id)) {
                expected.push((verb.into(), id.into()));
            }
        }
    }
    let rows = ROWS.iter().flat_map(|(verb, _, rows)| rows.iter().map(move |row| (verb, row.0)));
    let mut rows: Vec<_> = rows.map(|(verb, id)| (verb.to_string(), id.to_string())).collect();
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
}

/// A file of each sort that a verb takes.
struct Samples(tempfile::TempDir);

impl Samples {
    fn make() -> Self {
        let folder = folder();
        let at = folder.path();
        file(at, "list", &lines("key", 0..300));
        file(at, "sorted", b"a\nb\nc\n");
        file(at, "key", b"00112233445566778899aabbccddeeff\n");
        file(at, "config", b"port = 0\n");
        // MITZ_64, k = 1, one long: the smallest stream that there is.
        file(at, "guava", &[1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32]);
        succeed(at, &["build", "-q", "-n", "1k", "-o", "plain", "list"], b"");
        succeed(at, &["create", "-q", "-n", "1k", "--layout", "counting", "counting"], b"");
        succeed(at, &["build", "-q", "-n1k", "--segment", "1/1", "-o", "segment", "list"], b"");
        file(at, "names", at.join("plain").as_os_str().as_encoded_bytes());
        Self(folder)
    }

    fn copy(&self, sample: &str, to: &Path) {
        if sample == "folder" {
            fs::create_dir(to).unwrap();
        } else {
            fs::copy(self.0.path().join(sample), to).unwrap();
        }
    }
}

/// The way in which the second argument leads to the file of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    SamePath,
    HardLink,
    SymbolicLink,
    DevStdout,
}

/// Names, inodes and contents of all in a folder.
fn snapshot(folder: &Path) -> BTreeMap<String, (u64, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let of = |path: &Path| {
        let metadata = path.symlink_metadata().unwrap();
        (metadata.ino(), fs::read(path).unwrap_or_default())
    };
    entries.map(|e| (e.file_name().into_string().unwrap(), of(&e.path()))).collect()
}

/// The command with these values for these arguments, and samples for the other required ones.
fn arguments(folder: &Path, samples: &Samples, verb: &str, values: &[(&Row, &str)]) -> Vec<String> {
    let (_, needs, rows) = ROWS.iter().find(|row| row.0 == verb).unwrap();
    let mut words = vec![verb.to_owned()];
    words.extend(needs.iter().map(|&word| word.to_owned()));
    let command = command();
    let clap = command.find_subcommand(verb).unwrap();
    if clap.get_arguments().any(|arg| arg.get_long() == Some("force")) {
        let needs_rest = verb == "filter" && !values.iter().any(|(row, _)| row.0 == "rest");
        words.extend((!needs_rest).then(|| "--force".to_owned()));
    }
    let mut positional = Vec::new();
    for row in *rows {
        let is_required =
            clap.get_arguments().any(|arg| arg.get_id() == row.0 && arg.is_required_set());
        // `check` and `which` take their filter here or with -f.
        let is_required = is_required || row.0 == "filters" && row.2 == Reads;
        let given = values.iter().filter(|(given, _)| given.0 == row.0).map(|(_, value)| *value);
        let mut given: Vec<String> = given.map(str::to_owned).collect();
        if given.is_empty() && is_required {
            let name = format!("other-{}", row.0);
            if row.2 == Reads || row.2 == Changes {
                samples.copy(row.3, &folder.join(&name));
            }
            given.push(name);
        }
        for value in given {
            if row.1.is_empty() {
                positional.push(value);
            } else {
                words.extend([row.1.to_owned(), value]);
            }
        }
    }
    // A URL is last for push and first for pull.
    if verb == "push" {
        let url = words.remove(1);
        positional.push(url);
    }
    words.extend(positional);
    words
}

fn is_listed(row: &Row) -> bool {
    matches!(row.0, "files" | "keys") && row.3 == "list"
}

/// Runs a verb whose two arguments lead to one file in a new folder.
fn run_pair(samples: &Samples, verb: &str, (one, other): (&Row, &Row), way: Way) {
    let folder = folder();
    let at = folder.path();
    // The argument that is read determines the contents of the file.
    let sample = if one.2 == Reads || other.2 != Reads { one.3 } else { other.3 };
    if sample == "folder" {
        return;
    }
    samples.copy(sample, &at.join("one"));
    let mut second = "two";
    match way {
        Way::SamePath => second = "one",
        Way::HardLink => fs::hard_link(at.join("one"), at.join("two")).unwrap(),
        Way::SymbolicLink => symlink("one", at.join("two")).unwrap(),
        Way::DevStdout => second = "/dev/stdout",
    }
    let words = arguments(at, samples, verb, &[(one, "one"), (other, second)]);
    let before = snapshot(at);
    let mut command = mayhap(at);
    command.args(&words).stderr(Stdio::piped());
    if way == Way::DevStdout {
        command.stdout(OpenOptions::new().append(true).open(at.join("one")).unwrap());
    }
    let output = command.output().unwrap();
    let case = format!("{words:?} {way:?}: {}", stderr(&output));
    judge(&output, (one, other), way, &case);
    if !is_allowed(one.2, other.2) || way == Way::DevStdout {
        assert_eq!(before, snapshot(at), "{case}");
    }
}

/// Whether a command may run with two files that are one: both are read, or it is a merge over one
/// of its parts.
fn is_allowed(one: Use, other: Use) -> bool {
    matches!((one, other), (Reads | Merges, Reads) | (Reads, Merges))
}

fn judge(output: &Output, (one, other): (&Row, &Row), way: Way, case: &str) {
    let talk = stderr(output);
    let is_refused = talk.contains("are the same file");
    // clap refuses some pairs whatever they name.
    let is_contradiction = talk.contains("cannot be used with");
    let is_key = one.0 == "key_file" || other.0 == "key_file";
    let allowed = is_allowed(one.2, other.2)
        && way != Way::DevStdout
        && !(is_key && [one.2, other.2].contains(&Merges));
    if allowed {
        assert!(!is_refused, "{case}");
    } else {
        assert!(is_refused || is_contradiction, "{case}");
        assert_eq!(output.status.code(), Some(2), "{case}");
    }
}

#[test]
fn no_two_files_of_a_command_are_one_if_either_is_written() {
    let samples = Samples::make();
    let mut pairs = 0;
    for (verb, _, rows) in ROWS {
        for (i, one) in rows.iter().enumerate() {
            for other in &rows[i + 1..] {
                for way in [Way::SamePath, Way::HardLink, Way::SymbolicLink, Way::DevStdout] {
                    // One is named first, and then the other.
                    run_pair(&samples, verb, (one, other), way);
                    run_pair(&samples, verb, (other, one), way);
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 100, "{pairs}");
}

#[test]
fn standard_output_is_no_file_that_is_read_or_written() {
    let samples = Samples::make();
    for (verb, _, rows) in ROWS {
        for row in *rows {
            if row.3 == "folder" {
                continue;
            }
            let folder = folder();
            let at = folder.path();
            samples.copy(row.3, &at.join("one"));
            let words = arguments(at, &samples, verb, &[(row, "one")]);
            let before = snapshot(at);
            let appending = OpenOptions::new().append(true).open(at.join("one")).unwrap();
            let mut command = mayhap(at);
            let output = command.args(&words).stdout(appending).output().unwrap();
            let case = format!("{words:?} >> one: {}", stderr(&output));
            if row.2 == StandsForStdout {
                assert!(!stderr(&output).contains("are the same file"), "{case}");
                continue;
            }
            assert!(stderr(&output).contains("are the same file"), "{case}");
            assert_eq!((output.status.code(), before), (Some(2), snapshot(at)), "{case}");
        }
    }
}

#[test]
fn standard_input_is_no_file_that_is_written() {
    let samples = Samples::make();
    let mut refused = 0;
    for (verb, _, rows) in ROWS.iter().filter(|(_, _, rows)| rows.iter().any(is_listed)) {
        for row in rows.iter().filter(|row| row.2 != Reads) {
            for dash in [&["-"][..], &[]] {
                let folder = folder();
                let at = folder.path();
                samples.copy(row.3, &at.join("one"));
                let mut words = arguments(at, &samples, verb, &[(row, "one")]);
                words.extend(dash.iter().map(|&word| word.to_owned()));
                let before = snapshot(at);
                let input = File::open(at.join("one")).unwrap();
                let output = mayhap(at).args(&words).stdin(input).output().unwrap();
                let case = format!("{words:?} < one: {}", stderr(&output));
                assert!(stderr(&output).contains("are the same file"), "{case}");
                assert_eq!((output.status.code(), before), (Some(2), snapshot(at)), "{case}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 10, "{refused}");
}

/// Runs with a limit: a command that waits for a pipe would wait forever.
fn run_or_time_out(folder: &Path, words: &[String]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_mayhap")]).args(words);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_input_is_read() {
    let samples = Samples::make();
    let mut refused = 0;
    for (verb, _, rows) in ROWS {
        let list = rows.iter().find(|row| is_listed(row));
        for row in rows.iter().filter(|row| !matches!(row.2, Reads | Changes) && row.3 != "folder")
        {
            for problem in ["there", "folder", "absent/one"] {
                let folder = folder();
                let at = folder.path();
                file(at, "there", b"precious");
                fs::create_dir(at.join("folder")).unwrap();
                assert!(Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
                let mut values = vec![(row, problem)];
                // The pipe has no writer: opening it blocks.
                values.extend(list.map(|list| (list, "pipe")));
                let mut words = arguments(at, &samples, verb, &values);
                words.retain(|word| word != "--force");
                let output = run_or_time_out(at, &words);
                let talk = stderr(&output);
                assert_eq!(output.status.code(), Some(2), "{words:?}: {talk}");
                let said = match problem {
                    "there" => "exists already",
                    "folder" if row.2 == Writes && row.0 == "new_key_file" => "exists already",
                    "folder" => "is a folder",
                    _ => "cannot create absent/one: ",
                };
                assert!(talk.contains(said) && talk.contains(problem), "{words:?}: {talk}");
                assert_eq!(fs::read(at.join("there")).unwrap(), b"precious");
                refused += 1;
            }
        }
    }
    assert!(refused >= 20, "{refused}");
}

#[test]
fn a_dash_is_standard_output_for_lines_and_refused_for_filters() {
    let samples = Samples::make();
    let at = samples.0.path();
    let all = lines("key", 0..300);
    assert_eq!(succeed(at, &["dedup", "-n", "1k", "-o", "-", "list"], b""), all);
    assert!(succeed(at, &["plot", "fpp", "-o", "-"], b"").starts_with(b"<"));
    for (verb, _, rows) in ROWS {
        for row in rows.iter().filter(|row| row.2 != StandsForStdout && !is_listed(row)) {
            let folder = folder();
            let words = arguments(folder.path(), &samples, verb, &[(row, "-")]);
            let before = snapshot(folder.path());
            let output = run_or_time_out(folder.path(), &words);
            let talk = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {talk}");
            assert!(
                talk.contains(" - is standard ") && talk.contains("hint: "),
                "{words:?}: {talk}"
            );
            assert_eq!(before, snapshot(folder.path()), "{words:?}");
        }
    }
}

#[test]
fn a_merge_may_replace_one_of_its_parts_under_any_of_its_names() {
    for layout in ["blocked", "standard", "compact", "counting", "scalable"] {
        for way in [Way::SamePath, Way::HardLink, Way::SymbolicLink] {
            let folder = folder();
            let at = folder.path();
            for (name, keys) in [("one", 0..100), ("more", 100..200)] {
                let create = ["create", "-q", name, "-n", "1k", "-p", "1e-9", "--layout", layout];
                succeed(at, &create, b"");
                succeed(at, &["add", "-q", name], &lines("key", keys));
            }
            let output = match way {
                Way::SamePath => "one",
                Way::HardLink => {
                    fs::hard_link(at.join("one"), at.join("two")).unwrap();
                    "two"
                }
                _ => {
                    symlink("one", at.join("two")).unwrap();
                    "two"
                }
            };
            succeed(at, &["merge", "-q", "--force", "-o", output, "one", "more"], b"");
            let all = lines("key", 0..200);
            assert_eq!(succeed(at, &["check", output], &all), all, "{layout} {way:?}");
            let part = succeed(at, &["check", "one"], &all);
            let expected = if way == Way::HardLink { lines("key", 0..100) } else { all };
            assert_eq!(part, expected, "{layout} {way:?}: a hard link is another file then");
        }
    }
}
