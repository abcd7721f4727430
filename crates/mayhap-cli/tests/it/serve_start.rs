//! Errors that keep a server from starting, and their messages.

use crate::support::{file, folder, mayhap};
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

fn serve(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = mayhap(folder);
    command.arg("serve").args(arguments).envs(environment.iter().copied());
    command.output().unwrap()
}

/// Arguments, environment, and the message about them.
type Case<'a> = (Vec<&'a str>, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn errors_of_a_start_are_json_where_the_log_is() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    file(folder.path(), "json.toml", b"log_format = \"json\"\n");
    file(folder.path(), "wrong.toml", b"log_format = \"json\"\nport = [1\n");
    file(folder.path(), "file", b"");
    let flag = ["--log-format", "json"];
    let both = |arguments: &[&'static str]| [arguments, &flag].concat();
    let json = [("MAYHAP_LOG_FORMAT", "json")];
    let cases: [Case<'_>; 9] = [
        (both(&["--port", "80x"]), &[], "--port = \"80x\""),
        (vec!["--port", "80x", "--log-format=json"], &[], "--port = \"80x\""),
        (vec!["--port", "80x"], &json, "--port = \"80x\""),
        (vec!["--config", "json.toml", "--port", "80x"], &[], "--port = \"80x\""),
        (vec!["--config", "wrong.toml"], &[], "wrong.toml:2"),
        (vec!["--config", "json.toml", "--port", &taken], &[], "cannot listen on 127.0.0.1"),
        (vec!["--config", "json.toml", "--data", "file"], &[], "file"),
        (both(&["--prot", "1"]), &[], "--prot"),
        (both(&["--config", "none.toml"]), &[], "none.toml"),
    ];
    for (arguments, environment, expected) in cases {
        let output = serve(folder.path(), &arguments, environment);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let lines: Vec<Value> = said
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|_| panic!("{arguments:?}: {said}"))
            })
            .collect();
        let last = lines.last().unwrap();
        assert_eq!(last["level"], "error", "{said}");
        assert!(last["message"].as_str().unwrap().contains(expected), "{said}");
    }
    // And plain lines where it is text, whatever the environment has.
    let output = serve(folder.path(), &["--log-format", "text", "--port", "80x"], &json);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("mayhap: --port = \"80x\""), "{said}");
}

#[test]
fn a_service_named_mayhap_keeps_no_server_from_starting() {
    let folder = folder();
    let service = [
        ("MAYHAP_PORT", "tcp://10.96.0.12:6380"),
        ("MAYHAP_PORT_6380_TCP_ADDR", "10.96.0.12"),
        ("MAYHAP_SERVICE_HOST", "10.96.0.12"),
    ];
    let output = serve(folder.path(), &["--check-config"], &service);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let output = serve(folder.path(), &["--check-config"], &service[..1]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("enableServiceLinks: false"), "{said}");
}

/// The largest limit of open files with which these arguments are refused for lack of them.
fn refused(folder: &Path, files: u32, arguments: &[&str]) -> String {
    let script = format!("ulimit -n {files} && exec \"$@\"");
    let mayhap = mayhap(folder);
    let mut command = std::process::Command::new("sh");
    command.current_dir(folder).args(["-c", &script, "sh"]).arg(mayhap.get_program());
    let output = command.args(["serve", "--port", "0"]).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{files}: {said}");
    said
}

#[test]
fn too_few_open_files_are_refused_by_their_name_and_with_the_right_hint() {
    let folder = folder();
    for files in [10, 12, 14, 16, 18, 20, 24, 32, 64, 70] {
        for arguments in [&["--data", "data"][..], &["--http", "0"]] {
            let said = refused(folder.path(), files, arguments);
            assert!(said.contains("ulimit -n"), "{files}: {said}");
            assert!(!said.contains("another server"), "{files}: {said}");
        }
    }
}
