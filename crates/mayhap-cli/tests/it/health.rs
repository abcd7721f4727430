//! `mayhap health`, as called by a container.

use crate::support::{folder, mayhap, start_serving};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A server; its Redis and HTTP ports.
struct Server(Child, String, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &Path, arguments: &[&str], scheme: &str) -> Server {
    let ports = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = ports.map(|port| port.local_addr().unwrap().port().to_string());
    let mut command = mayhap(folder);
    command.args(["serve", "--port", &ports[0], "--http", &ports[1]]).args(arguments);
    let said = format!("HTTP: {scheme}://127.0.0.1:");
    let (child, _, stderr) = start_serving(command, &said);
    // Not read further, and not closed.
    std::mem::forget(stderr);
    let [redis, http] = ports;
    Server(child, redis, http)
}

/// The exit code and the message.
fn health(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command: Command = mayhap(folder);
    let output = command.arg("health").args(arguments).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn tls(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mayhap-server/tests/data/tls");
    folder.join(name).display().to_string()
}

#[test]
fn a_server_is_healthy_over_every_protocol_and_without_its_password() {
    let folder = folder();
    let file = folder.path().join("password");
    std::fs::write(&file, "a-long-enough-password\n").unwrap();
    let (cert, key) = (tls("server.pem"), tls("server.key"));
    let with_tls = ["--tls-cert", &cert, "--tls-key", &key];
    for (arguments, redis, http) in [
        (&[][..], "redis", "http"),
        (&["--password-file", "password"], "redis", "http"),
        (&with_tls, "rediss", "https"),
    ] {
        let server = serve(folder.path(), arguments, http);
        let mut urls = vec![
            format!("{redis}://127.0.0.1:{}", server.1),
            format!("{redis}://user:secret@localhost:{}/0/name", server.1),
            format!("{http}://127.0.0.1:{}/readyz", server.2),
            format!("{http}://localhost:{}", server.2),
            format!("{http}://127.0.0.1:{}/healthz", server.2),
        ];
        urls.extend((redis == "redis").then(|| format!("127.0.0.1:{}", server.1)));
        for url in urls {
            let (code, said) = health(folder.path(), &[&url]);
            assert_eq!(code, Some(0), "{url}: {said}");
            assert!(said.contains("healthy") && !said.contains("secret"), "{said}");
            assert_eq!(health(folder.path(), &["-q", &url]), (Some(0), String::new()));
        }
        let (code, said) =
            health(folder.path(), &[&format!("{http}://127.0.0.1:{}/none", server.2)]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("not healthy: status 4"), "{said}");
    }
}

#[test]
fn a_server_that_does_not_answer_or_answers_something_else_is_not_healthy() {
    let folder = folder();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for scheme in ["redis", "rediss", "http", "https"] {
        let (code, said) = health(folder.path(), &[&format!("{scheme}://{free}")]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("not healthy: Connection refused"), "{said}");
    }
    // It listens, and accepts no connection.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for scheme in ["redis", "rediss", "http", "https"] {
        let url = format!("{scheme}://{address}");
        let (code, said) = health(folder.path(), &[&url, "--timeout", "100ms"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("no answer within 100 ms (--timeout)"), "{said}");
    }
    for (answer, url, expected) in [
        ("-LOADING it reads its filters\r\n", "redis", "it answered \"-LOADING it reads"),
        ("-ERR max number of clients reached\r\n", "redis", "max number of clients"),
        ("HTTP/1.1 200 OK\r\n\r\n", "redis", "it answered \"HTTP/1.1"),
        ("", "redis", "closed the connection"),
        ("", "http", "closed the connection"),
        ("+PONG\r\n", "http", "it speaks no HTTP"),
        ("HTTP/1.1 503 x\r\n\r\n{\"a\":\u{1B}[31m}", "http", "status 503 {\"a\":\\u{1b}[31m}"),
        ("HTTP/1.1 301 x\r\n\r\n", "http", "status 301"),
        ("HTTP/1.1 200", "http", ""),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{url}://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).unwrap();
            socket.write_all(answer.as_bytes()).unwrap();
        });
        let (code, said) = health(folder.path(), &[&url]);
        server.join().unwrap();
        assert_eq!(code, Some(i32::from(!expected.is_empty())), "{answer}: {said}");
        assert!(said.contains(expected), "{answer}: {said}");
    }
    let (code, said) = health(folder.path(), &["ftp://a"]);
    assert_eq!(code, Some(2), "{said}");
}
