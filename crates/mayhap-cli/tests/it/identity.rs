//! A log belongs to one filter: whatever files are replaced, copied, moved or restored, no keys of
//! another filter appear, and none are missing without an error.

use crate::support::{fail, file, folder, held, json, lines, run, start, stderr, succeed};
use crate::turns::{names, wait_until};
use std::fs;
use std::io::Write;
use std::path::Path;

const KEYS: u64 = 3000;

fn old() -> Vec<u8> {
    lines("old", 0..KEYS)
}

/// The state `k3` of a `dedup` that was killed: 3,000 keys, most of them in its log.
fn killed_state(folder: &Path) {
    let dedup = ["dedup", "-q", "--state", "k3", "-n", "100k", "-p", "1e-9"];
    succeed(folder, &dedup, b"old-0\n");
    let mut child = start(folder, &dedup);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&old()).unwrap();
    wait_until("all is recorded", || held(folder, "k3", &old()) == old());
    child.kill().unwrap();
    child.wait().unwrap();
    // It may have held the lock.
    let _ = fs::remove_file(folder.join(".k3.mayhap-lck"));
    assert_eq!(names(folder), ["k3", "k3.log"]);
}

/// The filter answers for exactly these keys, reports so, and `verify` accepts it.
fn check_holds(folder: &Path, name: &str, keys: &[u8]) {
    let all = [&old()[..], b"new-0\nnew-1\n"].concat();
    assert_eq!(held(folder, name, &all), keys, "check");
    let output = run(folder, &["verify", "--json", "--samples", "100k", name], b"");
    assert_eq!(output.status.code(), Some(0), "verify: {}", stderr(&output));
    assert_eq!(json(&output.stdout)["verdict"], "good");
    let info = json(&succeed(folder, &["info", "--json", name], b""));
    let count = keys.split(|&byte| byte == b'\n').count() - 1;
    assert_eq!(info["inserted_items"], count, "info");
}

const FOREIGN: &str = "belongs to another filter; not touched";

#[test]
fn a_filter_that_takes_the_place_of_a_state_has_none_of_its_keys() {
    for (replace, keys) in [
        (&["create", "--force", "k3", "-n", "100k", "-p", "1e-9"][..], &b""[..]),
        (&["create", "--force", "k3", "--layout", "counting", "-n", "100k", "-p", "1e-9"], b""),
        (&["build", "--force", "-o", "k3", "-p", "1e-9", "in"], b"new-0\nnew-1\n"),
        (&["merge", "--force", "-o", "k3", "other"], b"new-0\n"),
    ] {
        let folder = folder();
        let folder = folder.path();
        killed_state(folder);
        file(folder, "in", b"new-0\nnew-1\n");
        succeed(folder, &["build", "-o", "other", "-p", "1e-9", "-n", "100k"], b"new-0\n");
        let output = run(folder, replace, b"");
        assert_eq!(output.status.code(), Some(0), "{replace:?}: {}", stderr(&output));
        assert_eq!(names(folder), ["k3", "other"], "{replace:?}: its log is gone");
        check_holds(folder, "k3", keys);
    }
}

#[test]
fn a_filter_made_after_rm_does_not_get_the_log_that_was_left() {
    for make in [
        &["create", "k3", "-n", "100k", "-p", "1e-9"][..],
        &["build", "-o", "k3", "-n", "100k", "-p", "1e-9", "/dev/null"],
    ] {
        let folder = folder();
        let folder = folder.path();
        killed_state(folder);
        fs::remove_file(folder.join("k3")).unwrap();
        let log = fs::read(folder.join("k3.log")).unwrap();
        // It may be all that is left of the keys: a new state does not overwrite it ...
        let talk = fail(folder, &["dedup", "--state", "k3", "-n", "100k"], b"new-0\n");
        assert!(talk.contains("k3.log") && talk.contains("its filter is gone"), "{talk}");
        // ... and a filter that needs no log leaves it alone.
        succeed(folder, make, b"");
        check_holds(folder, "k3", b"");
        let output = run(folder, &["check", "k3"], b"old-1\n");
        assert!(stderr(&output).contains(&format!("k3.log {FOREIGN}")), "{}", stderr(&output));
        file(folder, "in", b"new-0\n");
        let output = run(folder, &["add", "k3", "in"], b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains(FOREIGN), "{}", stderr(&output));
        check_holds(folder, "k3", b"new-0\n");
        // Verbs that need its name refuse, with the next step.
        let talk = fail(folder, &["dedup", "--state", "k3"], b"new-1\n");
        assert!(talk.contains("is the log of another filter than k3"), "{talk}");
        assert!(talk.contains("move it back") && talk.contains("remove it"), "{talk}");
        assert_eq!(fs::read(folder.join("k3.log")).unwrap(), log, "it is as it was");
        fs::remove_file(folder.join("k3.log")).unwrap();
        succeed(folder, &["dedup", "-q", "--state", "k3"], b"new-1\n");
        check_holds(folder, "k3", b"new-0\nnew-1\n");
    }
}

