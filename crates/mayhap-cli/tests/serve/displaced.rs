//! Files of the data folder are removed or moved while the server runs.

use crate::client::{Answer, Client};
use crate::server::{Server, get, ready, until};
use crate::shim::files;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

const POLICIES: [&str; 2] = ["always", "everysec"];

/// Adds keys and remembers the acknowledged ones.
#[derive(Default)]
struct Adder {
    next: u64,
    acknowledged: Vec<u64>,
}

impl Adder {
    /// Whether the next key was accepted; `MISCONF` gives the reason if not.
    fn add<S: Read + Write>(&mut self, client: &mut Client<S>) -> Result<(), String> {
        self.next += 1;
        match client.ask(&format!("BF.ADD f {}", self.next)) {
            Answer::Number(1) => {
                self.acknowledged.push(self.next);
                Ok(())
            }
            Answer::Error(why) if why.starts_with("MISCONF ") => Err(why),
            answer => panic!("{answer:?}"),
        }
    }

    /// After kill -9: all acknowledged keys are present, and counted.
    fn check(&self, server: Server, arguments: &[&str], folder: &Path) {
        server.kill();
        let server = Server::start(folder, arguments);
        let mut client = server.connect();
        for key in &self.acknowledged {
            assert_eq!(client.ask(&format!("BF.EXISTS f {key}")), Answer::Number(1), "{key}");
        }
        let Answer::Number(items) = client.ask("BF.CARD f") else { panic!("no number") };
        assert!(items as usize >= self.acknowledged.len() && items as u64 <= self.next, "{items}");
    }
}

fn start(folder: &Path, policy: &str) -> (Server, Vec<String>, u16) {
    let arguments = ["--appendfsync", policy, "--http", "0", "--default-error", "1e-9"];
    let server = Server::start(folder, &arguments);
    let port = server.port("HTTP: http://127.0.0.1:");
    (server, arguments.map(str::to_owned).to_vec(), port)
}

#[test]
fn a_log_that_is_moved_is_waited_for_and_nothing_acknowledged_is_lost() {
    for policy in POLICIES {
        let folder = tempfile::tempdir().unwrap();
        let (server, arguments, http) = start(folder.path(), policy);
        let mut client = server.connect();
        let mut adder = Adder::default();
        for _ in 0..100 {
            adder.add(&mut client).unwrap();
        }
        let (log, aside) = (folder.path().join("data/log"), folder.path().join("aside"));
        fs::rename(&log, &aside).unwrap();
        until(|| (ready(http) == "503").then_some(()));
        adder.add(&mut client).unwrap_err();
        server.says("nothing is accepted until");
        assert!(!log.exists());
        fs::rename(&aside, &log).unwrap();
        until(|| (adder.add(&mut client).is_ok() && ready(http) == "200").then_some(()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        adder.check(server, &arguments, folder.path());
        println!("{policy}: {} acknowledged and there", adder.acknowledged.len());
    }
}

#[test]
fn a_folder_in_whose_place_another_one_stands_is_waited_for() {
    for policy in POLICIES {
        let folder = tempfile::tempdir().unwrap();
        let (server, arguments, http) = start(folder.path(), policy);
        let mut client = server.connect();
        let mut adder = Adder::default();
        for _ in 0..100 {
            adder.add(&mut client).unwrap();
        }
        let (data, aside) = (folder.path().join("data"), folder.path().join("aside"));
        fs::rename(&data, &aside).unwrap();
        fs::create_dir(&data).unwrap();
        fs::write(data.join("manifest"), "of another server").unwrap();
        until(|| (ready(http) == "503").then_some(()));
        let why = adder.add(&mut client).unwrap_err();
        assert!(why.contains("the data folder was removed, moved or replaced"), "{why}");
        assert!(get(http, "/metrics").contains("\nmayhap_log_displaced 1\n"));
        assert!(get(http, "/metrics").contains("\nmayhap_writable 0\n"));
        let Answer::Bulk(info) = client.ask("INFO persistence") else { panic!("no text") };
        let info = String::from_utf8(info).unwrap();
        assert!(info.contains("aof_displaced:1\r\naof_") && info.contains("status:err"), "{info}");
        assert_eq!(client.ask("BF.EXISTS f 7"), Answer::Number(1));
        // Nothing is written over.
        assert!(matches!(client.ask("SAVE"), Answer::Error(_)));
        assert_eq!(fs::read(data.join("manifest")).unwrap(), b"of another server");
        assert_eq!(files(&data).len(), 1);

        fs::remove_dir_all(&data).unwrap();
        fs::rename(&aside, &data).unwrap();
        until(|| adder.add(&mut client).ok());
        assert_eq!(ready(http), "200");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        adder.check(server, &arguments, folder.path());
    }
}
