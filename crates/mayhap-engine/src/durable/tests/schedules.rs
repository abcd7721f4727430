//! The order in which bits are set, the log is written and synced, and checkpoints are made: the
//! real log on a disk in memory, over a filter of 64 bits, run by model checkers.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p mayhap-engine --lib schedules
//! RUSTFLAGS="--cfg shuttle" cargo test -p mayhap-engine --lib schedules
//! ```
//!
//! loom tries all orders of two or three threads with few preemptions, including delayed visibility
//! of memory; shuttle tries random ones of four to eight threads (`SCHEDULES=1000` of each number,
//! `SEED=N`). In place of the keyspace there is a list of filters, and its copy of one.

use super::cache::Cache;
use super::checker::{THREADS, model, spawn};
use super::disk::{Event, Files, MemoryDisk};
use crate::durable::options::Clock;
use crate::durable::{
    Answered, DataFolder, Error, Filters, Image, Log, Operation, Options, Policy, ReadBack, Replay,
    ReplayError, Saved, Snapshot, State, Tally, read_native, write_segments,
};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use mayhap::native::{Header, Native};
use mayhap::{
    BloomFilter, Build, ConcurrentBloomFilter, Digest, DigestFunction, FilterParams, Layout,
};
use std::convert::Infallible;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The filter that receives keys, and one that is created with contents.
const FILTER: u64 = 1;
const WHOLE: u64 = 2;

