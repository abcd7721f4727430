//! `mayhap backup` and `mayhap restore` are ended at any system call. The folder left is complete,
//! or no server starts on it; never an empty one.

use crate::damage;
use crate::server::{Ended, Server};
use crate::soak;
use crate::strike::have_strace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

const ARGUMENTS: [&str; 2] = ["--default-error", "1e-9"];
const CALLS: [&str; 6] = [
    "?mkdir,?mkdirat",
    "?rename,?renameat,?renameat2",
    "pwrite64",
    "fsync",
    "fdatasync",
    "?unlink,?unlinkat",
];
/// Calls between which nothing changes, most of them of the loader.
const OTHER_CALLS: [&str; 4] = ["openat", "write", "close", "flock"];
/// The filters and keys in [`damage::folder`].
const KEYS: [(&str, &str); 3] = [("saved", "saved-key"), ("other", "other-key"), ("logged", "99")];

fn mayhap(folder: &Path, wrapper: &[&str], arguments: &[&str]) -> Output {
    let words = [wrapper, &[env!("CARGO_BIN_EXE_mayhap")], arguments].concat();
    Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A data folder, and its server.
struct Source {
    path: PathBuf,
    url: String,
}

/// A verb that copies a folder into the folder `data`, which is empty or missing before.
#[derive(Debug, Clone, Copy)]
struct Case {
    verb: &'static str,
    flag: &'static str,
    is_there: bool,
    by_url: bool,
}

impl Case {
    const ALL: [Self; 5] = [
        Self { verb: "restore", flag: "--data", is_there: false, by_url: false },
        Self { verb: "restore", flag: "--data", is_there: true, by_url: false },
        Self { verb: "backup", flag: "-o", is_there: false, by_url: false },
        Self { verb: "backup", flag: "-o", is_there: true, by_url: false },
        Self { verb: "backup", flag: "-o", is_there: false, by_url: true },
    ];

    /// Ends it at this call, and checks a server on the result; returns whether the call was
    /// reached.
    fn strike(self, source: &Source, calls: &str, when: u32, ends: &[AtomicUsize; 3]) -> bool {
        let what = format!("{self:?}, {calls} {when}");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let data = folder.join("data");
        if self.is_there {
            fs::create_dir(&data).unwrap();
        }
        let trace = format!("trace={calls}");
        let inject = format!("inject={calls}:signal=KILL:when={when}");
        let wrapper = ["strace", "-qq", "-f", "-o", "trace", "-e", &trace, "-e", &inject];
        let from = if self.by_url { &source.url } else { source.path.to_str().unwrap() };
        let mut copy = vec![self.verb, from, self.flag, "data"];
        copy.extend(self.by_url.then_some("--with-key"));
        let struck = match mayhap(folder, &wrapper, &copy).status.code() {
            Some(0) => false,
            None => true,
            Some(code) => panic!("{what}: {code}"),
        };
        let is_empty = fs::read_dir(&data).map_or(!self.is_there, |mut all| all.next().is_none());
        if struck && is_empty && !folder.join("data.partial").exists() {
            ends[0].fetch_add(1, Ordering::Relaxed);
            return true;
        }
        match Server::begin(folder, &[], &ARGUMENTS, &[]) {
            Ok(server) => check_complete(&what, &server),
            Err(Ended { status, said }) => {
                assert!(struck && status.code() == Some(2), "{what}: {said}");
                assert!(said.contains("is not complete"), "{what}: {said}");
                assert!(said.contains("run it again"), "{what}: {said}");
                let key = fs::read(data.join("key")).ok();
                let whole = fs::read(source.path.join("key")).unwrap();
                let copied = key.is_none_or(|key| whole.starts_with(&key));
                assert!(copied, "{what}: a new key");
                ends[1].fetch_add(1, Ordering::Relaxed);
                let again = mayhap(folder, &[], &copy);
                assert!(again.status.success(), "{what}: {}", text(&again));
                check_complete(&what, &Server::start(folder, &ARGUMENTS));
                assert!(!folder.join("data.partial").exists(), "{what}");
                return true;
            }
        }
        ends[2].fetch_add(1, Ordering::Relaxed);
        struck
    }
}

fn check_complete(what: &str, server: &Server) {
    for (filter, key) in KEYS {
        assert!(damage::has(server, filter, key), "{what}: {filter} does not exist");
    }
}

#[test]
fn a_copy_that_is_ended_at_any_call_is_complete_or_refused_and_never_empty() {
    if !have_strace() {
        return;
    }
    let folder = damage::folder();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let port = server.port("Redis clients: 127.0.0.1:");
    let (path, url) = (folder.path().join("data"), format!("redis://127.0.0.1:{port}"));
    let source = Source { path, url };
    let calls = CALLS.iter().chain(if soak() { &OTHER_CALLS[..] } else { &[] });
    let cases: Vec<(Case, &str)> =
        calls.flat_map(|&calls| Case::ALL.map(|case| (case, calls))).collect();
    let (ends, next) = (Default::default(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(&(case, calls)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut when = 1;
                    while case.strike(&source, calls, when, &ends) {
                        when += 1;
                        assert!(when < 500, "{case:?}, {calls}: it does not end");
                    }
                }
            });
        }
    });
    let [untouched, refused, complete] = ends.map(AtomicUsize::into_inner);
    println!("{untouched} untouched, {refused} refused, {complete} complete, 0 empty");
    assert!(refused >= 40 && complete >= cases.len(), "{refused}, {complete}");
}

/// By hand: interrupted states of a copy that none of its own calls leaves.
#[test]
fn a_folder_that_says_that_it_is_not_complete_is_left_alone() {
    let source = damage::folder();
    let from = source.path().join("data");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let refused = |arguments: &[&str]| {
        let Err(ended) = Server::begin(folder.path(), &[], arguments, &[]) else {
            panic!("it started")
        };
        assert_eq!(ended.status.code(), Some(2), "{}", ended.said);
        assert!(ended.said.contains("is not complete"), "{}", ended.said);
    };
    fs::create_dir(&data).unwrap();
    fs::write(data.join("incomplete"), "").unwrap();
    refused(&ARGUMENTS);
    refused(&["--repair"]);
    let names = || -> Vec<_> {
        fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(names(), ["incomplete"]);
    let output = mayhap(folder.path(), &[], &["backup", "data", "-o", "copy"]);
    assert!(text(&output).contains("data: this copy is not complete"), "{}", text(&output));
    fs::rename(&data, folder.path().join("data.partial")).unwrap();
    refused(&ARGUMENTS);
    assert!(!data.exists());
    // Anything else with such a name is not ours.
    fs::write(folder.path().join("data.partial/mine"), "").unwrap();
    let output = mayhap(folder.path(), &[], &["restore", from.to_str().unwrap(), "--data", "data"]);
    assert!(text(&output).contains("data.partial: it has files already"), "{}", text(&output));
    Server::start(folder.path(), &ARGUMENTS).stop();
}
