//! `mayhap backup` of a server under load, and `mayhap restore`.

use crate::client::Answer;
use crate::damage;
use crate::server::{Server, ok, write_key};
use std::fs;
use std::io::{self, Read};
use std::net::{Shutdown, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A rate so low that an absent key is not found.
const ARGUMENTS: [&str; 2] = ["--default-error", "1e-9"];
const WRITERS: u64 = 3;
/// Of each writer.
const FILTERS: u64 = 50;

fn mayhap(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder next to `backup` for a server with the restored data.
fn restored(backup: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let from = backup.to_str().unwrap();
    let output = mayhap(folder.path(), &["restore", from, "--data", "data"]);
    assert!(output.status.success(), "{}", text(&output));
    folder
}

#[test]
fn a_backup_under_load_has_all_that_was_acknowledged_before_it_began() {
    under_load(|_| vec!["data".into()]);
}

/// Over a connection, by the same server.
#[test]
fn a_backup_by_url_under_load_has_all_that_was_acknowledged_before_it_began() {
    // Saves wait for a disk that compilers may keep busy.
    under_load(|server| {
        ["--with-key", "--timeout", "2min"]
            .map(str::to_owned)
            .into_iter()
            .chain([url(server)])
            .collect()
    });
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port("Redis clients: 127.0.0.1:"))
}

/// Ends the others when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Clients write, and others save all the time, so that images and segments are created and
/// removed.
fn under_load(from: impl Fn(&Server) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let from = from(&server);
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    let is_over = AtomicBool::new(false);
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let filter = |writer: u64, key: u64| format!("f{writer}-{}", key % FILTERS);
    let mut backups = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, is_over, acknowledged) = (&server, &is_over, &acknowledged);
            scope.spawn(move || {
                let mut client = server.connect();
                for key in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = filter(writer, key);
                    let added = client.ask(&format!("BF.ADD {name} {key}"));
                    assert_eq!(added, Answer::Number(1));
                    acknowledged[writer as usize].store(key + 1, Ordering::Release);
                }
            });
        }
        let server = &server;
        // Also if a backup fails, or the test would wait for the others.
        let over = Over(&is_over);
        let is_over = &is_over;
        scope.spawn(move || {
            let mut client = server.connect();
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(client.ask("SAVE"), ok());
                // One thread does what takes long: a part of a backup waits for a save before it.
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        for round in 0..8 {
            let name = format!("backup-{round}");
            let before: Vec<u64> =
                acknowledged.iter().map(|keys| keys.load(Ordering::Acquire)).collect();
            let output = mayhap(folder.path(), &[&["backup", "-o", &name], &from[..]].concat());
            assert!(output.status.success(), "{}", text(&output));
            assert!(text(&output).contains("everything verified"), "{}", text(&output));
            backups.push((folder.path().join(name), before));
        }
        drop(over);
    });
    server.stop();
    let mut keys = 0;
    for (backup, before) in &backups {
        let restored = restored(backup);
        let server = Server::start(restored.path(), &ARGUMENTS);
        let mut client = server.connect();
        for (writer, &before) in (0..WRITERS).zip(before) {
            // Keys of one filter together: there may be a million.
            for first in 0..FILTERS.min(before) {
                let own: Vec<u64> = (first..before).step_by(FILTERS as usize).collect();
                for keys in own.chunks(1000) {
                    let words: Vec<_> = keys.iter().map(u64::to_string).collect();
                    let words = format!("{} {}", filter(writer, first), words.join(" "));
                    let found = client.ask(&format!("BF.MEXISTS {words}"));
                    let all = Answer::List(vec![Answer::Number(1); keys.len()]);
                    assert_eq!(found, all, "{}, {keys:?}", backup.display());
                }
            }
            keys += before;
        }
        server.stop();
    }
    println!("{} backups, {keys} keys acknowledged before them, 0 missing", backups.len());
    assert!(keys > 100);
}

