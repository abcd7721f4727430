//! Every verb under nonsense: random arguments, filter files and input. The verbs and their flags
//! are read from the help, so that new ones are covered.

use crate::foreign::golden;
use crate::support::{file, folder, lines, numbers, run, succeed};
use crate::verbs::{Verb, verbs};
use mayhap::native::{HEADER_BYTES, MAGIC};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Address space of a child, in KiB: far above the needs of the verbs with [`BOUNDS`].
const ADDRESS_SPACE_KIB: &str = "3000000";
/// The seconds after which a child counts as hanging.
const PATIENCE: &str = "60";
/// The amount of work requested: a huge number is valid, and takes its time.
const WORK: [&str; 2] = ["--seconds", "--samples"];
/// Given to every verb that has the flag.
const BOUNDS: [(&str, &str); 4] = [
    ("--max-memory", "64MiB"),
    ("--max-line", "1MiB"),
    ("--seconds", "0.01"),
    ("--samples", "1000"),
];

/// Verbs that open a plain filter without reading all of it, as documented: damage of its body is
/// found by `verify`, `info`, `add`.
const ASK_WHERE_IT_LIES: [&str; 4] = ["check", "which", "filter", "bench"];

/// Runs with bounded memory and time; input from a file, since some verbs never read it.
fn bounded(folder: &Path, arguments: &[OsString], input: &str) -> Output {
    let input = std::fs::File::open(folder.join(input)).unwrap();
    Command::new("sh")
        .args(["-c", r#"ulimit -v "$0"; exec timeout "$@""#, ADDRESS_SPACE_KIB, PATIENCE])
        .arg(env!("CARGO_BIN_EXE_mayhap"))
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", "80")
        .stdin(Stdio::from(input))
        .output()
        .unwrap()
}

/// The checks of every run.
fn judge(arguments: &[OsString], output: &Output) -> i32 {
    let talk = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)), "{arguments:?} ended with {code:?}: {talk}");
    assert!(!talk.contains("panicked"), "{arguments:?}: {talk}");
    let says_why = talk.contains("mayhap:") || talk.contains(r#"{"level":"error""#);
    assert!(code != Some(2) || says_why, "{arguments:?} gives no reason: {talk}");
    code.unwrap()
}

fn os(words: &[String]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The names of the files in a folder.
fn names(folder: &Path) -> BTreeSet<OsString> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// A filter of every kind that files have, filled with `key-0` to `key-99`.
fn filters(folder: &Path) -> Vec<String> {
    let keys = lines("key", 0..100);
    let of_lines = ["blocked", "standard", "compact", "counting", "scalable", "window:200"];
    for layout in of_lines.into_iter().chain(["fuse", "ribbon"]) {
        let is_frozen = matches!(layout, "fuse" | "ribbon");
        let size = if is_frozen { [].as_slice() } else { &["-n", "200"] };
        let name = layout.split(':').next().unwrap();
        let arguments = [&["build", "--layout", layout, "-o", name], size].concat();
        succeed(folder, &arguments, &keys);
    }
    succeed(folder, &["create", "window-time", "--layout", "window:7d", "-n", "200"], b"");
    succeed(folder, &["add", "window-time"], &keys);
    let mut matrix = mayhap::BloomMatrix::builder()
        .expected_items(200)
        .target_fpp(1e-3)
        .num_sets(3)
        .build()
        .unwrap();
    for i in 0..100 {
        matrix.insert(1, &*format!("key-{i}"));
    }
    mayhap_store::save(&folder.join("matrix"), &matrix, "").unwrap();
    file(folder, "in", &keys);
    let mut names: Vec<String> =
        names(folder).into_iter().map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name != "in");
    assert_eq!(names.len(), 10, "{names:?}");
    names
}

/// All pairs of a verb and a whole file that it can read, as argument vectors.
fn readers(folder: &Path, files: &[String]) -> Vec<(String, Vec<String>)> {
    let mut readers = Vec::new();
    for verb in verbs(folder) {
        let before = readers.len();
        let mut ways = 0;
        for name in files {
            for mut way in verb.ways_to_read("victim", "in") {
                ways += 1;
                bounds(&verb, &mut way);
                std::fs::copy(folder.join(name), folder.join("victim")).unwrap();
                let output = bounded(folder, &os(&way), "in");
                let _ = std::fs::remove_file(folder.join("made"));
                if judge(&os(&way), &output) < 2 {
                    readers.push((name.clone(), way));
                }
            }
        }
        // One makes a filter, three need a server too, one needs its digests, and two forget its
        // keys only when forced.
        let makes =
            ["create", "push", "ttl", "ui", "grow", "clear", "delete"].contains(&&*verb.name);
        assert!(ways == 0 || makes || readers.len() > before, "no way to read with {verb:?}");
    }
    let _ = std::fs::remove_file(folder.join("victim"));
    // Without its log a state is a plain filter again.
    let _ = std::fs::remove_file(folder.join("victim.log"));
    readers
}

