//! The same tests over TLS.

use crate::support::{Running, options, request};
use mayhap_server::net::{Certificate, Error, Listen, Options};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", "tls", name].iter().collect()
}

/// A time at which the certificates are valid, whatever the clock.
#[derive(Debug)]
struct Then;

impl TimeProvider for Then {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(2_000_000_000)))
    }
}

fn server() -> Running {
    let certificate = Certificate::open(&file("server.pem"), &file("server.key")).unwrap();
    let config = certificate.tls_config().unwrap();
    let listen = vec![Listen::Tls(([127, 0, 0, 1], 0).into(), config)];
    Running::new(Options { listen, ..options() })
}

fn connect(
    running: &Running,
    version: &'static SupportedProtocolVersion,
) -> StreamOwned<ClientConnection, TcpStream> {
    speak(running.connect().socket, "localhost", version)
}

/// TLS over a socket, with a server of this name.
pub(crate) fn speak(
    socket: TcpStream,
    name: &'static str,
    version: &'static SupportedProtocolVersion,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("ca.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_details(Arc::new(default_provider()), Arc::new(Then))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name).unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(session, socket)
}

/// The greeting of a client that supports nothing newer than this version: 3.1 is TLS 1.0, 3.2 is
/// 1.1.
pub(crate) fn old_hello(minor: u8) -> Vec<u8> {
    let mut body = vec![3, minor];
    body.extend([7; 32]);
    // No session; AES-128 and AES-256 with RSA; no compression; signatures by RSA and ECDSA.
    body.extend([0, 0, 4, 0, 0x2F, 0, 0x35, 1, 0]);
    body.extend([0, 10, 0, 13, 0, 6, 0, 4, 4, 1, 4, 3]);
    let body_len = body.len() as u8;
    let mut record = vec![22, 3, minor, 0, body_len + 4, 1, 0, 0, body_len];
    record.extend(body);
    record
}

/// The alert "protocol version".
pub(crate) const PROTOCOL_VERSION: [u8; 2] = [2, 70];

fn expect(stream: &mut impl Read, answer: &[u8]) {
    let mut got = vec![0; answer.len()];
    stream.read_exact(&mut got).unwrap();
    assert!(got == answer, "{}", got[..got.len().min(100)].escape_ascii());
}

#[test]
fn requests_and_answers_of_any_size_pass_through_tls() {
    let running = server();
    for version in [&TLS12, &TLS13] {
        let mut stream = connect(&running, version);
        stream.write_all(b"PING\r\n").unwrap();
        expect(&mut stream, b"+PONG\r\n");
        let word: String = (0..1 << 20).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
        stream.write_all(&request(&["ECHO", &word])).unwrap();
        expect(&mut stream, format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        // More than all buffers on the way.
        stream.write_all(b"BIG 20000000\r\nPING\r\n").unwrap();
        let answer = [b"$20000000\r\n", &vec![b'x'; 20_000_000][..], b"\r\n+PONG\r\n"].concat();
        expect(&mut stream, &answer);
    }
}

#[test]
fn the_end_of_a_tls_connection_is_signalled() {
    let running = server();
    let mut stream = connect(&running, &TLS13);
    stream.write_all(b"BIG 5000000\r\nQUIT\r\n").unwrap();
    let mut rest = Vec::new();
    // A truncated end would be an error.
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 10 + 5_000_000 + 2 + 5);
}

#[test]
fn clients_without_tls_are_refused() {
    let running = server();
    let mut raw = running.connect();
    raw.send("PING\r\n");
    let mut got = Vec::new();
    match raw.socket.read_to_end(&mut got) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    assert!(!got.windows(4).any(|part| part == b"PONG"));
    let mut stream = connect(&running, &TLS13);
    stream.write_all(b"PING\r\n").unwrap();
    expect(&mut stream, b"+PONG\r\n");
}

#[test]
fn versions_before_tls_1_2_are_told_so_and_refused() {
    let running = server();
    for minor in [0, 1, 2] {
        let mut raw = running.connect();
        raw.send(old_hello(minor));
        let mut got = Vec::new();
        let _ = raw.socket.read_to_end(&mut got);
        assert!(got.starts_with(&[21, 3]) && got.ends_with(&PROTOCOL_VERSION), "{got:?}");
    }
}

#[test]
fn a_server_of_another_name_is_not_trusted() {
    let running = server();
    let mut stream = speak(running.connect().socket, "elsewhere.example", &TLS13);
    assert!(stream.write_all(b"PING\r\n").is_err());
    let mut stream = connect(&running, &TLS13);
    stream.write_all(b"PING\r\n").unwrap();
    expect(&mut stream, b"+PONG\r\n");
}

#[test]
fn agreeing_on_tls_has_a_deadline() {
    let certificate = Certificate::open(&file("server.pem"), &file("server.key")).unwrap();
    let config = certificate.tls_config().unwrap();
    let listen = vec![Listen::Tls(([127, 0, 0, 1], 0).into(), config)];
    let request_timeout = Duration::from_millis(200);
    let running = Running::new(Options { listen, request_timeout, ..options() });
    let mut stream = connect(&running, &TLS13);
    stream.write_all(b"PING\r\n").unwrap();
    expect(&mut stream, b"+PONG\r\n");
    running.connect().rest();
    // After the handshake, silence is no fault.
    stream.write_all(b"PING\r\n").unwrap();
    expect(&mut stream, b"+PONG\r\n");
}

#[test]
fn an_invalid_certificate_is_named() {
    for (cert, key, wrong) in [
        ("none.pem", "server.key", "none.pem"),
        ("server.key", "server.key", "server.key"),
        ("server.pem", "ca.pem", "ca.pem"),
        ("ca.pem", "server.key", "server.key"),
    ] {
        let error = Certificate::open(&file(cert), &file(key)).unwrap_err();
        assert!(matches!(&error, Error::Tls { path, .. } if *path == file(wrong)), "{error}");
    }
}
