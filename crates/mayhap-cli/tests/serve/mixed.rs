//! A mixed load for minutes (T26): the resources of a server stay constant, through kills.
//!
//! `MINUTES=30` (in the soak) of lives of 5 minutes, each ended by kill -9; in the gate seconds.

use crate::client::{Answer, Client, is_end};
use crate::load::{Random, has, with_keys};
use crate::server::{Server, ok};
use crate::{seed, soak};
use rustix::process::{Resource, getrlimit};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: &str = "Redis clients: 127.0.0.1:";
const WRITERS: usize = 4;
/// Keys of each filter in all: the same ones repeatedly, so that nothing has a reason to grow.
const KEYS: u64 = 20_000;
/// Files that may be open for a moment: connections over HTTP, segments, images.
const SPARE_FILES: u64 = 64;
const SPARE_BYTES: u64 = 16 << 20;
/// Threads for HTTP are created and end.
const SPARE_THREADS: u64 = 8;

/// The duration and the amount.
struct Plan {
    lives: u64,
    life: Duration,
    save_every: Duration,
    idle: u64,
}

impl Plan {
    fn new() -> Self {
        let minutes = std::env::var("MINUTES").ok().map(|minutes| minutes.parse::<u64>().unwrap());
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let second = Duration::from_secs(1);
        if soak() {
            let (minutes, idle) = (minutes.unwrap_or(30), 10_000.min(files.saturating_sub(2000)));
            Self { lives: minutes.div_ceil(5), life: 300 * second, save_every: 60 * second, idle }
        } else {
            Self { lives: 2, life: 3 * second, save_every: second, idle: 200 }
        }
    }
}

/// The resources of the process.
#[derive(Debug, Clone, Copy)]
struct Taken {
    bytes: u64,
    files: u64,
    threads: u64,
}

fn taken(server: &Server) -> Taken {
    let folder = format!("/proc/{}", server.pid().as_raw_nonzero());
    let threads = fs::read_dir(format!("{folder}/task")).unwrap().count() as u64;
    let files = fs::read_dir(format!("{folder}/fd")).unwrap().count() as u64;
    Taken { bytes: server.resident(), files, threads }
}

/// A client with filters of its own, and the acknowledged keys.
struct Worker {
    number: usize,
    random: Random,
    known: [Vec<u64>; 2],
    /// Which filter has which of its two names.
    swapped: [bool; 2],
    renaming: Option<usize>,
    asked: u64,
}

impl Worker {
    fn new(number: usize) -> Self {
        let random = Random(seed() ^ (number as u64) << 40);
        Self {
            number,
            random,
            known: Default::default(),
            swapped: [false; 2],
            renaming: None,
            asked: 0,
        }
    }

    fn name(&self, filter: usize) -> String {
        format!("mixed-{}-{filter}-{}", self.number, u8::from(self.swapped[filter]))
    }

    fn run<S: Read + Write>(&mut self, mut client: Client<S>, done: &AtomicU64) {
        let mut result = Ok(());
        while result.is_ok() {
            result = self.turn(&mut client);
            done.fetch_add(1, Ordering::Relaxed);
        }
        let error = result.unwrap_err();
        assert!(is_end(&error), "{error}");
    }

    fn turn<S: Read + Write>(&mut self, client: &mut Client<S>) -> Result<()> {
        let filter = self.random.below(2) as usize;
        let name = self.name(filter);
        match self.random.below(100) {
            0..45 => {
                let keys: Vec<u64> = (0..16).map(|_| self.random.below(KEYS)).collect();
                client.send(&with_keys("BF.MADD", &name, &keys))?;
                let answer = client.answer()?;
                assert!(matches!(&answer, Answer::List(all) if all.len() == 16), "{answer:?}");
                self.known[filter].extend(keys);
                if self.known[filter].len() as u64 > 2 * KEYS {
                    self.known[filter].sort_unstable();
                    self.known[filter].dedup();
                }
            }
            45..90 if !self.known[filter].is_empty() => {
                let len = self.known[filter].len() as u64;
                let place = |random: &mut Random| random.below(len) as usize;
                let places: Vec<usize> = (0..16).map(|_| place(&mut self.random)).collect();
                let keys: Vec<u64> =
                    places.iter().map(|&place| self.known[filter][place]).collect();
                client.send(&with_keys("BF.MEXISTS", &name, &keys))?;
                let there = vec![Answer::Number(1); keys.len()];
                assert_eq!(client.answer()?, Answer::List(there), "a key of {name} is lost");
            }
            90..92 if !self.known[filter].is_empty() => {
                self.renaming = Some(filter);
                self.swapped[filter] ^= true;
                let to = self.name(filter);
                assert_eq!(client.call(&format!("RENAME {name} {to}"))?, ok());
                self.renaming = None;
            }
            92 => drop(client.call("INFO everything")?),
            93 => drop(client.call(&format!("BF.INFO {name}"))?),
            94 => drop(client.call("SCAN 0 COUNT 100")?),
            95..98 => {
                let scratch = format!("scratch-{}", self.number);
                client.call(&format!("BF.RESERVE {scratch} 0.001 10000"))?;
                client.call(&format!("BF.ADD {scratch} 1"))?;
                client.call(&format!("EXPIRE {scratch} 100"))?;
                assert_eq!(client.call(&format!("DEL {scratch}"))?, Answer::Number(1));
            }
            _ => drop(client.call("PING")?),
        }
        self.asked += 1;
        Ok(())
    }