#[test]
fn the_key_crosses_a_connection_without_tls_only_if_that_is_wanted() {
    let folder = damage::folder();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let url = url(&server);
    let key = fs::read(folder.path().join("data/key")).unwrap();
    let hint = "--with-key";
    for (name, options, has_key, is_hinted) in [
        ("plain", &[][..], false, true),
        ("none", &["--no-key"], false, false),
        ("with", &["--with-key"], true, false),
    ] {
        let output = mayhap(folder.path(), &[&["backup", &url, "-o", name], options].concat());
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("without a secret key"), !has_key, "{said}");
        assert_eq!(said.contains(hint), is_hinted, "{said}");
        let copied = fs::read(folder.path().join(name).join("key")).ok();
        assert_eq!(copied, has_key.then(|| key.clone()), "{name}");
    }
    server.stop();
    let restored = restored(&folder.path().join("with"));
    let server = Server::start(restored.path(), &ARGUMENTS);
    for (filter, key) in [("saved", "saved-key"), ("logged", "99")] {
        assert!(damage::has(&server, filter, key), "{filter}");
    }
}

#[test]
fn a_backup_by_url_says_why_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let url = url(&server);
    for (from, to, words) in [
        ("redis://127.0.0.1:1", "copy", "127.0.0.1:1"),
        (&format!("{url}/0/seen"), "copy", "names a filter, not the server alone"),
        ("redis+cluster://127.0.0.1:1", "copy", "is a cluster, not a server"),
        (&url, "data", "data"),
        (&url, &url, "but a backup is a folder"),
    ] {
        let output = mayhap(folder.path(), &["backup", from, "-o", to, "--timeout", "2s"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!folder.path().join("copy").exists());
    }
    server.stop();
}

#[test]
fn a_backup_is_refused_where_files_are_and_of_what_is_no_folder_or_damaged() {
    let folder = damage::folder();
    let refused = |arguments: &[&str]| {
        let output = mayhap(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        text(&output)
    };
    assert!(refused(&["backup", "nowhere", "-o", "copy"]).contains("nowhere"));
    assert!(!folder.path().join("copy").exists());
    assert!(refused(&["backup", "data", "-o", "data"]).contains("data"));
    let path = damage::find(folder.path(), ".pack");
    damage::flip(&path, 200);
    let said = refused(&["backup", "data", "-o", "copy"]);
    assert!(said.contains("copy") && said.contains("damaged"), "{said}");
    assert!(!folder.path().join("copy/manifest").exists());
}

#[test]
fn a_backup_without_the_key_opens_with_the_key_and_with_no_other() {
    let folder = damage::folder();
    let output = mayhap(folder.path(), &["backup", "data", "-o", "copy", "--no-key"]);
    assert!(text(&output).contains("without a secret key"), "{}", text(&output));
    assert!(!folder.path().join("copy/key").exists());
    let restored = restored(&folder.path().join("copy"));
    assert!(Server::begin(restored.path(), &[], &ARGUMENTS, &[]).is_err(), "a new key");
    let key = fs::read(folder.path().join("data/key")).unwrap();
    write_key(&restored.path().join("data/key"), &key);
    let server = Server::start(restored.path(), &ARGUMENTS);
    for (filter, key) in [("saved", "saved-key"), ("logged", "99")] {
        assert!(damage::has(&server, filter, key), "{filter}");
    }
}

/// A proxy to a server that breaks the first connection after `after` bytes of answers; later ones
/// are forwarded too if `is_open`.
fn breaking(port: u16, after: u64, is_open: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut limit = after;
        while let Ok((client, _)) = listener.accept() {
            let server = Server::connect_tcp(port);
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || io::copy(&mut from, &mut to));
            // Answers are counted; requests are not.
            let _ = io::copy(&mut (&server).take(limit), &mut &client);
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            if !is_open {
                break;
            }
            limit = u64::MAX;
        }
    });
    own
}

/// A server with a filter whose image has megabytes.
fn with_large_filter(folder: &Path) -> Server {
    let server = Server::start(folder, &ARGUMENTS);
    let mut client = server.connect();
    assert_eq!(client.ask("BF.RESERVE large 0.001 2000000 NONSCALING"), ok());
    assert_eq!(client.ask("BF.ADD large 1"), Answer::Number(1));
    assert_eq!(client.ask("SAVE"), ok());
    server
}

