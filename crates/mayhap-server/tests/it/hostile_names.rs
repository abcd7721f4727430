//! T13: hostile names in the data folder and in messages. `command` runs every command on them,
//! `http_guard` every path and the metrics.

use crate::command::{Server, hostile_names};
use crate::support::messages;
use crate::wire_live::{shared, users};
use mayhap_engine::Words;
use mayhap_server::command::execute;
use mayhap_server::net::{Live, Service};
use std::path::Path;
use std::sync::Arc;

/// All files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Whether a file of the data folder has a numbered or a fixed name.
fn is_ours(file: &str) -> bool {
    let number = |end: &str, folder: &str| {
        let name = file.strip_prefix(folder).and_then(|name| name.strip_suffix(end));
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    ["lock", "key", "manifest", "spare"].contains(&file)
        || number(".log", "log/")
        || number(".mayhap", "filters/")
        || number(".pack", "filters/")
        || number(".list", "filters/")
}

#[test]
fn a_hostile_name_is_no_path_and_comes_back_as_it_was() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("data");
    std::fs::create_dir(&folder).unwrap();
    let names = hostile_names();
    assert!(names.len() >= 40);
    for round in 0..3 {
        let shared = shared(&folder);
        let live = Live(Arc::clone(&shared));
        let (mut session, mut turn) = (live.open(1, None), live.turn());
        session.rights = mayhap_server::config::Rights::ALL;
        turn.work.now = 1;
        for name in &names {
            let found = shared.keyspace.get(name, 1).map(|entry| entry.contains(b"item", 1));
            assert_eq!(found, (round > 0).then_some(true), "{}", name.escape_ascii());
            let mut bytes = b"BF.ADD".to_vec();
            let mut places = vec![(0, 6)];
            for word in [&name[..], b"item"] {
                places.push((bytes.len() as u32, (bytes.len() + word.len()) as u32));
                bytes.extend(word);
            }
            let mut out = Vec::new();
            execute(Words::new(&bytes, &places), &mut session, &shared, &mut turn, &mut out);
            assert_eq!(out, if round == 0 { b":1\r\n" } else { b":0\r\n" });
        }
        live.commit(&mut turn).unwrap();
        assert_eq!(shared.keyspace.len(), names.len());
        // From the log alone, then from images.
        if round == 1 {
            shared.log.as_ref().unwrap().checkpoint(&*shared.keyspace).unwrap();
        }
        let files = files(outer.path());
        let ours = |file: &String| file.strip_prefix("data/").is_some_and(is_ours);
        assert!(files.iter().all(ours), "{files:?}");
    }
}

#[test]
fn a_hostile_name_breaks_no_message_and_passwords_are_in_none() {
    let messages = messages();
    let names = hostile_names();
    for name in &names {
        // A session of its own: the first wrong password of each is logged.
        let mut server = Server::with(users(), |_| {});
        let answer = server.ask(&[b"AUTH".to_vec(), name.clone(), b"hunter2 secret".to_vec()]);
        assert!(answer.starts_with(b"-WRONGPASS "));
    }
    let messages = messages.lock().unwrap();
    let failed = messages.iter().filter(|text| text.starts_with("login failed for user "));
    assert!(failed.clone().count() >= names.len());
    for text in failed {
        assert!(!text.contains(char::is_control) && text.len() < 700, "{text:?}");
        // Quotes in a name do not end it: a reader sees where the address begins.
        let (name, from) =
            text["login failed for user \"".len()..].rsplit_once("\" from ").unwrap();
        assert!(!name.replace("\\\"", "").contains('"'), "{text:?}");
        assert!(!from.contains(' ') || from == "a socket", "{text:?}");
    }
    assert!(messages.iter().all(|text| !text.contains("hunter2")));
}
