//! Turns that are refused while others run, for model checkers: like `schedules.rs`, over a filter
//! whose changes are ordered.
//!
//! Several threads insert keys into one filter, each in a turn of its own, and retry refused ones;
//! the disk is full for a while; checkpoints are made, and filters put back. Whatever the order:
//! the filter has the acknowledged keys, once and in the order in which they were inserted, and so
//! has the filter after a restart.

use super::checker::{THREADS, model, spawn};
use super::disk::{Failing, Fault, MemoryDisk};
use super::schedules::{digest, folder, options};
use crate::durable::{
    Answered, Error, Filters, Image, Log, Operation, Policy, ReadBack, Replay, ReplayError, Saved,
    Snapshot,
};
use crate::sync::Mutex;
use mayhap::Digest;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

const FILTER: u64 = 1;

/// The changes, by their order.
type History = BTreeMap<u64, u64>;

/// A filter as threads look it up: it is replaced by another one when it is put back.
type Entry = Arc<Mutex<(History, u64)>>;

struct Server {
    disk: MemoryDisk,
    log: Arc<Log>,
    entry: Mutex<Entry>,
    acknowledged: Mutex<Vec<u64>>,
}

impl Server {
    fn new() -> Arc<Self> {
        let disk = MemoryDisk::default();
        let found = Found::default();
        let (log, _) = Log::open(folder(&disk), options(Policy::No), &found, &|_| {}).unwrap();
        let operation = Operation::Create { id: FILTER, name: b"a", spec: b"", expires_at: 0 };
        drop(log.now(&operation).unwrap());
        let entry = Mutex::new(Arc::new(Mutex::new((History::new(), 0))));
        Arc::new(Self { disk, log, entry, acknowledged: Mutex::new(Vec::new()) })
    }

    /// A turn that inserts keys; returns whether that was acknowledged.
    fn insert(&self, keys: &[usize]) -> bool {
        let mut recorder = self.log.recorder();
        recorder.begin();
        if self.log.check_writable().is_err() {
            return false;
        }
        for &key in keys {
            let entry = self.entry.lock().unwrap().clone();
            let (history, next) = &mut *entry.lock().unwrap();
            recorder.ordered(FILTER, *next, 0, &[digest(key)]);
            history.insert(*next, digest(key).get());
            *next += 1;
        }
        if recorder.commit().is_err() {
            return false;
        }
        let mut acknowledged = self.acknowledged.lock().unwrap();
        acknowledged.extend(keys.iter().map(|&key| digest(key).get()));
        true
    }

    fn fill_disk(&self) {
        let mut state = self.disk.state();
        let from = state.calls;
        state.failing = Some(Failing { fault: Fault::Full, from, all: true });
    }

    fn make_room(&self) {
        self.disk.state().failing = None;
        self.log.put_back(self).unwrap();
        self.log.tick();
    }

    /// All threads have ended.
    fn check(&self) {
        self.make_room();
        let live = self.entry.lock().unwrap().lock().unwrap().0.clone();
        let mut acknowledged = self.acknowledged.lock().unwrap().clone();
        acknowledged.sort_unstable();
        let mut done: Vec<u64> = live.values().copied().collect();
        done.sort_unstable();
        assert_eq!(done, acknowledged, "the acknowledged changes, and nothing else");
        let found = Found::default();
        let disk = MemoryDisk::of(self.disk.files());
        Log::open(folder(&disk), options(Policy::No), &found, &|_| {}).unwrap();
        let found = found.0.into_inner().unwrap();
        assert!(found.values().eq(live.values()), "{found:?} after a restart, {live:?} before");
    }
}

impl Filters for Server {
    fn ids(&self) -> Vec<u64> {
        vec![FILTER]
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        Some(Saved { id, name: b"a".as_slice().into(), spec: b"".as_slice().into(), expires_at: 0 })
    }

    fn snapshot(&self, _: u64, _: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let entry = self.entry.lock().unwrap().clone();
        let (history, next) = entry.lock().unwrap().clone();
        Ok(Some(Box::new(Copy { history, next })))
    }

    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error> {
        assert_eq!(ids, [FILTER]);
        let found = Found::default();
        read(self.saved(FILTER).into_iter().collect(), &found)?;
        let history = found.0.into_inner().unwrap();
        let next = history.last_key_value().map_or(0, |(last, _)| last + 1);
        *self.entry.lock().unwrap() = Arc::new(Mutex::new((history, next)));
        Ok(())
    }
}

struct Copy {
    history: History,
    next: u64,
}

impl Snapshot for Copy {
    fn mark(&self) -> u64 {
        self.next
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (number, digest) in &self.history {
            out.write_all(&number.to_le_bytes())?;
            out.write_all(&digest.to_le_bytes())?;
        }
        Ok(())
    }
}

/// The state that a restart finds, and the mark of the image, below which nothing is replayed.
#[derive(Default)]
struct Found(std::sync::Mutex<History>, std::sync::Mutex<u64>);

impl Replay for Found {
    fn create(&self, _: u64, _: &[u8], _: &[u8], _: u64) -> Result<(), ReplayError> {
        Ok(())
    }

    fn image(&self, _: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError> {
        let mut bytes = Vec::new();
        image.read_to_end(&mut bytes).map_err(|error| ReplayError::Filters(Box::new(error)))?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let all = bytes.chunks(16).map(|both| (number(&both[..8]), number(&both[8..])));
        *self.0.lock().unwrap() = all.collect();
        *self.1.lock().unwrap() = mark;
        Ok(())
    }

    fn ordered(&self, _: u64, order: u64, _: u64, digests: &[Digest]) -> Result<(), ReplayError> {
        if order >= *self.1.lock().unwrap() {
            let numbered = (order..).zip(digests.iter().map(|digest| digest.get()));
            for (number, digest) in numbered {
                let twice = self.0.lock().unwrap().insert(number, digest);
                assert_eq!(twice, None, "{number} is given twice");
            }
        }
        Ok(())
    }

    fn insert(&self, _: u64, _: &[Digest], _: Answered) -> Result<(), ReplayError> {
        Ok(())
    }

    fn keys(&self, _: u64, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        Ok(())
    }

    fn load(&self, _: u64, _: u64, _: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }

    fn remove(&self, _: u64) {}
    fn rename(&self, _: u64, _: &[u8]) {}
    fn expire(&self, _: u64, _: u64) {}
    fn clear(&self) {}
}

/// One thread fills the disk and frees it again, one makes a checkpoint if there are enough
/// threads, the others insert two keys each, and retry once if they are refused.
#[test]
fn refused_keys_leave_no_trace_and_the_rest_keeps_its_order() {
    for threads in THREADS {
        model(2, move || {
            let server = Server::new();
            let ours = server.clone();
            let mut others = vec![spawn(move || {
                ours.fill_disk();
                ours.make_room();
            })];
            if threads > 3 {
                let ours = server.clone();
                // On a full disk it fails.
                others.push(spawn(move || drop(ours.log.checkpoint(&*ours))));
            }
            for writer in others.len()..threads {
                let ours = server.clone();
                others.push(spawn(move || {
                    let keys = [2 * writer, 2 * writer + 1];
                    if !ours.insert(&keys) {
                        ours.insert(&keys);
                    }
                }));
            }
            others.into_iter().for_each(|other| other.join().unwrap());
            server.check();
        });
    }
}
