//! Clients that insert keys until the server is gone, and remember the acknowledged ones.

use crate::client::{Answer, Client, is_end, request};
use crate::server::Server;
use std::io::{Read, Result, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A rate so low that an absent key is not found.
pub(crate) const ARGUMENTS: [&str; 4] = ["--default-error", "1e-9", "--threads", "2"];

/// A key of a filter: that filter's number, and the key.
pub(crate) type Key = (usize, u64);

const CLIENTS: usize = 4;
/// The index of the filter into which all clients put the same keys.
const SHARED: usize = 2 * CLIENTS;
/// A filter of this many keys, so that a pause between kills does not fill it.
const FIXED_KEYS: &str = "300000";
/// Keys of filters that were removed, to be looked for.
const REMOVED_KEYS: usize = 50;

fn name(filter: usize) -> String {
    match filter {
        SHARED => "shared".into(),
        filter if filter < CLIENTS => format!("growing-{filter}"),
        filter => format!("fixed-{}", filter - CLIENTS),
    }
}

/// Numbers that look random: splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A key that was acknowledged in this round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put {
    pub(crate) key: Key,
    /// Whether the server answered that it was new.
    pub(crate) is_new: bool,
    pub(crate) sent: Instant,
    pub(crate) heard: Instant,
}

/// An operation that was sent and not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    Reserve,
    Remove,
}

/// A filter that is created and deleted repeatedly.
struct Passing {
    name: String,
    is_there: bool,
    pending: Pending,
    keys: Vec<u64>,
    /// Keys of its that were removed with it.
    removed: Vec<u64>,
}

/// One client.
struct Writer {
    number: usize,
    random: Random,
    shared: Random,
    round: Vec<Put>,
    passing: Passing,
    removals: u64,
    refused: u64,
}

/// All clients, with their records.
pub(crate) struct Load {
    writers: Vec<Writer>,
    /// The keys acknowledged in all earlier rounds.
    pub(crate) before: Vec<Key>,
    /// Answers of this round.
    pub(crate) acknowledged: AtomicU64,
    seed: u64,
}

fn bytes(key: u64) -> [u8; 16] {
    let mut text = [0; 16];
    let digits = format!("{key:016x}");
    text.copy_from_slice(digits.as_bytes());
    text
}

/// `COMMAND name key …`.
pub(crate) fn with_keys(command: &str, name: &str, keys: &[u64]) -> Vec<u8> {
    let keys: Vec<[u8; 16]> = keys.iter().map(|&key| bytes(key)).collect();
    let mut words = vec![command.as_bytes(), name.as_bytes()];
    words.extend(keys.iter().map(<[u8; 16]>::as_slice));
    request(&words)
}

/// Which of these keys a filter answers to have.
pub(crate) fn has<S: Read + Write>(client: &mut Client<S>, name: &str, keys: &[u64]) -> Vec<bool> {
    let mut all = Vec::with_capacity(keys.len());
    for keys in keys.chunks(1000) {
        client.send(&with_keys("BF.MEXISTS", name, keys)).unwrap();
        let answer = client.answer().unwrap();
        let Answer::List(list) = answer else { panic!("{answer:?} to BF.MEXISTS {name}") };
        assert_eq!(list.len(), keys.len());
        all.extend(list.iter().map(|answer| *answer == Answer::Number(1)));
    }
    all
}

impl Writer {
    fn new(number: usize, seed: u64) -> Self {
        let passing = Passing {
            name: format!("passing-{number}"),
            is_there: false,
            pending: Pending::Nothing,
            keys: Vec::new(),
            removed: Vec::new(),
        };
        let random = Random(seed ^ (number as u64) << 32);
        let (shared, round) = (Random(0), Vec::new());
        Self { number, random, shared, round, passing, removals: 0, refused: 0 }
    }

    /// Until the connection ends.
    fn run<S: Read + Write>(&mut self, mut client: Client<S>, count: &AtomicU64, pause: Duration) {
        let reserve = format!("BF.RESERVE fixed-{} 1e-9 {FIXED_KEYS} NONSCALING", self.number);
        let mut result = client.call(&reserve).map(|_| ());
        while result.is_ok() {
            result = self.turn(&mut client, count);
            std::thread::sleep(pause);
        }
        let error = result.unwrap_err();
        assert!(is_end(&error), "client {}: {error}", self.number);
    }

