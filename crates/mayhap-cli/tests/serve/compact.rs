//! kill -9 of a server that has compact filters alone: no copy is lost, and none is stored twice.

use crate::client::{Answer, Client, is_end, request};
use crate::load::Random;
use crate::server::{Server, ok};
use crate::{seed, soak};
use std::io::{Read, Result, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Clients, each with a filter of its own; those of every other one grow.
const CLIENTS: usize = 4;
/// Keys of a filter.
const KEYS: u64 = 1500;
/// Copies of a key: fewer than 15, from which on they stay.
const MOST_COPIES: u64 = 10;
/// Keys of a pipeline, at most.
const MOST_CHANGES: u64 = 24;

/// One copy more or less of a key.
#[derive(Debug, Clone, Copy)]
enum Change {
    Added(usize),
    Removed(usize),
}

/// A client with what its filter has by the answers.
struct Writer {
    name: String,
    random: Random,
    copies: Vec<u64>,
    /// Changes that were sent and not acknowledged, in order.
    pending: Vec<Change>,
    acknowledged: u64,
}

fn apply(copies: &mut [u64], change: Change) {
    match change {
        Change::Added(key) => copies[key] += 1,
        Change::Removed(key) => copies[key] -= 1,
    }
}

impl Writer {
    fn new(number: usize, seed: u64) -> Self {
        Self {
            name: format!("cuckoo-{number}"),
            random: Random(seed ^ (number as u64) << 32),
            copies: vec![0; KEYS as usize],
            pending: Vec::new(),
            acknowledged: 0,
        }
    }

    /// Until the connection ends.
    fn run<S: Read + Write>(&mut self, mut client: Client<S>, count: &AtomicU64) {
        let mut result = Ok(());
        while result.is_ok() {
            result = self.turn(&mut client, count);
        }
        let error = result.unwrap_err();
        assert!(is_end(&error), "{}: {error}", self.name);
    }

    /// A pipeline of changes: one key is added or removed by each command, or several are added.
    fn turn<S: Read + Write>(&mut self, client: &mut Client<S>, count: &AtomicU64) -> Result<()> {
        let (mut pipeline, mut sizes) = (Vec::new(), Vec::new());
        let mut copies = self.copies.clone();
        let changes = 1 + self.random.below(MOST_CHANGES);
        while (self.pending.len() as u64) < changes {
            let before = self.pending.len();
            let key = self.random.below(KEYS) as usize;
            let is_added = copies[key] == 0
                || copies[key] < MOST_COPIES && !self.random.next().is_multiple_of(2);
            let item = key.to_string();
            let (name, item) = (self.name.as_bytes(), item.as_bytes());
            if !is_added {
                self.pending.push(Change::Removed(key));
                pipeline.extend(request(&[b"CF.DEL", name, item]));
            } else if copies[key] + 2 <= MOST_COPIES && self.random.below(4) == 0 {
                self.pending.extend([Change::Added(key); 2]);
                pipeline.extend(request(&[b"CF.INSERT", name, b"ITEMS", item, item]));
            } else {
                self.pending.push(Change::Added(key));
                pipeline.extend(request(&[b"CF.ADD", name, item]));
            }
            self.pending[before..].iter().for_each(|&change| apply(&mut copies, change));
            sizes.push(self.pending.len() - before);
        }
        client.send(&pipeline)?;
        for size in sizes {
            let done = match client.answer()? {
                Answer::Number(1) => 1,
                Answer::List(all) if all.iter().all(|one| *one == Answer::Number(1)) => all.len(),
                answer => panic!("{answer:?} to {:?}", &self.pending[..size]),
            };
            assert_eq!(done, size);
            for change in self.pending.drain(..size) {
                apply(&mut self.copies, change);
            }
            self.acknowledged += size as u64;
            count.fetch_add(size as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks that the filter has the copies that were acknowledged and some of the pending ones,
    /// the first of them, and no others; continues with these.
    fn check(&mut self, server: &Server) {
        let mut client = server.connect();
        let mut pipeline = Vec::new();
        for key in 0..KEYS {
            let item = key.to_string();
            pipeline.extend(request(&[b"CF.COUNT", self.name.as_bytes(), item.as_bytes()]));
        }
        client.send(&pipeline).unwrap();
        let found: Vec<u64> = (0..KEYS)
            .map(|_| match client.answer().unwrap() {
                Answer::Number(copies) => copies.try_into().unwrap(),
                answer => panic!("{answer:?} to CF.COUNT {}", self.name),
            })
            .collect();
        for change in std::mem::take(&mut self.pending) {
            if self.copies == found {
                break;
            }
            apply(&mut self.copies, change);
        }
        let wrong: Vec<_> = (0..KEYS).zip(self.copies.iter().zip(&found)).collect();
        let wrong: Vec<_> = wrong.iter().filter(|(_, (ours, found))| ours != found).collect();
        assert!(wrong.is_empty(), "{}: (key, (acknowledged, found)): {wrong:?}", self.name);
        let all: u64 = found.iter().sum();
        let card = client.ask(&format!("BF.CARD {}", self.name));
        assert_eq!(card, Answer::Number(all.try_into().unwrap()), "{}", self.name);
    }
}

#[test]
fn no_copy_is_lost_or_stored_twice_when_the_process_is_killed() {
    let kills = std::env::var("KILLS").ok().map(|kills| kills.parse::<u64>().unwrap());
    let kills = kills.unwrap_or(if soak() { 200 } else { 6 });
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(seed());
    println!("SEED={}", seed());
    let mut writers: Vec<_> = (0..CLIENTS).map(|number| Writer::new(number, seed())).collect();
    let start = |round: u64| {
        let policy = ["always", "everysec", "no"][round as usize % 3];
        // Checkpoints all the time, so that some are interrupted by kills.
        let arguments = ["--appendfsync", policy, "--checkpoint-bytes", "64KiB", "--threads", "2"];
        Server::start(folder.path(), &arguments)
    };
    let server = start(0);
    for (number, writer) in writers.iter().enumerate() {
        let (capacity, expansion) = [("100000", 0), ("64", 1)][number % 2];
        let reserve = format!("CF.RESERVE {} {capacity} EXPANSION {expansion}", writer.name);
        assert_eq!(server.connect().ask(&format!("{reserve} ERROR 1e-9")), ok());
    }
    server.kill();
    for round in 0..kills {
        let (server, count) = (start(round), AtomicU64::new(0));
        let changes = 1 + random.below(6_000);
        std::thread::scope(|scope| {
            for writer in &mut writers {
                let (client, count) = (server.connect(), &count);
                scope.spawn(move || writer.run(client, count));
            }
            while count.load(Ordering::Relaxed) < changes {
                std::thread::sleep(Duration::from_micros(500));
            }
            let killed = server.kill();
            assert_eq!(killed.status.code(), None, "it had ended: {}", killed.said);
        });
        let server = start(round);
        for writer in &mut writers {
            writer.check(&server);
        }
        server.kill();
    }
    let acknowledged: u64 = writers.iter().map(|writer| writer.acknowledged).sum();
    let copies: u64 = writers.iter().flat_map(|writer| &writer.copies).sum();
    println!("{kills} kills, {acknowledged} changes acknowledged, {copies} copies there");
    assert!(acknowledged > kills && copies > 0, "hardly any load");
}
