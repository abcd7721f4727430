//! Clients of both servers: what they add is noted when it is acknowledged, and each answer is held
//! against what is known.

use super::client::{Answer, is_end, request};
use super::front::{Connection, connect};
use crate::support::numbers;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The filter that the clients use.
pub(crate) const FILTER: &str = "main";

/// Time for the servers and the store between two requests of a client.
const PAUSE: Duration = Duration::from_millis(4);
/// Wrong answers that are kept; all are failures.
const MOST_WRONG: usize = 3;

/// Errors that tell of an answer which the store has not given.
const UNANSWERED: [&str; 4] =
    ["has not answered", "confirmed the write", "the server is full", "redis+cluster://"];
/// Errors that tell of a filter of which a part is missing.
const GONE: [&str; 2] = ["is gone", "ERR not found"];

/// The load of a round.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) sockets: [PathBuf; 2],
    /// Keys of earlier rounds that are in the filter.
    pub(crate) sure: Vec<u64>,
    /// The next key that was never added.
    pub(crate) next: AtomicU64,
    /// Whether an error may say that the filter is gone.
    pub(crate) is_missed: bool,
    /// Whether a master may be lost with keys of the server that does not wait for replicas.
    pub(crate) loses_masters: bool,
    /// Whether another filter takes the place of this one, and since when it has.
    pub(crate) replaces: bool,
    pub(crate) since: OnceLock<Instant>,
    /// Even while everything is in order.
    pub(crate) phase: AtomicUsize,
    /// Clients leave in the middle of requests.
    pub(crate) rude: AtomicBool,
    pub(crate) stop: AtomicBool,
    /// Keys acknowledged by each server.
    pub(crate) acknowledged: [AtomicUsize; 2],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) key: u64,
    /// When the request was sent that was answered.
    pub(crate) sent: Instant,
    pub(crate) at: Instant,
}

/// The answers to a client.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) front: usize,
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) wrong: Vec<String>,
    pub(crate) answers: u64,
    pub(crate) errors: BTreeMap<&'static str, u64>,
}

/// How requests for keys are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Alone,
    Pipelined,
    Together,
}

