//! `mayhap freeze` of more keys than there is memory for: in files beside the filter, the same
//! filter, and nothing of them is left.

use crate::support::{
    fail, file, folder, limited, lines, names, run, send_signal, start, stderr, succeed,
};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Freezing it takes 36 MB in memory; of this limit, 16 MiB are for pieces of files.
const KEYS: u64 = 1_500_000;
const LITTLE: &str = "--max-memory=22M";

#[test]
fn a_list_beyond_the_memory_gives_the_same_filter() {
    let folder = folder();
    let folder = folder.path();
    // With repeats.
    let keys = lines("key", (0..KEYS).chain(0..20_000).chain(0..20_000));
    file(folder, "keys", &keys);
    for rate in ["0.1%", "3%"] {
        succeed(folder, &["freeze", "-q", "--force", "-p", rate, "-o", "f", "keys"], b"");
        let freeze = ["freeze", "-q", "--force", "-p", rate, LITTLE, "-o", "g"];
        let [pipe, build] = [&[][..], &["keys"]];
        for (words, input) in [(pipe, &keys[..]), (build, b"")] {
            succeed(folder, &[&freeze[..], words].concat(), input);
            let [f, g] = ["f", "g"].map(|name| fs::read(folder.join(name)).unwrap());
            assert!(f == g, "{rate}");
        }
    }
    assert_eq!(names(folder), ["f", "g", "keys"]);
}

#[test]
fn kept_digests_beyond_the_memory_give_the_same_filter() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..KEYS));
    let build = ["build", "-q", "--keep-digests", "-p", "1%", "-o", "all", "keys"];
    succeed(folder, &build, b"");
    succeed(folder, &["freeze", "-q", "-o", "f", "all"], b"");
    succeed(folder, &["freeze", "-q", LITTLE, "-o", "g", "all"], b"");
    let [f, g] = ["f", "g"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(f == g);
    assert_eq!(names(folder), ["all", "all.digests", "f", "g", "keys"]);
}

/// Runs with a limit on the address space, which always exceeds the memory in use.
fn in_space(folder: &Path, kib: u32, words: &[&str]) -> Output {
    let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_mayhap")]).args(words);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_limit_of_memory_is_kept() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..3 * KEYS));
    let freeze = ["freeze", "-q", "-p", "0.1%", "-o", "g", "keys"];
    let output = in_space(folder, SPACE, &[&freeze[..], &["--max-memory=26M"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // In memory it is too little.
    let freeze = [&freeze[..], &["--force", "--max-memory=1G"]].concat();
    let output = in_space(folder, SPACE, &freeze);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(names(folder), ["g", "keys"]);
}

const SPACE: u32 = 100_000;

#[test]
fn too_little_memory_for_the_filter_itself_is_refused() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..KEYS));
    for (words, problem) in [
        // Below what files need, by so little that the bytes are shown.
        (&["--max-memory=10M", "-p", "1%"][..], "above the limit of 10,000,000 B"),
        // 32 bits a key.
        (&["--max-memory=17M", "-p", "2.4e-10"], "above the limit of 16.2 MiB"),
        (&["--max-memory=22M", "--fuse", "-p", "1%"], "above the limit of 22,000,000 B"),
    ] {
        let talk = fail(folder, &[&["freeze", "-o", "g"], words, &["keys"]].concat(), b"");
        assert!(talk.contains(problem), "{words:?}: {talk}");
        assert_eq!(names(folder), ["keys"]);
    }
}

#[test]
fn a_full_disk_and_signals_leave_nothing() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..KEYS));
    // In blocks of 512 bytes: within the runs, the sorted digests, and the equations.
    for blocks in [2_000, 20_000, 30_000] {
        let output = limited(folder, blocks, &["freeze", LITTLE, "-o", "g", "keys"]);
        assert_eq!(output.status.code(), Some(2), "{blocks}: {}", stderr(&output));
        assert!(stderr(&output).contains("cannot write "), "{blocks}: {}", stderr(&output));
        assert_eq!(names(folder), ["keys"], "{blocks}");
    }
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-KILL", 9)] {
        for wait in [20, 120, 250, 400] {
            let child = start(folder, &["freeze", LITTLE, "--force", "-o", "g", "keys"]);
            std::thread::sleep(Duration::from_millis(wait));
            send_signal(&child, signal);
            let output = child.wait_with_output().unwrap();
            let is_done = output.status.code() == Some(0);
            // The signal itself ends a process that has no handler yet.
            let is_ended = output.status.code() == Some(128 + number)
                || output.status.signal() == Some(number);
            assert!(is_done || is_ended, "{signal}: {}", stderr(&output));
            if is_done {
                let check = run(folder, &["check", "-c", "g", "keys"], b"");
                assert_eq!(check.stdout, format!("{KEYS}\n").as_bytes());
                fs::remove_file(folder.join("g")).unwrap();
            }
            let left: Vec<_> =
                names(folder).into_iter().filter(|name| !name.ends_with(".mayhap-lck")).collect();
            let is_half_saved = number == 9 && left == [".g.mayhap-tmp", "keys"];
            assert!(left == ["keys"] || is_half_saved, "{signal}: {left:?}");
        }
    }
}
