//! Two servers in front of filters on a cluster (`mayhap serve --store`), and clients of both,
//! while one thing after another fails. A key that was acknowledged is there afterwards, where
//! `docs/machines.md` says so; no answer is wrong, and an error only while something is out of
//! order; nothing is left of the filters in the end.
//!
//! The first server waits for replicas: all its keys are covered. Those of the second are not if
//! they were acknowledged in the moments before a master was lost or until that was seen.
//!
//! A round is a fault under load. `make fronts` runs many, with `FRONTS`; `make check` a few.
//! `SEED` gives another order, `ONLY` the fault of all rounds.
//!
//! `front.rs` starts the servers, `load.rs` has their clients, `faults.rs` what fails, `model.rs`
//! what is known of the keys. `verbs.rs` has verbs of the command at the URL of such a server.

#[path = "../serve/client.rs"]
mod client;
mod faults;
mod front;
mod load;
mod model;
mod verbs;

use crate::support::{folder, numbers};
use faults::{ALL, Fault, Risk, masters};
use front::{Front, until};
use load::{Load, Seen};
use model::{Tally, settle};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, ready};

/// Clients of each server, one of which only queries.
const CLIENTS: usize = 4;
/// Keys that each server acknowledges before a fault, and after it.
const KEYS: usize = 500;

/// The store, the servers in front of it, and what is known of the filter.
struct World {
    cluster: RedisCluster,
    /// Of the servers.
    folder: PathBuf,
    url: String,
    fronts: [Front; 2],
    numbers: Box<dyn Iterator<Item = u64>>,
    round: usize,
    /// Keys that have to be in the filter.
    sure: Vec<u64>,
    /// Keys of the last round that may be missing.
    at_risk: Vec<u64>,
    next: u64,
}

impl World {
    fn start(folder: PathBuf, seed: u64) -> Self {
        let config = vec!["enable-debug-command local".to_owned()];
        let redis = RedisOptions { appendonly: true, config, ..RedisOptions::default() };
        let cluster = RedisCluster::start(&ClusterOptions { redis, ..Default::default() }).unwrap();
        let hosts: Vec<String> =
            cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        let url = format!("redis+cluster://{}", hosts.join(","));
        let fronts = [
            Front::start(&folder, "one", &["--store", &url, "--store-wait-replicas", "1"]),
            Front::start(&folder, "two", &["--store", &url, "--store-timeout", "1s"]),
        ];
        let (numbers, sure, at_risk) = (Box::new(numbers(seed)), Vec::new(), Vec::new());
        let mut world =
            Self { cluster, folder, url, fronts, numbers, round: 0, sure, at_risk, next: 0 };
        world.create();
        world
    }

    fn random(&mut self, below: usize) -> usize {
        self.numbers.next().unwrap() as usize % below
    }

    /// A fault under load, and what came of it.
    fn run(&mut self, fault: Fault) -> Tally {
        self.round += 1;
        if fault.replaces() {
            self.sure.clear();
        }
        let load = Load {
            sockets: self.fronts.each_ref().map(|front| front.socket().to_owned()),
            sure: std::mem::take(&mut self.sure),
            next: self.next.into(),
            is_missed: fault.is_missed(),
            replaces: fault.replaces(),
            loses_masters: fault.loses_masters(),
            ..Load::default()
        };
        let seeds: Vec<u64> = (0..2 * CLIENTS).map(|_| self.random(1 << 30) as u64).collect();
        let (risk, seen) = thread::scope(|scope| {
            let stop = Stop(&load);
            let load = &load;
            let client = |(i, &seed)| scope.spawn(move || load.run(i % 2, i >= 2, seed));
            let clients: Vec<_> = seeds.iter().enumerate().map(client).collect();
            let (risk, mut seen) = self.fail(fault, load);
            drop(stop);
            seen.extend(clients.into_iter().map(|client| client.join().unwrap()));
            (risk, seen)
        });
        (self.sure, self.next) = (load.sure, load.next.into_inner());
        let mut tally = self.take(seen, &risk);
        if fault.destroys() {
            self.check_destroyed(fault, &mut tally);
            self.sweep(&mut tally);
            self.create();
        } else {
            self.check(&mut tally);
        }
        tally
    }

