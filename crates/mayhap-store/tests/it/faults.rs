//! Every system call of a save and of a live filter fails once, or is the last.

use crate::common::{Folder, child, child_role, digest, filter, have_program, same_bits};
use crate::save::two_filters;
use mayhap::{AnyFilter, Digest, Layout};
use mayhap_store::{Error, LiveFilter, load, save, save_new};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

const SIGKILL: i32 = 9;

/// The calls that change the disk; all are interrupted by a kill, the first ones by errors too.
const CALLS: [&str; 9] = [
    "write,pwrite64",
    "fsync",
    "fdatasync",
    "?rename,?renameat,?renameat2",
    "ftruncate",
    "fchmod",
    "?link,linkat",
    "?unlink,unlinkat",
    "flock",
];
const ERRORS: [&str; 3] = ["signal=KILL", "error=EIO", "error=ENOSPC"];

/// Runs `role` of `test` once for each call it makes, with `fault` in that call, and checks the
/// folder after each. Returns the number of faults that occurred.
pub(crate) fn strike(
    test: &str,
    role: &str,
    prepare: &dyn Fn(&Path),
    check: &dyn Fn(&Path, bool),
) -> u32 {
    let mut struck_in_all = 0;
    for (calls, fault) in CALLS.iter().flat_map(|calls| ERRORS.map(|fault| (calls, fault))) {
        for when in 1.. {
            let folder = Folder::new();
            let (path, trace) = (&folder.file("a"), &folder.file("trace"));
            prepare(path);
            let (calls, inject) =
                (format!("trace={calls}"), format!("inject={calls}:{fault}:when={when}"));
            let wrapper =
                ["strace", "-qq", "-f", "-o", trace.to_str().unwrap(), "-e", &calls, "-e", &inject];
            let mut command = child(&wrapper, test, role, path);
            let status = command.stderr(std::process::Stdio::null()).status().unwrap();
            let trace = fs::read_to_string(trace).unwrap();
            let struck = status.signal() == Some(SIGKILL) || trace.contains("INJECTED");
            check(path, status.success());
            if !struck {
                assert!(status.success(), "{role} fails without a fault");
                break;
            }
            struck_in_all += 1;
            assert!(when < 200, "{role} does not end");
        }
    }
    struck_in_all
}

pub(crate) fn have_strace() -> bool {
    let have = have_program("strace", "-V") && {
        let wrapper = ["-qq", "-o", "/dev/null", "-e", "inject=flock:error=EIO:when=9", "true"];
        std::process::Command::new("strace").args(wrapper).status().is_ok_and(|s| s.success())
    };
    test_servers::tool(have, "strace, and that it may trace")
}

#[test]
fn a_save_struck_at_any_call_leaves_the_old_or_the_new_file() {
    let [old, new] = two_filters();
    match child_role() {
        Some((role, path)) if role == "replace" => return save(&path, &new, "").unwrap(),
        Some((_, path)) => return save_new(&path, &new, "").unwrap(),
        None if !have_strace() => return,
        None => {}
    }
    let test = "faults::a_save_struck_at_any_call_leaves_the_old_or_the_new_file";
    let struck = strike(test, "replace", &|path| save(path, &old, "").unwrap(), &|path, done| {
        let found = load(path, None).unwrap().filter;
        assert!(same_bits(&found, &new) || !done && same_bits(&found, &old));
        save(path, &old, "").unwrap(); // whatever is left, saving goes on
    });
    println!("{struck} faults in a save");
    assert!(struck > 20, "{struck}");
    let struck = strike(test, "new", &|_| {}, &|path, done| {
        if path.exists() {
            assert!(same_bits(&load(path, None).unwrap().filter, &new));
            assert!(matches!(save_new(path, &old, ""), Err(Error::Exists { .. })));
        } else {
            assert!(!done);
            save_new(path, &old, "").unwrap();
        }
    });
    println!("{struck} faults in a new file");
    assert!(struck > 20, "{struck}");
}

/// Acknowledges to the test, in a file of its own, that keys up to `key` are recorded.
fn acknowledge(path: &Path, key: u64) {
    let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(&key.to_le_bytes()).unwrap();
}

