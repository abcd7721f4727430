//! `mayhap serve` as its operators meet it.

use crate::support::{file, folder, mayhap, start_serving};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

/// A running server.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    port: u16,
}

impl Server {
    /// Starts with these arguments and waits until it reports its address.
    fn start(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        let mut command = mayhap(folder);
        command.args(["serve", "--port", "0"]).args(arguments);
        command.envs(settings.iter().copied());
        let (child, port, stderr) = start_serving(command, "Redis clients: 127.0.0.1:");
        let port = port.parse().unwrap();
        Self { child, stderr, port }
    }

    /// The answer to an inline command, one line.
    fn ask(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a signal; returns the exit status, and the messages meanwhile.
    fn end(mut self, signal: &str) -> (ExitStatus, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_was_added_is_there_after_any_end() {
    let folder = folder();
    let folder = folder.path();
    let arguments = ["--data", "data"];
    for (round, signal) in ["-TERM", "-INT", "-KILL"].into_iter().enumerate() {
        let server = Server::start(folder, &arguments, &[]);
        for before in 0..round {
            assert_eq!(server.ask(&format!("BF.EXISTS f round-{before}")), ":1", "{signal}");
        }
        assert_eq!(server.ask(&format!("BF.ADD f round-{round}")), ":1");
        let (status, said) = server.end(signal);
        assert_eq!(status.success(), signal != "-KILL", "{signal} {status} {said}");
    }
    let server = Server::start(folder, &arguments, &[]);
    assert_eq!(server.ask("BF.EXISTS f round-2"), ":1");
    assert_eq!(server.ask("BF.EXISTS f round-3"), ":0");
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let folder = folder();
    let server = Server::start(folder.path(), &["--data", "data"], &[]);
    let output =
        mayhap(folder.path()).args(["serve", "--port", "0", "--data", "data"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("data"), "{said}");
    assert_eq!(server.ask("PING"), "+PONG");
}

#[test]
fn a_password_is_asked_and_never_said() {
    let folder = folder();
    file(folder.path(), "password", b"correct horse battery\n");
    let arguments = ["--password-file", "password", "--log-level", "trace"];
    let server = Server::start(folder.path(), &arguments, &[]);
    assert!(server.ask("BF.ADD f secret-key").starts_with("-NOAUTH"));
    assert!(server.ask("AUTH wrong-one").starts_with("-WRONGPASS"));
    assert_eq!(server.ask("AUTH \"correct horse battery\""), "+OK");
    let (_, said) = server.end("-TERM");
    for secret in ["correct horse", "wrong-one", "secret-key"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn systemd_is_told_when_it_is_ready_and_when_it_ends() {
    let folder = folder();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let settings = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "200000")];
    let server = Server::start(folder.path(), &[], &settings);
    let next = || {
        let mut state = [0; 64];
        let bytes = socket.recv(&mut state).unwrap();
        String::from_utf8(state[..bytes].to_vec()).unwrap()
    };
    assert_eq!(next(), "READY=1");
    assert_eq!(next(), "WATCHDOG=1");
    assert!(server.end("-TERM").0.success());
    let rest: Vec<String> =
        std::iter::repeat_with(next).take_while(|it| it != "STOPPING=1").collect();
    assert!(rest.iter().all(|state| state == "WATCHDOG=1"), "{rest:?}");
}

#[test]
fn quiet_says_nothing_but_errors_while_it_serves() {
    let folder = folder();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = mayhap(folder.path());
    command.args(["serve", "-q", "--port", "0"]).env("NOTIFY_SOCKET", &path);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut state = [0; 64];
    let bytes = socket.recv(&mut state).unwrap();
    assert_eq!(&state[..bytes], b"READY=1");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn settings_come_from_file_environment_and_flags_and_wrong_ones_start_nothing() {
    let folder = folder();
    file(folder.path(), "m.toml", b"max_words = 1000\nmax_clients = 5\nthreads = 1\n");
    let check = |arguments: &[&str]| {
        let mut command = mayhap(folder.path());
        command.args(["serve", "--check-config"]).args(arguments);
        command.env("MAYHAP_CONFIG", "m.toml").env("MAYHAP_MAX_CLIENTS", "6");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, _) = check(&["--threads", "2", "--data", "a \"b\""]);
    assert_eq!(code, Some(0));
    for line in ["max_words = 1000", "max_clients = 6", "threads = 2", "data = \"a \\\"b\\\"\""] {
        assert!(out.lines().any(|other| other == line), "{line} is not in {out}");
    }
    // The output is a valid file.
    file(folder.path(), "again.toml", out.as_bytes());
    let (code, again, said) = check(&["--config", "again.toml"]);
    assert_eq!((code, again), (Some(0), out), "{said}");
    for (arguments, expected) in [
        (&["--threads", "0"][..], "--threads = \"0\": is not a whole number from 1 to 1024"),
        (&["--bind", "0.0.0.0"], "--insecure-no-password"),
        (&["--tls-cert", "none", "--tls-key", "none"], "none: "),
    ] {
        let (code, out, said) = check(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}
