//! Messages in the words of their readers, within the width of their screens.

use crate::paper_cuts::terminal;
use crate::support::{fail, file, folder, mayhap, run, stderr, succeed};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io::Read;
use std::path::Path;

#[test]
fn a_missing_folder_is_named_with_the_way_to_make_it() {
    let folder = folder();
    file(folder.path(), "keys", b"a\n");
    succeed(folder.path(), &["build", "-q", "-n", "10", "--keep-digests", "-o", "f"], b"a\n");
    for arguments in [
        &["create", "no/x", "-n", "9"][..],
        &["build", "-o", "no/x", "keys"],
        &["dedup", "-o", "no/x", "keys"],
        &["dedup", "--state", "no/x", "keys"],
        &["merge", "-o", "no/x", "f"],
        &["grow", "f", "-o", "no/x"],
        &["plot", "size", "-o", "no/x"],
        &["convert", "f", "--to", "dcso", "-o", "no/x"],
        &["filter", "--rest", "no/x", "f", "keys"],
    ] {
        let talk = fail(folder.path(), arguments, b"");
        assert!(talk.contains("no/x: there is no folder no\n"), "{arguments:?}: {talk}");
        assert!(talk.contains("hint: create it first: mkdir -p no\n"), "{arguments:?}: {talk}");
    }
    let talk = fail(folder.path(), &["create", "keys/x", "-n", "9"], b"");
    assert!(talk.contains("cannot create keys/x: keys is not a folder"), "{talk}");
    let talk = fail(folder.path(), &["dedup", "--state", "http://h/x", "keys"], b"");
    let wrong = "http://h/x is not the address of a server";
    assert!(talk.contains(wrong) && talk.contains("for example redis://"), "{talk}");
}

#[test]
fn numbers_are_named_as_they_were_typed() {
    let folder = folder();
    for (arguments, problem) in [
        (&["create", "-n", "0", "x"][..], "-n is 0, must be at least 1"),
        (&["create", "--items", "0", "x"], "-n is 0, must be at least 1"),
        (&["create", "--mem", "10", "x"], "--mem is 10 B, must be from 64 B to 8.00 PiB"),
        (&["create", "-n", "5", "-p", "1e-300", "x"], "-p is 1e-300, below the lowest rate"),
        (&["build", "-n", "0", "-o", "x"], "-n is 0, must be at least 1"),
        (&["plan", "-n", "0"], "cannot plan: -n is 0, must be at least 1"),
        (&["plan", "-n", "10", "-m", "1000", "-k", "99"], "-k is 99, must be from 1 to 32"),
        (
            &["create", "-n", "1", "--seed", "x", "y"],
            "not a whole number from 0 to 184467440737095",
        ),
        (&["plot", "size", "-k", "3,5"], "not a whole number from 0 to 4294967295"),
        (&["explain", "-m", "9", "-k", "1e1", "a"], "not a whole number from 0 to 4294967295"),
        (&["ui", "--http", "70000", "redis://h"], "not a whole number from 0 to 65535"),
        (&["dedup", "--clear-at", "150%"], "the share \"150%\" is not below 1"),
        (&["add", "x", "--clear-at", "2"], "the share \"2\" is not below 1"),
        (&["plan", "-n", "5", "--misses", "150%"], "the share \"150%\" is not below 1"),
    ] {
        let talk = fail(folder.path(), arguments, b"a\n");
        assert!(talk.contains(problem), "{arguments:?}: {talk}");
        for word in ["digit found", "target type", "expected_items", "num_bits", "target_fpp"] {
            assert!(!talk.contains(word), "{arguments:?}: {talk}");
        }
    }
}

#[test]
fn verbs_of_other_tools_lead_to_ours() {
    let folder = folder();
    for (typed, verb) in [
        ("contains", "check"),
        ("insert", "add"),
        ("union", "merge"),
        ("stats", "info"),
        ("rm", "delete"),
        ("uniq", "dedup"),
        ("ls", "list"),
    ] {
        let talk = fail(folder.path(), &[typed, "f"], b"");
        assert!(talk.contains(&format!("there is no verb {typed}")), "{talk}");
        assert!(talk.contains(&format!("\n  mayhap {verb} ")), "{talk}");
        let talk = fail(folder.path(), &[typed, "f", "--json"], b"");
        assert!(talk.starts_with('{') && talk.contains("there is no verb"), "{talk}");
    }
    // A typing error is not another tool's verb.
    assert!(fail(folder.path(), &["buidl"], b"").contains("build"));
}

/// Two filters in a folder, of `a` and of `b`, and a list of them.
fn two_filters(folder: &Path) {
    std::fs::create_dir(folder.join("days")).unwrap();
    for name in ["a", "b"] {
        let path = format!("days/{name}.mayhap");
        succeed(folder, &["build", "-q", "-n", "10", "-o", &path], format!("{name}\n").as_bytes());
    }
    file(folder, "list", b"\xEF\xBB\xBFdays/a.mayhap\r\ndays/b.mayhap\r\n");
}