fn insert_and_record(live: &mut LiveFilter, keys: std::ops::Range<u64>) -> Result<(), Error> {
    let digests: Vec<Digest> = keys.map(digest).collect();
    for &digest in &digests {
        live.filter_mut().insert_digest(digest);
    }
    live.record(&digests)
}

fn empty() -> AnyFilter {
    filter(Layout::Blocked, 1 << 16, 0..0)
}

/// Creates, records, checkpoints and reopens, acknowledging every record that succeeded.
fn live_child(path: &Path) {
    let acks = &path.with_file_name("acks");
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    let mut failed = false;
    for round in 0..6u64 {
        // A failed record may be lost, but not the following ones.
        match insert_and_record(&mut live, round * 10..round * 10 + 10) {
            Ok(()) => acknowledge(acks, round),
            Err(_) => failed = true,
        }
        match round {
            1 => failed |= live.sync().is_err(),
            2 => failed |= live.checkpoint().is_err(),
            3 => {
                drop(live);
                live = LiveFilter::open(path, None).unwrap().0;
            }
            _ => {}
        }
    }
    assert!(!failed);
}

#[test]
fn a_live_filter_struck_at_any_call_keeps_every_acknowledged_digest() {
    if let Some((_, path)) = child_role() {
        return live_child(&path);
    }
    if !have_strace() {
        return;
    }
    let test = "faults::a_live_filter_struck_at_any_call_keeps_every_acknowledged_digest";
    let struck = strike(test, "live", &|_| {}, &|path, done| {
        let acks = fs::read(path.with_file_name("acks")).unwrap_or_default();
        let acked: Vec<u64> =
            acks.as_chunks::<8>().0.iter().map(|ack| u64::from_le_bytes(*ack)).collect();
        assert!(!done || acked.len() == 6);
        let (live, _) = match LiveFilter::open(path, None) {
            Ok(opened) => opened,
            // A fault before the first checkpoint: creation can simply be retried.
            Err(_) if !path.exists() => {
                assert!(acked.is_empty());
                LiveFilter::create(path, empty(), "").unwrap();
                return;
            }
            Err(error) => panic!("{error}"),
        };
        for round in acked {
            let all = (round * 10..round * 10 + 10).all(|key| live.filter().contains(&key));
            assert!(all, "round {round} was acknowledged and is lost");
        }
        let unknown = (60..10_060u64).filter(|key| live.filter().contains(key)).count();
        assert!(unknown < 10, "{unknown} keys out of nowhere");
    });
    println!("{struck} faults in a live filter");
    assert!(struck > 60, "{struck}");
}

/// The shell's words for a limit on file sizes, in blocks of 512 bytes, with errors for signals.
pub(crate) const LIMITED: [&str; 3] =
    ["sh", "-c", "trap '' XFSZ; ulimit -f 96; exec \"$0\" \"$@\""];

#[test]
fn a_full_disk_is_an_error_that_names_the_need_and_loses_nothing() {
    if let Some((_, path)) = child_role() {
        let error = save(&path, &filter(Layout::Blocked, 1 << 20, 0..9), "").unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::NoSpace { .. }), "{text}");
        assert!(text.contains("needs 135424 bytes free"), "{text}");

        let (mut live, _) = LiveFilter::open(&path, None).unwrap();
        insert_and_record(&mut live, 0..1000).unwrap();
        let before = live.log_bytes();
        // A limit in the middle of the record makes the write a short one first.
        let error = insert_and_record(&mut live, 1000..9000).unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        assert_eq!(live.log_bytes(), before);
        assert_eq!(fs::metadata(path.with_file_name("a.log")).unwrap().len(), before);
        insert_and_record(&mut live, 2000..2100).unwrap(); // the part that fits is kept
        return;
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &empty(), "").unwrap();
    let test = "faults::a_full_disk_is_an_error_that_names_the_need_and_loses_nothing";
    // `sh -c TEXT` takes the program as `$0`.
    let status = child(&LIMITED, test, "full", path).status().unwrap();
    assert!(status.success());
    assert_eq!(folder.names(), ["a", "a.log"]);
    let (live, recovery) = LiveFilter::open(path, None).unwrap();
    assert_eq!((recovery.replayed_digests, recovery.dropped_bytes), (1100, 0));
    assert!((0..1000u64).chain(2000..2100).all(|key| live.filter().contains(&key)));
}

