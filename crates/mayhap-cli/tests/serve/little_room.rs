//! A disk of its own that is too small: a file system in memory, in a namespace of the server.

use crate::client::{Answer, Client};
use crate::server::{Server, get, ok, ready, until};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use test_servers::tool;

/// Mounts this number of MiB on `data` and then becomes the server.
const MOUNT: &str = "mkdir -p data && mount -t tmpfs -o size=$1 tmpfs data && shift && exec \"$@\"";

fn start(folder: &Path, size: &str, arguments: &[&str]) -> Server {
    let wrapper = ["unshare", "-rm", "sh", "-c", MOUNT, "sh", size];
    Server::begin(folder, &wrapper, arguments, &[]).unwrap_or_else(|ended| panic!("{ended:?}"))
}

fn can_mount() -> bool {
    let script = "mount -t tmpfs -o size=1m tmpfs /mnt";
    let status = Command::new("unshare").args(["-rm", "sh", "-c", script]).status();
    tool(status.is_ok_and(|status| status.success()), "unshare, and that it may mount")
}

fn metric(server: &Server, name: &str) -> String {
    let page = get(server.port("HTTP: http://127.0.0.1:"), "/metrics");
    let line = page.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.rsplit(' ').next().unwrap().to_owned()
}

/// Adds `batches` batches of a thousand keys; returns the number of refused requests.
fn add(client: &mut Client<UnixStream>, filter: &str, batches: std::ops::Range<u64>) -> u64 {
    let mut refused = 0;
    for batch in batches {
        let keys = (batch * 1_000..(batch + 1) * 1_000).map(|key| key.to_string());
        let keys: Vec<String> = keys.collect();
        let answer = client.ask(&format!("BF.MADD {filter} {}", keys.join(" ")));
        refused += u64::from(matches!(answer, Answer::Error(_)));
    }
    refused
}

#[test]
fn a_checkpoint_that_cannot_fit_refuses_no_write_and_says_so_once() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--http", "0", "--checkpoint-bytes", "1MiB", "--appendfsync", "no"];
    let server = start(folder.path(), "24m", &arguments);
    let mut client = server.connect();
    assert_eq!(client.ask("BF.RESERVE a 0.01 30000000 NONSCALING"), ok());
    // Eight megabytes of log, and more than the time until the next attempt.
    assert_eq!(add(&mut client, "a", 0..1_000), 0);
    until(|| (metric(&server, "mayhap_checkpoint_failed") == "1").then_some(()));
    for _ in 0..3 {
        let answer = client.ask("SAVE");
        let Answer::Error(why) = answer else { panic!("{answer:?}") };
        assert!(why.contains("images of a checkpoint take"), "{why}");
    }
    assert_eq!(metric(&server, "mayhap_writable"), "1");
    assert_eq!(add(&mut client, "a", 1_000..1_010), 0);
    let said = server.says("or delete filters");
    assert_eq!(said.matches("no checkpoint").count(), 1, "{said}");
}

#[test]
fn deleting_works_on_a_full_disk_and_writing_goes_on() {
    if !can_mount() {
        return;
    }
    for (policy, by) in [("always", "DEL large"), ("everysec", "UNLINK large"), ("no", "FLUSHALL")]
    {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--http", "0", "--appendfsync", policy, "--checkpoint-interval", "0"];
        let server = start(folder.path(), "24m", &arguments);
        let http = server.port("HTTP: http://127.0.0.1:");
        let mut client = server.connect();
        for filter in ["large", "log"] {
            let reserved = client.ask(&format!("BF.RESERVE {filter} 0.01 9000000 NONSCALING"));
            assert_eq!(reserved, ok());
        }
        assert_eq!(add(&mut client, "large", 0..1), 0);
        assert_eq!(client.ask("SAVE"), ok());
        let mut batch = 0;
        while add(&mut client, "log", batch..batch + 1) == 0 {
            batch += 1;
            assert!(batch < 10_000, "the disk does not become full");
        }
        assert_eq!(ready(http), "503");
        let deleted = client.ask(by);
        assert!(matches!(deleted, Answer::Number(1) | Answer::Simple(_)), "{policy}: {deleted:?}");
        assert_eq!(client.ask("EXISTS large"), Answer::Number(0));
        until(|| (ready(http) == "200").then_some(()));
        until(|| (add(&mut client, "log", batch..batch + 1) == 0).then_some(()));
        assert_eq!(client.ask("EXISTS large"), Answer::Number(0));
    }
}
