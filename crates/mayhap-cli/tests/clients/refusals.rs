//! A start that is refused.

use crate::server::Server;
use std::process::Command;

#[test]
fn a_start_that_is_refused_says_what_and_what_to_do() {
    let server = Server::start(&[]);
    std::fs::write(server.path().join("file"), b"").unwrap();
    let (port, http) = (server.port.to_string(), server.http.to_string());
    for (arguments, what, hint) in [
        (["--port", &port, "--data", "a"], format!("127.0.0.1:{port}"), "--port PORT"),
        (["--port", "0", "--http", &http], format!("127.0.0.1:{http} for HTTP"), "--http PORT"),
        (["--port", "0", "--data", "data"], "another process".into(), "--data DIR --port PORT"),
        (["--port", "0", "--data", "file"], "cannot open file".into(), "--data DIR is a folder"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        let output =
            command.arg("serve").args(arguments).current_dir(server.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let (error, told) = said.split_once("\nhint: ").unwrap();
        assert!(error.contains(&what) && told.contains(hint), "{arguments:?}: {said}");
    }
}
