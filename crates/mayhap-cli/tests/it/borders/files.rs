//! File systems without locks, modes or synced folders; logs and digests cut short.

use super::is_whole;
use crate::crash::have_strace;
use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use mayhap_store::LiveFilter;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command all of whose calls of these names fail: on files in the folder, or on the folder
/// itself.
fn struck(
    folder: &Path,
    (calls, fault): (&str, &str),
    only: Option<&str>,
    arguments: &[&str],
) -> Output {
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{fault}"));
    let mut command = Command::new("strace");
    command.args(["-qq", "-f", "-o", "in-trace", "-e", &trace, "-e", &inject]);
    if let Some(only) = only {
        command.args(["-P", only]);
    }
    command.arg(env!("CARGO_BIN_EXE_mayhap")).args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).output().unwrap()
}

fn was_struck(folder: &Path) -> bool {
    let trace = fs::read_to_string(folder.join("in-trace")).unwrap();
    trace.contains("INJECTED") || trace.contains("killed by SIGKILL")
}

/// The files of a test, without its input and the trace.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("in-")).collect();
    names.sort();
    names
}

const N: [&str; 4] = ["-n", "2000", "-p", "1e-9"];

/// Verbs that write files, each with the files that it needs.
const VERBS: [(&[&str], &[&str]); 9] = [
    (&[], &["create", "f", "-n", "2000", "-p", "1e-9"]),
    (&[], &["build", "-o", "f", "-n", "2000", "-p", "1e-9", "in-a"]),
    (&["create", "f"], &["add", "f", "in-a"]),
    (&["create", "f", "--layout", "scalable"], &["add", "f", "in-a"]),
    (&[], &["dedup", "--state", "f", "-n", "2000", "-p", "1e-9", "in-a"]),
    (&["build", "-o", "f", "in-b"], &["dedup", "--state", "f", "in-a"]),
    (&["build", "-o", "f", "--keep-digests", "in-b"], &["add", "f", "in-a"]),
    (&["build", "-o", "f", "in-b"], &["build", "--force", "-o", "f", "-n", "2000", "in-a"]),
    (&["build", "-o", "f", "--keep-digests", "in-a"], &["grow", "f", "-n", "4000"]),
];

fn prepare(folder: &Path, before: &[&str]) {
    file(folder, "in-a", &lines("a", 0..500));
    file(folder, "in-b", &lines("b", 0..500));
    if !before.is_empty() {
        succeed(folder, &[before, &N].concat(), b"");
    }
}

#[test]
fn what_a_file_system_cannot_do_is_said_once_and_the_work_is_done() {
    if !have_strace() {
        return;
    }
    let faults: [(&str, &[&str], &str); 2] = [
        ("fsync", &["EINVAL", "EBADF", "EOPNOTSUPP", "ENOSYS", "EPERM"], "cannot sync a folder"),
        ("fchmod", &["EPERM", "EOPNOTSUPP", "ENOSYS"], "permissions cannot be set"),
    ];
    let mut met = 0;
    for (number, (before, verb)) in VERBS.into_iter().enumerate() {
        for (calls, errors, said) in faults {
            let some = if is_whole() { errors } else { &errors[number % errors.len()..][..1] };
            for error in some {
                let folder = folder();
                let folder = folder.path();
                prepare(folder, before);
                let only = (calls == "fsync").then(|| folder.to_str().unwrap());
                let output = struck(folder, (calls, &format!("error={error}")), only, verb);
                let (what, talk) = (format!("{verb:?}, {calls} {error}"), stderr(&output));
                assert!(output.status.success(), "{what}: {talk}");
                assert_eq!(
                    talk.matches(said).count(),
                    usize::from(was_struck(folder)),
                    "{what}: {talk}"
                );
                met += u64::from(was_struck(folder));
                if verb[0] != "create" {
                    let found = succeed(folder, &["check", "f"], &lines("a", 0..500));
                    assert!(found == lines("a", 0..500), "{what}");
                }
                let is_ours = |name: &String| name == "f" || name == "f.digests";
                assert!(names(folder).iter().all(is_ours), "{what}: {:?}", names(folder));
            }
        }
    }
    println!("{met} runs met a file system that cannot do it");
    assert!(met >= 9, "{met}");
}

#[test]
fn a_disk_that_fails_is_an_error_and_a_new_file_does_not_stay() {
    if !have_strace() {
        return;
    }
    for error in ["EIO", "ENOSPC"] {
        for verb in [VERBS[0].1, VERBS[1].1] {
            let folder = folder();
            let folder = folder.path();
            prepare(folder, &[]);
            let fault = format!("error={error}");
            let output = struck(folder, ("fsync", &fault), Some(folder.to_str().unwrap()), verb);
            assert!(was_struck(folder));
            assert_eq!(output.status.code(), Some(2), "{verb:?}: {}", stderr(&output));
            assert!(names(folder).is_empty(), "{verb:?}: {:?}", names(folder));
        }
    }
}