#[test]
fn which_and_check_take_files_folders_and_lists_alike() {
    let folder = folder();
    two_filters(folder.path());
    file(folder.path(), "keys", b"a\nb\nx\n");
    let ways = [
        &["days/a.mayhap", "days/b.mayhap"][..],
        &["days"],
        &["-f", "days"],
        &["-f", "days/a.mayhap", "days/b.mayhap"],
        &["-f", "days/a.mayhap", "-f", "days/b.mayhap"],
        &["-F", "list"],
    ];
    for way in ways {
        for input in [&["keys"][..], &[]] {
            let all = |verb| [&[verb][..], way, input].concat();
            let found = succeed(folder.path(), &all("which"), b"a\nb\nx\n");
            assert_eq!(found, b"days/a.mayhap\ta\ndays/b.mayhap\tb\n", "{way:?}");
            // Behind a filter without -f, check has its lists.
            if way.len() > 1 && !way[0].starts_with('-') {
                continue;
            }
            let found = succeed(folder.path(), &all("check"), b"a\nb\nx\n");
            assert_eq!(found, b"a\nb\n", "{way:?}");
        }
    }
    // A single one is a set as any other.
    assert_eq!(succeed(folder.path(), &["which", "days/a.mayhap"], b"a\n"), b"days/a.mayhap\ta\n");
    std::fs::create_dir(folder.path().join("none")).unwrap();
    for verb in ["which", "check"] {
        let talk = fail(folder.path(), &[verb, "none", "keys"], b"");
        assert!(talk.contains("there is no filter in the folder none"), "{talk}");
    }
}

/// The output of a command on a terminal of `columns` columns.
fn on_terminal(folder: &Path, columns: u16, arguments: &[&str]) -> String {
    let (mut near, far) = terminal();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&far, size).unwrap();
    let status = mayhap(folder).args(arguments).arg("--color=never").stdout(far).status();
    assert!(status.unwrap().success(), "{arguments:?}");
    let mut text = Vec::new();
    // A terminal whose other end is closed is an error, not an end.
    let _ = near.read_to_end(&mut text);
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

#[test]
fn reports_fit_into_narrow_terminals() {
    let folder = folder();
    succeed(folder.path(), &["build", "-q", "-n", "10", "-o", "f.mayhap"], b"a\n");
    let bits = ["explain", "-m", "60", "-k", "3", "A", "长城", "--query", "C"];
    let more_bits = ["explain", "-m", "200", "-k", "3", "A", "B", "--query", "C"];
    for arguments in [
        &["plan", "-n", "1M", "-p", "1%", "--plot"][..],
        &["info", "f.mayhap"],
        &["info", "f.mayhap", "f.mayhap"],
        &bits,
        &more_bits,
    ] {
        for columns in [40, 50, 80] {
            let text = on_terminal(folder.path(), columns, arguments);
            assert!(text.lines().count() > 2, "{text}");
            for line in text.lines() {
                // The path of a command to paste is not broken.
                let is_whole = !line.trim_start().contains(' ');
                let width = mayhap_plan::columns(line);
                assert!(width <= columns.into() || is_whole, "{columns}: {line}\n{text}");
            }
        }
    }
    // Elsewhere nothing is folded.
    let output = run(folder.path(), &bits, b"");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}{}", stderr(&output));
    assert!(text.lines().any(|line| line.len() > 60), "{text}");
}

#[test]
fn wide_characters_take_two_columns_of_a_table() {
    let folder = folder();
    for name in ["f.mayhap", "弱口令.mayhap"] {
        succeed(folder.path(), &["build", "-q", "-n", "10", "-o", name], b"a\n");
    }
    let table = succeed(folder.path(), &["info", "f.mayhap", "弱口令.mayhap"], b"");
    let table = String::from_utf8(table).unwrap();
    let at = |line: &str| {
        let (before, _) = line.split_once("blocked").or(line.split_once("kind")).unwrap();
        mayhap_plan::columns(before)
    };
    let columns: Vec<usize> = table.lines().map(at).collect();
    assert_eq!(columns, [15, 15, 15], "{table}");
}

/// One thing is named in the singular, wherever the command counts.
#[test]
fn one_is_singular() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "-q", "w", "--layout", "window:1"], b"");
    succeed(folder, &["create", "-q", "m", "--layout", "scalable", "-n", "1"], b"");
    for (name, arguments) in [
        ("info of a window", &["info", "w"][..]),
        ("info of a chain", &["info", "m"]),
        ("a window of another size", &["create", "x", "--layout", "window:1", "-n", "9"]),
        ("exact", &["dedup", "--exact"]),
        ("a plan", &["plan", "--window", "1", "-n", "9"]),
    ] {
        let output = run(folder, arguments, b"key\n");
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        for plural in ["keys", "values", "blocks", "layers", "lines", "bytes"] {
            for before in [" ", "(", "\n"] {
                let wrong = format!("{before}1 {plural}");
                assert!(!said.contains(&wrong), "{name}: {said}");
            }
        }
    }
}