fn bounds(verb: &Verb, arguments: &mut Vec<String>) {
    for (flag, value) in BOUNDS {
        if verb.has(flag) {
            arguments.extend([flag.to_owned(), value.to_owned()]);
        }
    }
}

/// Runs a reader on this content; returns the exit code, after the checks of every run.
fn read_victim(folder: &Path, content: &[u8], arguments: &[String]) -> i32 {
    let before = names(folder);
    file(folder, "victim", content);
    let code = judge(&os(arguments), &bounded(folder, &os(arguments), "in"));
    if code == 2 {
        let left = std::fs::read(folder.join("victim")).unwrap();
        assert!(left == content, "{arguments:?} failed and changed its filter");
        assert!(!folder.join("made").exists(), "{arguments:?} failed and left its output");
    }
    std::fs::remove_file(folder.join("victim")).unwrap();
    for made in ["made", "victim.log"] {
        let _ = std::fs::remove_file(folder.join(made));
    }
    assert_eq!(names(folder), before, "{arguments:?} left files behind");
    code
}

#[test]
fn a_filter_file_that_is_cut_or_longer_is_never_taken() {
    let folder = folder();
    let folder = folder.path();
    let files = filters(folder);
    for (name, arguments) in readers(folder, &files) {
        let whole = std::fs::read(folder.join(&name)).unwrap();
        let length = whole.len();
        for cut in [0, 1, 7, 8, 100, HEADER_BYTES - 1, HEADER_BYTES, length / 2, length - 1] {
            let code = read_victim(folder, &whole[..cut], &arguments);
            assert_ne!(code, 0, "{arguments:?} took {name} cut to {cut} of {length} bytes");
        }
        let longer = [&*whole, b"\0"].concat();
        let code = read_victim(folder, &longer, &arguments);
        assert_ne!(code, 0, "{arguments:?} took {name} with a byte too many");
    }
}

#[test]
fn a_filter_file_with_a_flipped_bit_is_never_taken() {
    let folder = folder();
    let folder = folder.path();
    let files = filters(folder);
    for (name, arguments) in readers(folder, &files) {
        let whole = std::fs::read(folder.join(&name)).unwrap();
        let is_plain = ["blocked", "standard"].contains(&&*name);
        let mut random = numbers(5);
        let mut below = |limit: usize| random.next().unwrap() as usize % limit;
        for round in 0..10 {
            let is_header = round % 5 != 0;
            // The fields are in the first bytes.
            let limit = if round % 2 == 0 { HEADER_BYTES } else { 256 };
            let body = whole.len() - HEADER_BYTES;
            let at = if is_header { below(limit) } else { HEADER_BYTES + below(body) };
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << below(8);
            let code = read_victim(folder, &bytes, &arguments);
            let may_miss = is_plain && ASK_WHERE_IT_LIES.contains(&&*arguments[0]);
            if is_header || !may_miss {
                assert_ne!(code, 0, "{arguments:?} took {name} with byte {at} flipped");
            }
        }
    }
}

#[test]
fn random_bytes_are_never_taken_for_a_filter() {
    let folder = folder();
    let folder = folder.path();
    let files = filters(folder);
    for (name, arguments) in readers(folder, &files) {
        let whole = std::fs::read(folder.join(&name)).unwrap();
        let mut random = numbers(6);
        for kept in [0, MAGIC.len(), 12, 16, 64, 256] {
            let length = random.next().unwrap() as usize % (3 * HEADER_BYTES);
            let rest = random.by_ref().take(length).map(|number| number as u8);
            let bytes: Vec<u8> = whole[..kept].iter().copied().chain(rest).collect();
            let code = read_victim(folder, &bytes, &arguments);
            assert_ne!(code, 0, "{arguments:?} took random bytes after {kept} of {name}");
        }
    }
}