/// Whether this is how connecting fails while a server is started again.
fn is_away(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

pub(crate) fn name(key: u64) -> Vec<u8> {
    format!("key-{key}").into_bytes()
}

/// The name of a key that is never added.
pub(crate) fn absent(number: u64) -> Vec<u8> {
    format!("absent-{number}").into_bytes()
}

impl Load {
    pub(crate) fn phase(&self) -> usize {
        self.phase.load(Ordering::SeqCst)
    }

    pub(crate) fn turn(&self) {
        self.phase.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn counts(&self) -> [usize; 2] {
        self.acknowledged.each_ref().map(|count| count.load(Ordering::SeqCst))
    }

    /// Whether a key is in the filter to the end of the round.
    fn is_certain(&self, front: usize, sent: Instant) -> bool {
        let is_of_this = !self.replaces || self.since.get().is_some_and(|since| sent > *since);
        is_of_this && (front == 0 || !self.loses_masters)
    }

    /// A client of the server `front` until the load is stopped, which may only query.
    pub(crate) fn run(&self, front: usize, adds: bool, seed: u64) -> Seen {
        let seen = Seen { front, ..Seen::default() };
        let (numbers, own, rest) = (Box::new(numbers(seed)), Vec::new(), Vec::new());
        let mut client =
            LoadClient { load: self, adds, connection: None, numbers, own, rest, seen };
        while !self.stop.load(Ordering::SeqCst) {
            let began = self.phase();
            match client.step(began) {
                Ok(()) => {}
                Err(error) if is_end(&error) || is_away(&error) => {
                    client.connection = None;
                    if client.is_calm(began) {
                        client.wrong(format!("the connection ended: {error}"));
                    }
                }
                Err(error) => {
                    client.wrong(format!("no answer: {error}"));
                    break;
                }
            }
            sleep(PAUSE);
        }
        client.seen
    }
}

struct LoadClient<'a> {
    load: &'a Load,
    adds: bool,
    connection: Option<Connection>,
    numbers: Box<dyn Iterator<Item = u64>>,
    /// Its own keys that are certain to be in the filter.
    own: Vec<u64>,
    /// Keys that were sent and not acknowledged.
    rest: Vec<u64>,
    seen: Seen,
}

impl LoadClient<'_> {
    fn random(&mut self, below: usize) -> usize {
        self.numbers.next().unwrap() as usize % below
    }

    fn wrong(&mut self, what: String) {
        if self.seen.wrong.len() < MOST_WRONG {
            self.seen.wrong.push(what);
        }
    }

    /// Whether nothing has been out of order since then.
    fn is_calm(&self, began: usize) -> bool {
        began.is_multiple_of(2) && self.load.phase() == began
    }

    fn connection(&mut self) -> io::Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection = Some(connect(&self.load.sockets[self.seen.front])?);
        }
        self.connection.as_mut().ok_or_else(|| ErrorKind::NotConnected.into())
    }

    fn step(&mut self, began: usize) -> io::Result<()> {
        let (way, most) = match self.random(5) {
            0 => (Way::Alone, 1),
            1 | 2 => (Way::Pipelined, 40),
            _ => (Way::Together, 100),
        };
        let count = 1 + self.random(most);
        match self.random(7) {
            0 if !self.load.sure.is_empty() => self.add_again(began),
            kind if kind < 3 || !self.adds => self.query(began, way, count),
            _ => self.add(began, way, count),
        }
    }

    /// Sends requests for these keys, and leaves without an answer if that is the fault.
    fn send(&mut self, words: [&str; 2], way: Way, keys: &[Vec<u8>]) -> io::Result<()> {
        let filter = FILTER.as_bytes();
        let mut bytes = Vec::new();
        if way == Way::Together {
            let all = [&[words[1].as_bytes(), filter][..], &slices(keys)].concat();
            bytes = request(&all);
        } else {
            for key in keys {
                bytes.extend(request(&[words[0].as_bytes(), filter, key]));
            }
        }
        let is_rude = self.load.rude.load(Ordering::SeqCst) && self.random(3) == 0;
        let some = if is_rude { self.random(bytes.len() + 1) } else { bytes.len() };
        self.connection()?.send(&bytes[..some])?;
        if is_rude {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// The answers to requests for this number of keys: for each a number, or an error.
    fn answers(&mut self, way: Way, count: usize) -> io::Result<Vec<Result<i64, String>>> {
        let mut answers = Vec::new();
        while answers.len() < count {
            self.seen.answers += 1;
            match self.connection()?.answer()? {
                Answer::Number(number) if way != Way::Together => answers.push(Ok(number)),
                Answer::Error(text) if way != Way::Together => answers.push(Err(text)),
                Answer::List(list) if way == Way::Together && list.len() == count => {
                    answers.extend(list.into_iter().map(|answer| match answer {
                        Answer::Number(number) => Ok(number),
                        other => Err(format!("{other:?}")),
                    }));
                }
                Answer::Error(text) => answers.extend(vec![Err(text); count]),
                other => {
                    self.wrong(format!("{way:?} {count}: {other:?}"));
                    return Err(ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(answers)
    }

    /// Adds new keys, or those that are not acknowledged yet.
    fn add(&mut self, began: usize, way: Way, count: usize) -> io::Result<()> {
        let is_first = self.rest.is_empty();
        if is_first {
            let first = self.load.next.fetch_add(count as u64, Ordering::SeqCst);
            self.rest.extend(first..first + count as u64);
        }
        let keys = self.rest.clone();
        let names: Vec<Vec<u8>> = keys.iter().map(|&key| name(key)).collect();
        let sent = Instant::now();
        self.send(["BF.ADD", "BF.MADD"], way, &names)?;
        let answers = self.answers(way, keys.len())?;
        let at = Instant::now();
        self.rest.clear();
        for (key, answer) in keys.into_iter().zip(answers) {
            match answer {
                Ok(1) => {}
                Ok(0) if !is_first => {}
                Ok(other) => self.wrong(format!("key-{key} was never added: {other}")),
                Err(text) => {
                    self.error(began, &text);
                    self.rest.push(key);
                    continue;
                }
            }
            self.seen.acknowledged.push(Acknowledged { key, sent, at });
            self.load.acknowledged[self.seen.front].fetch_add(1, Ordering::SeqCst);
            if self.load.is_certain(self.seen.front, sent) {
                self.own.push(key);
            }
        }
        Ok(())
    }

    /// Adds a key that is there.
    fn add_again(&mut self, began: usize) -> io::Result<()> {
        let key = self.load.sure[self.random(self.load.sure.len())];
        self.send(["BF.ADD", ""], Way::Alone, &[name(key)])?;
        match self.answers(Way::Alone, 1)?.remove(0) {
            Ok(0) => {}
            // A reply of the store may have been lost.
            Ok(1) if self.load.is_missed || !self.is_calm(began) => {}
            Ok(other) => self.wrong(format!("key-{key} is there, and adding it again: {other}")),
            Err(text) => self.error(began, &text),
        }
        Ok(())
    }

    /// Queries keys that are there, and others between them.
    fn query(&mut self, began: usize, way: Way, count: usize) -> io::Result<()> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let (sure, own) = (self.load.sure.len(), self.own.len());
            let (which, index) = (self.random(3), self.random(1 << 30));
            let key = match which {
                0 if own > 0 => Some(self.own[index % own]),
                0 | 1 if sure > 0 => Some(self.load.sure[index % sure]),
                _ => None,
            };
            keys.push(key.map_or_else(|| (absent(index as u64), 0), |key| (name(key), 1)));
        }
        let names: Vec<Vec<u8>> = keys.iter().map(|(name, _)| name.clone()).collect();
        self.send(["BF.EXISTS", "BF.MEXISTS"], way, &names)?;
        let answers = self.answers(way, keys.len())?;
        for ((name, expected), answer) in keys.into_iter().zip(answers) {
            match answer {
                Ok(answer) if answer == expected => {}
                Ok(answer) => {
                    let calm = self.is_calm(began);
                    self.wrong(format!("{}: {answer}, calm: {calm}", name.escape_ascii()));
                }
                Err(text) => self.error(began, &text),
            }
        }
        Ok(())
    }

    /// Notes an error, which is wrong unless something is out of order.
    fn error(&mut self, began: usize, text: &str) {
        let kinds =
            if self.load.is_missed { &[&GONE[..], &UNANSWERED].concat() } else { &UNANSWERED[..] };
        let kind = kinds.iter().find(|kind| text.contains(**kind));
        *self.seen.errors.entry(kind.unwrap_or(&"other")).or_default() += 1;
        if self.is_calm(began) || kind.is_none() {
            self.wrong(format!("calm: {}: {text}", self.is_calm(began)));
        }
    }
}

pub(crate) fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}
