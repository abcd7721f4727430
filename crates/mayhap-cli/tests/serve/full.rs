//! A full disk: a limit on the size of files, imposed from outside (T06).

use crate::client::Answer;
use crate::server::{Server, ready, until};
use rustix::process::{Resource, Rlimit, prlimit};

/// Errors for signals, as a full disk gives them.
pub(crate) const WRAPPER: [&str; 3] = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""];

/// Limits the size of the server's files.
pub(crate) fn limit(server: &Server, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(server.pid()), Resource::Fsize, limit).unwrap();
}

#[test]
fn a_full_disk_refuses_writes_answers_reads_and_goes_on_once_there_is_room() {
    for policy in ["always", "everysec", "no"] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--appendfsync", policy, "--http", "0", "--default-error", "1e-9"];
        let server = Server::begin(folder.path(), &WRAPPER, &arguments, &[]).unwrap();
        let http = server.port("HTTP: http://127.0.0.1:");
        let mut client = server.connect();
        let mut acknowledged = Vec::new();
        let mut refused = 0;
        let mut keys = 0..;
        let mut add = |client: &mut crate::client::Client<_>| {
            let key = keys.next().unwrap();
            match client.ask(&format!("BF.ADD f {key}")) {
                Answer::Number(1) => acknowledged.push(key),
                Answer::Error(why) => {
                    assert!(why.starts_with("MISCONF ") && why.contains("free at least"), "{why}");
                    refused += 1;
                    return false;
                }
                answer => panic!("{answer:?}"),
            }
            true
        };
        for _ in 0..3 {
            for _ in 0..100 {
                assert!(add(&mut client));
            }
            assert_eq!(ready(http), "200", "{policy}");
            // In the middle of a record, so that a write is a short one first.
            let log = crate::shim::files(&folder.path().join("data/log"));
            let bytes = log.iter().map(|(_, file)| file.len()).max().unwrap();
            limit(&server, Some(bytes + 30));
            until(|| (!add(&mut client)).then_some(()));
            assert_eq!(ready(http), "503", "{policy}");
            assert_eq!(client.ask("BF.EXISTS f 7"), Answer::Number(1));
            let answer = client.ask("BF.RESERVE g 0.01 100");
            assert!(
                matches!(&answer, Answer::Error(why) if why.starts_with("MISCONF")),
                "{answer:?}"
            );
            assert!(!add(&mut client), "{policy}");
            limit(&server, None);
            until(|| add(&mut client).then_some(()));
            assert_eq!(ready(http), "200", "{policy}");
        }
        server.kill();
        let server = Server::start(folder.path(), &arguments);
        let mut client = server.connect();
        for key in &acknowledged {
            assert_eq!(client.ask(&format!("BF.EXISTS f {key}")), Answer::Number(1), "{policy}");
        }
        assert_eq!(client.ask("BF.EXISTS g a"), Answer::Number(0));
        println!("full disk, {policy}: {refused} refused, {} there", acknowledged.len());
        assert!(refused >= 6);
    }
}