/// Values that no user types on purpose.
fn odd_values() -> Vec<OsString> {
    let long = "9".repeat(4000);
    let mut values: Vec<OsString> = [
        "",
        " ",
        "-",
        "--",
        "-1",
        "0",
        "1",
        "2",
        "NaN",
        "inf",
        "1e400",
        "1e-400",
        "0.5",
        "100%",
        "1/0",
        "0/1",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775808",
        "1e19",
        "1PiB",
        "16EiB",
        "1 in 0",
        "1e-9",
        "0x10",
        "/",
        "..",
        ".",
        "/dev/null",
        "/dev/full",
        "no/such/dir/x",
        "\u{1F600}",
        "\u{0}1".trim_start_matches('\0'),
        "\n",
        "window:0",
        "window:1e30d",
        "window:",
        "scalable",
        "compact",
        "counting",
        "fuse",
        "auto",
        "bash",
        "fpp",
        "/a/b",
        "\\x00",
        "\\t",
    ]
    .map(OsString::from)
    .into();
    values.push(long.into());
    values.push(OsString::from_vec(b"\xFF\xFE".to_vec()));
    values
}

/// A value that could be meant.
fn fitting_values(kind: &str) -> &'static [&'static str] {
    match kind {
        "COUNT" => &["1", "1000", "10k"],
        "RATE" => &["1%", "1e-6", "1/1000"],
        "SIZE" => &["64KiB", "1M"],
        "FILTER" | "MATRIX" => {
            &["blocked", "standard", "compact", "counting", "fuse", "matrix", "guava", "fresh"]
        }
        "FORMAT" => &["guava", "magnuss-redis", "spark"],
        "FORM" => &["guava", "guava-java", "magnuss"],
        "TYPE" => &["bytes", "long", "utf16"],
        "LAYOUT" => {
            &["blocked", "standard", "compact", "counting", "scalable", "window:100", "window:1h"]
        }
        "NUMBER" => &["0", "7"],
        "TIME" => &["100ms", "1s"],
        "URL" => &["redis://127.0.0.1:1/0/x", "redis+cluster://127.0.0.1:1,127.0.0.1:2/x"],
        _ => &["in", "fresh", "noise", "blocked", "1", "fpp", "bits", "bash"],
    }
}

/// A random argument vector of a verb.
fn random_arguments(
    verb: &Verb,
    odd: &[OsString],
    random: &mut impl Iterator<Item = u64>,
) -> Vec<OsString> {
    let mut below = |limit: usize| random.next().unwrap() as usize % limit;
    let mut arguments = vec![OsString::from(&verb.name)];
    let value = |below: &mut dyn FnMut(usize) -> usize, kind: &str| {
        let fitting = fitting_values(kind);
        // Mostly valid values, or else the first odd value would end every run.
        if below(4) == 0 {
            odd[below(odd.len())].clone()
        } else {
            fitting[below(fitting.len())].into()
        }
    };
    for _ in 0..below(7) {
        if below(3) == 0 {
            let kind = if below(2) == 0 { "FILTER" } else { "INPUT" };
            arguments.push(value(&mut below, kind));
            continue;
        }
        let flag = &verb.flags[below(verb.flags.len())];
        let is_bound = BOUNDS.iter().any(|(bound, _)| *bound == flag.name);
        if WORK.contains(&&*flag.name) || is_bound && below(4) > 0 {
            continue;
        }
        arguments.push(OsString::from(&flag.name));
        if let Some(kind) = &flag.value {
            arguments.push(value(&mut below, kind));
        }
    }
    if verb.usage.contains("--output <") && below(8) > 0 {
        arguments.extend(["--output".into(), "fresh".into()]);
    }
    if verb.has("--to") && below(8) > 0 {
        arguments.extend(["guava".into(), "--to".into(), "guava".into()]);
    }
    if verb.has("--items") && below(3) > 0 {
        arguments.extend(["--items".into(), "1000".into()]);
    }
    for (flag, value) in BOUNDS {
        if verb.has(flag) && !arguments.iter().any(|argument| argument == flag) {
            arguments.extend([flag.into(), value.into()]);
        }
    }
    if verb.has("--check-config") {
        // A service ends only by a signal; given twice it is refused.
        arguments.push("--check-config".into());
    }
    // An endless input gives endless lines.
    if arguments.iter().any(|argument| argument == "--null") {
        let endless = |argument: &&mut OsString| *argument == "/dev/full";
        arguments.iter_mut().filter(endless).for_each(|argument| *argument = "/dev/null".into());
    }
    arguments
}

