//! HTTP requests that arrive slowly, or are too large.

use crate::http::{Answer, Server};
use mayhap_server::config::Config;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How the length of a body is announced.
#[derive(Debug, Clone, Copy)]
enum Framing {
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`, in pieces of this many bytes.
    Chunked(usize),
}

const FRAMINGS: [Framing; 4] =
    [Framing::Length, Framing::Chunked(1 << 16), Framing::Chunked(usize::MAX), Framing::Chunked(7)];

/// A whole request.
fn framed(server: &Server, line: &str, kind: &str, body: &[u8], framing: Framing) -> Answer {
    let host = server.address;
    let head =
        format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: {kind}");
    let mut request = head.into_bytes();
    match framing {
        Framing::Length => {
            request.extend(format!("\r\nContent-Length: {}\r\n\r\n", body.len()).bytes());
            request.extend(body);
        }
        Framing::Chunked(bytes) => {
            request.extend(b"\r\nTransfer-Encoding: chunked\r\n\r\n");
            for piece in body.chunks(bytes) {
                request.extend(format!("{:x}\r\n", piece.len()).bytes());
                request.extend(piece);
                request.extend(b"\r\n");
            }
            request.extend(b"0\r\n\r\n");
        }
    }
    Answer::parse(&server.raw(&request))
}

/// The largest JSON body, as in docs/http.md.
const MAX_JSON_BYTES: usize = 8 << 20;

#[test]
fn every_limit_of_a_body_holds_however_its_length_is_told() {
    let server = Server::start(Config { max_words: 3, max_word_bytes: 20, ..Config::default() });
    server.send("PUT /v1/filters/f", &json!({}));
    let add = |body: &[u8], framing| {
        framed(&server, "POST /v1/filters/f/add", "application/json", body, framing)
    };
    for framing in FRAMINGS {
        // Blanks are not an item: only the length of the body is wrong.
        for (bytes, status) in [(MAX_JSON_BYTES, 200), (MAX_JSON_BYTES + 1, 413)] {
            let large = !matches!(framing, Framing::Chunked(7));
            if large || status == 413 {
                let mut body = br#"{"items":["a"]}"#.to_vec();
                body.resize(bytes, b' ');
                let answer = add(&body, framing);
                assert_eq!(answer.status, status, "{framing:?} {}", answer.text());
            }
        }
        for (body, status, setting) in [
            (json!({ "items": ["1", "2", "3"] }), 200, ""),
            (json!({ "items": ["1", "2", "3", "4"] }), 400, "(max_words)"),
            (json!({ "items": ["x".repeat(20)] }), 200, ""),
            (json!({ "items": ["x".repeat(21)] }), 400, "(max_word_bytes)"),
        ] {
            let answer = add(body.to_string().as_bytes(), framing);
            assert_eq!(answer.status, status, "{framing:?} {}", answer.text());
            assert!(answer.text().contains(setting), "{framing:?} {}", answer.text());
        }
        // A file is as long as its header announces, and no longer.
        let file = server.get("/v1/filters/f/file").body;
        for (more, status) in [(0, 201), (1, 400), (1 << 20, 400)] {
            let body = [&file[..], &vec![0; more]].concat();
            let kind = "application/octet-stream";
            let answer = framed(&server, "PUT /v1/filters/g/file", kind, &body, framing);
            assert_eq!(answer.status, status, "{framing:?} {more} {}", answer.text());
            server.ask("DELETE /v1/filters/g", &[], b"");
        }
        let short = &file[..file.len() - 1];
        let answer =
            framed(&server, "PUT /v1/filters/g/file", "application/octet-stream", short, framing);
        assert_eq!(answer.status, 400, "{framing:?} {}", answer.text());
    }
}

/// A server that waits for half a second instead of the default of 30.
fn hasty() -> Server {
    Server::start(Config {
        request_timeout_ms: 500,
        max_words: 3,
        max_word_bytes: 20,
        ..Config::default()
    })
}

#[test]
fn a_head_that_does_not_arrive_ends_the_connection() {
    let server = hasty();
    // Each of these would wait for ever; the answer is a close, or 408 and a close.
    for part in [&b""[..], b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: local"] {
        let answer = server.raw(part);
        let is_end = answer.is_empty() || answer.starts_with(b"HTTP/1.1 408");
        assert!(is_end, "{}", answer.escape_ascii());
    }
    // A byte now and then is no progress: the timeout is for the whole head.
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut sent = 0;
    while slow.write_all(b"x").is_ok() && !matches!(slow.read(&mut [0; 64]), Ok(0)) {
        sent += 1;
        assert!(sent < 3000, "a minute of bytes without an end");
    }
    assert!(sent > 0);
}

#[test]
fn a_body_that_does_not_arrive_gets_an_error() {
    let server = hasty();
    server.send("PUT /v1/filters/f", &json!({}));
    for (kind, path, body) in [
        ("application/json", "POST /v1/filters/f/add", "{\"items\":[\"a\""),
        ("application/octet-stream", "PUT /v1/filters/g/file", "\u{7f}"),
    ] {
        let host = server.address;
        let head = format!(
            "{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: 100\r\n\r\n"
        );
        let answer = Answer::parse(&server.raw(format!("{head}{body}").as_bytes()));
        assert_eq!(answer.status, 408, "{path} {}", answer.text());
    }
    assert_eq!(server.get("/v1/filters/f").json()["items"], 0);
    assert_eq!(server.get("/v1/filters/g").status, 404);
}

#[test]
fn too_large_requests_are_refused_with_the_setting() {
    let server = hasty();
    server.send("PUT /v1/filters/f", &json!({}));
    for (body, setting) in [
        (json!({ "items": ["1", "2", "3", "4"] }), "max_words"),
        (json!({ "items": ["x".repeat(21)] }), "max_word_bytes"),
    ] {
        let answer = server.send("POST /v1/filters/f/add", &body);
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains(&format!("({setting})")), "{}", answer.text());
    }
    let fits = json!({ "items": ["1", "2", "x".repeat(20)] });
    assert_eq!(server.send("POST /v1/filters/f/add", &fits).status, 200);
    // A head without an end is refused before it is read completely.
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
    let answer = server.raw(long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", answer.escape_ascii());
    // An announced length is not trusted: nothing of 2^60 bytes is allocated, and the error has the
    // limit.
    let headers = "Content-Type: application/json\r\nContent-Length: 1152921504606846976\r\n";
    let giant = format!("POST /v1/filters/f/add HTTP/1.1\r\nHost: localhost\r\n{headers}\r\nx");
    assert_eq!(Answer::parse(&server.raw(giant.as_bytes())).status, 413);
}

/// Unfinished bodies are memory too, and not without a limit.
#[test]
fn unfinished_bodies_count_against_the_buffers_of_all() {
    let max_buffer_bytes = Some(4 << 20);
    let server = Server::start(Config { max_buffer_bytes, ..Config::default() });
    server.send("PUT /v1/filters/f", &json!({}));
    let host = server.address;
    let mut unfinished = Vec::new();
    for path in ["POST /v1/filters/f/add", "POST /v1/filters/f/check"] {
        let kind = "Content-Type: application/json\r\nContent-Length: 8000000";
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("{path} HTTP/1.1\r\nHost: {host}\r\n{kind}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b' '; 1_900_000]).unwrap();
        unfinished.push(stream);
    }
    while server.shared.clients.buffered_bytes() < 3_800_000 {
        std::thread::yield_now();
    }
    let body = json!({ "items": ["x".repeat(500_000)] });
    let refused = server.send("POST /v1/filters/f/add", &body);
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("(max_buffer_bytes)"), "{}", refused.text());
    // A small one has room.
    let items = json!({ "items": ["a"] });
    assert_eq!(server.send("POST /v1/filters/f/add", &items).status, 200);
    drop(unfinished);
    while server.shared.clients.buffered_bytes() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.send("POST /v1/filters/f/add", &body).status, 200);
}
