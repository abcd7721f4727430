//! `dedup --state` of a large filter: the log stays until writing the whole filter pays.

use crate::support::{folder, json, run, start, stderr, succeed};
use mayhap_store::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// More than 64 MiB.
const FIRST: [&str; 7] = ["dedup", "--state", "seen", "-n", "60M", "-p", "1%"];
const NEXT: [&str; 3] = ["dedup", "--state", "seen"];

/// Metadata that shows whether the file of the filter was written.
fn stamp(folder: &Path) -> (u64, u64, i64, i64) {
    let file = fs::metadata(folder.join("seen")).unwrap();
    (file.ino(), file.len(), file.mtime(), file.mtime_nsec())
}

fn log_bytes(folder: &Path) -> u64 {
    fs::metadata(folder.join("seen.log")).unwrap().len()
}

#[test]
fn a_new_line_is_written_to_the_log_alone_and_every_verb_knows_it() {
    let folder = folder();
    let folder = folder.path();
    assert_eq!(succeed(folder, &FIRST, b"a\nb\n"), b"a\nb\n");
    let before = stamp(folder);
    assert!(before.1 > 64 << 20);
    for (input, new) in [(&b"b\nc\n"[..], &b"c\n"[..]), (b"a\nb\nc\n", b""), (b"c\nd\n", b"d\n")] {
        let output = run(folder, &NEXT, input);
        assert_eq!(output.stdout, new);
        let talk = stderr(&output);
        assert!(!talk.contains("log"), "{talk}");
    }
    assert_eq!(stamp(folder), before);
    assert!(log_bytes(folder) < 1000, "{}", log_bytes(folder));

    let all = b"a\nb\nc\nd\n";
    for verb in [&["check", "seen"][..], &["filter", "seen"], &["which", "-f", "seen", "seen"]] {
        let found = String::from_utf8(succeed(folder, verb, b"a\nb\nc\nd\nx\n")).unwrap();
        assert_eq!(found.lines().count(), 4, "{verb:?}: {found}");
        assert!(!found.contains('x'), "{verb:?}: {found}");
    }
    let info = json(&succeed(folder, &["info", "--json", "seen"], b""));
    assert_eq!((&info["log"], &info["inserted_items"]), (&"there".into(), &4.into()));
    assert_eq!(info["unsaved_log_bytes"], log_bytes(folder) - 64);
    succeed(folder, &["verify", "seen"], all);
    succeed(folder, &["merge", "-o", "sum", "seen", "seen"], b"");
    assert_eq!(succeed(folder, &["check", "sum"], all), all);

    let error = mayhap_store::load(&folder.join("seen"), None).unwrap_err();
    assert!(matches!(error, Error::UnreadLog { .. }), "{error}");
    assert_eq!(stamp(folder), before);
    // The command in the hint of that error writes the filter.
    succeed(folder, &["add", "seen", "/dev/null"], b"");
    assert!(stamp(folder) != before && !folder.join("seen.log").exists());
    assert!(mayhap_store::load(&folder.join("seen"), None).unwrap().filter.contains("d"));
    assert_eq!(succeed(folder, &NEXT, b"d\ne\n"), b"e\n");
    assert_eq!(succeed(folder, &["check", "seen"], b"a\nd\ne\nx\n"), b"a\nd\ne\n");
}

#[test]
fn a_query_reads_the_log_and_the_pages_of_its_keys() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &FIRST, b"a\n");
    succeed(folder, &["add", "seen", "/dev/null"], b"");
    succeed(folder, &NEXT, b"b\n");
    // A page without a key of this test. A command that reads the whole file reports it.
    let file = File::options().write(true).open(folder.join("seen")).unwrap();
    file.write_all_at(&[1; 64], 4096 + 4096 * 9000).unwrap();
    assert_eq!(succeed(folder, &["check", "seen"], b"a\nb\nx\n"), b"a\nb\n");
    assert_eq!(run(folder, &["verify", "seen"], b"").status.code(), Some(1));
    // The log does not hide the damage of a page that a query reads.
    for page in 0..17_000 {
        file.write_all_at(&[0; 64], 4096 + 4096 * page).unwrap();
        file.write_all_at(&[7; 64], 4096 + 4096 * page + 512).unwrap();
    }
    for key in [&b"a\n"[..], b"b\n", b"x\n"] {
        let output = run(folder, &["check", "seen"], key);
        assert_eq!((output.status.code(), output.stdout), (Some(2), b"".to_vec()));
    }
}

#[test]
fn after_kill_9_what_the_log_has_is_known() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &FIRST, b"a\n");
    let before = stamp(folder);
    let mut child = start(folder, &NEXT);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    // A later line in the output proves that the pause before it was reached, which records.
    for line in ["b\n", "c\n"] {
        stdin.write_all(line.as_bytes()).unwrap();
        let mut printed = String::new();
        stdout.read_line(&mut printed).unwrap();
        assert_eq!(printed, line);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(succeed(folder, &["check", "seen"], b"a\nb\nx\n"), b"a\nb\n");
    assert_eq!(succeed(folder, &NEXT, b"a\nb\nd\n"), b"d\n");
    assert_eq!(succeed(folder, &NEXT, b"a\nb\nd\ne\n"), b"e\n");
    assert_eq!(stamp(folder), before);
}