    fn turn<S: Read + Write>(&mut self, client: &mut Client<S>, count: &AtomicU64) -> Result<()> {
        let (growing, fixed) = (self.number, CLIENTS + self.number);
        let parts = [(growing, 16), (fixed, 16), (growing, 1), (SHARED, 8)];
        let mut pipeline = Vec::new();
        let mut requests = Vec::new();
        for (filter, keys) in parts {
            let random = if filter == SHARED { &mut self.shared } else { &mut self.random };
            let keys: Vec<u64> = (0..keys).map(|_| random.next()).collect();
            let command = if keys.len() == 1 { "BF.ADD" } else { "BF.MADD" };
            pipeline.extend(with_keys(command, &name(filter), &keys));
            requests.push((filter, keys));
        }
        let sent = Instant::now();
        client.send(&pipeline)?;
        for (filter, keys) in requests {
            let answers = match client.answer()? {
                Answer::List(answers) => answers,
                answer => vec![answer],
            };
            let heard = Instant::now();
            for (key, answer) in keys.into_iter().zip(answers) {
                match answer {
                    Answer::Number(new) => {
                        let key = (filter, key);
                        self.round.push(Put { key, is_new: new == 1, sent, heard });
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Answer::Error(why) if why.contains("full") => self.refused += 1,
                    answer => panic!("{answer:?} to keys for {}", name(filter)),
                }
            }
        }
        match self.random.below(64) {
            0 if self.number == 0 => client.call("BGSAVE").map(|_| ()),
            1..20 => self.pass(client),
            _ => Ok(()),
        }
    }

    /// Creates, fills or deletes the temporary filter.
    fn pass<S: Read + Write>(&mut self, client: &mut Client<S>) -> Result<()> {
        let passing = &mut self.passing;
        let name = &passing.name;
        if !passing.is_there {
            passing.pending = Pending::Reserve;
            let answer = client.call(&format!("BF.RESERVE {name} 1e-9 100"))?;
            assert_eq!(answer, crate::server::ok());
            passing.is_there = true;
        } else if passing.keys.len() < 2 {
            let key = self.random.next();
            client.send(&with_keys("BF.ADD", name, &[key]))?;
            assert_eq!(client.answer()?, Answer::Number(1), "{name}");
            passing.keys.push(key);
        } else {
            passing.pending = Pending::Remove;
            assert_eq!(client.call(&format!("DEL {name}"))?, Answer::Number(1), "{name}");
            passing.is_there = false;
            passing.removed.append(&mut passing.keys);
            let old = passing.removed.len().saturating_sub(REMOVED_KEYS);
            passing.removed.drain(..old);
            self.removals += 1;
        }
        passing.pending = Pending::Nothing;
        Ok(())
    }
}

impl Passing {
    /// Checks that it is as acknowledged to its client, which continues from the state found.
    fn check<S: Read + Write>(
        &mut self,
        client: &mut Client<S>,
    ) -> std::result::Result<(), String> {
        let name = &self.name;
        let found = client.ask(&format!("EXISTS {name}")) == Answer::Number(1);
        let allowed = found == self.is_there
            || self.pending == if found { Pending::Reserve } else { Pending::Remove };
        if !allowed {
            return Err(format!("{name} is there: {found}, which it was not"));
        }
        if found {
            if has(client, name, &self.keys).contains(&false) {
                return Err(format!("{name} has lost a key"));
            }
            if has(client, name, &self.removed).contains(&true) {
                return Err(format!("{name} has a key of a filter that was removed"));
            }
        } else {
            self.removed.append(&mut self.keys);
        }
        (self.is_there, self.pending) = (found, Pending::Nothing);
        Ok(())
    }
}

impl Load {
    pub(crate) fn new(seed: u64) -> Self {
        let writers = (0..CLIENTS).map(|number| Writer::new(number, seed)).collect();
        Self { writers, before: Vec::new(), acknowledged: AtomicU64::new(0), seed }
    }

    /// Runs all clients until the server is gone, which `end` brings about.
    pub(crate) fn run<T>(
        &mut self,
        server: Server,
        pause: Duration,
        end: impl FnOnce(Server, &AtomicU64) -> T,
    ) -> T {
        self.seed += 1;
        self.acknowledged.store(0, Ordering::Relaxed);
        let count = &self.acknowledged;
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            // All of them connect before the first write, which may end the server.
            let clients: Vec<_> = self.writers.iter().map(|_| server.connect()).collect();
            for (writer, client) in self.writers.iter_mut().zip(clients) {
                writer.shared = Random(self.seed);
                threads.push(scope.spawn(move || writer.run(client, count, pause)));
            }
            let ended = end(server, count);
            for thread in threads {
                thread.join().unwrap();
            }
            ended
        })
    }

    /// The keys acknowledged in this round.
    pub(crate) fn round(&self) -> impl Iterator<Item = &Put> {
        self.writers.iter().flat_map(|writer| &writer.round)
    }

    /// The keys of this round, and from now on of rounds before.
    pub(crate) fn end_round(&mut self) -> Vec<Key> {
        let keys: Vec<Key> = self.round().map(|put| put.key).collect();
        self.writers.iter_mut().for_each(|writer| writer.round.clear());
        self.before.extend(&keys);
        keys
    }

    /// Removals that were acknowledged, and keys for which a filter had no room.
    pub(crate) fn removals_and_refused(&self) -> (u64, u64) {
        let sum = |of: fn(&Writer) -> u64| self.writers.iter().map(of).sum();
        (sum(|writer| writer.removals), sum(|writer| writer.refused))
    }

    /// Checks that temporary filters are as acknowledged to their clients.
    pub(crate) fn check_passing(&mut self, server: &Server) {
        let mut client = server.connect();
        for writer in &mut self.writers {
            writer.passing.check(&mut client).unwrap();
        }
    }

    /// After a permitted loss: the temporary filters start over.
    pub(crate) fn forget_passing(&mut self, server: &Server) {
        let mut client = server.connect();
        for Writer { passing, .. } in &mut self.writers {
            let answer = client.ask(&format!("DEL {}", passing.name));
            assert!(matches!(answer, Answer::Number(_)), "{answer:?}");
            (passing.is_there, passing.pending) = (false, Pending::Nothing);
            passing.removed.append(&mut passing.keys);
        }
    }
}

/// The absent ones of these keys.
pub(crate) fn missing(server: &Server, keys: &[Key]) -> Vec<Key> {
    let mut client = server.connect();
    let mut missing = Vec::new();
    for filter in 0..=SHARED {
        let of = |&&(other, _): &&Key| other == filter;
        let keys: Vec<u64> = keys.iter().filter(of).map(|&(_, key)| key).collect();
        let found = has(&mut client, &name(filter), &keys);
        let lost = keys.iter().zip(found).filter(|(_, found)| !found);
        missing.extend(lost.map(|(&key, _)| (filter, key)));
    }
    missing
}
