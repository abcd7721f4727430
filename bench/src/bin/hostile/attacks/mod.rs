//! Actions of a client that others would feel.
//!
//! | file | attacks by |
//! |---|---|
//! | `requests.rs` | RESP requests that are expensive, in pipelines |
//! | `malformed.rs` | RESP that is none, absurd lengths, forged contents |
//! | `connections.rs` | many connections: silent, slow, never reading, never logged in |
//! | `http.rs` | HTTP heads, bodies, downloads and streams |
//! | `memory.rs` | filters: large, many, short-lived |

mod connections;
mod http;
mod malformed;
mod memory;
mod requests;

use mayhap_bench::process::Error;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A server to attack, with existing filters.
pub(crate) struct Target {
    port: u16,
    http: u16,
}

/// Runs until then; errors are the attacker's.
pub(crate) type Attack = fn(&Target, Instant) -> Result<(), Error>;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("nobody", idle),
    ("names of 65 KB, 400 a pipeline", requests::long_names),
    ("BF.WHICH of a million pairs", requests::which_pairs),
    ("BF.WHICH with a name 8,000 times", requests::which_names),
    ("KEYS * in pipelines of 200", requests::keys),
    ("KEYS with a pattern that backtracks", requests::backtracking),
    ("SCAN 0 COUNT 10000 MATCH, pipelined", requests::scan),
    ("INFO all in pipelines of 200", requests::info),
    ("BF.INFO FILL of a large filter, pipelined", requests::fill),
    ("BF.MERGE onto a name that is taken, pipelined", requests::merge),
    ("BF.SCANDUMP just below 1 MiB, pipelined", requests::scandump),
    ("COPY of a large filter, pipelined", requests::copies),
    ("BF.MADD of 100,000 items, pipelined", requests::batches),
    ("SAVE, pipelined", requests::saves),
    ("SLOWLOG, CLIENT LIST and ACL, pipelined", requests::reports),
    ("arrays and words of absurd lengths", malformed::lengths),
    ("one byte a packet", malformed::bytes),
    ("HTTP sent to the Redis port", malformed::wrong_port),
    ("BF.LOADCHUNK of forged dumps", malformed::dumps),
    ("200 lists that nobody reads", connections::unread),
    ("200 dumps that nobody reads", connections::unread_dumps),
    ("2,000 silent connections", connections::silent),
    ("connections, as fast as they come", connections::connections),
    ("wrong passwords, as fast as they come", connections::passwords),
    ("wrong passwords over HTTP", http::passwords),
    ("450 wrong passwords over HTTP at once, of 5 addresses", http::guesses),
    ("refusals of downloads on 512 connections", http::refusals),
    ("150 JSON bodies that never end", http::bodies),
    ("chunked bodies that never end", http::chunks),
    ("600 HTTP heads that never end", http::heads),
    ("520 uploads of a byte at a time", http::uploads),
    ("forged files, uploaded", http::forged),
    ("lists of filters and metrics, pipelined", http::lists),
    ("100 downloads that nobody reads", http::downloads),
    ("200 event streams that nobody reads", http::streams),
    ("a growing filter from one item on", memory::growth),
    ("names that expire at once", memory::expiry),
    ("filters of 32 MiB, created and deleted", memory::giants),
    ("BF.RESERVE of all sizes", memory::reserves),
    ("BF.ADD of new names until memory is full", memory::fills),
];

/// Filters that exist for KEYS, SCAN and INFO.
const FILTERS: usize = 5000;

/// The password of the user `default`. Attackers have it too, except in `connections.rs`.
pub(crate) const PASSWORD: &str = "correct horse battery staple";
/// The same with the user's name, in the form of Basic authentication.
pub(crate) const BASIC: &str = "ZGVmYXVsdDpjb3JyZWN0IGhvcnNlIGJhdHRlcnkgc3RhcGxl";

impl Target {
    pub(crate) fn new(port: u16, http: u16) -> Result<Self, Error> {
        let target = Self { port, http };
        let mut setup =
            String::from("BF.RESERVE bystander 0.001 1000\r\nBF.ADD bystander there\r\n");
        // 24 MiB, and one whose dump is just below a MiB.
        setup += "BF.RESERVE large 0.001 12000000\r\nBF.ADD large x\r\n";
        setup += "BF.RESERVE dump 0.001 500000\r\nBF.RESERVE taken 0.001 1000\r\n";
        for filter in 0..FILTERS {
            setup += &format!("BF.ADD some-{filter} x\r\n");
        }
        let mut stream = target.connect()?;
        stream.write_all(setup.as_bytes())?;
        let answers = 6 + FILTERS;
        let mut lines = 0;
        let mut buffer = [0; 4096];
        while lines < answers {
            let found = stream.read(&mut buffer)?;
            if found == 0 || buffer[..found].contains(&b'-') {
                return Err(String::from_utf8_lossy(&buffer[..found]).into());
            }
            lines += buffer[..found].iter().filter(|&&byte| byte == b'\n').count();
        }
        Ok(target)
    }

    pub(crate) const fn ports(&self) -> (u16, u16) {
        (self.port, self.http)
    }

    /// An unauthenticated connection, from an address of its own: clients that share one with a
    /// guesser wait with it.
    fn stranger(&self) -> Result<TcpStream, Error> {
        from_elsewhere(self.port)
    }

    fn connect(&self) -> Result<TcpStream, Error> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        log_in(&mut stream)?;
        Ok(stream)
    }

    /// Sends the same repeatedly over one connection to the Redis port.
    fn flood(&self, request: &[u8], until: Instant) -> Result<(), Error> {
        flood(|| self.connect(), request, until)
    }
}

fn from_elsewhere(port: u16) -> Result<TcpStream, Error> {
    from(66, port)
}

/// A connection from this address of the loopback.
fn from(last: u8, port: u16) -> Result<TcpStream, Error> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into())?;
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into())?;
    Ok(socket.into())
}

/// Logs the user `default` in.
pub(crate) fn log_in(stream: &mut TcpStream) -> Result<(), Error> {
    stream.write_all(&command(&["AUTH", PASSWORD]))?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    if &answer == b"+OK\r\n" { Ok(()) } else { Err("not logged in".into()) }
}

/// Sends the same repeatedly over one connection, and reads the replies; a connection that the
/// server closes is reopened.
fn flood(
    connect: impl Fn() -> Result<TcpStream, Error>,
    request: &[u8],
    until: Instant,
) -> Result<(), Error> {
    while Instant::now() < until {
        let mut stream = connect()?;
        let _ = flood_one(&mut stream, request, until);
    }
    Ok(())
}

fn flood_one(stream: &mut TcpStream, request: &[u8], until: Instant) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    let (mut sent, mut buffer) = (0, vec![0; 256 << 10]);
    while Instant::now() < until {
        let mut waits = true;
        match stream.write(&request[sent..]) {
            Ok(more) => {
                sent = (sent + more) % request.len();
                waits = false;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => waits = false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if waits {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(())
}

/// Sends all of it and reads as many lines as there are answers; a connection that the server ends
/// is the end of it.
fn answers(stream: &mut TcpStream, request: &[u8], lines: usize) -> Result<(), Error> {
    stream.write_all(request)?;
    let (mut found, mut buffer) = (0, vec![0; 64 << 10]);
    while found < lines {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        found += buffer[..length].iter().filter(|&&byte| byte == b'\n').count();
    }
    Ok(())
}

fn wait(until: Instant) {
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
}

/// A command as clients send it.
fn command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn idle(_: &Target, until: Instant) -> Result<(), Error> {
    wait(until);
    Ok(())
}