/// Stops that server, and opens its backup `copy` with another.
fn check_large_copy(folder: &Path, server: Server) {
    server.stop();
    let restored = restored(&folder.join("copy"));
    let server = Server::start(restored.path(), &ARGUMENTS);
    assert!(damage::has(&server, "large", "1") && damage::has(&server, "logged", "99"));
}

/// A proxy to a server that withholds everything after `after` bytes of answers for this long,
/// once.
fn pausing(port: u16, after: u64, pause: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = Server::connect_tcp(port);
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || io::copy(&mut from, &mut to));
        let _ = io::copy(&mut (&server).take(after), &mut &client);
        std::thread::sleep(pause);
        let _ = io::copy(&mut &server, &mut &client);
    });
    own
}

#[test]
fn an_answer_that_comes_within_the_timeout_is_waited_for() {
    let folder = damage::folder();
    let server = with_large_filter(folder.path());
    let port = server.port("Redis clients: 127.0.0.1:");
    // A reply is requested again after a third of the timeout: the pause is longer.
    let url = format!("redis://127.0.0.1:{}", pausing(port, 2_000_000, Duration::from_secs(8)));
    let backup = ["backup", &url, "-o", "copy", "--with-key", "--timeout", "18s"];
    let output = mayhap(folder.path(), &backup);
    assert!(output.status.success(), "{}", text(&output));
    check_large_copy(folder.path(), server);
}

#[test]
fn a_backup_whose_connection_breaks_says_so_and_can_be_begun_again() {
    let folder = damage::folder();
    let server = with_large_filter(folder.path());
    let port = server.port("Redis clients: 127.0.0.1:");
    for is_open in [true, false] {
        // In the middle of an image of megabytes.
        let url = format!("redis://127.0.0.1:{}", breaking(port, 2_000_000, is_open));
        let output = mayhap(folder.path(), &["backup", &url, "-o", "copy", "--timeout", "9s"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("broke, and the backup with it; run it again"), "{said}");
        assert!(!said.contains("was begun") && !said.contains("6379"), "{said}");
        assert!(!folder.path().join("copy/manifest").exists());
    }
    let url = url(&server);
    let output = mayhap(folder.path(), &["backup", &url, "-o", "copy", "--with-key"]);
    assert!(output.status.success(), "{}", text(&output));
    check_large_copy(folder.path(), server);
}

#[test]
fn a_backup_counts_filters_of_the_log_and_says_which_key_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let mut client = server.connect();
    assert_eq!(client.ask("BF.ADD one key"), Answer::Number(1));
    let Answer::List(info) = client.ask("BF.INFO one DIGEST") else { panic!("no list") };
    let [Answer::Bulk(digest)] = &info[..] else { panic!("{info:?}") };
    let digest = String::from_utf8(digest.clone()).unwrap();
    let id = digest.strip_prefix("sip13:").unwrap();
    server.stop();
    let output = mayhap(folder.path(), &["backup", "data", "-o", "copy"]);
    let said = text(&output);
    assert!(said.contains("copy: 1 filter in 0 B of images") && !said.contains(id), "{said}");
    let output = mayhap(folder.path(), &["backup", "data", "-o", "bare", "--no-key"]);
    assert!(text(&output).contains(&format!("the secret key {id}")), "{}", text(&output));
    let output = mayhap(folder.path(), &["restore", "bare", "--data", "r/data"]);
    assert!(text(&output).contains(&format!("the secret key {id}")), "{}", text(&output));
    // No other key is made.
    let restored = folder.path().join("r");
    for _ in 0..2 {
        let Err(ended) = Server::begin(&restored, &[], &ARGUMENTS, &[]) else { panic!("started") };
        assert_eq!(ended.status.code(), Some(2), "{}", ended.said);
        for part in ["data/key: missing", &*format!("the secret key {id}"), "--key-file"] {
            assert!(ended.said.contains(part), "{part}: {}", ended.said);
        }
        assert!(!restored.join("data/key").exists());
    }
    let server =
        Server::start(&restored, &[&ARGUMENTS[..], &["--key-file", "../data/key"]].concat());
    assert!(damage::has(&server, "one", "key"));
}