#[test]
fn a_failed_sync_poisons_the_log_but_a_checkpoint_still_saves_everything() {
    if let Some((_, path)) = child_role() {
        let (mut live, _) = LiveFilter::open(&path, None).unwrap();
        insert_and_record(&mut live, 0..10).unwrap();
        assert!(matches!(live.sync(), Err(Error::Io { action: "sync", .. })));
        let error = insert_and_record(&mut live, 10..20).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
        assert!(matches!(live.sync(), Err(Error::Poisoned { .. })));
        live.checkpoint().unwrap();
        // The next record begins another log.
        insert_and_record(&mut live, 20..30).unwrap();
        live.sync().unwrap();
        return;
    }
    if !have_strace() {
        return;
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    drop(LiveFilter::create(path, empty(), "").unwrap());
    let test = "faults::a_failed_sync_poisons_the_log_but_a_checkpoint_still_saves_everything";
    // The first one is that of the image's mark.
    let wrapper =
        ["strace", "-qq", "-f", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=2"];
    assert!(child(&wrapper, test, "poison", path).status().unwrap().success());
    let (live, recovery) = LiveFilter::open(path, None).unwrap();
    assert!((0..30u64).all(|key| live.filter().contains(&key)));
    assert_eq!(recovery.replayed_digests, 10);
}

/// The calls of a child process on files, in order, one word per call, without its output to the
/// terminal.
fn calls_of(test: &str, role: &str, path: &Path) -> Vec<String> {
    let trace = &path.with_file_name("trace");
    let calls = "trace=write,pwrite64,fsync,fdatasync,?rename,?renameat,?renameat2,\
                 ?unlink,?unlinkat,ftruncate";
    let wrapper = ["strace", "-qq", "-f", "-o", trace.to_str().unwrap(), "-e", calls];
    assert!(child(&wrapper, test, role, path).status().unwrap().success());
    let trace = fs::read_to_string(trace).unwrap();
    let call = |line: &str| {
        let (_, call) = line.split_once(' ')?;
        let name = call.trim_start().split('(').next()?;
        let to_terminal = call.contains("write(1, ") || call.contains("write(2, ");
        let name = match name {
            "write" | "pwrite64" if line.contains("mayhap-lock") => return None,
            "unlink" if line.contains("mayhap-lck") => return None,
            "ftruncate" if line.contains(", 0)") => return None,
            "write" | "pwrite64" => "write",
            name if name.starts_with("rename") => "rename",
            name => name,
        };
        (!to_terminal).then(|| name.to_owned())
    };
    trace.lines().filter_map(call).collect()
}

/// A power cut cannot be produced here; the order of the calls that make it harmless can be
/// checked.
#[test]
fn nothing_takes_a_place_before_what_it_rests_on_is_on_the_disk() {
    if let Some((_, path)) = child_role() {
        let (mut live, _) = LiveFilter::open(&path, None).unwrap();
        insert_and_record(&mut live, 0..10).unwrap();
        return live.checkpoint().unwrap();
    }
    if !have_strace() {
        return;
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    drop(LiveFilter::create(path, empty(), "").unwrap());
    let test = "faults::nothing_takes_a_place_before_what_it_rests_on_is_on_the_disk";
    let mut calls = calls_of(test, "checkpoint", path);
    calls.dedup();
    // The log's header and its name; the image's mark; only then the record. The new file's pages,
    // then its name; the log is removed only after the folder is on the disk.
    let begun = ["write", "fsync", "rename", "fsync", "write", "fdatasync", "write"];
    let saved = ["write", "fsync", "rename", "fsync", "unlink"];
    assert_eq!(calls, [&begun[..], &saved[1..]].concat());
}
