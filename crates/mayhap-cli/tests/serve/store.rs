//! Servers in front of filters on Redis (`--store`): killed under load, and started again.

use crate::client::{Answer, is_end};
use crate::server::{Server, command, ok};
use std::fs::DirEntry;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use test_servers::{RedisOptions, RedisServer, ready};

const CLIENTS: usize = 4;

/// A server in front of this one, on the Unix socket `socket` of the folder.
fn start(folder: &Path, redis: &RedisServer) -> Server {
    let mut command: Command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(["serve", "--store", &redis.url(), "--port", "0", "--unix-socket", "socket"]);
    command.current_dir(folder).stderr(std::fs::File::create(folder.join("said")).unwrap());
    Server::begin_as(folder, command).unwrap_or_else(|ended| panic!("{ended:?}"))
}

#[test]
fn a_server_that_is_killed_has_lost_nothing_it_acknowledged() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), &redis);
    assert_eq!(server.connect().ask("BF.RESERVE f 0.001 100000"), ok());
    let mut next = 0;
    for round in 0..3 {
        let count = AtomicUsize::new(0);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
        let acknowledged = std::thread::scope(|scope| {
            let count = &count;
            let adding = clients.drain(..).enumerate().map(|(i, mut client)| {
                scope.spawn(move || {
                    let mut added = 0;
                    loop {
                        match client.call(&format!("BF.ADD f {round}-{i}-{added}")) {
                            Ok(Answer::Number(_)) => added += 1,
                            Ok(other) => panic!("{other:?}"),
                            Err(error) if is_end(&error) => return added,
                            Err(error) => panic!("{error}"),
                        }
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            });
            let adding: Vec<_> = adding.collect();
            while count.load(Ordering::Relaxed) < 1_000 {
                std::thread::yield_now();
            }
            server.kill();
            adding.into_iter().map(|client| client.join().unwrap()).collect::<Vec<usize>>()
        });
        next += acknowledged.iter().sum::<usize>();
        server = start(folder.path(), &redis);
        let mut client = server.connect();
        for (i, &added) in acknowledged.iter().enumerate() {
            for key in 0..added {
                let found = client.ask(&format!("BF.EXISTS f {round}-{i}-{key}"));
                assert_eq!(found, Answer::Number(1), "{round}-{i}-{key}");
            }
        }
    }
    assert!(next >= 3_000, "{next}");
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap()).collect();
    let names: Vec<_> = files.iter().map(DirEntry::file_name).collect();
    assert!(names.iter().all(|name| name == "said" || name == "socket"), "{names:?}");
    let said = server.stop();
    assert!(said.contains("filters: redis://127.0.0.1"), "{said}");
    assert!(!said.contains("filters are lost"), "{said}");
}

#[test]
fn settings_of_a_store_are_checked_and_never_show_its_password() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, problem) in [
        (["--store", "redis://u:secret@127.0.0.1:1"], "store is given with data"),
        (["--store", "redis://u:secret@127.0.0.1:1/0/name"], "names a filter"),
        (["--store", "http://u:secret@127.0.0.1:1"], "begins with none of redis://"),
        (["--store-tls-ca", "ca.pem"], "store_tls_ca is given without store"),
        (["--store-timeout", "0s"], "is 0; allowed: from 1ms on"),
    ] {
        let arguments = [&["--port", "0"], &arguments[..]].concat();
        let mut command = command(folder.path(), &[], &arguments);
        assert_eq!(command.status().unwrap().code(), Some(2), "{arguments:?}");
        let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
        assert!(said.contains(problem) && !said.contains("secret"), "{arguments:?}: {said}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    let store = ["serve", "--check-config", "--store", "redis://u:secret@127.0.0.1:1"];
    let output = command.args(store).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("store = \"redis://127.0.0.1:1/0\"\n"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}
