//! Several threads, a disk that fills up, kills: whatever happens, a filter is the result of its
//! acknowledged changes, in the order in which they were made, and nothing of the refused ones is
//! left.
//!
//! The changes of turns are executed one after another here, and committed in any order, so that
//! the log has them in another one. The expected filter is computed without any log: by a filter of
//! the same kind that is given the acknowledged changes.

use super::whole::open;
use crate::Work;
use crate::durable::Log;
use crate::durable::tests::disk::{Failing, Fault, MemoryDisk};
use crate::durable::tests::run::Random;
use crate::keyspace::{Entry, Hash, Keyspace, Options, Shape, Spec};
use crate::words::Words;
use mayhap::SecretKey;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keys are few, so that they repeat.
const KEYS: u64 = 60;
const TURNS: usize = 3;

/// The filters, so small that they forget, clear themselves and grow. Every third is plain.
fn specs() -> Vec<(&'static [u8], Spec)> {
    let keyed = |shape| Spec { shape, hash: Hash::Keyed };
    let window = |refresh| Shape::Window { items: 30, time_ms: 0, target_fpp: 1e-3, refresh };
    vec![
        (b"window", keyed(window(true))),
        (b"stale", keyed(window(false))),
        (b"clearing", keyed(Shape::Clearing { capacity: 64, target_fpp: 1e-3, at: 0.2 })),
        (b"counting", keyed(Shape::Counting { capacity: 2000, target_fpp: 1e-6 })),
        (b"compact", keyed(Shape::Compact { capacity: 2000, target_fpp: 1e-6, expansion: 0 })),
        (b"growing", Spec::growing(8, 1e-12, 2)),
        (b"fixed", Spec::fixed(1000, 1e-12)),
    ]
}

/// The operation of a change on its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Inserts,
    InsertsAbsent,
    Removes,
}

/// A change of a filter, with the keys that it inserted or removed.
#[derive(Debug, Clone)]
struct Change {
    filter: usize,
    what: What,
    keys: Vec<u64>,
    /// How many were answered "new".
    new: u64,
    turn: u64,
}

/// The result of a turn; it is in progress before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Committed,
    Refused,
}

struct World {
    disk: MemoryDisk,
    keyspace: Keyspace,
    log: Arc<Log>,
    turns: Vec<(Work, u64)>,
    next_turn: u64,
    changes: Vec<Change>,
    fates: Vec<Option<Fate>>,
    random: Random,
    /// Filters that were compared, and turns that were refused.
    compared: u64,
    refused: u64,
}

fn words(keys: &[u64]) -> (Vec<u8>, Vec<(u32, u32)>) {
    let places = (0..keys.len() as u32).map(|key| (8 * key, 8 * key + 8)).collect();
    (keys.iter().flat_map(|key| key.to_le_bytes()).collect(), places)
}

