//! Filters whose files are cut or overwritten while they are mapped: an error with exit code 2, and
//! no answer from the changed bytes.

use crate::support::{file, folder, lines, start, stderr, succeed};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

/// Two MiB, so that there are pages not touched yet.
const BUILD: [&str; 7] = ["build", "-n", "1M", "-p", "1e-4", "-q", "-o"];
const KEYS: u64 = 20_000;

/// A filter of `key-0` to `key-19999`, and one of the same size with other keys.
fn build(folder: &Path) {
    let build = |name, prefix| {
        let arguments = [&BUILD[..], &[name, "--force"]].concat();
        succeed(folder, &arguments, &lines(prefix, 0..KEYS));
    };
    build("f", "key");
    build("other", "else");
}

/// Changes of a file by others, and the messages about them.
type Change = (&'static str, fn(&Path));

const CHANGES: [Change; 4] = [
    ("it was cut short while it was in use", |folder| drop(file(folder, "f", b""))),
    ("it was cut short while it was in use", |folder| {
        let file = std::fs::File::options().write(true).open(folder.join("f")).unwrap();
        file.set_len(5000).unwrap();
    }),
    // Like `cp`: first it is empty.
    ("while it was in use", |folder| {
        let bytes = std::fs::read(folder.join("other")).unwrap();
        file(folder, "f", &bytes);
    }),
    ("it was overwritten while it was in use", |folder| {
        let mut file = std::fs::File::options().write(true).open(folder.join("f")).unwrap();
        file.write_all(&[0; 1 << 20]).unwrap();
    }),
];

/// Verbs with a line for which they print a line at once.
const VERBS: [(&[&str], &str); 8] = [
    (&["check", "f"], "key-1"),
    (&["check", "-v", "f"], "absent-1"),
    (&["check", "-f", "f", "-f", "other"], "key-1"),
    (&["check", "-l", "-f", "other", "-f", "f"], ""),
    (&["filter", "f"], "key-1"),
    (&["filter", "f", "--rest", "rest", "--force"], "key-1"),
    (&["filter", "-v", "f"], "absent-1"),
    (&["which", "-a", "-f", "f", "-f", "other"], "key-1"),
];

#[test]
fn a_file_that_is_changed_while_it_is_asked_is_an_error_and_no_answer() {
    for (what, change) in CHANGES {
        for (arguments, line) in VERBS {
            let folder = folder();
            build(folder.path());
            let mut child = start(folder.path(), arguments);
            let mut stdin = child.stdin.take().unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut answer = String::new();
            if line.is_empty() {
                // It prints nothing before its end: writing more than a pipe holds shows that it
                // reads.
                stdin.write_all(&lines("absent", 0..20_000)).unwrap();
            } else {
                stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
                stdout.read_line(&mut answer).unwrap();
                assert!(answer.contains(line), "{arguments:?}: {answer:?}");
            }
            change(folder.path());
            // Whichever part of it is read: the answer would be wrong.
            let _ = stdin.write_all(&lines("key", 1000..KEYS));
            let _ = stdin.write_all(&lines("absent", 1000..KEYS));
            drop(stdin);
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            let output = child.wait_with_output().unwrap();
            let told = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}, {what}: {told}");
            assert!(told.contains("f: ") && told.contains(what), "{arguments:?}: {told}");
            assert_eq!(rest, "", "{arguments:?}, {what}");
            let held_back = std::fs::read(folder.path().join("rest")).unwrap_or_default();
            assert_eq!(held_back, b"", "{arguments:?}, {what}");
        }
    }
}

#[test]
fn a_file_that_is_changed_while_it_is_verified_is_an_error() {
    for (what, change) in CHANGES {
        let folder = folder();
        build(folder.path());
        let mut child = start(folder.path(), &["verify", "--samples", "1000", "f", "-"]);
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds, so that it has begun with the keys.
        stdin.write_all(&lines("key", 0..KEYS)).unwrap();
        change(folder.path());
        let _ = stdin.write_all(&lines("key", 0..KEYS));
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {told}");
        assert!(told.contains(what), "{told}");
    }
}
