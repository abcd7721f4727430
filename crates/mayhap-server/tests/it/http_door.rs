//! Places of HTTP: a client that is refused, guesses, or does not read, takes none from the others.

use crate::http::{Answer, Server};
use crate::http_guard::{basic, guarded};
use crate::support::{connect_from, narrow};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ALL: &str = "Bearer master password";
/// More than there are places for.
const CROWD: usize = 520;

fn head(server: &Server, line: &str, login: &str) -> Vec<u8> {
    let login = if login.is_empty() { "" } else { &format!("Authorization: {login}\r\n") };
    format!("{line} HTTP/1.1\r\nHost: {}\r\n{login}\r\n", server.address).into_bytes()
}

/// Reads an answer with a content length; none if the server has closed.
fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if bytes.windows(4).any(|four| four == b"\r\n\r\n") {
            let answer = Answer::parse(&bytes);
            let length: usize = answer.header("content-length").parse().unwrap_or(0);
            if answer.body.len() >= length {
                return Some(answer);
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(more) => bytes.extend_from_slice(&part[..more]),
        }
    }
}

/// Checks that probes and clients with the right password are answered.
fn everybody_is_answered(server: &Server, what: &str) {
    let connect_from = |last: u8, address| {
        let stream = connect_from(last, address);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    };
    let request = head(server, "GET /healthz", "");
    let mut stream = connect_from(9, server.address);
    stream.write_all(&request).unwrap();
    let answer = read_answer(&mut stream);
    assert_eq!(answer.map(|answer| answer.status), Some(200), "a probe beside {what}");
    let mut stream = connect_from(10, server.address);
    stream.write_all(&head(server, "GET /v1/filters", ALL)).unwrap();
    let answer = read_answer(&mut stream);
    assert_eq!(answer.map(|answer| answer.status), Some(200), "a user beside {what}");
}

#[test]
fn answers_of_any_path_and_status_release_their_place() {
    let server = guarded();
    let eye = basic("eye", "only looks");
    server.ask(
        "PUT /v1/filters/f",
        &[("Content-Type", "application/json"), ("Authorization", ALL)],
        b"{}",
    );
    for (line, login, status) in [
        ("GET /x/file", "", 401),
        ("GET /v1/filters/f/file", "", 401),
        ("GET /v1/filters/none/file", &*eye, 404),
        ("GET /x/file", ALL, 404),
        ("GET /v1/filters/%/file", ALL, 400),
        ("GET /v1/filters/f/file", ALL, 200),
        ("HEAD /v1/filters/f/file", ALL, 200),
        ("POST /v1/filters/f/file", ALL, 405),
        ("GET /v1/filters", "", 401),
        ("GET /healthz", "", 200),
    ] {
        let mut crowd = Vec::new();
        for at in 0..CROWD {
            let mut stream = connect_from(50 + (at % 100) as u8, server.address);
            stream.write_all(&head(&server, line, login)).unwrap();
            let mut first = [0; 12];
            // One that has made room for another has its answer, too.
            stream.read_exact(&mut first).unwrap_or_else(|error| panic!("{line} {at}: {error}"));
            assert_eq!(&first, format!("HTTP/1.1 {status}").as_bytes(), "{line}");
            crowd.push(stream);
        }
        everybody_is_answered(&server, &format!("{line} {status}"));
    }
}

#[test]
fn guessed_passwords_take_no_place_from_logged_in_users() {
    let server = guarded();
    let wrong = head(&server, "GET /v1/filters", "Bearer wrong");
    let mut crowd = Vec::new();
    for at in 0..450 {
        let mut stream = connect_from(20 + (at % 5) as u8, server.address);
        stream.write_all(&wrong).unwrap();
        crowd.push(stream);
    }
    for round in 0..12 {
        everybody_is_answered(&server, &format!("450 guesses, {round}"));
        for stream in &mut crowd {
            // Answered clients guess again.
            stream.set_nonblocking(true).unwrap();
            if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                let _ = stream.write(&wrong);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn unread_downloads_keep_no_client_out() {
    let server = Server::plain();
    let large = json!({ "capacity": 500_000, "fixed": true });
    assert_eq!(server.send("PUT /v1/filters/large", &large).status, 201);
    let request = head(&server, "GET /v1/filters/large/file", "");
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        let mut stream = narrow(server.address);
        stream.write_all(&request).unwrap();
        crowd.push(stream);
    }
    for _ in 0..10 {
        everybody_is_answered(&server, "unread downloads");
    }
    // A client that reads gets all of it.
    drop(crowd);
    let file = server.get("/v1/filters/large/file");
    assert_eq!(file.header("content-length"), file.body.len().to_string());
}

/// A download continues while other connections are opened and closed.
#[test]
fn a_download_that_is_read_is_not_cut_by_connections_at_the_door() {
    let server = Server::plain();
    let large = json!({ "capacity": 2_000_000, "fixed": true });
    assert_eq!(server.send("PUT /v1/filters/large", &large).status, 201);
    let mut reader = narrow(server.address);
    reader.write_all(&head(&server, "GET /v1/filters/large/file", "")).unwrap();
    reader.read_exact(&mut [0; 4096]).unwrap();
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(TcpStream::connect(server.address).unwrap());
        reader.read_exact(&mut [0; 256]).unwrap();
    }
    everybody_is_answered(&server, "silent connections");
    let began = Instant::now();
    let mut left = 2_000_000;
    let mut part = vec![0; 64 << 10];
    while left > 0 {
        let read = reader.read(&mut part).unwrap();
        assert!(read > 0, "cut off with {left} bytes left");
        left -= read.min(left);
        assert!(began.elapsed() < Duration::from_secs(300));
    }
}
