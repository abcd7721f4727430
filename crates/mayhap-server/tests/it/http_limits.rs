//! Requests over HTTP that come slowly, or are too large.

use crate::http::{Answer, Server};
use mayhap_server::config::Config;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server that waits for half a second, where its default is 30.
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
    // Each of these would wait for ever; the answer is the end, or 408 and the end.
    for part in [&b""[..], b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: local"] {
        let answer = server.raw(part);
        let is_end = answer.is_empty() || answer.starts_with(b"HTTP/1.1 408");
        assert!(is_end, "{}", answer.escape_ascii());
    }
    // A byte now and then is no progress: the time is that of the whole head.
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut sent = 0;
    while slow.write_all(b"x").is_ok() && !matches!(slow.read(&mut [0; 64]), Ok(0)) {
        sent += 1;
        assert!(sent < 3000, "a minute of bytes, and no end");
    }
    assert!(sent > 0);
}

#[test]
fn a_body_that_does_not_arrive_is_told_so() {
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
fn what_is_too_large_is_refused_by_its_setting() {
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
    // A head without an end is refused before it is read whole.
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
    let answer = server.raw(long.as_bytes());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", answer.escape_ascii());
    // A length is no size: nothing of 2^60 bytes is allocated, and the limit is told.
    let headers = "Content-Type: application/json\r\nContent-Length: 1152921504606846976\r\n";
    let giant = format!("POST /v1/filters/f/add HTTP/1.1\r\nHost: localhost\r\n{headers}\r\nx");
    assert_eq!(Answer::parse(&server.raw(giant.as_bytes())).status, 413);
}
