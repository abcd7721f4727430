//! The record kept outside of the servers: the acknowledged keys, and those of them that have to be
//! in the filter.

use super::World;
use super::client::{Answer, request};
use super::faults::{Fault, Risk, masters};
use super::front::{Connection, Front, until};
use super::load::{Acknowledged, FILTER, Load, Seen, absent, name, slices};
use crate::support::{run, stderr};
use mayhap_redis::blocking::Client;
use mayhap_redis::{Address, NativeFilter, ServerOptions};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Keys of a query.
const BATCH: usize = 1_000;
/// Keys that are queried one by one in a filter of which a part is gone.
const SAMPLE: usize = 500;
/// Keys with which both servers show that they are in order: all shards have some of them.
const PROBE: u64 = 300;

/// The numbers of a round, or of all rounds of a kind.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) answers: u64,
    pub(crate) acknowledged: u64,
    /// Acknowledged keys that the documented rule does not cover.
    pub(crate) at_risk: u64,
    /// Keys at risk that are missing.
    pub(crate) missing_at_risk: u64,
    /// Queries after the round, by all three ways.
    pub(crate) checked: u64,
    pub(crate) lost: u64,
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.answers += other.answers;
        self.acknowledged += other.acknowledged;
        self.at_risk += other.at_risk;
        self.missing_at_risk += other.missing_at_risk;
        self.checked += other.checked;
        self.lost += other.lost;
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, acknowledged, lost, at_risk, missing_at_risk, .. } = self;
        let Self { checked, answers, errors, .. } = self;
        write!(
            f,
            "{rounds} rounds, {acknowledged} keys acknowledged, {lost} lost; {at_risk} not \
             covered, {missing_at_risk} of them missing; {checked} queries afterwards; {answers} \
             answers under load, {errors:?}"
        )
    }
}

/// A way to query the filter.
type Side = Box<dyn FnMut(&[Vec<u8>]) -> Result<Vec<bool>, String>>;

/// The answers of a server to `BF.MEXISTS`.
fn answers_of(client: &mut Connection, keys: &[Vec<u8>]) -> Result<Vec<bool>, String> {
    let words = [&[&b"BF.MEXISTS"[..], FILTER.as_bytes()][..], &slices(keys)].concat();
    client.send(&request(&words)).unwrap();
    match client.answer().unwrap() {
        Answer::List(answers) => Ok(answers.iter().map(|it| *it == Answer::Number(1)).collect()),
        other => Err(format!("{other:?}")),
    }
}

/// Waits until a server adds and queries, and returns the keys that it added, which were
/// acknowledged.
pub(crate) fn settle(front: &Front, number: usize, load: &Load) -> Seen {
    let mut seen = Seen { front: number, ..Seen::default() };
    let mut client = front.connect();
    let first = load.next.fetch_add(PROBE, Ordering::SeqCst);
    let keys: Vec<Vec<u8>> = (first..first + PROBE).map(name).collect();
    let words = [&[&b"BF.MADD"[..], FILTER.as_bytes()][..], &slices(&keys)].concat();
    let mut sent = Instant::now();
    until("a server that is in order", || {
        sent = Instant::now();
        client.send(&request(&words)).unwrap();
        let answer = client.answer().unwrap();
        matches!(answer, Answer::List(_)) && answers_of(&mut client, &keys).is_ok()
    });
    let at = Instant::now();
    seen.acknowledged.extend((first..first + PROBE).map(|key| Acknowledged { key, sent, at }));
    seen
}

impl World {
    /// Sorts the keys of a round into those that have to be in the filter and the others.
    pub(crate) fn take(&mut self, seen: Vec<Seen>, risk: &Risk) -> Tally {
        let mut tally = Tally { rounds: 1, ..Tally::default() };
        let mut at_risk = Vec::new();
        for seen in seen {
            tally.answers += seen.answers;
            tally.acknowledged += seen.acknowledged.len() as u64;
            for Acknowledged { key, sent, at } in seen.acknowledged {
                // The first server waits for replicas.
                let may_be_lost =
                    seen.front != 0 && risk.lost.as_ref().is_some_and(|lost| lost.contains(&at));
                let is_of_another = risk.since.is_some_and(|since| sent <= since);
                let keys = if may_be_lost || is_of_another { &mut at_risk } else { &mut self.sure };
                keys.push(key);
            }
            for (kind, count) in seen.errors {
                *tally.errors.entry(kind).or_default() += count;
            }
            let front = seen.front;
            tally.wrong.extend(seen.wrong.iter().map(|what| format!("server {front}: {what}")));
        }
        tally.at_risk = at_risk.len() as u64;
        self.at_risk = at_risk;
        tally
    }

