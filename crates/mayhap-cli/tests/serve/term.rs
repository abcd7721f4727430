//! SIGTERM under load, and a folder that is in use.

use crate::load::{ARGUMENTS, Load, missing};
use crate::server::{Server, command, until};
use crate::{seed, soak};
use rustix::process::Signal;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn sigterm_under_load_ends_well_saves_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut load = Load::new(seed() << 30);
    let rounds = if soak() { 50 } else { 6 };
    for round in 0..rounds {
        let policy = ["everysec", "always", "no"][round % 3];
        let mut arguments = vec!["--appendfsync", policy, "--checkpoint-on-exit"];
        arguments.extend(ARGUMENTS);
        let server = Server::start(folder.path(), &arguments);
        if round > 0 {
            assert!(server.said().contains("nothing to replay"), "{}", server.said());
        }
        let said = load.run(server, Duration::ZERO, |server, count| {
            until(|| (count.load(Ordering::Relaxed) > 5000).then_some(()));
            server.stop()
        });
        assert!(said.contains("checkpoint: "), "{said}");
        let server = Server::start(folder.path(), &arguments);
        load.end_round();
        assert!(missing(&server, &load.before).is_empty());
        load.check_passing(&server);
        server.stop();
    }
    println!("{rounds} ends by SIGTERM, {} keys acknowledged, 0 lost", load.before.len());
    assert!(load.before.len() > rounds * 5000);
}

#[test]
fn a_folder_has_one_server_also_after_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for arguments in [&["--port", "0"][..], &["--repair"]] {
        let other = tempfile::tempdir().unwrap();
        let mut second = command(other.path(), &[], arguments);
        let status = second.current_dir(folder.path()).status().unwrap();
        assert_eq!(status.code(), Some(2));
        let said = std::fs::read_to_string(other.path().join("said")).unwrap();
        assert!(said.contains("data: another process is serving this folder"), "{said}");
    }
    server.connect().ask("BF.ADD f a");
    server.signal(Signal::KILL);
    server.wait();
    Server::start(folder.path(), &[]).stop();
}
