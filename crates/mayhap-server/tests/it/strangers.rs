//! Clients that have not logged in, or whose request has not arrived, keep nobody out.

use crate::command::Server as Caller;
use crate::http::{Answer, Server};
use crate::support::{Echo, Raw, Running, options};
use crate::wire_live::users;
use mayhap_server::command::After;
use mayhap_server::config::Config;
use mayhap_server::net::Options;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[test]
fn silent_connections_make_room_for_logins_and_never_the_other_way_round() {
    let options = Options { max_clients: 8, threads: 2, ..options() };
    let running = Running::with(options, Echo::with_logins());
    let mut known: Vec<Raw> = Vec::new();
    for round in 0..4 {
        let silent: Vec<Raw> = (0..20).map(|_| running.connect()).collect();
        let mut user = running.connect();
        user.send("LOGIN\r\n");
        user.expect("+OK\r\n");
        known.push(user);
        for user in &mut known {
            user.call(&["ECHO", "here"], "$4\r\nhere\r\n");
        }
        assert_eq!(known.len(), round + 1);
        drop(silent);
    }
    // Places of clients that have logged in are theirs.
    known[0].until(|| running.clients().connected() == 4);
    for _ in 0..4 {
        let mut user = running.connect();
        user.send("LOGIN\r\n");
        user.expect("+OK\r\n");
        known.push(user);
    }
    let mut late = running.connect();
    assert_eq!(late.rest(), "-ERR max number of clients reached\r\n");
    for user in &mut known {
        user.call(&["PING"], "+PONG\r\n");
    }
}

#[test]
fn a_client_that_does_not_log_in_in_time_gets_an_error_and_is_closed() {
    let login_timeout = Duration::from_millis(50);
    let options = Options { login_timeout, ..options() };
    let running = Running::with(options, Echo::with_logins());
    let mut user = running.connect();
    user.send("LOGIN\r\n");
    user.expect("+OK\r\n");
    let mut silent = running.connect();
    assert!(silent.rest().starts_with("-ERR no login within 10 seconds"));
    let mut busy = running.connect();
    let mut pings = 0;
    while busy.socket.write_all(b"PING\r\n").is_ok() && pings < 3_000_000 {
        pings += 1;
    }
    assert!(pings < 3_000_000, "requests do not replace a login");
    user.call(&["PING"], "+PONG\r\n");
}

/// 600 heads that never end, of which there is room for 512.
#[test]
fn heads_that_never_end_keep_no_probe_out() {
    let server = Server::plain();
    let mut half: Vec<TcpStream> = Vec::new();
    for _ in 0..600 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localho").unwrap();
        half.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
        assert_eq!(server.get("/v1/filters").status, 200);
    }
    drop(half);
}

#[test]
fn bodies_that_never_end_keep_neither_probes_nor_other_requests_out() {
    let server = Server::plain();
    server.send("PUT /v1/filters/f", &json!({}));
    let host = server.address;
    let mut half: Vec<TcpStream> = Vec::new();
    for number in 0..600 {
        let kind = "Content-Type: application/octet-stream\r\nContent-Length: 100000";
        let path = format!("PUT /v1/filters/up{number}/file");
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!("{path} HTTP/1.1\r\nHost: {host}\r\n{kind}\r\n\r\nx");
        stream.write_all(head.as_bytes()).unwrap();
        half.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(server.get("/healthz").status, 200);
        let items = json!({ "items": ["a"] });
        assert_eq!(server.send("POST /v1/filters/f/add", &items).status, 200);
    }
    drop(half);
}

/// A byte now and then is never late, and never complete.
#[test]
fn a_file_that_arrives_too_slowly_is_refused() {
    let server = Server::plain();
    let host = server.address;
    let mut stream = TcpStream::connect(host).unwrap();
    let kind = "Content-Type: application/octet-stream\r\nContent-Length: 100000";
    let head = format!("PUT /v1/filters/g/file HTTP/1.1\r\nHost: {host}\r\n{kind}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (mut sent, mut answer) = (0, Vec::new());
    loop {
        let mut part = [0; 1024];
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(bytes) => answer.extend_from_slice(&part[..bytes]),
            Err(_) if !answer.is_empty() => break,
            Err(_) => {
                sent += 1;
                assert!(sent < 3000, "a minute of bytes without an end");
                if stream.write_all(b"x").is_err() {
                    break;
                }
            }
        }
    }
    assert_eq!(Answer::parse(&answer).status, 408);
}

