//! HTTP over TLS.

use crate::http::{Answer, Server};
use crate::wire_tls::{PROTOCOL_VERSION, file, old_hello, speak};
use mayhap_server::config::Config;
use rustls::version::{TLS12, TLS13};
use std::io::{Read, Write};
use std::net::TcpStream;

fn server() -> Server {
    let (tls_cert, tls_key) = (Some(file("server.pem")), Some(file("server.key")));
    Server::start(Config { tls_cert, tls_key, request_timeout_ms: 500, ..Config::default() })
}

fn socket(server: &Server) -> TcpStream {
    TcpStream::connect(server.address).unwrap()
}

#[test]
fn http_is_spoken_over_tls_by_the_right_name() {
    let server = server();
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for version in [&TLS12, &TLS13] {
        let mut stream = speak(socket(&server), "localhost", version);
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        // A truncated end would be an error.
        stream.read_to_end(&mut answer).unwrap();
        let answer = Answer::parse(&answer);
        assert_eq!((answer.status, answer.text().trim()), (200, "ok"));
        let mut stranger = speak(socket(&server), "elsewhere.example", version);
        assert!(stranger.write_all(request).is_err());
    }
}

#[test]
fn who_speaks_no_tls_or_an_old_one_is_sent_away() {
    let server = server();
    for plain in [&b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], b"*1\r\n$4\r\nPING\r\n"]
    {
        let answer = server.raw(plain);
        // At most an alert, and the end.
        assert!(
            answer.is_empty() || answer.starts_with(&[21, 3]) && answer.len() == 7,
            "{answer:?}"
        );
    }
    for minor in [0, 1, 2] {
        let answer = server.raw(&old_hello(minor));
        assert!(answer.starts_with(&[21, 3]) && answer.ends_with(&PROTOCOL_VERSION), "{answer:?}");
    }
    // A silent client is disconnected after `request_timeout`.
    assert_eq!(server.raw(b""), b"");
}
