//! Damaged files stop a start, which names them; a repair drops no more than the damaged parts.

use crate::client::Answer;
use crate::server::{Server, command, ok, write_key};
use crate::shim::files;
use std::fs;
use std::path::{Path, PathBuf};

const ARGUMENTS: [&str; 2] = ["--default-error", "1e-9"];

/// A folder with filters `saved` and `other` in images and `logged` only in the log.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let mut client = server.connect();
    for filter in ["saved", "other"] {
        assert_eq!(client.ask(&format!("BF.ADD {filter} {filter}-key")), Answer::Number(1));
    }
    assert_eq!(client.ask("SAVE"), ok());
    for key in 0..100 {
        assert_eq!(client.ask(&format!("BF.ADD logged {key}")), Answer::Number(1));
    }
    // The end of a clean one records that everything before it is on the disk.
    server.stop();
    folder
}

/// The only file, or the first, whose path ends so.
pub(crate) fn find(folder: &Path, end: &str) -> PathBuf {
    let mut all: Vec<PathBuf> = files(&folder.join("data")).into_iter().map(|it| it.0).collect();
    all.sort();
    all.into_iter().find(|path| path.to_str().unwrap().ends_with(end)).unwrap()
}

pub(crate) fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// The message of a start that has to be refused.
fn refused(folder: &Path) -> String {
    let Err(ended) = Server::begin(folder, &[], &ARGUMENTS, &[]) else { panic!("it started") };
    assert_eq!(ended.status.code(), Some(2), "{}", ended.said);
    ended.said
}

/// The exit code of a repair, and its message.
pub(crate) fn repair(folder: &Path) -> (Option<i32>, String) {
    let status = command(folder, &[], &["--repair"]).status().unwrap();
    (status.code(), fs::read_to_string(folder.join("said")).unwrap())
}

pub(crate) fn has(server: &Server, filter: &str, key: &str) -> bool {
    server.connect().ask(&format!("BF.EXISTS {filter} {key}")) == Answer::Number(1)
}

#[test]
fn a_damaged_record_is_named_and_a_repair_keeps_what_is_before_it() {
    let folder = folder();
    let path = find(folder.path(), ".log");
    let bytes = fs::read(&path).unwrap();
    let records = bytes.windows(4).enumerate().filter(|(_, it)| it == b"\x89mhf");
    let records: Vec<usize> = records.map(|(at, _)| at).collect();
    assert!(records.len() > 100, "{}", records.len());
    let bad = records[50];
    flip(&path, bad + 60);
    let said = refused(folder.path());
    assert!(said.contains(&format!("log/{}", path.file_name().unwrap().display())), "{said}");
    assert!(said.contains(&format!("damaged at byte {bad}")), "{said}");
    assert!(said.contains("mayhap serve --repair"), "{said}");
    let damaged = fs::read(&path).unwrap();

    let (code, said) = repair(folder.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("removed from the log"), "{said}");
    assert_eq!(fs::read(find(folder.path(), ".log.0")).unwrap(), damaged);
    let server = Server::start(folder.path(), &ARGUMENTS);
    assert!(has(&server, "saved", "saved-key") && has(&server, "logged", "40"));
    assert!(!has(&server, "logged", "60"));
    server.stop();
    let (code, said) = repair(folder.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no damage found"), "{said}");
}

#[test]
fn a_damaged_image_is_named_and_a_repair_drops_its_filter_alone() {
    let folder = folder();
    let path = find(folder.path(), ".pack");
    flip(&path, 200);
    let said = refused(folder.path());
    assert!(said.contains(&path.file_name().unwrap().display().to_string()), "{said}");
    assert!(said.contains("at byte"), "{said}");
    let (code, said) = repair(folder.path());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("lost with its image: filter"), "{said}");
    let server = Server::start(folder.path(), &ARGUMENTS);
    let there = [("saved", "saved-key"), ("other", "other-key"), ("logged", "99")];
    let there = there.map(|(filter, key)| has(&server, filter, key));
    assert_eq!(there.iter().filter(|&&there| there).count(), 2, "{there:?}");
    assert!(there[2]);
}

#[test]
fn a_damaged_manifest_is_named_and_no_repair_touches_it() {
    let folder = folder();
    let path = find(folder.path(), "manifest");
    flip(&path, 30);
    let before = fs::read(&path).unwrap();
    for said in [refused(folder.path()), repair(folder.path()).1] {
        assert!(said.contains("manifest: damaged at byte"), "{said}");
    }
    assert_eq!(repair(folder.path()).0, Some(2));
    assert_eq!(fs::read(&path).unwrap(), before);
    flip(&path, 30);
    let server = Server::start(folder.path(), &ARGUMENTS);
    assert!(has(&server, "logged", "99"));
}

#[test]
fn a_damaged_key_is_named_and_no_repair_says_that_all_is_well() {
    let folder = folder();
    let path = find(folder.path(), "key");
    let key = fs::read(&path).unwrap();
    let other: Vec<u8> = key.iter().map(|digit| if *digit == b'7' { b'8' } else { b'7' }).collect();
    let others = [&key[..20], b"not the key", &other[..32]];
    let reasons = ["32 hex digits", "32 hex digits", "another secret key"];
    for (bytes, why) in others.into_iter().zip(reasons) {
        fs::write(&path, bytes).unwrap();
        for said in [refused(folder.path()), repair(folder.path()).1] {
            assert!(said.contains(why), "{said}");
        }
        assert_eq!(repair(folder.path()).0, Some(2));
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::remove_file(&path).unwrap();
    let (code, said) = repair(folder.path());
    assert!(code == Some(2) && said.contains("key"), "{said}");
    assert!(!path.exists());
    write_key(&path, &key);
    assert_eq!(repair(folder.path()).0, Some(0));
    assert!(has(&Server::start(folder.path(), &ARGUMENTS), "logged", "99"));
}

#[test]
fn a_repair_of_no_folder_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = repair(folder.path());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("data: no such folder"), "{said}");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn a_write_that_was_cut_off_is_removed_and_told() {
    let folder = folder();
    let path = find(folder.path(), ".log");
    let bytes = fs::read(&path).unwrap();
    let last = bytes.windows(4).rposition(|it| it == b"\x89mhf").unwrap();
    fs::write(&path, &bytes[..last + 20]).unwrap();
    let server = Server::start(folder.path(), &ARGUMENTS);
    let said = server.said();
    assert!(said.contains(&format!("20 bytes from offset {last} on")), "{said}");
    assert!(has(&server, "logged", "98"));
}
