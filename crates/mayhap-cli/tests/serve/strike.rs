//! Every call to the kernel that changes files is the last one, or fails (T06).

use crate::client::{Answer, Client, is_end};
use crate::server::{Server, ok};
use crate::soak;
use std::fs;
use std::io::Result;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use test_servers::tool;

const CALLS: [&str; 8] = [
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "?rename,?renameat,?renameat2",
    "?unlink,?unlinkat",
    "openat",
    "ftruncate",
];
const FAULTS: [&str; 3] = ["signal=KILL", "error=EIO", "error=ENOSPC"];
/// Earlier calls are the loader's, before any of ours.
const FIRST_OPENAT: u32 = 4;
/// In the gate, the most strikes of each call and fault.
const IN_GATE: u32 = 4;
const ARGUMENTS: [&str; 4] = ["--default-error", "1e-9", "--threads", "1"];

pub(crate) fn have_strace() -> bool {
    let wrapper = ["-qq", "-o", "/dev/null", "-e", "inject=flock:error=EIO:when=9", "true"];
    let have = Command::new("strace").args(wrapper).status().is_ok_and(|status| status.success());
    tool(have, "strace, and that it may trace")
}

/// The call that fails, the fault, and the policy.
#[derive(Debug, Clone, Copy)]
struct Case {
    calls: &'static str,
    fault: &'static str,
    policy: &'static str,
}

/// The progress of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    NotSent,
    Sent,
    Acknowledged,
}

/// The acknowledged operations.
#[derive(Debug, Default)]
struct Told {
    keys: Vec<String>,
    removal: Step,
    rename: Step,
}

impl Told {
    /// Inserts a key; returns whether that was acknowledged.
    fn add(&mut self, client: &mut Client<UnixStream>, key: &str) -> Result<bool> {
        let done = client.call(&format!("BF.ADD {key}"))? == Answer::Number(1);
        if done {
            self.keys.push(key.to_owned());
        }
        Ok(done)
    }
}

/// A small load, to its end or to that of the server. Checkpoints also save changes that are not in
/// the log, so not every load `saves`.
fn work(server: &Server, saves: bool, told: &mut Told) -> Result<()> {
    let client = &mut server.connect();
    for key in ["a 0", "a 1", "a 2", "old 0"] {
        told.add(client, key)?;
    }
    let is_there = told.add(client, "gone 0")?;
    if saves {
        client.call("SAVE")?;
    }
    for key in ["a 3", "b 0"] {
        told.add(client, key)?;
    }
    if is_there {
        told.removal = Step::Sent;
        if client.call("DEL gone")? == Answer::Number(1) {
            told.removal = Step::Acknowledged;
        }
    }
    told.rename = Step::Sent;
    if client.call("RENAME old new")? == ok() {
        told.rename = Step::Acknowledged;
    }
    if saves {
        client.call("SAVE")?;
    }
    for key in ["a 4", "a 5"] {
        told.add(client, key)?;
    }
    client.call(if saves { "SHUTDOWN SAVE" } else { "SHUTDOWN NOSAVE" }).map(|_| ())
}

/// A folder whose server was killed in a write, so that the next one has a torn write to cut off.
fn prepare(folder: &Path, told: &mut Told) {
    let server = Server::start(folder, &ARGUMENTS);
    assert!(told.add(&mut server.connect(), "before 0").unwrap());
    server.kill();
    let log = crate::shim::files(&folder.join("data/log")).pop().unwrap().0;
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(b"\x89mhf unfinished");
    fs::write(log, bytes).unwrap();
}

