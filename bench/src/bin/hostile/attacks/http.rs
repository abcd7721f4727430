//! HTTP heads, bodies, downloads and streams.

use super::{BASIC, Target, flood, from, from_elsewhere, wait};
use mayhap_bench::process::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Connections that begin so, and then send this now and then.
fn slowly(target: &Target, count: usize, begin: &[u8], more: &[u8], until: Instant) {
    let mut streams = open(target, count, begin);
    while Instant::now() < until {
        for stream in &mut streams {
            let _ = stream.write(more);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Refusing further connections is the server's right, not a failure of the attacker.
fn open(target: &Target, count: usize, begin: &[u8]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", target.http)) else { continue };
        let _ = stream.set_nonblocking(true);
        let _ = stream.write(begin);
        streams.push(stream);
    }
    streams
}

fn get(path: &str) -> Vec<u8> {
    head("GET", path, "")
}

/// A request of the user `default`; `fields` are whole lines.
fn head(method: &str, path: &str, fields: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {BASIC}\r\n\
         {fields}\r\n"
    )
    .into_bytes()
}

const JSON: &str = "Content-Type: application/json\r\n";
const FILE: &str = "Content-Type: application/octet-stream\r\n";

fn flood_http(target: &Target, request: &[u8], until: Instant) -> Result<(), Error> {
    flood(|| Ok(TcpStream::connect(("127.0.0.1", target.http))?), request, until)
}

/// Base64 of `default:wrong`.
pub(super) fn passwords(target: &Target, until: Instant) -> Result<(), Error> {
    let request = b"GET /v1/filters HTTP/1.1\r\nHost: localhost\r\n\
        Authorization: Basic ZGVmYXVsdDp3cm9uZw==\r\n\r\n";
    flood(|| from_elsewhere(target.http), &request.repeat(50), until)
}

/// Guesses of an attacker with many connections and several addresses; each guesses again once it
/// is answered.
pub(super) fn guesses(target: &Target, until: Instant) -> Result<(), Error> {
    let request = b"GET /v1/filters HTTP/1.1\r\nHost: localhost\r\n\
        Authorization: Basic ZGVmYXVsdDp3cm9uZw==\r\n\r\n";
    repeatedly(450, |at| from(70 + (at % 5) as u8, target.http), request, until)
}

/// Requests without a password for a path that looks like a download.
pub(super) fn refusals(target: &Target, until: Instant) -> Result<(), Error> {
    let request = b"GET /x/file HTTP/1.1\r\nHost: localhost\r\n\r\n";
    repeatedly(512, |_| from_elsewhere(target.http), request, until)
}

/// Connections that all send this, again after each answer, and are reopened when they are closed.
fn repeatedly(
    count: usize,
    connect: impl Fn(usize) -> Result<TcpStream, Error>,
    request: &[u8],
    until: Instant,
) -> Result<(), Error> {
    let open = |at: usize| -> Result<TcpStream, Error> {
        let mut stream = connect(at)?;
        stream.set_nonblocking(true)?;
        let _ = stream.write(request);
        Ok(stream)
    };
    let mut streams = (0..count).map(open).collect::<Result<Vec<_>, _>>()?;
    let mut buffer = [0; 4096];
    while Instant::now() < until {
        for (at, stream) in streams.iter_mut().enumerate() {
            match stream.read(&mut buffer) {
                Ok(1..) => {
                    let _ = stream.write(request);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => *stream = open(at)?,
            }
            // One after the other, as they arrive at a server with many unknown clients.
            if at % 32 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    Ok(())
}

pub(super) fn bodies(target: &Target, until: Instant) -> Result<(), Error> {
    let fields = format!("{JSON}Content-Length: 8000000\r\n");
    let mut begin = head("POST", "/v1/filters/bystander/check", &fields);
    begin.extend_from_slice(b"{\"items\": [\"");
    begin.resize(begin.len() + (64 << 10), b'a');
    slowly(target, 150, &begin, &[b'a'; 64 << 10], until);
    Ok(())
}

pub(super) fn chunks(target: &Target, until: Instant) -> Result<(), Error> {
    let fields = format!("{JSON}Transfer-Encoding: chunked\r\n");
    let begin = head("POST", "/v1/filters/bystander/add", &fields);
    let mut chunk = b"10000\r\n".to_vec();
    chunk.resize(chunk.len() + (64 << 10), b'a');
    chunk.extend_from_slice(b"\r\n");
    slowly(target, 150, &begin, &chunk, until);
    Ok(())
}

pub(super) fn heads(target: &Target, until: Instant) -> Result<(), Error> {
    slowly(target, 600, b"GET /healthz HTTP/1.1\r\nX: ", b"x", until);
    Ok(())
}

pub(super) fn uploads(target: &Target, until: Instant) -> Result<(), Error> {
    let fields = format!("{FILE}Content-Length: 1000000\r\n");
    slowly(target, 520, &head("PUT", "/v1/filters/upload/file", &fields), b"x", until);
    Ok(())
}

/// A header of ours, without the body that its sizes announce.
pub(super) fn forged(target: &Target, until: Instant) -> Result<(), Error> {
    let mut at = 0_u32;
    while Instant::now() < until {
        let mut file = b"\x89mayhap\n".to_vec();
        file.resize(64 << 10, 0xFF);
        file[8..12].copy_from_slice(&at.to_le_bytes());
        at += 1;
        let fields = format!("Connection: close\r\n{FILE}Content-Length: {}\r\n", file.len());
        let mut request = head("PUT", "/v1/filters/forged/file", &fields);
        request.extend(file);
        let mut stream = TcpStream::connect(("127.0.0.1", target.http))?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        let _ = stream.write_all(&request);
        let _ = stream.read(&mut [0; 1024]);
    }
    Ok(())
}

pub(super) fn lists(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = get("/v1/filters?limit=1000");
    request.extend(get("/metrics"));
    request.extend(get("/v1/filters/large?measure=true"));
    flood_http(target, &request.repeat(20), until)
}

/// Downloads of 24 MiB each.
pub(super) fn downloads(target: &Target, until: Instant) -> Result<(), Error> {
    let streams = open(target, 100, &get("/v1/filters/large/file"));
    wait(until);
    drop(streams);
    Ok(())
}

pub(super) fn streams(target: &Target, until: Instant) -> Result<(), Error> {
    let streams = open(target, 200, &get("/ui/events?filters=large,dump,some-1"));
    wait(until);
    drop(streams);
    Ok(())
}
