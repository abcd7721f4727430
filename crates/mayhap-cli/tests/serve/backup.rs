//! `mayhap backup` of a server under load, and `mayhap restore`.

use crate::client::Answer;
use crate::damage;
use crate::server::{Server, ok, write_key};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So few false positives that a key that is not there is not found.
const ARGUMENTS: [&str; 2] = ["--default-error", "1e-9"];
const WRITERS: u64 = 3;

fn mayhap(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder next to `backup` for a server of what was restored from it.
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
    under_load(|server| vec![url(server), "--with-key".into()]);
}

fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port("Redis clients: 127.0.0.1:"))
}

/// Clients write, and others save all the time, so that images and segments come and go.
fn under_load(from: impl Fn(&Server) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let from = from(&server);
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    let is_over = AtomicBool::new(false);
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let filter = |writer: u64, key: u64| format!("f{writer}-{}", key % 50);
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
        let (server, is_over) = (&server, &is_over);
        scope.spawn(move || {
            let mut client = server.connect();
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(client.ask("SAVE"), ok());
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
        is_over.store(true, Ordering::Relaxed);
    });
    server.stop();
    let mut keys = 0;
    for (backup, before) in &backups {
        let restored = restored(backup);
        let server = Server::start(restored.path(), &ARGUMENTS);
        let mut client = server.connect();
        for (writer, &before) in (0..WRITERS).zip(before) {
            for key in 0..before {
                let found = client.ask(&format!("BF.EXISTS {} {key}", filter(writer, key)));
                assert_eq!(found, Answer::Number(1), "{}, key {key}", backup.display());
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