#[test]
fn a_file_copied_over_a_state_does_not_get_its_log() {
    let folder = folder();
    let folder = folder.path();
    killed_state(folder);
    file(folder, "in", b"new-0\n");
    succeed(folder, &["build", "-o", "other", "-n", "100k", "-p", "1e-9", "in"], b"");
    // In place, as cp does, and by a rename, as mv does.
    for by_rename in [false, true] {
        if by_rename {
            fs::rename(folder.join("other"), folder.join("k3")).unwrap();
        } else {
            fs::copy(folder.join("other"), folder.join("k3")).unwrap();
        }
        check_holds(folder, "k3", b"new-0\n");
        let output = run(folder, &["check", "k3"], b"old-1\n");
        assert!(stderr(&output).contains(FOREIGN), "{}", stderr(&output));
    }
}

#[test]
fn a_copy_of_a_state_without_its_log_says_so_and_with_it_is_whole() {
    for moved in [false, true] {
        let folder = folder();
        let folder = folder.path();
        killed_state(folder);
        if moved {
            fs::rename(folder.join("k3"), folder.join("copy")).unwrap();
        } else {
            fs::copy(folder.join("k3"), folder.join("copy")).unwrap();
        }
        file(folder, "in", b"old-7\n");
        succeed(folder, &["build", "-o", "other", "-n", "100k", "-p", "1e-9", "in"], b"");
        for arguments in [
            &["check", "copy", "in"][..],
            &["filter", "copy", "in"],
            &["which", "-f", "copy", "in"],
            &["merge", "-o", "all", "copy", "other"],
            &["add", "copy", "in"],
            &["dedup", "--state", "copy", "in"],
        ] {
            let before = fs::read(folder.join("copy")).unwrap();
            let talk = fail(folder, arguments, b"");
            let log = "copy.log, is missing";
            assert!(talk.contains(log) && talk.contains("copy the log too"), "{talk}");
            assert!(talk.contains("--without-log"), "{talk}");
            assert_eq!(fs::read(folder.join("copy")).unwrap(), before, "{arguments:?}");
            assert!(!names(folder).contains(&"all".to_owned()));
        }
        let output = run(folder, &["verify", "--json", "--samples", "100k", "copy"], b"");
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let report = json(&output.stdout);
        assert_eq!((&report["verdict"], &report["checksums"]), (&"off".into(), &"good".into()));
        assert!(report["damage"].as_str().unwrap().contains("copy.log, is missing"), "{report}");
        let output = run(folder, &["info", "--json", "copy"], b"");
        assert_eq!(json(&output.stdout)["log"], "missing");
        assert!(stderr(&output).contains("the keys recorded there are missing"));
        let text = String::from_utf8(succeed(folder, &["info", "copy"], b"")).unwrap();
        assert!(text.contains("log         missing: what was recorded in it is not counted"));
        // As it is, on request.
        let found = run(folder, &["check", "-c", "--without-log", "copy"], &old());
        assert_eq!(found.stdout, b"1\n", "{}", stderr(&found));
        assert!(stderr(&found).contains("read without copy.log"), "{}", stderr(&found));
        // With its log it is whole.
        fs::copy(folder.join("k3.log"), folder.join("copy.log")).unwrap();
        check_holds(folder, "copy", &old());
        succeed(folder, &["dedup", "-q", "--state", "copy"], b"old-5\nnew-0\n");
        let expected = [&old()[..], b"new-0\n"].concat();
        check_holds(folder, "copy", &expected);
    }
}