/// One run with one fault; returns whether the fault occurred.
fn strike(case: Case, when: u32, acknowledged: &AtomicUsize) -> bool {
    let Case { calls, fault, policy } = case;
    let what = format!("{calls} {fault} {when} {policy}");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let trace = folder.join("trace");
    let (calls, inject) = (format!("trace={calls}"), format!("inject={calls}:{fault}:when={when}"));
    let trace_name = trace.to_str().unwrap();
    let wrapper = ["strace", "-qq", "-f", "-o", trace_name, "-e", &calls, "-e", &inject];
    let arguments = [&["--appendfsync", policy], &ARGUMENTS[..]].concat();
    let saves = case.calls != "pwrite64" || when % 2 == 1;
    let mut told = Told::default();
    prepare(folder, &mut told);
    let ended = match Server::begin(folder, &wrapper, &arguments, &[]) {
        Ok(server) => {
            let error = work(&server, saves, &mut told).unwrap_err();
            assert!(is_end(&error), "{what}: {error}");
            server.wait()
        }
        Err(ended) => ended,
    };
    let trace = fs::read_to_string(trace).unwrap_or_default();
    let struck = trace.contains("INJECTED") || ended.status.code().is_none();
    // A fault is an error, and never a panic. (With `--seccomp-bpf`, strace does not kill.)
    let is_fine = match ended.status.code() {
        None => fault == "signal=KILL",
        code => code == Some(0) || struck && code == Some(2),
    };
    assert!(is_fine, "{what}: {ended:?}");
    check(&what, folder, &told);
    acknowledged.fetch_add(told.keys.len(), Ordering::Relaxed);
    struck
}

/// Restarts without a fault and checks everything.
fn check(what: &str, folder: &Path, told: &Told) {
    let server = Server::begin(folder, &[], &ARGUMENTS, &[])
        .unwrap_or_else(|ended| panic!("{what}: not opened: {ended:?}"));
    let mut client = server.connect();
    let mut has = |key: &str| client.ask(&format!("BF.EXISTS {key}")) == Answer::Number(1);
    for key in &told.keys {
        let there = match key.split_once(' ').unwrap() {
            ("gone", _) => match told.removal {
                Step::NotSent => has(key),
                Step::Sent => true,
                Step::Acknowledged => !has(key),
            },
            ("old", _) => match told.rename {
                Step::NotSent => has("old 0"),
                Step::Sent => has("old 0") != has("new 0"),
                Step::Acknowledged => has("new 0") && !has("old 0"),
            },
            _ => has(key),
        };
        assert!(there, "{what}: {key} is lost: {told:?}");
    }
    for number in 100..200 {
        assert!(!has(&format!("a {number}")), "{what}: a key that was never inserted");
    }
    assert_eq!(client.ask("BF.ADD a again"), Answer::Number(1), "{what}");
    server.kill();
}

/// All strikes of one call with one fault; returns their number.
fn all(case: Case, acknowledged: &AtomicUsize) -> u32 {
    let first = if case.calls == "openat" { FIRST_OPENAT } else { 1 };
    let mut struck = 0;
    // In the gate the gaps become larger: 1, 2, 4, 7; the soak leaves none.
    let mut when = first;
    while strike(case, when, acknowledged) {
        struck += 1;
        assert!(struck < 500, "{case:?} does not end");
        if struck == IN_GATE && !soak() {
            break;
        }
        when += if soak() { 1 } else { struck };
    }
    struck
}

#[test]
fn a_server_struck_at_any_call_opens_again_with_every_acknowledged_key() {
    if !have_strace() {
        return;
    }
    let policies = if soak() { &["always", "everysec", "no"][..] } else { &["always"] };
    let mut cases = Vec::new();
    for &policy in policies {
        let all = CALLS.iter().flat_map(|calls| FAULTS.map(|fault| Case { calls, fault, policy }));
        cases.extend(all);
    }
    let (struck, acknowledged, next) =
        (AtomicU32::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(&case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let count = all(case, &acknowledged);
                    println!("  {} {} {}: {count}", case.calls, case.fault, case.policy);
                    assert!(count > 0, "{case:?} did not strike");
                    struck.fetch_add(count, Ordering::Relaxed);
                }
            });
        }
    });
    let (struck, acknowledged) = (struck.into_inner(), acknowledged.into_inner());
    println!("{struck} struck calls, {acknowledged} keys acknowledged, 0 lost");
    assert!(acknowledged > 0 && struck >= if soak() { 300 } else { 70 }, "{struck}");
}