fn change(entry: &Entry, what: What, keys: &[u64], turn: &mut Work) -> Result<(), usize> {
    let (bytes, places) = words(keys);
    let words = Words::new(&bytes, &places);
    match what {
        What::Inserts => entry.insert_many(words, turn).map_err(|(done, _)| done),
        What::InsertsAbsent => entry.insert_absent(words, turn).map_err(|(done, _)| done),
        What::Removes => {
            entry.remove_many(words, turn).unwrap();
            Ok(())
        }
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let disk = MemoryDisk::default();
        let (keyspace, log) = open(&disk);
        for (name, spec) in specs() {
            keyspace.create(name, spec, 1, Some(&log)).unwrap();
        }
        let mut world = Self {
            disk,
            keyspace,
            log,
            turns: Vec::new(),
            next_turn: 0,
            changes: Vec::new(),
            fates: Vec::new(),
            random: Random(seed),
            compared: 0,
            refused: 0,
        };
        world.begin_turns();
        world
    }

    fn begin_turns(&mut self) {
        self.turns.clear();
        for _ in 0..TURNS {
            let recorder = Some(self.log.recorder());
            self.turns.push((Work { recorder, now: 1, ..Work::default() }, self.next_turn));
            self.next_turn += 1;
            self.fates.push(None);
        }
    }

    fn change(&mut self) {
        let (turn, number) = &mut self.turns[self.random.below(TURNS as u64) as usize];
        turn.recorder.as_mut().unwrap().begin();
        if self.log.check_writable().is_err() {
            return;
        }
        let specs = specs();
        let filter = self.random.below(specs.len() as u64) as usize;
        let can_remove = [&b"counting"[..], b"compact"].contains(&specs[filter].0);
        let what = match self.random.below(4) {
            0 | 1 if can_remove => What::Removes,
            2 if can_remove => What::InsertsAbsent,
            _ => What::Inserts,
        };
        let count = 1 + self.random.below(12);
        let mut keys: Vec<u64> = (0..count).map(|_| self.random.below(KEYS)).collect();
        let entry = self.keyspace.get(specs[filter].0, 1).unwrap();
        if let Err(done) = change(&entry, what, &keys, turn) {
            keys.truncate(done);
        }
        let new = turn.answers.iter().take(keys.len()).filter(|new| *new).count() as u64;
        if what == What::Removes {
            // The others were absent.
            keys = turn.answers.iter_ones().map(|at| keys[at]).collect();
        }
        self.changes.push(Change { filter, what, keys, new, turn: *number });
    }

    fn commit(&mut self, place: usize) {
        let (turn, number) = &mut self.turns[place];
        let fate = match turn.recorder.as_mut().unwrap().commit() {
            Ok(_) => Fate::Committed,
            Err(unwritten) => {
                if let Some(number) = unwritten.until
                    && !self.log.is_undone(number)
                {
                    // Sometimes a little later, as by another thread.
                    if self.random.below(2) == 0 {
                        let _ = self.log.put_back(&self.keyspace);
                    }
                }
                self.refused += 1;
                Fate::Refused
            }
        };
        self.fates[*number as usize] = Some(fate);
        *number = self.next_turn;
        self.next_turn += 1;
        self.fates.push(None);
    }

    fn commit_all(&mut self) {
        (0..TURNS).for_each(|place| self.commit(place));
        if self.log.put_back(&self.keyspace).is_err() {
            // A disk that cannot be read either: until it can be, queries are errors.
            self.make_room();
        }
    }

    fn fill_disk(&mut self) {
        let mut state = self.disk.state();
        let fault = [Fault::Full, Fault::NoSpace, Fault::Io][self.random.below(3) as usize];
        let from = state.calls + self.random.below(3) as usize;
        state.failing = Some(Failing { fault, from, all: true });
    }

    fn make_room(&mut self) {
        self.disk.state().failing = None;
        let _ = self.log.put_back(&self.keyspace);
        self.log.tick();
    }

    /// Kills the server, and starts another one.
    fn restart(&mut self) {
        let files = self.disk.files();
        // Turns in progress die with it.
        for (_, number) in &self.turns {
            self.fates[*number as usize] = Some(Fate::Refused);
        }
        self.disk = MemoryDisk::of(files);
        (self.keyspace, self.log) = open(&self.disk);
        self.begin_turns();
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 => self.restart(),
            1 | 4 => self.fill_disk(),
            2 => self.make_room(),
            3 => {
                self.commit_all();
                let _ = self.log.checkpoint(&self.keyspace);
            }
            5..=9 => {
                let place = self.random.below(TURNS as u64) as usize;
                self.commit(place);
            }
            _ => self.change(),
        }
    }

    /// The acknowledged changes of a filter, in the order in which they were made.
    fn acknowledged(&self, filter: usize) -> impl Iterator<Item = &Change> {
        let is_ours = move |change: &&Change| {
            change.filter == filter && self.fates[change.turn as usize] == Some(Fate::Committed)
        };
        self.changes.iter().filter(is_ours)
    }

    /// Compares all filters with the expected ones. No turn is in progress.
    fn compare(&mut self, when: &str) {
        let fresh = Keyspace::new(Options::new(SecretKey::new([7; 16])));
        for (filter, (name, spec)) in specs().into_iter().enumerate() {
            let found = self.keyspace.get(name, 1).unwrap();
            found.check_file().unwrap();
            let wanted = fresh.create(name, spec, 1, None).unwrap();
            let mut turn = Work { now: 1, ..Work::default() };
            for acknowledged in self.acknowledged(filter) {
                let _ = change(&wanted, acknowledged.what, &acknowledged.keys, &mut turn);
            }
            self.compared += 1;
            let name = name.escape_ascii().to_string();
            if matches!(spec.shape, Shape::Growing { .. } | Shape::Fixed { .. }) {
                let new: u64 = self.acknowledged(filter).map(|change| change.new).sum();
                assert_eq!(found.items(), new, "{name} {when}");
                let keys = self.acknowledged(filter).flat_map(|change| change.keys.clone());
                let keys: BTreeSet<u64> = keys.collect();
                for key in 0..KEYS {
                    let there = found.contains(&key.to_le_bytes(), 1);
                    assert_eq!(there, keys.contains(&key), "key {key} of {name} {when}");
                }
            } else {
                assert!(bytes(&found) == bytes(&wanted), "{name} {when}");
            }
        }
    }
}

fn bytes(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    entry.filter().snapshot().unwrap().unwrap().write(&mut bytes).unwrap();
    bytes
}

fn run(seed: u64, steps: u64) -> (u64, u64) {
    let mut world = World::new(seed);
    for step in 0..steps {
        world.step();
        if world.random.below(8) == 0 {
            world.commit_all();
            world.compare(&format!("after {step} steps of seed {seed}"));
            world.restart();
            world.compare(&format!("after {step} steps of seed {seed} and a kill"));
        }
    }
    (world.compared, world.refused)
}

/// `ROUNDS` and `MAYHAP_SOAK` for more.
#[test]
fn filters_are_what_was_acknowledged_makes_of_them_in_its_order() {
    let rounds = crate::durable::tests::soak_rounds().map_or(40, |rounds| rounds * 100);
    let (mut compared, mut refused) = (0, 0);
    for seed in 0..rounds {
        let (more, of) = run(seed, 120);
        (compared, refused) = (compared + more, refused + of);
    }
    println!("{compared} filters compared, {refused} turns refused");
    assert!(compared > 100 * rounds && refused > rounds, "{compared}, {refused}");
}
