//! The waits of a client: for an answer while a filter grows, and for a server that starts.

use mayhap_bench::process::{Error, Process};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

/// Keys from which on answers are timed, and to which the filter grows.
const GROWS: (u64, u64) = (1_000_000, 8_000_000);
/// Filters of a folder, and keys that make one of them 128 MiB at 1 %.
const FILTERS: u64 = 8;
const KEYS_OF_128_MIB: u64 = 75_000_000;
/// The number of keys inserted into each.
const KEYS: u64 = 200_000;
const STARTS: usize = 5;

/// Milliseconds that a client waits for `BF.ADD`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Waits {
    pub(crate) usual: f64,
    /// One request in a thousand waits longer.
    pub(crate) rare: f64,
    pub(crate) longest: f64,
}

/// An unreserved filter grows by pipelines of 100 and single calls in turn: the times of the
/// pipelines, and of the single calls.
pub(crate) fn growth(server: &Process) -> Result<[Waits; 2], Error> {
    server.ask(b"DEL gr\r\n")?;
    let mut stream = server.connect()?;
    let mut times: [Vec<f64>; 2] = Default::default();
    let mut key = 0;
    while key < GROWS.1 {
        for (count, times) in [100, 1].into_iter().zip(&mut times) {
            let commands: String = (key..key + count).map(add).collect();
            key += count;
            let clock = Instant::now();
            stream.write_all(commands.as_bytes())?;
            read(&mut stream, ":1\r\n".len() * count as usize)?;
            if key > GROWS.0 {
                times.push(clock.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Waits { usual: at(0.5), rare: at(0.999), longest: at(1.0) }
    }))
}

fn add(key: u64) -> String {
    format!("*3\r\n$6\r\nBF.ADD\r\n$2\r\ngr\r\n$10\r\n{key:010}\r\n")
}

/// Reads an answer of `bytes` bytes.
fn read(stream: &mut TcpStream, bytes: usize) -> Result<(), Error> {
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer[..1])?;
    if answer[0] == b'-' {
        let length = stream.read(&mut answer)?;
        return Err(String::from_utf8_lossy(&answer[..length]).into());
    }
    Ok(stream.read_exact(&mut answer[1..])?)
}

/// Seconds from the start of the process to the answer about a key, each time, for a folder with 1
/// GiB of filters whose files are in the page cache.
pub(crate) fn starts(program: &Path, folder: &Path) -> Result<Vec<f64>, Error> {
    let data = Some((folder, "everysec"));
    let server = Process::mayhap(program, data)?;
    let mut stream = server.connect()?;
    for filter in 0..FILTERS {
        server.ask(format!("BF.RESERVE f{filter} 0.01 {KEYS_OF_128_MIB}\r\n").as_bytes())?;
        for start in (0..KEYS).step_by(1000) {
            let keys: Vec<String> = (start..start + 1000).map(|key| key.to_string()).collect();
            stream.write_all(format!("BF.MADD f{filter} {}\r\n", keys.join(" ")).as_bytes())?;
            read(&mut stream, "*1000\r\n".len() + ":1\r\n".len() * 1000)?;
        }
    }
    stream.write_all(b"SAVE\r\n")?;
    read(&mut stream, "+OK\r\n".len())?;
    drop(server);
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let clock = Instant::now();
        let server = Process::mayhap(program, data)?;
        server.expect(format!("BF.EXISTS f{} 7\r\n", FILTERS - 1).as_bytes(), b":1\r\n")?;
        seconds.push(clock.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
