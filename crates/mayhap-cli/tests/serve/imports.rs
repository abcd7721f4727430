//! Files in `import/` are cut, overwritten and replaced while the server serves them.

use crate::client::{Answer, Client};
use crate::server::{Server, get, ready, until};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A filter file with the keys `PREFIX-0` to `PREFIX-999`, of two MiB.
fn built(folder: &Path, prefix: &str) -> Vec<u8> {
    let mut build = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    let build = build.args(["build", "-q", "-n", "1M", "-p", "1e-4", "-o", prefix]);
    let mut child = build.current_dir(folder).stdin(Stdio::piped()).spawn().unwrap();
    let keys: Vec<String> = (0..1000).map(|i| format!("{prefix}-{i}\n")).collect();
    let keys = keys.concat();
    child.stdin.take().unwrap().write_all(keys.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    fs::read(folder.join(prefix)).unwrap()
}

/// The answer for the keys of this prefix: the number found, or an error.
fn ask<S: Read + Write>(client: &mut Client<S>, prefix: &str) -> Result<usize, String> {
    let keys: Vec<String> = (0..1000).map(|i| format!("{prefix}-{i}")).collect();
    match client.ask(&format!("BF.MEXISTS seen {}", keys.join(" "))) {
        Answer::List(all) => Ok(all.iter().filter(|&it| *it == Answer::Number(1)).count()),
        Answer::Error(why) => Err(why),
        answer => panic!("{answer:?}"),
    }
}

type Change = (&'static str, fn(&Path, &[u8]));

/// Changes of a file by others, given the bytes of another one.
const CHANGES: [Change; 4] = [
    ("emptied", |path, _| drop(File::create(path).unwrap())),
    ("cut", |path, _| {
        File::options().write(true).open(path).unwrap().set_len(100_000).unwrap();
    }),
    ("half overwritten", |path, other| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.write_all(&other[..other.len() / 2]).unwrap();
    }),
    ("made nonsense", |path, _| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.write_all(&[0xAA; 1 << 20]).unwrap();
    }),
];

#[test]
fn a_file_that_is_changed_while_it_is_served_is_an_error_of_its_filter_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (built(folder.path(), "first"), built(folder.path(), "second"));
    let import = folder.path().join("data/import");
    fs::create_dir_all(&import).unwrap();
    let path = import.join("seen.mayhap");
    fs::write(&path, &first).unwrap();
    let server = Server::start(folder.path(), &["--http", "0", "--threads", "2"]);
    let http = server.port("HTTP: http://127.0.0.1:");
    let mut client = server.connect();
    assert_eq!(client.ask("BF.ADD other a"), Answer::Number(1));
    assert_eq!((ask(&mut client, "first"), ask(&mut client, "second")), (Ok(1000), Ok(0)));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Others read throughout, and never find a key missing without an error.
        for prefix in ["first", "second"] {
            let (over, mut client) = (&over, server.connect());
            scope.spawn(move || {
                while !over.load(Ordering::Acquire) {
                    if let Ok(found) = ask(&mut client, prefix) {
                        assert!(found == 1000 || found == 0, "{found} of {prefix}");
                    }
                    // So that the writer of the file gets its turn.
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        for (what, change) in CHANGES {
            change(&path, &second);
            let why = until(|| ask(&mut client, "first").err());
            assert!(why.starts_with("ERR the file of this filter cannot be used: "), "{why}");
            until(|| get(http, "/metrics").contains("\nmayhap_unreadable_files 1\n").then_some(()));
            // Nothing else is touched.
            assert_eq!(client.ask("BF.EXISTS other a"), Answer::Number(1), "{what}");
            assert_eq!(ready(http), "200", "{what}");
            let told = get(http, "/v1/filters/seen");
            assert!(told.contains("\"problem\":\"the file of this filter"), "{what}: {told}");
            let Answer::Bulk(info) = client.ask("INFO stats") else { panic!("no text") };
            assert!(String::from_utf8(info).unwrap().contains("unreadable_files:1\r\n"), "{what}");
            // And a whole file, as written by `cp`.
            fs::write(&path, &second).unwrap();
            until(|| (ask(&mut client, "second") == Ok(1000)).then_some(()));
            assert_eq!(ask(&mut client, "first"), Ok(0), "{what}");
            fs::write(&path, &first).unwrap();
            until(|| (ask(&mut client, "first") == Ok(1000)).then_some(()));
        }
        over.store(true, Ordering::Release);
    });
    let said = server.says("seen.mayhap read-only, in its present state");
    assert!(said.contains("seen.mayhap: the file of this filter cannot be used"), "{said}");
    server.stop();
}
