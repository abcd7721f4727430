//! File systems that cannot do everything.

use crate::client::Answer;
use crate::damage;
use crate::server::{Server, ok};
use crate::strike::have_strace;
use std::process::Command;

const ARGUMENTS: [&str; 2] = ["--default-error", "1e-9"];

/// Calls of this name fail with this error.
fn failing(call: &str, error: &str) -> [String; 9] {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}"));
    ["strace", "-qq", "-f", "-o", "trace", "-e", &trace, "-e", &inject].map(Into::into)
}

/// The server syncs files by `fdatasync`, and folders by `fsync`.
#[test]
fn folders_that_cannot_be_synced_are_a_warning_and_real_errors_are_not() {
    if !have_strace() {
        return;
    }
    for (error, is_served) in [("EINVAL", true), ("EOPNOTSUPP", true), ("EIO", false)] {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = failing("fsync", error);
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let server = match Server::begin(folder.path(), &wrapper, &ARGUMENTS, &[]) {
            Ok(server) => server,
            Err(ended) => {
                assert!(!is_served && ended.status.code() == Some(2), "{error}: {}", ended.said);
                continue;
            }
        };
        assert!(is_served, "{error}");
        let mut client = server.connect();
        assert_eq!(client.ask("BF.ADD a key"), Answer::Number(1));
        assert_eq!(client.ask("SAVE"), ok());
        // A signal would go to the tracer.
        let _ = client.call("SHUTDOWN SAVE");
        let ended = server.wait();
        assert_eq!(ended.status.code(), Some(0), "{error}: {}", ended.said);
        let said = ended.said;
        assert_eq!(said.matches("cannot sync a folder").count(), 1, "{said}");
        let server = Server::start(folder.path(), &ARGUMENTS);
        assert_eq!(server.connect().ask("BF.EXISTS a key"), Answer::Number(1));
    }
}

/// For example onto a share: an operation that such a file system lacks does not prevent a backup.
#[test]
fn copies_are_made_and_served_where_folders_cannot_be_synced_and_files_not_locked() {
    if !have_strace() {
        return;
    }
    let source = damage::folder();
    for (call, error) in [
        ("fsync", "EINVAL"),
        ("fsync", "EBADF"),
        ("flock", "ENOLCK"),
        ("flock", "EOPNOTSUPP"),
        ("?chmod,?fchmod,?fchmodat", "EPERM"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = failing(call, error);
        let copy = |verb: [&str; 4]| {
            let mut command = Command::new(&wrapper[0]);
            command.args(&wrapper[1..]).arg(env!("CARGO_BIN_EXE_mayhap")).args(verb);
            let output = command.current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{call} {error}: {said}");
        };
        let from = source.path().join("data");
        copy(["backup", from.to_str().unwrap(), "-o", "copy"]);
        copy(["restore", "copy", "--data", "data"]);
        let server = Server::start(folder.path(), &ARGUMENTS);
        assert!(damage::has(&server, "saved", "saved-key"), "{call} {error}");
    }
}

#[test]
fn a_folder_that_cannot_be_locked_is_not_served() {
    if !have_strace() {
        return;
    }
    for error in ["EOPNOTSUPP", "ENOSYS", "ENOLCK", "EINVAL"] {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = failing("flock", error);
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let Err(ended) = Server::begin(folder.path(), &wrapper, &ARGUMENTS, &[]) else {
            panic!("{error}: it started")
        };
        assert_eq!(ended.status.code(), Some(2), "{error}: {}", ended.said);
        assert!(ended.said.contains("cannot lock data: "), "{error}: {}", ended.said);
        assert!(ended.said.contains("a file system with locks (flock)"), "{}", ended.said);
    }
}
