//! After any answer the connection waits for admission again, and its place is free.

use super::super::server::serve;
use super::*;
use crate::Shared;
use crate::config::{Config, Rights, Users};
use mayhap::SecretKey;
use mayhap_engine::keyspace::{Keyspace, Options};
use mayhap_engine::unix_ms;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::watch;

const ALL: &str = "Authorization: Bearer master password\r\n";
const EYE: &str = "Authorization: Basic ZXllOm9ubHkgbG9va3M=\r\n";
const JSON: &str = "Content-Type: application/json\r\n";
const FILE: &str = "Content-Type: application/octet-stream\r\n";

struct Running {
    address: SocketAddr,
    admission: Arc<Admission>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    handle: tokio::runtime::Handle,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        Self::with_places(MAX_CONNECTIONS)
    }

    fn with_places(connections: usize) -> Self {
        let mut users = Users::new().unwrap();
        users.add("default", b"master password", Rights::ALL).unwrap();
        let eye = Rights { read: true, write: false, admin: false, prefix: None };
        users.add("eye", b"only looks", eye).unwrap();
        let config = Config { users: Arc::new(users), ..Config::default() };
        let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
        let shared = Shared::new(config, keyspace, None);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
        let handle = runtime.handle().clone();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (admission, (stop, stopped)) = (Admission::new(connections), watch::channel(false));
        let (ours, served) = (admission.clone(), shared.clone());
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(vec![listener], served, None, ours, stopped));
        });
        Self { address, admission, shared, stop, handle, thread: Some(thread) }
    }

    /// Waits until this many connections wait for admission, and all places of requests are free.
    fn until_waiting(&self, connections: usize, what: &str) {
        self.until(connections, 0, what);
    }

    /// The same while this many places of requests are taken.
    fn until(&self, connections: usize, requests: usize, what: &str) {
        let deadline = Instant::now() + Duration::from_secs(300);
        let wanted = (connections, max_requests(MAX_CONNECTIONS) - requests);
        while self.admission.waiting() != wanted {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.admission.waiting());
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// The status of the answer, and whether the connection stays open.
fn exchange(stream: &mut TcpStream, request: &[u8], is_head: bool) -> (u16, bool) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request).unwrap();
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if is_head || bytes.len() >= end + 4 + length {
                return (head[9..12].parse().unwrap(), !head.contains("connection: close"));
            }
        }
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "closed: {}", request.escape_ascii());
        bytes.extend_from_slice(&part[..read]);
    }
}

