use crate::exists;
use std::process::Command;
use test_servers::{Postgres, ready};

#[test]
fn postgres_answers_and_is_gone_after_the_drop() {
    if !ready(&["initdb", "postgres", "psql"]) {
        return;
    }
    let server = Postgres::start().unwrap();
    let ask = |address: &str| {
        let output = Command::new("psql").args([address, "-Atc", "select 6 * 7"]).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (pid, url, folder) = (server.pid(), server.url(), server.socket_folder());
    let socket = format!("host={} port={} user=postgres", folder.display(), server.port());
    assert_eq!(ask(&url), (true, "42\n".to_owned()), "{}", server.log());
    assert_eq!(ask(&socket), (true, "42\n".to_owned()), "{}", server.log());
    assert!(exists(pid) && folder.is_dir());
    drop(server);
    assert!(!exists(pid) && !folder.exists());
    assert_eq!(ask(&url), (false, String::new()));
}