/// Files that may be new in the folder: files named by the arguments, the log of a state, and
/// digests.
fn is_named(name: &OsStr, arguments: &[OsString]) -> bool {
    let name = name.as_bytes();
    let beside = name.strip_suffix(b".log").or(name.strip_suffix(b".digests"));
    let name = beside.unwrap_or(name);
    arguments.iter().any(|argument| argument.as_bytes().ends_with(name))
}

/// The checks of the folder after a run with random arguments.
fn judge_folder(folder: &Path, before: &BTreeSet<OsString>, arguments: &[OsString], code: i32) {
    for name in names(folder).difference(before) {
        let shown = name.display();
        assert!(is_named(name, arguments), "{arguments:?} left {shown}");
        let path = folder.join(name);
        let bytes = std::fs::read(&path).unwrap_or_default();
        let is_state = arguments.windows(2).any(|pair| pair[0] == "--state" && pair[1] == *name);
        let is_ours = bytes.starts_with(&MAGIC) || bytes.starts_with(b"\x89mhpdig");
        let is_wrong = code == 2 && !is_state && is_ours;
        assert!(!is_wrong, "{arguments:?} failed and left a filter as {shown}");
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn no_arguments_and_no_input_break_a_verb() {
    let folder = folder();
    let folder = folder.path();
    filters(folder);
    let noise: Vec<u8> = numbers(8).take(200_000).map(|number| number as u8).collect();
    file(folder, "noise", &noise);
    file(folder, "gzip", &[b"\x1F\x8B\x08\x00", &*noise].concat());
    file(folder, "zstd", &[b"\x28\xB5\x2F\xFD", &*noise].concat());
    file(folder, "empty", b"");
    std::fs::copy(golden("guava/union_a.bin"), folder.join("guava")).unwrap();
    let pristine = crate::support::folder();
    for name in names(folder) {
        std::fs::copy(folder.join(&name), pristine.path().join(&name)).unwrap();
    }
    let (before, odd) = (names(folder), odd_values());
    let mut random = numbers(9);
    for verb in verbs(folder) {
        let mut done = 0;
        for round in 0..800 {
            // Few random arguments of a verb with many flags are right together.
            if round >= 80 && done > 0 {
                break;
            }
            let arguments = random_arguments(&verb, &odd, &mut random);
            let input = ["in", "noise", "gzip", "zstd", "empty"][round % 5];
            let code = judge(&arguments, &bounded(folder, &arguments, input));
            done += usize::from(code == 0);
            judge_folder(folder, &before, &arguments, code);
            for name in &before {
                if !folder.join(name).is_file()
                    || std::fs::metadata(folder.join(name)).unwrap().len() != 0 && name == "empty"
                    || round % 10 == 9
                {
                    std::fs::copy(pristine.path().join(name), folder.join(name)).unwrap();
                }
            }
        }
        assert!(done > 0, "no run of {} did anything: {verb:?}", verb.name);
    }
}

#[test]
fn every_flag_refuses_odd_values_or_lives_with_them() {
    let folder = folder();
    let folder = folder.path();
    filters(folder);
    let (before, verbs) = (names(folder), verbs(folder));
    let flags = verbs.iter().flat_map(|verb| &verb.flags);
    let flags: BTreeSet<&str> =
        flags.filter(|flag| flag.value.is_some()).map(|flag| flag.name.as_str()).collect();
    for flag in flags {
        let takers: Vec<&Verb> = verbs.iter().filter(|verb| verb.has(flag)).collect();
        // Verbs that share a flag share the values.
        for (i, value) in odd_values().into_iter().enumerate() {
            if WORK.contains(&flag) && value.len() > 3 {
                continue;
            }
            let verb = takers[i % takers.len()];
            let mut arguments = vec![OsString::from(&verb.name), flag.into(), value];
            if verb.usage.contains("--output <") && flag != "--output" {
                arguments.extend(["--output".into(), "fresh".into()]);
            }
            for (bound, value) in BOUNDS {
                if verb.has(bound) && bound != flag {
                    arguments.extend([bound.into(), value.into()]);
                }
            }
            // Most verbs expect a file first.
            arguments.push(if i % 2 == 0 { "counting" } else { "in" }.into());
            let code = judge(&arguments, &bounded(folder, &arguments, "in"));
            judge_folder(folder, &before, &arguments, code);
        }
    }
}

#[test]
fn a_verb_that_is_none_and_flags_of_none_are_refused() {
    let folder = folder();
    for arguments in [vec![], vec!["bild"], vec!["--nosuch"], vec!["-"], vec![""]] {
        let output = run(folder.path(), &arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