#[test]
fn without_locks_a_command_is_refused_with_the_way_out() {
    if !have_strace() {
        return;
    }
    let errors = ["EOPNOTSUPP", "ENOSYS", "ENOLCK", "EINVAL", "EBADF"];
    for (number, (before, verb)) in VERBS.into_iter().enumerate() {
        let some = if is_whole() { &errors[..] } else { &errors[number % errors.len()..][..1] };
        for error in some {
            let folder = folder();
            let folder = folder.path();
            prepare(folder, before);
            let old = fs::read(folder.join("f")).ok();
            let fault = ("flock", &*format!("error={error}"));
            let output = struck(folder, fault, None, verb);
            let (what, talk) = (format!("{verb:?}, {error}"), stderr(&output));
            assert_eq!(output.status.code(), Some(2), "{what}: {talk}");
            assert!(
                talk.contains("has no locks") && talk.contains("--lock folder"),
                "{what}: {talk}"
            );
            assert!(output.stdout.is_empty(), "{what}: no line is let pass");
            assert!(fs::read(folder.join("f")).ok() == old, "{what}: something was changed");
            for kind in ["none", "folder"] {
                prepare(folder, if old.is_some() { &[] } else { before });
                let _ = old.is_none().then(|| fs::remove_file(folder.join("f")));
                let output = struck(folder, fault, None, &[verb, &["--lock", kind]].concat());
                assert!(output.status.success(), "{what}, {kind}: {}", stderr(&output));
                assert!(!names(folder).contains(&".f.mayhap-own".into()), "{what}");
            }
        }
    }
}

#[test]
fn eight_writers_without_locks_lose_no_acknowledged_key_with_a_lock_in_the_folder() {
    if !have_strace() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "f", "-n", "20k", "-p", "1e-9"], b"");
    let rounds = if is_whole() { 6 } else { 2 };
    std::thread::scope(|scope| {
        for writer in 0..8 {
            scope.spawn(move || {
                for round in 0..rounds {
                    let (prefix, name) =
                        (format!("w{writer}-{round}"), format!("in-{writer}-{round}"));
                    file(folder, &name, &lines(&prefix, 0..100));
                    let verb: &[&str] = match (writer + round) % 2 {
                        0 => &["add", "-q", "f"],
                        _ => &["dedup", "-q", "--state", "f"],
                    };
                    let trace = format!("in-trace-{writer}");
                    let output = Command::new("strace")
                        .args(["-qq", "-f", "-o", &trace, "-e", "trace=flock"])
                        .args(["-e", "inject=flock:error=EOPNOTSUPP"])
                        .arg(env!("CARGO_BIN_EXE_mayhap"))
                        .args(verb)
                        .args(["--lock", "folder", &name])
                        .current_dir(folder)
                        .stdin(Stdio::null())
                        .output()
                        .unwrap();
                    assert!(output.status.success(), "{verb:?}: {}", stderr(&output));
                }
            });
        }
    });
    for (writer, round) in (0..8).flat_map(|writer| (0..rounds).map(move |round| (writer, round))) {
        let keys = lines(&format!("w{writer}-{round}"), 0..100);
        let found = run(folder, &["check", "f"], &keys).stdout;
        assert!(found == keys, "keys of writer {writer} are lost");
    }
}

