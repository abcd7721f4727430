//! A server whose messages are not read: a supervisor with a full pipe, a terminal that was
//! stopped, a driver of containers that blocks.

use crate::client::Client;
use crate::server::{Server, command, ok, until};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const PASSWORD: &str = "a-long-enough-password";
/// The capacity of a pipe on Linux: sixteen pages.
const PIPE_BYTES: usize = 64 << 10;

/// A server, its HTTP port, and its pipe with room for 4 KiB that is no longer read.
fn start(folder: &Path, arguments: &[&str]) -> (Server, u16, BufReader<PipeReader>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let listen = ["--port", "0", "--unix-socket", "socket", "--http", "0"];
    let mut command = command(folder, &[], &[&listen, arguments].concat());
    command.env("MAYHAP_PASSWORD", PASSWORD).stderr(writer.try_clone().unwrap());
    let server = Server::begin_as(folder, command).unwrap();
    let mut reader = BufReader::new(reader);
    let port = loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the server has ended");
        if let Some((_, rest)) = line.split_once("http://127.0.0.1:") {
            break rest.split('/').next().unwrap().parse().unwrap();
        }
    };
    fill(writer);
    (server, port, reader)
}

fn fill(mut writer: PipeWriter) {
    writer.write_all(&vec![b'.'; PIPE_BYTES - (4 << 10)]).unwrap();
}

fn get(port: u16, path: &str) -> String {
    let mut stream = Server::connect_tcp(port);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {PASSWORD}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn login(server: &Server) -> Client<UnixStream> {
    let mut client = server.connect();
    assert_eq!(client.ask(&format!("AUTH {PASSWORD}")), ok());
    client
}

#[test]
fn logins_probes_saves_settings_and_sigterm_wait_for_no_reader_of_stderr() {
    for format in ["text", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--log-format", format, "--log-level", "debug"];
        let (server, port, reader) = start(folder.path(), &arguments);
        for round in 0..150 {
            let answer = format!("{:?}", server.connect().ask(&format!("AUTH wrong{round}")));
            assert!(answer.contains("WRONGPASS"), "{answer}");
        }
        let mut client = login(&server);
        for path in ["/healthz", "/readyz", "/metrics"] {
            let answer = get(port, path);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        }
        assert_eq!(client.ask("SAVE"), ok());
        assert_eq!(client.ask("CONFIG SET default-capacity 200"), ok());
        server.signal(Signal::HUP);
        server.signal(Signal::TERM);
        let ended = server.wait();
        assert_eq!(ended.status.code(), Some(0));
        drop(reader);
    }
}

#[test]
fn lines_that_nobody_reads_are_dropped_counted_and_told_of() {
    const ROUNDS: usize = 25_000;
    let folder = tempfile::tempdir().unwrap();
    let (server, port, mut reader) = start(folder.path(), &[]);
    let mut client = login(&server);
    for round in 0..ROUNDS {
        let capacity = 100 + round % 2 + 1;
        assert_eq!(client.ask(&format!("CONFIG SET default-capacity {capacity}")), ok());
    }
    let dropped = || -> usize {
        let page = get(port, "/metrics");
        let (_, rest) = page.split_once("\nmayhap_log_lines_dropped_total ").unwrap();
        rest.lines().next().unwrap().parse().unwrap()
    };
    let before = dropped();
    assert!((1000..ROUNDS).contains(&before), "{before}");
    let all = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    });
    // There is room again: nothing more is dropped.
    until(|| {
        client.ask("CONFIG SET default-capacity 300");
        client.ask("CONFIG SET default-capacity 400");
        let now = dropped();
        client.ask("CONFIG SET default-capacity 500");
        (dropped() == now).then_some(())
    });
    let dropped = dropped();
    server.signal(Signal::TERM);
    assert_eq!(server.wait().status.code(), Some(0));
    let text = all.join().unwrap().unwrap();
    let told = text.lines().filter_map(|line| line.split_once(" lines were dropped: "));
    let told = told.filter_map(|(line, _)| line.rsplit(' ').next()?.parse::<usize>().ok());
    assert_eq!(told.sum::<usize>(), dropped, "{}", &text[text.len() - 1000..]);
    assert!(text.trim_end().ends_with(" INFO ended"), "{}", &text[text.len() - 1000..]);
    // Each line is a whole one.
    let starts = |line: &str| line.trim_start_matches('.').starts_with("20");
    assert!(text.lines().all(|line| starts(line) && line.len() > 30));
}