    /// The fault, with keys before and after it.
    fn fail(&mut self, fault: Fault, load: &Load) -> (Risk, Vec<Seen>) {
        let more = |before: [usize; 2]| {
            until("keys that are acknowledged", || {
                load.counts().iter().zip(before).all(|(now, before)| *now >= before + KEYS)
            });
        };
        more([0; 2]);
        let marked = self.mark();
        load.turn();
        let risk = self.inject(fault, load, marked);
        let mut seen = Vec::new();
        if !fault.destroys() {
            seen.extend((0..2).map(|i| settle(&self.fronts[i], i, load)));
            load.turn();
            more(load.counts());
        }
        (risk, seen)
    }

    /// Waits until the replicas have everything that is acknowledged by now.
    fn mark(&self) -> Instant {
        let now = Instant::now();
        for master in masters(&self.cluster) {
            let client = redis::Client::open(self.cluster.nodes()[master].url()).unwrap();
            let mut connection = client.get_connection().unwrap();
            let _: String = redis::cmd("PING").query(&mut connection).unwrap();
            let replicas: u64 =
                redis::cmd("WAIT").arg(1).arg(60_000).query(&mut connection).unwrap();
            assert!(replicas >= 1, "a master without a replica");
        }
        now
    }
}

/// Stops the load, also where a round fails.
struct Stop<'a>(&'a Load);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }
}

/// Runs these rounds; nothing may be lost, wrong or left over.
fn rounds(faults: impl IntoIterator<Item = Fault>, seed: u64) {
    let folder = folder();
    let mut world = World::start(folder.path().to_owned(), seed);
    let mut all: BTreeMap<Fault, Tally> = BTreeMap::new();
    for fault in faults {
        let began = Instant::now();
        let tally = world.run(fault);
        let took = began.elapsed().as_secs_f64();
        println!("round {}, {took:.1} s: {fault:?}: {tally}", world.round);
        assert!(tally.wrong.is_empty() && tally.lost == 0, "{fault:?} {:#?}", tally.wrong);
        all.entry(fault).or_default().add(tally);
    }
    let mut last = Tally::default();
    world.sweep(&mut last);
    assert!(last.wrong.is_empty(), "{:#?}", last.wrong);
    let mut sum = Tally::default();
    for (fault, tally) in all {
        println!("{fault:?}: {tally}");
        sum.add(tally);
    }
    println!("all: {sum}");
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
fn nothing_acknowledged_is_lost_and_no_answer_is_wrong_while_fronts_and_the_store_fail() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let seed = number("SEED", 7);
    let short = [
        Fault::FrontKilled,
        Fault::ClientsKilled,
        Fault::SlotsMoved,
        Fault::ReplicaCutOffAndMasterKilled,
        Fault::ShardDeleted,
    ];
    match number("FRONTS", 0) {
        0 => rounds(short, seed),
        most => rounds(long(seed).take(most as usize), seed),
    }
}

/// All kinds of faults, again and again, in another order each time.
fn long(seed: u64) -> impl Iterator<Item = Fault> {
    let only = std::env::var("ONLY").ok();
    let kinds = ALL.into_iter();
    let kinds: Vec<_> = kinds
        .filter(|kind| only.as_ref().is_none_or(|only| format!("{kind:?}") == *only))
        .collect();
    assert!(!kinds.is_empty(), "there is no fault {only:?}");
    let (mut random, mut some) = (numbers(seed), Vec::new());
    std::iter::repeat_with(move || {
        if some.is_empty() {
            some.clone_from(&kinds);
        }
        some.remove(random.next().unwrap() as usize % some.len())
    })
}