pub(super) fn digest(key: usize) -> Digest {
    Digest::new((key as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Two bits per key in one word.
fn filter() -> BloomFilter {
    let params = FilterParams::new(Layout::Standard, 64, 2, 10, 0.1).unwrap();
    BloomFilter::empty(params, DigestFunction::default()).unwrap()
}

pub(super) fn options(policy: Policy) -> Options {
    let clock = Clock::of(|| 0);
    Options { policy, threads: 1, clock, ..Options::new(DigestFunction::default()) }
}

pub(super) fn folder(disk: &MemoryDisk) -> DataFolder {
    DataFolder::on(Arc::new(disk.clone()), Path::new(""))
}

/// A miniature server.
struct Server {
    disk: MemoryDisk,
    log: Arc<Log>,
    filter: ConcurrentBloomFilter,
    tally: Arc<Tally>,
    /// How often each key was acknowledged, how often any was acknowledged as new or was new.
    acknowledged: Vec<AtomicU64>,
    acknowledged_new: AtomicU64,
    new: AtomicU64,
    /// Whether the filter with contents is visible, and was acknowledged.
    whole: [AtomicBool; 2],
    /// Number of parts of its contents.
    parts: usize,
}

impl Server {
    fn new(keys: usize, policy: Policy) -> Arc<Self> {
        let disk = MemoryDisk::default();
        let folder = folder(&disk);
        let (log, _) = Log::open(folder, options(policy), &Found::default(), &|_| {}).unwrap();
        let operation = Operation::Create { id: FILTER, name: b"a", spec: b"", expires_at: 0 };
        drop(log.now(&operation).unwrap());
        Arc::new(Self {
            disk,
            log,
            filter: filter().into_concurrent(),
            tally: Arc::default(),
            acknowledged: (0..keys).map(|_| AtomicU64::new(0)).collect(),
            acknowledged_new: AtomicU64::new(0),
            new: AtomicU64::new(0),
            whole: [AtomicBool::new(false), AtomicBool::new(false)],
            parts: 0,
        })
    }

    /// Starts with a key that every later checkpoint has to save.
    fn with_a_key(keys: usize, policy: Policy) -> Arc<Self> {
        let server = Self::new(keys, policy);
        server.insert(0);
        server
    }

    fn insert(&self, key: usize) {
        let (digest, mut recorder) = (digest(key), self.log.recorder());
        let contains = || self.filter.contains_digest(digest);
        let insert = || Ok::<_, Infallible>(self.filter.insert_digest(digest));
        let Ok(new) = recorder.insert_one(&self.tally, FILTER, digest, contains, insert);
        self.new.fetch_add(u64::from(new), Ordering::Relaxed);
        let Ok(ticket) = recorder.commit() else { return };
        if let Some(ticket) = ticket {
            // As the sync thread does it.
            let _ = self.log.sync();
            if self.log.state(ticket) != State::Safe {
                return;
            }
        }
        // ORDERING: Release, with the Acquire of `crash`, which reads the disk afterwards.
        self.acknowledged_new.fetch_add(u64::from(new), Ordering::Release);
        self.acknowledged[key].fetch_add(1, Ordering::Release);
    }

    /// Creates the filter with contents, one part per key; or the same without any.
    fn create_whole(&self) {
        let contents = (self.parts > 0).then(|| self.log.begin_contents(WHOLE));
        let contents = contents.map(|mut contents| {
            for key in 0..self.parts {
                contents.write(&digest(key).get().to_le_bytes()).unwrap();
            }
            contents
        });
        let operation = Operation::Create { id: WHOLE, name: b"b", spec: b"", expires_at: 0 };
        let logged = self.log.now(&operation).unwrap();
        // ORDERING: Release. A checkpoint that finds it finds the record too.
        self.whole[0].store(true, Ordering::Release);
        drop((logged, contents));
        // ORDERING: Release, as an acknowledgement of a key.
        self.whole[1].store(true, Ordering::Release);
    }

    fn checkpoint(&self) {
        self.log.checkpoint(self).unwrap();
    }

    /// The promises at this moment, and then the calls of the disk.
    fn crash(&self) -> Crash {
        // ORDERING: Acquire. Acknowledged keys had been written before.
        let keys = self.acknowledged.iter().map(|count| count.load(Ordering::Acquire) > 0);
        let keys = keys.collect();
        let new = self.acknowledged_new.load(Ordering::Acquire);
        let whole = self.whole[1].load(Ordering::Acquire);
        let (parts, events) = (self.parts, self.disk.state().events.clone());
        Crash { keys, new, whole, parts, events }
    }

    /// All threads have ended: each crash left the promised contents.
    fn check(&self, crashes: Vec<Crash>) {
        let all = self.new.load(Ordering::Acquire);
        for crash in crashes.into_iter().chain([self.crash()]) {
            crash.check(all, self.log.policy());
        }
    }
}

impl Filters for Server {
    fn ids(&self) -> Vec<u64> {
        // ORDERING: Acquire, with the Release that made it visible.
        let whole = self.whole[0].load(Ordering::Acquire).then_some(WHOLE);
        let mut ids: Vec<u64> = std::iter::once(FILTER).chain(whole).collect();
        ids.sort_unstable();
        ids
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        let name: &[u8] = if id == WHOLE { b"b" } else { b"a" };
        Some(Saved { id, name: name.into(), spec: b"".as_slice().into(), expires_at: 0 })
    }

    fn put_back(&self, _: &[u64], _: &ReadBack<'_>) -> Result<(), Error> {
        panic!("nothing is refused");
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        if id == WHOLE {
            let mut filter = filter();
            (0..self.parts).for_each(|key| assert!(filter.insert_digest(digest(key))));
            return Ok(Some(Box::new(Copy { filter, items: self.parts as u64 })));
        }
        let filter = self.filter.snapshot().map_err(io::Error::other)?;
        Ok(Some(Box::new(Copy { filter, items: self.tally.before(segment) })))
    }
}

struct Copy {
    filter: BloomFilter,
    items: u64,
}

impl Snapshot for Copy {
    fn mark(&self) -> u64 {
        self.items
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_segments(&Header::of(&self.filter, ""), &self.filter.segments(), out)
    }
}

/// The state that a restart finds.
#[derive(Default)]
struct Found {
    /// By id: bits, and the number of counted keys.
    filters: Mutex<std::collections::BTreeMap<u64, (Option<BloomFilter>, u64)>>,
    contents: Mutex<Vec<Digest>>,
}

impl Found {
    fn with(&self, id: u64, change: impl FnOnce(&mut BloomFilter, &mut u64)) {
        if let Some((bits, items)) = self.filters.lock().unwrap().get_mut(&id) {
            change(bits.get_or_insert_with(filter), items);
        }
    }
}

impl Replay for Found {
    fn create(&self, id: u64, _: &[u8], _: &[u8], _: u64) -> Result<(), ReplayError> {
        let contents = std::mem::take(&mut *self.contents.lock().unwrap());
        let new = self.filters.lock().unwrap().insert(id, (None, 0)).is_none();
        assert!(new || contents.is_empty(), "created twice");
        self.insert(id, &contents, Answered::New)
    }

    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError> {
        let filter =
            read_native(image, None).map_err(|error| ReplayError::Filters(Box::new(error)))?;
        self.filters.lock().unwrap().insert(id, (Some(filter), mark));
        Ok(())
    }

    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError> {
        self.with(id, |filter, items| {
            filter.insert_digests(digests);
            *items += if answered == Answered::New { digests.len() as u64 } else { 0 };
        });
        Ok(())
    }

    fn load(&self, _: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError> {
        let mut contents = self.contents.lock().unwrap();
        assert_eq!(part as usize, contents.len());
        let digest = u64::from_le_bytes(bytes.try_into().expect("a digest"));
        contents.push(Digest::new(digest));
        Ok(())
    }

    fn keys(&self, _: u64, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        Ok(())
    }

    fn ordered(&self, _: u64, _: u64, _: u64, _: &[Digest]) -> Result<(), ReplayError> {
        Ok(())
    }

    fn remove(&self, _: u64) {}
    fn rename(&self, _: u64, _: &[u8]) {}
    fn expire(&self, _: u64, _: u64) {}
    fn clear(&self) {}
}

/// A moment at which the process dies, or the power fails.
struct Crash {
    keys: Vec<bool>,
    new: u64,
    whole: bool,
    parts: usize,
    events: Vec<Event>,
}

impl Crash {
    /// `all` keys are new in total. Under `always` the power fails; else the process is killed.
    fn check(&self, all: u64, policy: Policy) {
        let mut cache = Cache::new(Files::default());
        self.events.iter().for_each(|event| cache.tell(event));
        let power_cut = policy == Policy::Always;
        let files = cache.left(|_, event| (!power_cut).then(|| event.clone()));
        let found = Found::default();
        let folder = folder(&MemoryDisk::of(files));
        Log::open(folder, options(policy), &found, &|_| {}).unwrap();
        let mut filters = found.filters.into_inner().unwrap();
        let (bits, items) = filters.remove(&FILTER).unwrap_or_default();
        let holds = |bits: &Option<BloomFilter>, key| {
            bits.as_ref().is_some_and(|bits| bits.contains_digest(digest(key)))
        };
        for (key, _) in self.keys.iter().enumerate().filter(|(_, promised)| **promised) {
            assert!(holds(&bits, key), "key {key} is lost");
        }
        assert!(self.new <= items && items <= all, "{items} keys are counted of {all}");
        let whole = filters.remove(&WHOLE);
        assert!(!self.whole || whole.is_some(), "the whole filter is lost");
        if let Some((bits, items)) = whole {
            let parts = self.parts;
            let all = (0..parts).all(|key| holds(&bits, key)) && items == parts as u64;
            assert!(all, "half of a filter has its name");
        }
    }
}

/// One thread makes a checkpoint, the others insert keys of their own; the process dies at any
/// moment.
fn checkpoint_and_insert(threads: usize, policy: Policy) {
    let server = Server::with_a_key(threads, policy);
    let mut others: Vec<_> = (1..threads)
        .map(|key| {
            let server = server.clone();
            spawn(move || server.insert(key))
        })
        .collect();
    let ours = server.clone();
    others.push(spawn(move || ours.checkpoint()));
    let crashes = vec![server.crash()];
    others.into_iter().for_each(|other| other.join().unwrap());
    server.check(crashes);
    assert_eq!(server.tally.at_risk(), 0);
}

#[test]
fn what_is_acknowledged_during_a_checkpoint_is_kept_and_counted_once() {
    for threads in THREADS {
        model(3, move || checkpoint_and_insert(threads, Policy::No));
    }
}

#[test]
fn keys_acknowledged_under_always_survive_a_power_cut() {
    for threads in THREADS {
        model(2, move || checkpoint_and_insert(threads, Policy::Always));
    }
}

/// All threads but one insert the same key: a reply "not new" can be relied on as much as the
/// insertion itself, and the key counts once for each reply "new".
#[test]
fn what_is_acknowledged_as_not_new_is_kept_and_not_counted() {
    for threads in THREADS {
        model(3, move || {
            let server = Server::new(1, Policy::No);
            let others: Vec<_> = (0..threads)
                .map(|_| {
                    let server = server.clone();
                    spawn(move || server.insert(0))
                })
                .collect();
            let crashes = vec![server.crash()];
            others.into_iter().for_each(|other| other.join().unwrap());
            server.check(crashes);
            assert_eq!(server.tally.at_risk(), 0);
        });
    }
}

/// The same keys repeatedly, and checkpoints, one after the other.
#[test]
fn checkpoints_and_repeated_keys_lose_and_count_nothing_twice() {
    for threads in THREADS {
        model(2, move || {
            let server = Server::new(2, Policy::No);
            let ours = server.clone();
            let mut others = vec![spawn(move || {
                ours.checkpoint();
                ours.checkpoint();
            })];
            others.extend((1..threads).map(|i| {
                let server = server.clone();
                spawn(move || {
                    server.insert(i % 2);
                    server.insert((i + 1) % 2);
                    server.insert(i % 2);
                })
            }));
            let crashes = vec![server.crash()];
            others.into_iter().for_each(|other| other.join().unwrap());
            server.check(crashes);
        });
    }
}

fn create_and_save(threads: usize, parts: usize) {
    let mut server = Server::new(threads, Policy::No);
    Arc::get_mut(&mut server).unwrap().parts = parts;
    let (maker, saver) = (server.clone(), server.clone());
    let mut others = vec![spawn(move || maker.create_whole()), spawn(move || saver.checkpoint())];
    others.extend((2..threads).map(|key| {
        let server = server.clone();
        spawn(move || server.insert(key))
    }));
    let crashes = vec![server.crash()];
    others.into_iter().for_each(|other| other.join().unwrap());
    server.check(crashes);
}

/// While checkpoints let go of the log before them.
#[test]
fn a_filter_that_comes_with_contents_is_there_whole_or_not_at_all() {
    for threads in THREADS {
        model(3, move || create_and_save(threads, 2));
    }
}

#[test]
fn a_filter_that_is_created_during_a_checkpoint_is_kept() {
    for threads in THREADS {
        model(3, move || create_and_save(threads, 0));
    }
}