    /// After a kill: all acknowledged keys are present.
    fn check<S: Read + Write>(&mut self, client: &mut Client<S>) {
        if let Some(filter) = self.renaming.take()
            && client.ask(&format!("EXISTS {}", self.name(filter))) == Answer::Number(0)
        {
            self.swapped[filter] ^= true;
        }
        for filter in 0..2 {
            let (name, known) = (self.name(filter), &self.known[filter]);
            assert!(!has(client, &name, known).contains(&false), "a key of {name} is lost");
        }
    }
}

/// One request over HTTP after another, each with a connection of its own.
fn over_http(port: u16, over: &AtomicBool) -> u64 {
    let mut done = 0;
    while !over.load(Ordering::Relaxed) {
        let items = format!("{{\"items\": [\"{}\", \"{}\"]}}", done % 5000, done % 4999);
        let bodies = [("GET", "/metrics", ""), ("POST", "/v1/filters/web/add", &items)];
        for (method, path, body) in bodies {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return done };
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let mut answer = String::new();
            let sent = stream.write_all(request.as_bytes());
            if sent.and_then(|()| stream.read_to_string(&mut answer)).is_err() || answer.is_empty()
            {
                return done;
            }
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
            done += 1;
        }
    }
    done
}

/// The counters of `INFO stats`.
fn counters<S: Read + Write>(client: &mut Client<S>) -> HashMap<String, u64> {
    let Answer::Bulk(text) = client.ask("INFO stats") else { panic!("no INFO") };
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    // The only rate among them.
    let lines = lines.filter(|(name, _)| *name != "instantaneous_ops_per_sec");
    lines.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// Watches the server until the end of its life; returns its resources after a third of it and at
/// the end.
fn watch(server: &Server, plan: &Plan, idle: &mut [Client<TcpStream>]) -> (Taken, Taken) {
    let begun = Instant::now();
    let mut client = server.connect();
    let (mut before, mut saved, mut warm) = (counters(&mut client), begun, None);
    while begun.elapsed() < plan.life {
        std::thread::sleep(Duration::from_millis(200));
        let now = counters(&mut client);
        for (name, value) in &before {
            assert!(now[name] >= *value, "{name} went from {value} to {}", now[name]);
        }
        before = now;
        if saved.elapsed() >= plan.save_every {
            saved = Instant::now();
            assert_eq!(client.ask("SAVE"), ok());
        }
        if warm.is_none() && begun.elapsed() >= plan.life / 3 {
            warm = Some(taken(server));
        }
    }
    for client in idle.iter_mut() {
        client.send(b"PING\r\n").unwrap();
        assert_eq!(client.answer().unwrap(), Answer::Simple("PONG".into()));
    }
    (warm.unwrap(), taken(server))
}

/// One life; returns its resources.
fn live(
    folder: &std::path::Path,
    plan: &Plan,
    life: u64,
    workers: &mut [Worker],
) -> (Taken, Taken) {
    let arguments = ["--http", "0", "--max-clients", "20k", "--default-error", "1e-9"];
    let server = Server::start(folder, &arguments);
    let mut first = server.connect();
    if life == 0 {
        assert_eq!(first.ask("BF.RESERVE web 0.001 10000"), ok());
    } else {
        for worker in &mut *workers {
            worker.check(&mut first);
        }
    }
    drop(first);
    let (port, http) = (server.port(CLIENTS), server.port("HTTP: http://127.0.0.1:"));
    let connect = |_| Client::new(Server::connect_tcp(port));
    let mut idle: Vec<_> = (0..plan.idle).map(connect).collect();
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let clients: Vec<_> = workers.iter().map(|_| server.connect()).collect();
    let (taken, pages) = std::thread::scope(|scope| {
        for (worker, client) in workers.iter_mut().zip(clients) {
            let done = &done;
            scope.spawn(move || worker.run(client, done));
        }
        let pages = scope.spawn(|| over_http(http, &over));
        let taken = watch(&server, plan, &mut idle);
        over.store(true, Ordering::Relaxed);
        let pages = pages.join().unwrap();
        server.kill();
        (taken, pages)
    });
    let (warm, end) = taken;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "| {} | {} | {} | {pages} | {:.1} → {:.1} | {} → {} | {} → {} |",
        life + 1,
        plan.life.as_secs(),
        done.into_inner(),
        mib(warm.bytes),
        mib(end.bytes),
        warm.files,
        end.files,
        warm.threads,
        end.threads,
    );
    assert!(pages > 0);
    taken
}

#[test]
fn under_a_mixed_load_memory_files_and_threads_stay_what_they_were() {
    let (plan, folder) = (Plan::new(), tempfile::tempdir().unwrap());
    let mut workers: Vec<Worker> = (0..WRITERS).map(Worker::new).collect();
    println!("{} idle connections, a checkpoint per {:?}", plan.idle, plan.save_every);
    println!("| life | seconds | requests | over HTTP | MiB | files | threads |");
    println!("|---|---|---|---|---|---|---|");
    let mut first = None;
    for life in 0..plan.lives {
        let (warm, end) = live(folder.path(), &plan, life, &mut workers);
        let (first, _) = *first.get_or_insert((warm, end));
        for before in [warm, first] {
            assert!(end.bytes <= before.bytes / 10 * 13 + SPARE_BYTES, "{before:?}, then {end:?}");
            assert!(end.files <= before.files + SPARE_FILES, "{before:?}, then {end:?}");
            assert!(end.threads <= before.threads + SPARE_THREADS, "{before:?}, then {end:?}");
        }
    }
    let server = Server::start(folder.path(), &["--default-error", "1e-9"]);
    for worker in &mut workers {
        worker.check(&mut server.connect());
    }
    server.stop();
    assert!(workers.iter().all(|worker| worker.asked > 100));
}