/// A filter of `in-a` with its digests is replaced by one of `in-b`, by commands that end at any
/// call.
#[test]
fn a_filter_and_its_digests_are_replaced_together_wherever_a_command_ends() {
    if !have_strace() {
        return;
    }
    let force = |verb: &[&'static str]| [verb, &["--force", "-o", "f"]].concat();
    let verbs: [(Vec<&str>, bool); 5] = [
        ([&force(&["build"])[..], &N, &["--keep-digests", "in-b"]].concat(), true),
        ([&force(&["build"])[..], &N, &["in-b"]].concat(), false),
        (force(&["grow", "in-g", "--keep-digests", "-n", "3000"]), true),
        (force(&["merge", "in-g"]), false),
        ([&["create", "f", "--force", "--keep-digests"][..], &N].concat(), true),
    ];
    let names = "?rename,?renameat,?renameat2";
    let mut faults = vec![(names, "signal=KILL")];
    if is_whole() {
        let kills = ["fsync", "fdatasync", "pwrite64", "?unlink,?unlinkat"];
        faults.extend(kills.map(|calls| (calls, "signal=KILL")));
        faults.extend([names, "fsync", "fdatasync"].map(|calls| (calls, "error=EIO")));
        faults.push(("pwrite64", "error=ENOSPC"));
    }
    let mut left = [0, 0];
    for (verb, keeps) in &verbs {
        for &(calls, fault) in &faults {
            for when in 1..40 {
                let folder = folder();
                let folder = folder.path();
                prepare(folder, &["build", "-o", "f", "--keep-digests", "in-a"]);
                succeed(
                    folder,
                    &[&["build", "-o", "in-g", "--keep-digests", "in-b"][..], &N].concat(),
                    b"",
                );
                let output = struck(folder, (calls, &format!("{fault}:when={when}")), None, verb);
                if !was_struck(folder) {
                    assert!(output.status.success(), "{verb:?}: {}", stderr(&output));
                    break;
                }
                let what = format!("{verb:?}, {calls} {when} {fault}: {}", stderr(&output));
                let is_new = is_replaced(folder, *keeps, &what);
                left[usize::from(is_new)] += 1;
            }
        }
    }
    println!("{} faults left the old filter, {} the new one", left[0], left[1]);
    assert!(left[0] > 4 && left[1] > 2, "{left:?}");
}

/// Whether the new filter is in place, rather than the old one; each continues with its digests.
fn is_replaced(folder: &Path, keeps: bool, what: &str) -> bool {
    let is_old = run(folder, &["check", "-q", "f"], b"a-1\n").status.success();
    let info = json(&succeed(folder, &["info", "--json", "f"], b""));
    let has_digests = is_old || keeps;
    assert_eq!(info["digests"], if has_digests { "there" } else { "none" }, "{what}");
    let add = run(folder, &["add", "f"], b"c-1\n");
    assert!(add.status.success(), "{what}: {}", stderr(&add));
    if has_digests {
        succeed(folder, &["grow", "f", "-n", "5000"], b"");
        let keys = if is_old { Some("a") } else { (!what.contains("create")).then_some("b") };
        let keys = keys.map_or_else(Vec::new, |keys| lines(keys, 0..500));
        assert!(run(folder, &["check", "f"], &keys).stdout == keys, "{what}");
    }
    !is_old
}

/// A filter of a thousand keys, half of them in its log, as a killed run leaves it.
fn with_log(folder: &Path) {
    prepare(folder, &["build", "-o", "f", "in-a"]);
    let (mut live, _) = LiveFilter::open(&folder.join("f"), None).unwrap();
    for part in 0..10 {
        let keys = (part * 50..part * 50 + 50).map(|key| format!("b-{key}"));
        let function = live.filter().digest_function();
        let digests: Vec<_> = keys.map(|key| function.digest(key.as_str())).collect();
        live.record(&digests).unwrap();
    }
}

#[test]
fn a_log_that_was_cut_short_is_said_by_every_verb() {
    let (folder, made) = (folder(), folder());
    with_log(made.path());
    let log = fs::read(made.path().join("f.log")).unwrap();
    let record = (log.len() - 64) / 10;
    let some = vec![100, 300];
    let cuts = if is_whole() { (1..record).step_by(31).collect() } else { some };
    let readers: [&[&str]; 8] = [
        &["check", "-c", "f"],
        &["filter", "f"],
        &["which", "-f", "f"],
        &["info", "f"],
        &["verify", "--samples", "1000", "f"],
        &["merge", "--force", "-o", "in-m", "f"],
        &["bench", "f", "--seconds", "0.01"],
        &["dedup", "--state", "f"],
    ];
    let folder = folder.path();
    for cut in cuts {
        let whole = log.len() - cut;
        let torn = (whole - 64) % record;
        let said = format!("a torn write, {torn} bytes from offset {} on", whole - torn);
        let restore = |bytes: &[u8]| {
            for name in ["f", "in-a", "in-b"] {
                fs::copy(made.path().join(name), folder.join(name)).unwrap();
            }
            file(folder, "f.log", bytes);
        };
        for verb in readers {
            restore(&log[..whole]);
            let talk = stderr(&run(folder, verb, b"b-1\n"));
            assert_eq!(talk.matches(&said).count(), 1, "{verb:?}, {cut}: {talk}");
            restore(&log);
            let talk = stderr(&run(folder, verb, b"b-1\n"));
            assert!(!talk.contains("torn"), "{verb:?}: {talk}");
        }
        restore(&log[..whole]);
        let info = json(&succeed(folder, &["info", "--json", "f"], b""));
        assert_eq!(info["unsaved_log_bytes"], whole - torn - 64);
        assert_eq!(info["torn_log_bytes"], torn);
        let verify = succeed(folder, &["verify", "--samples", "1000", "f"], b"");
        assert!(String::from_utf8_lossy(&verify).contains("of the log are torn"), "{cut}");
        // A writer cuts it off, and reports it; then it is gone.
        let add = stderr(&run(folder, &["add", "f"], b"c-1\n"));
        assert!(add.contains(&format!("removed {said}")), "{add}");
        assert!(!stderr(&run(folder, &["add", "f"], b"c-2\n")).contains("torn"));
    }
}

#[test]
fn a_lock_that_a_killed_command_left_in_the_folder_names_it_and_the_way_out() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &[&["create", "f"][..], &N].concat(), b"");
    file(folder, ".f.mayhap-own", b"mayhap-lock\n4711 mayhap add\nbox\n");
    let add = ["add", "f", "--lock", "folder", "--lock-timeout", "0"];
    let talk = fail(folder, &add, b"a\n");
    assert!(talk.contains("4711") && talk.contains(".f.mayhap-own"), "{talk}");
    assert!(talk.contains("remove this file"), "{talk}");
    fs::remove_file(folder.join(".f.mayhap-own")).unwrap();
    succeed(folder, &add, b"a\n");
}
