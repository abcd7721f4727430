//! Clients that read slowly, but steadily, are served to the end; those that stop reading are
//! closed and named in the log.

use crate::http::Server;
use crate::support::{Running, messages, narrow, options, until_logged};
use crate::wire_tls::{file, speak};
use mayhap_server::config::Config;
use mayhap_server::net::{Certificate, Listen, Options};
use rustls::version::TLS13;
use serde_json::json;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// Short, but longer than a reader on this machine is ever delayed.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// Reads a little now and then for three times that time, and then the rest: after a server has
/// closed, its buffered output is less than everything.
fn reads_slowly(stream: &mut impl Read, all: usize, what: &str) {
    let (began, mut total, mut part) = (Instant::now(), 0, vec![0; 64 << 10]);
    while total < all {
        let is_slow = began.elapsed() < 3 * TIMEOUT;
        let most = if is_slow { 2048 } else { part.len() };
        match stream.read(&mut part[..most]) {
            Ok(0) => panic!("{what}: closed after {total} of {all} bytes"),
            Ok(more) => total += more,
            Err(error) => panic!("{what}: {error} after {total} of {all} bytes"),
        }
        if is_slow {
            std::thread::sleep(Duration::from_millis(40));
        }
    }
}

const BIG: usize = 20_000_000;

#[test]
fn a_client_of_the_redis_protocol_that_reads_little_but_steadily_is_served() {
    let running = Running::new(Options { write_timeout: TIMEOUT, ..options() });
    let address = running.server.as_ref().unwrap().address().unwrap();
    let mut slow = narrow(address);
    slow.write_all(b"BIG 20000000\r\n").unwrap();
    reads_slowly(&mut slow, BIG, "RESP");
}

/// Many answers instead of a large one.
#[test]
fn a_pipeline_that_is_read_little_but_steadily_is_answered() {
    let running = Running::new(Options { write_timeout: TIMEOUT, ..options() });
    let address = running.server.as_ref().unwrap().address().unwrap();
    let mut slow = narrow(address);
    slow.write_all("BIG 4000\r\n".repeat(5000).as_bytes()).unwrap();
    reads_slowly(&mut slow, BIG, "a pipeline");
}

#[cfg(unix)]
#[test]
fn a_client_of_a_unix_socket_that_reads_little_but_steadily_is_served() {
    use std::os::unix::net::UnixStream;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listen = vec![mayhap_server::net::Listen::Unix(path.clone())];
    let _running = Running::new(Options { listen, write_timeout: TIMEOUT, ..options() });
    let mut slow = UnixStream::connect(path).unwrap();
    slow.write_all(b"BIG 20000000\r\n").unwrap();
    reads_slowly(&mut slow, BIG, "a Unix socket");
}

/// The reader gets a TLS record as a whole or not at all, so it reads more at a time here.
#[test]
fn over_tls_a_slow_reader_is_served_too() {
    let certificate = Certificate::open(&file("server.pem"), &file("server.key")).unwrap();
    let config = certificate.tls_config().unwrap();
    let listen = vec![Listen::Tls(([127, 0, 0, 1], 0).into(), config)];
    let running = Running::new(Options { listen, write_timeout: TIMEOUT, ..options() });
    let address = running.server.as_ref().unwrap().address().unwrap();
    let mut slow = speak(narrow(address), "localhost", &TLS13);
    slow.write_all(b"BIG 20000000\r\n").unwrap();
    reads_slowly(&mut slow, BIG, "TLS");

    let (tls_cert, tls_key) = (Some(file("server.pem")), Some(file("server.key")));
    let server = http(Config { tls_cert, tls_key, ..Config::default() });
    let mut slow = speak(narrow(server.address), "localhost", &TLS13);
    slow.write_all(DOWNLOAD).unwrap();
    reads_slowly(&mut slow, 8_000_000, "HTTPS");
}

/// With a filter of 9 MB.
fn http(config: Config) -> Server {
    let config = Config { output_timeout_ms: TIMEOUT.as_millis() as u64, ..config };
    let is_tls = config.tls_cert.is_some();
    let server = Server::start(config);
    let large = json!({ "capacity": 8_000_000, "fixed": true });
    if is_tls {
        let body = large.to_string();
        let length = body.len();
        let mut stream = speak(narrow(server.address), "localhost", &TLS13);
        let head = "PUT /v1/filters/large HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
                    application/json";
        write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 201");
    } else {
        assert_eq!(server.send("PUT /v1/filters/large", &large).status, 201);
    }
    server
}

const DOWNLOAD: &[u8] = b"GET /v1/filters/large/file HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn a_download_that_is_read_slowly_but_steadily_continues() {
    let server = http(Config::default());
    let mut slow = narrow(server.address);
    slow.write_all(DOWNLOAD).unwrap();
    reads_slowly(&mut slow, 8_000_000, "a download");
}

#[test]
fn http_answers_that_are_read_slowly_but_steadily_continue() {
    let server = http(Config::default());
    let mut slow = narrow(server.address);
    let request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    slow.write_all(&request.repeat(200)).unwrap();
    let one = server.get("/openapi.json").body.len();
    reads_slowly(&mut slow, 200 * one, "HTTP answers");
}

#[test]
fn a_client_that_reads_no_answers_is_closed_and_logged() {
    let write_timeout = Duration::from_millis(200);
    let running = Running::new(Options { write_timeout, ..options() });
    let address = running.server.as_ref().unwrap().address().unwrap();
    messages();
    let mut still = narrow(address);
    still.write_all(b"BIG 20000001\r\n").unwrap();
    let own = still.local_addr().unwrap().to_string();
    until_logged(&[&own, "closed: it has taken nothing", "(output_timeout)"]);
    let server = Server::start(Config { output_timeout_ms: 200, ..Config::default() });
    let large = json!({ "capacity": 8_000_000, "fixed": true });
    assert_eq!(server.send("PUT /v1/filters/large", &large).status, 201);
    let mut still = narrow(server.address);
    still.write_all(DOWNLOAD).unwrap();
    let own = still.local_addr().unwrap().to_string();
    until_logged(&["HTTP", &own, "closed: it has taken nothing", "(output_timeout)"]);
}