#[test]
fn a_state_that_goes_on_without_its_log_is_another_one_from_then_on() {
    let folder = folder();
    let folder = folder.path();
    killed_state(folder);
    fs::rename(folder.join("k3.log"), folder.join("away")).unwrap();
    fail(folder, &["add", "k3"], b"new-0\n");
    let output = run(folder, &["add", "--without-log", "k3", "/dev/null"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("continues without its log"), "{}", stderr(&output));
    check_holds(folder, "k3", b"old-0\n");
    succeed(folder, &["add", "-q", "k3"], b"new-0\n");
    // Its log is back: it no longer belongs to this filter.
    fs::rename(folder.join("away"), folder.join("k3.log")).unwrap();
    check_holds(folder, "k3", b"old-0\nnew-0\n");
    for verb in
        [&["dedup", "-q", "--state", "s", "--without-log"][..], &["add", "--without-log", "s"]]
    {
        killed_state(&{
            let state = folder.join(verb[0]);
            fs::create_dir(&state).unwrap();
            state
        });
        let state = folder.join(verb[0]);
        fs::remove_file(state.join("k3.log")).unwrap();
        fs::rename(state.join("k3"), state.join("s")).unwrap();
        succeed(&state, verb, b"new-1\n");
        check_holds(&state, "s", b"old-0\nnew-1\n");
        assert_eq!(names(&state), ["s"]);
    }
}

#[test]
fn an_older_copy_that_is_put_back_beside_a_newer_log_is_refused() {
    let folder = folder();
    let folder = folder.path();
    killed_state(folder);
    // A clean end, with a copy; then two more runs, the last of which is killed.
    succeed(folder, &["add", "-q", "k3", "/dev/null"], b"");
    assert_eq!(names(folder), ["k3"]);
    fs::copy(folder.join("k3"), folder.join("in-backup")).unwrap();
    check_holds(folder, "in-backup", &old());
    succeed(folder, &["dedup", "-q", "--state", "k3"], b"new-0\n");
    let mut child = start(folder, &["dedup", "-q", "--state", "k3"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"new-1\n").unwrap();
    wait_until("it is recorded", || held(folder, "k3", b"new-1\n") == b"new-1\n");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::copy(folder.join("in-backup"), folder.join("k3")).unwrap();
    for arguments in
        [&["check", "k3"][..], &["add", "k3"], &["dedup", "--state", "k3"], &["info", "k3"]]
    {
        let talk = fail(folder, arguments, b"old-1\n");
        assert!(talk.contains("an older copy was restored"), "{talk}");
        assert!(talk.contains("restore the newer file") && talk.contains("move the log"), "{talk}");
    }
    let output = run(folder, &["verify", "--samples", "100k", "k3"], b"");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    fs::remove_file(folder.join("k3.log")).unwrap();
    check_holds(folder, "k3", &old());
}

#[test]
fn a_state_that_ended_is_one_file_and_a_build_is_the_same_bytes_twice() {
    let folder = folder();
    let folder = folder.path();
    let dedup = ["dedup", "-q", "--state", "k3", "-n", "100k", "-p", "1e-9"];
    succeed(folder, &dedup, &old());
    assert_eq!(names(folder), ["k3"]);
    fs::create_dir(folder.join("elsewhere")).unwrap();
    fs::copy(folder.join("k3"), folder.join("elsewhere/copy")).unwrap();
    check_holds(folder, "elsewhere/copy", &old());
    fs::rename(folder.join("k3"), folder.join("moved")).unwrap();
    check_holds(folder, "moved", &old());
    file(folder, "in", &old());
    for name in ["a", "b"] {
        succeed(folder, &["build", "-q", "-o", name, "-n", "100k", "in"], b"");
    }
    assert!(fs::read(folder.join("a")).unwrap() == fs::read(folder.join("b")).unwrap());
    let info = json(&succeed(folder, &["info", "--json", "a"], b""));
    assert!(info["state_id"].is_null() && info["log"] == "none", "{info}");
}

#[test]
fn a_state_of_0_1_goes_on_with_its_log() {
    let folder = folder();
    let folder = folder.path();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-store/tests/golden");
    for kind in ["plain", "scalable", "counting"] {
        for end in ["", ".log"] {
            let from = golden.join(format!("v0.1-{kind}{end}"));
            fs::copy(from, folder.join(format!("k3{end}"))).unwrap();
        }
        assert_eq!(held(folder, "k3", &lines("key", 0..99)), lines("key", 0..92), "{kind}");
        let kept = succeed(folder, &["dedup", "--state", "k3"], &lines("key", 0..99));
        assert_eq!(kept, lines("key", 92..99), "{kind}");
        assert_eq!(names(folder), ["k3"], "{kind}");
        assert_eq!(held(folder, "k3", &lines("key", 0..200)), lines("key", 0..99), "{kind}");
        let info = json(&succeed(folder, &["info", "--json", "k3"], b""));
        assert!(info["state_id"].is_string(), "{info}");
    }
}
