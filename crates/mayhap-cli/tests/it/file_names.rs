//! T13: hostile names of files. They stay names, and their messages are one line.

use crate::support::{file, folder, lines, mayhap};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Output, Stdio};

const NAMES: [&[u8]; 18] = [
    b"a\nmayhap: all is well",
    b"a\rmayhap: all is well",
    b"\x1B[2J\x1B[31m",
    b"\x07\x08\x7F",
    b"\xFF\xFE not UTF-8 \x80",
    "\u{85}\u{9B}31m".as_bytes(),
    b"CON",
    b".hidden",
    b"..x",
    b"...",
    b" ",
    b"*",
    b"~",
    b"%s%n%n",
    b"$(touch pwned)",
    b"`touch pwned`;touch pwned",
    b"'\"\\",
    &[b'x'; 243],
];

fn run(folder: &Path, verb: &[&str], name: &OsStr, input: &str) -> Output {
    let input = std::fs::File::open(folder.join(input)).unwrap();
    mayhap(folder).args(verb).arg(name).stdin(Stdio::from(input)).output().unwrap()
}

/// All messages are lines that begin as ours do, without a control character.
fn judge_talk(output: &Output, name: &OsStr) -> String {
    let name = name.as_bytes().escape_ascii();
    let talk = String::from_utf8(output.stderr.clone()).unwrap();
    for line in talk.lines() {
        assert!(!line.contains(char::is_control), "{name}: {talk:?}");
        assert!(!line.starts_with("mayhap: all is well"), "{name}: {talk:?}");
    }
    talk
}

fn names_in(folder: &Path) -> BTreeSet<OsString> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn a_hostile_file_name_is_a_name_and_its_messages_are_lines_of_ours() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..100));
    let mut there: BTreeSet<OsString> = [OsString::from("keys")].into();
    for name in NAMES {
        let name = OsStr::from_bytes(name);
        for verb in ["check", "info", "verify", "add", "remove", "which"] {
            let output = run(folder, &[verb, "--"], name, "keys");
            assert_eq!(output.status.code(), Some(2), "{verb} {name:?}");
            let talk = judge_talk(&output, name);
            assert!(talk.starts_with("mayhap: "), "{verb} {name:?}: {talk}");
            assert_eq!(names_in(folder), there, "{verb} {name:?}");
        }
        let built = run(folder, &["build", "-n", "1000", "keys", "-o"], name, "keys");
        assert_eq!(built.status.code(), Some(0), "{name:?}: {}", judge_talk(&built, name));
        judge_talk(&built, name);
        there.insert(name.to_owned());
        assert_eq!(names_in(folder), there, "{name:?}");
        let found = run(folder, &["check", "--"], name, "keys");
        assert_eq!(found.stdout, lines("key", 0..100), "{name:?}: {}", judge_talk(&found, name));
        for (verb, code) in [("add", 0), ("info", 0), ("verify", 0), ("create", 2), ("remove", 2)] {
            let more: &[&str] = if verb == "create" { &["-n", "9", "--"] } else { &["--"] };
            let output = run(folder, &[&[verb][..], more].concat(), name, "keys");
            let talk = judge_talk(&output, name);
            assert_eq!(output.status.code(), Some(code), "{verb} {name:?}: {talk}");
            let shown = String::from_utf8(output.stdout).unwrap();
            assert!(!shown.contains(|char: char| char.is_control() && char != '\n'), "{shown:?}");
        }
        assert_eq!(names_in(folder), there, "{name:?}");
    }
}
