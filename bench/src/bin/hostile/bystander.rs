//! The clients that use the server while it is attacked.

use crate::attacks::{BASIC, Target, log_in};
use mayhap_bench::process::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A client that waits longer than that counts as kept out.
const PATIENCE: Duration = Duration::from_secs(5);

/// Milliseconds.
#[derive(Debug)]
pub(crate) struct Waits {
    pub(crate) usual: f64,
    pub(crate) rare: f64,
    pub(crate) longest: f64,
    pub(crate) count: usize,
    /// The calls without an answer, or with a wrong one.
    pub(crate) kept_out: Vec<String>,
}

/// Threads that send requests until they are stopped.
pub(crate) struct Bystanders {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Result<f64, String>>>>,
}

/// The request of a bystander with its name, and the pause after it.
type Asks = (&'static str, fn(&mut Option<TcpStream>, (u16, u16)) -> Result<(), Error>, Duration);

const ALL: [Asks; 4] = [
    ("goes on", goes_on, Duration::from_millis(1)),
    ("connects", connects, Duration::from_millis(20)),
    ("probes", probes, Duration::from_millis(20)),
    ("lists", lists, Duration::from_millis(20)),
];

impl Bystanders {
    pub(crate) fn start(target: &Target) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ports = target.ports();
        let spawn = |(name, ask, pause): Asks| {
            let is_over = is_over.clone();
            std::thread::spawn(move || {
                let (mut times, mut stream) = (Vec::new(), None);
                while !is_over.load(Ordering::Relaxed) {
                    let clock = Instant::now();
                    let answer = ask(&mut stream, ports);
                    let took = clock.elapsed().as_secs_f64() * 1e3;
                    times.push(answer.map(|()| took).map_err(|error| format!("{name}: {error}")));
                    std::thread::sleep(pause);
                }
                times
            })
        };
        let threads = ALL.into_iter().map(spawn).collect();
        Self { is_over, threads }
    }

    pub(crate) fn end(self) -> Waits {
        self.is_over.store(true, Ordering::Relaxed);
        let (mut times, mut kept_out) = (Vec::new(), Vec::new());
        for thread in self.threads {
            let panicked = |_| vec![Err("panicked".into())];
            for answer in thread.join().unwrap_or_else(panicked) {
                match answer {
                    Ok(took) => times.push(took),
                    Err(problem) => kept_out.push(problem),
                }
            }
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (times.len().saturating_sub(1) as f64 * share) as usize;
            times.get(place).copied().unwrap_or(f64::INFINITY)
        };
        let (usual, rare, longest) = (at(0.5), at(0.99), at(1.0));
        Waits { usual, rare, longest, count: times.len(), kept_out }
    }
}

fn connect(port: u16) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A new connection, logged in.
fn client(port: u16) -> Result<TcpStream, Error> {
    let mut stream = connect(port)?;
    log_in(&mut stream)?;
    Ok(stream)
}

/// Sends a request and compares the reply with the right one.
fn ask(stream: &mut TcpStream, request: &[u8], right: &[u8]) -> Result<(), Error> {
    stream.write_all(request)?;
    let mut answer = vec![0; right.len()];
    stream.read_exact(&mut answer)?;
    if answer == right { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into()) }
}

fn goes_on(stream: &mut Option<TcpStream>, (port, _): (u16, u16)) -> Result<(), Error> {
    if stream.is_none() {
        *stream = Some(client(port)?);
    }
    let Some(stream) = stream else { return Err("no connection".into()) };
    ask(stream, b"BF.ADD bystander there\r\nBF.EXISTS bystander there\r\n", b":0\r\n:1\r\n")
}

fn connects(_: &mut Option<TcpStream>, (port, _): (u16, u16)) -> Result<(), Error> {
    ask(&mut client(port)?, b"BF.EXISTS bystander there\r\n", b":1\r\n")
}

fn probes(_: &mut Option<TcpStream>, (_, http): (u16, u16)) -> Result<(), Error> {
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    ask(&mut connect(http)?, request, b"HTTP/1.1 200")
}

/// With the right password, from an address of its own: a client that shares one with a guesser
/// waits with it.
fn lists(_: &mut Option<TcpStream>, (_, http): (u16, u16)) -> Result<(), Error> {
    let request = format!(
        "GET /v1/filters?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {BASIC}\r\n\
         Connection: close\r\n\r\n"
    );
    ask(&mut connect(http)?, request.as_bytes(), b"HTTP/1.1 200")
}