    /// Queries all keys that have to be there by both servers and by the library, and some that
    /// were never added.
    pub(crate) fn check(&self, tally: &mut Tally) {
        let mut sides: Vec<Side> = Vec::new();
        for front in &self.fronts {
            let mut client = front.connect();
            sides.push(Box::new(move |keys| answers_of(&mut client, keys)));
        }
        let library = self.library();
        let filter = library.filter(NativeFilter::attach(library.server(), FILTER, None)).unwrap();
        sides.push(Box::new(move |keys| {
            let found = filter.contains_batch(&slices(keys)).map_err(|error| error.to_string());
            found.map(|found| found.iter().collect())
        }));
        for (number, side) in sides.iter_mut().enumerate() {
            for batch in self.sure.chunks(BATCH) {
                let keys: Vec<Vec<u8>> = batch.iter().map(|&key| name(key)).collect();
                tally.checked += keys.len() as u64;
                match side(&keys) {
                    Ok(found) => {
                        let lost = batch.iter().zip(found).filter(|(_, found)| !found);
                        let lost: Vec<&u64> = lost.map(|(key, _)| key).collect();
                        tally.lost += lost.len() as u64;
                        if let Some(first) = lost.first() {
                            tally.wrong.push(format!("way {number}: {} lost, {first}", lost.len()));
                        }
                    }
                    Err(error) => tally.wrong.push(format!("way {number}: {error}")),
                }
            }
            let first = 1 << 40;
            let others: Vec<Vec<u8>> = (first..first + BATCH as u64).map(absent).collect();
            let found = side(&others).map(|found| found.iter().filter(|&&found| found).count());
            if found != Ok(0) {
                tally.wrong.push(format!("way {number}: keys never added: {found:?}"));
            }
        }
        for batch in self.at_risk.chunks(BATCH) {
            let keys: Vec<Vec<u8>> = batch.iter().map(|&key| name(key)).collect();
            let found = sides[0](&keys).unwrap_or_default();
            tally.missing_at_risk += found.iter().filter(|&&found| !found).count() as u64;
        }
    }

    /// A connection of the library's own.
    fn library(&self) -> Client {
        let address = Address::parse(&self.url).unwrap();
        Client::connect(&address, ServerOptions::default()).unwrap()
    }

    /// Queries keys of a filter of which a part is gone, one by one: there, or an error.
    pub(crate) fn check_destroyed(&mut self, fault: Fault, tally: &mut Tally) {
        let mut errors = [0; 2];
        let step = (self.sure.len() / SAMPLE).max(1);
        let sample: Vec<u64> = self.sure.iter().copied().step_by(step).collect();
        for (number, front) in self.fronts.iter().enumerate() {
            let mut client = front.connect();
            for &key in &sample {
                tally.checked += 1;
                match answers_of(&mut client, &[name(key)]) {
                    Ok(found) if found == [true] => {}
                    Ok(_) => {
                        tally.lost += 1;
                        tally.wrong.push(format!("server {number}: key-{key} is \"surely not\""));
                    }
                    Err(_) => errors[number] += 1,
                }
            }
        }
        let least = match fault {
            // Only a server that was started anew asks for them.
            Fault::ParametersDeleted => sample.len(),
            // It may be a short shard, or only the parameters.
            Fault::Evicted => 0,
            _ => 1,
        };
        if errors.iter().max() < Some(&least) || sample.is_empty() {
            tally.wrong.push(format!("{errors:?} errors for {} keys", sample.len()));
        }
    }

    /// Deletes the filter, and looks for what is left.
    pub(crate) fn sweep(&mut self, tally: &mut Tally) {
        let one = self.random(2);
        let deleted = self.fronts[one].connect().ask(&format!("DEL {FILTER}"));
        assert!(matches!(deleted, Answer::Number(0 | 1)), "{deleted:?}");
        let swept = run(&self.folder, &["orphans", "--delete", "--after", "1ms", &self.url], b"");
        assert!(matches!(swept.status.code(), Some(0 | 1)), "{}", stderr(&swept));
        let left = run(&self.folder, &["orphans", &self.url], b"");
        if left.status.code() != Some(1) {
            tally.wrong.push(format!("orphans after a sweep: {left:?}"));
        }
        for master in masters(&self.cluster) {
            let node = &self.cluster.nodes()[master];
            for key in node.cli(&["KEYS", "*"]).unwrap().lines() {
                // Values left behind by a killed server expire.
                if node.cli(&["PTTL", key]).unwrap() == "-1" {
                    tally.wrong.push(format!("{key} is left on a master"));
                }
            }
        }
        self.sure.clear();
        self.at_risk.clear();
    }

    /// Creates the filter, with room for far more keys than it gets.
    pub(crate) fn create(&mut self) {
        let one = self.random(2);
        let created =
            self.fronts[one].connect().ask(&format!("BF.RESERVE {FILTER} 0.0001 2000000"));
        assert_eq!(created, Answer::Simple("OK".into()));
        self.cluster.wait_ok().unwrap();
    }
}