#[test]
fn after_any_answer_the_connection_waits_for_admission_again() {
    let running = Running::start();
    let add = "{\"items\":[\"a\"]}";
    let host = "Host: localhost\r\n";
    let mut seen = std::collections::BTreeSet::new();
    for (line, fields, body, status) in [
        ("PUT /v1/filters/f", [ALL, JSON, host], "{}", 201),
        ("GET /healthz", ["", "", host], "", 200),
        ("GET /healthz", ["", "", "Host: other\r\n"], "", 200),
        ("GET /openapi.json", ["", "", host], "", 200),
        ("GET /x/file", ["", "", host], "", 401),
        ("GET /v1/filters/f/file", ["", "", host], "", 401),
        ("GET /v1/filters/f/file", [ALL, "", host], "", 200),
        ("HEAD /v1/filters/f/file", [ALL, "", host], "", 200),
        ("GET /v1/filters/none/file", [ALL, "", host], "", 404),
        ("GET /v1/filters/%/file", [ALL, "", host], "", 400),
        ("GET /v1/filters/f/file", [ALL, "", "Host: other\r\n"], "", 421),
        ("DELETE /v1/filters/f/file", [ALL, "", host], "", 405),
        ("GET /file", [ALL, "", host], "", 404),
        ("PUT /v1/filters/g/file", [EYE, FILE, host], "x", 403),
        ("PUT /v1/filters/g/file", [ALL, JSON, host], "x", 415),
        ("PUT /v1/filters/g/file", [ALL, FILE, host], "x", 400),
        ("POST /v1/filters/f/add", [ALL, JSON, host], add, 200),
        ("POST /v1/filters/f/add", [ALL, JSON, host], "[]", 400),
        ("POST /v1/filters/f/add", [EYE, JSON, host], add, 403),
        ("POST /v1/filters/none/check", [EYE, JSON, host], add, 404),
        ("PUT /v1/filters/f", [ALL, JSON, host], "{}", 409),
        ("GET /v1/filters?limit=x", [ALL, "", host], "", 400),
        ("GET /metrics", [EYE, "", host], "", 200),
        ("GET /v1/filters", ["Authorization: Bearer wrong\r\n", "", host], "", 401),
        ("DELETE /v1/filters/f", [ALL, "", host], "", 204),
        ("GET /v1/filters", [ALL, "Transfer-Encoding: gzip, chunked\r\n", host], "", 501),
    ] {
        let length = if fields[1].starts_with("Tr") {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let request = format!("{line} HTTP/1.1\r\n{}{length}\r\n{body}", fields.concat());
        let mut stream = TcpStream::connect(running.address).unwrap();
        for _ in 0..2 {
            let (found, stays) = exchange(&mut stream, request.as_bytes(), line.starts_with('H'));
            if found != status {
                // A creation or deletion succeeds only once.
                assert!(matches!((status, found), (201, 409) | (204, 404)), "{request} {found}");
            }
            seen.insert(found);
            running.until_waiting(usize::from(stays), &request);
            if !stays {
                break;
            }
        }
        drop(stream);
        running.until_waiting(0, line);
    }
    // Too many guesses.
    for _ in 0..10 {
        running.shared.logins.failed(Some(IpAddr::from([127, 0, 0, 1])), unix_ms());
    }
    while running.shared.logins.next(Some([127, 0, 0, 1].into()), unix_ms())
        != crate::login_throttle::Try::Refused
    {}
    let mut stream = TcpStream::connect(running.address).unwrap();
    let request = format!("GET /v1/filters HTTP/1.1\r\n{host}{ALL}\r\n");
    seen.insert(exchange(&mut stream, request.as_bytes(), false).0);
    running.until_waiting(1, "429");
    let all = [200, 201, 204, 400, 401, 403, 404, 405, 409, 415, 421, 429, 501];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

/// A connection that waits is not admitted: for its turn, and for the delayed answer.
#[test]
fn a_guess_waits_for_admission() {
    let running = Running::start();
    let wrong =
        b"GET /v1/filters HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n";
    let mut streams = Vec::new();
    for _ in 0..30 {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(wrong).unwrap();
        streams.push(stream);
    }
    running.until_waiting(30, "guesses");
    let (status, _) = exchange(&mut streams[0], b"", false);
    assert_eq!(status, 401);
    running.until_waiting(30, "one is answered");
}

/// Also when its handler is done with the head and the body: a connection that was taken for idle
/// was closed before a slow answer.
#[test]
fn a_request_has_its_place_until_it_is_answered() {
    let running = Running::start();
    // Handlers work on the one thread that the runtime has for that.
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    running.handle.spawn_blocking(move || waits.recv());
    let body = "{\"names\":[\"f\"],\"items\":[\"a\"]}";
    let length = body.len();
    let head = format!("HTTP/1.1\r\nHost: localhost\r\n{ALL}{JSON}Content-Length: ");
    let requests = [
        format!("GET /v1/filters {head}0\r\n\r\n"),
        format!("POST /v1/which {head}{length}\r\n\r\n"),
    ];
    let mut streams = requests.map(|request| {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    });
    running.until(0, 2, "heads");
    streams[1].write_all(body.as_bytes()).unwrap();
    // Answered on the loop itself, after the body was read.
    let mut other = TcpStream::connect(running.address).unwrap();
    let health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(exchange(&mut other, health, false).0, 200);
    running.until(1, 2, "bodies");
    drop(go_on);
    for stream in &mut streams {
        assert_eq!(exchange(stream, b"", false).0, 200);
    }
    running.until_waiting(3, "answered");
}

#[test]
fn a_download_has_its_place_until_it_is_read_or_gone() {
    let running = Running::start();
    let mut stream = TcpStream::connect(running.address).unwrap();
    let body = "{\"capacity\":20000000,\"fixed\":true}";
    let length = body.len();
    let make = format!(
        "PUT /v1/filters/f HTTP/1.1\r\nHost: localhost\r\n{ALL}{JSON}Content-Length: {length}\r\n\
         \r\n{body}"
    );
    assert_eq!(exchange(&mut stream, make.as_bytes(), false).0, 201);
    running.until_waiting(1, "made");
    let get = format!("GET /v1/filters/f/file HTTP/1.1\r\nHost: localhost\r\n{ALL}\r\n");
    for is_read in [true, false] {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(get.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 15]).unwrap();
        assert_eq!(running.admission.waiting(), (1, max_requests(MAX_CONNECTIONS) - 1));
        if is_read {
            let mut part = vec![0; 1 << 20];
            while running.admission.waiting() != (2, max_requests(MAX_CONNECTIONS)) {
                stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                assert!(!matches!(stream.read(&mut part), Ok(0)), "it is cut");
            }
        }
        drop(stream);
        running.until_waiting(1, "read or gone");
    }
}

/// Accepting must not run ahead of reading: with all of these accepted at once, the oldest made
/// room while its whole request lay there unread.
#[test]
fn a_request_that_has_arrived_is_read_before_its_connection_makes_room() {
    let running = Running::with_places(32);
    // The thread of HTTP is busy while all of these arrive.
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    running.handle.spawn(async move { waits.recv() });
    let unfinished = || {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ").unwrap();
        stream
    };
    let mut silent: Vec<_> = (0..20).map(|_| unfinished()).collect();
    let mut client = TcpStream::connect(running.address).unwrap();
    client.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    silent.extend((0..60).map(|_| unfinished()));
    drop(go_on);
    assert_eq!(exchange(&mut client, b"", false).0, 200);
}