#[test]
fn an_address_that_guesses_waits_for_its_next_try_and_others_do_not() {
    let mut server = Caller::with(users(), |_| {});
    let from = |last: u8| Some(SocketAddr::from(([10, 0, 0, last], 1)));
    server.session.address = from(1);
    for _ in 0..10 {
        assert!(server.line("AUTH wrong").starts_with("-WRONGPASS "));
    }
    server.turn.hurried = true;
    // Right or wrong, nothing is answered before its time.
    for line in ["AUTH plain", "AUTH wrong", "HELLO 3 AUTH default plain"] {
        assert_eq!(server.line(line), "", "{line}");
        assert_eq!(server.after, After::Later);
        assert!(server.turn.not_before >= server.turn.work.now, "{line}");
    }
    assert!(server.turn.not_before > server.turn.work.now);
    let refused = (0..200).map(|_| server.line("AUTH wrong")).find(|answer| !answer.is_empty());
    assert!(refused.unwrap().starts_with("-ERR too many wrong passwords from this address"));
    server.session.address = from(2);
    assert_eq!(server.line("AUTH plain"), "+OK\r\n");
    server.session.address = from(1);
    server.turn.work.now += 60_001;
    assert_eq!(server.line("AUTH plain"), "+OK\r\n");
}

/// Through sockets: the guesser's own right password is answered late, but is accepted.
#[test]
fn a_right_password_of_an_address_that_guesses_is_taken_in_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let shared = crate::wire_live::shared(folder.path());
    let engine = std::sync::Arc::new(mayhap_server::net::Live(shared));
    let server = mayhap_server::net::Loops::start(options(), engine).unwrap();
    let address = server.address().unwrap();
    for _ in 0..3 {
        let mut guesser = Raw::connect(address);
        for _ in 0..5 {
            guesser.send("AUTH wrong\r\n");
            guesser.expect("-WRONGPASS ");
            guesser.expect("invalid username-password pair or user is disabled.\r\n");
        }
    }
    let mut user = Raw::connect(address);
    user.call(&["AUTH", "plain"], "+OK\r\n");
    user.call(&["PING"], "+PONG\r\n");
    drop(user);
    server.stop();
    server.join().unwrap();
}

#[test]
fn a_short_password_is_warned_of_where_other_machines_may_guess_it() {
    use mayhap_server::config::Sources;
    let warnings = |address: &str, password: &str| {
        let sources = Sources {
            environment: vec![("MAYHAP_PASSWORD".into(), password.into())],
            flags: vec![("bind".into(), address.into())],
            ..Sources::default()
        };
        let warnings = sources.load().unwrap().warnings;
        warnings.iter().filter(|text| text.contains("fewer than 16 bytes")).count()
    };
    assert_eq!(warnings("0.0.0.0", "fifteen bytes.."), 1);
    assert_eq!(warnings("0.0.0.0", "sixteen bytes..."), 0);
    assert_eq!(warnings("127.0.0.1", "x"), 0);
}

#[cfg(unix)]
#[test]
fn a_key_that_everybody_may_read_is_refused() {
    use mayhap_server::config::read_key_file_of;
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, [7; 16]).unwrap();
    for (mode, is_refused) in [(0o644, true), (0o604, true), (0o600, false), (0o640, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let read = read_key_file_of(&Config { key_file: Some(path.clone()), ..Config::default() });
        assert_eq!(read.is_err(), is_refused, "{mode:o}");
        if let Err(error) = read {
            let text = error.to_string();
            assert!(
                text.contains(&format!("mode {mode:03o}")) && text.contains("chmod o="),
                "{text}"
            );
        }
    }
    assert!(Config::default().key_file().is_none());
}
