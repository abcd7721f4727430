//! The order in which the server sets bits, writes its log and makes checkpoints: a model over the
//! real filter and the real count of what is not safe.
//!
//! | here | there, in `mayhap-server` |
//! |---|---|
//! | [`Server::insert`] | `keyspace/insert.rs`, `Entry::insert_digest`; then `Recorder::commit` |
//! | `announced` | `keyspace/announced.rs` itself |
//! | [`Server::commit`] | `durable/log.rs`, `append_for`: written and settled under one lock |
//! | [`Server::checkpoint`] | `durable/checkpoint.rs`: `begin_checkpoint`, `save`, `end_checkpoint` |
//! | [`Server::crash`] | what recovery finds: the manifest's image, the segments from its first on |

use super::digest;
use crate::checker::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, atomic, spawn};
use mayhap::{
    BloomFilter, Build, ConcurrentBloomFilter, Digest, DigestFunction, FilterParams, Layout,
};

#[allow(dead_code, reason = "the server uses all of it")]
#[path = "../../../mayhap-server/src/keyspace/announced.rs"]
mod announced;

use announced::{Announced, others_are_unsafe};

/// A mistake that a checker has to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    None,
    /// The filter is copied before the log turns to a new segment.
    CopiedBeforeTurning,
    /// Segments go before the manifest is written.
    DroppedEarly,
    /// Insertions are counted once their bits are set.
    CountedLate,
    /// Insertions count as safe before they are written.
    SettledEarly,
}

/// What is left after a crash.
#[derive(Default)]
struct Disk {
    segments: Vec<Vec<Digest>>,
    image: Option<BloomFilter>,
    first_segment: usize,
}

struct Server {
    filter: ConcurrentBloomFilter,
    unsafe_count: AtomicU64,
    disk: Mutex<Disk>,
    /// How often each key was acknowledged.
    acknowledged: Vec<AtomicUsize>,
    plant: Plant,
}

impl Server {
    fn new(keys: usize, plant: Plant) -> Arc<Self> {
        // Two bits a key in one word.
        let params = FilterParams::new(Layout::Standard, 64, 2, 10, 0.1).unwrap();
        let filter = BloomFilter::empty(params, DigestFunction::default()).unwrap();
        Arc::new(Self {
            filter: filter.into_concurrent(),
            unsafe_count: AtomicU64::new(0),
            disk: Mutex::new(Disk { segments: vec![Vec::new()], ..Disk::default() }),
            acknowledged: (0..keys).map(|_| AtomicUsize::new(0)).collect(),
            plant,
        })
    }

    fn insert(&self, key: usize) {
        if let Some(digest) = self.set_bits(digest(key)) {
            self.commit(digest);
        }
        self.acknowledged[key].fetch_add(1, Ordering::Release);
    }

    /// The digest, if it is to be written.
    fn set_bits(&self, digest: Digest) -> Option<Digest> {
        if self.plant == Plant::CountedLate {
            let new = self.filter.insert_digest(digest);
            let mut announced = Announced::new(&self.unsafe_count, 1);
            let record = new || announced.others_are_unsafe();
            return record.then(|| {
                announced.hand_over(1);
                digest
            });
        }
        if self.filter.contains_digest(digest) && !others_are_unsafe(&self.unsafe_count, 0) {
            return None;
        }
        let mut announced = Announced::new(&self.unsafe_count, 1);
        let new = self.filter.insert_digest(digest);
        (new || announced.others_are_unsafe()).then(|| {
            announced.hand_over(1);
            digest
        })
    }

    fn commit(&self, digest: Digest) {
        let settle = || {
            self.unsafe_count.fetch_sub(1, Ordering::Release);
        };
        if self.plant == Plant::SettledEarly {
            settle();
        }
        let mut disk = self.disk.lock().unwrap();
        disk.segments.last_mut().unwrap().push(digest);
        if self.plant != Plant::SettledEarly {
            settle();
        }
    }

    fn checkpoint(&self) {
        let copy = || self.filter.snapshot().unwrap();
        let early = (self.plant == Plant::CopiedBeforeTurning).then(copy);
        let first = {
            let mut disk = self.disk.lock().unwrap();
            disk.segments.push(Vec::new());
            disk.segments.len() - 1
        };
        let drop_segments = || {
            let mut disk = self.disk.lock().unwrap();
            disk.segments[..first].iter_mut().for_each(Vec::clear);
        };
        if self.plant == Plant::DroppedEarly {
            drop_segments();
        }
        let image = early.unwrap_or_else(copy);
        {
            let mut disk = self.disk.lock().unwrap();
            (disk.image, disk.first_segment) = (Some(image), first);
        }
        drop_segments();
    }

    /// The process dies at this moment: all that was acknowledged is there.
    fn crash(&self) {
        let acknowledged = |count: &AtomicUsize| count.load(Ordering::Acquire) > 0;
        let promised: Vec<bool> = self.acknowledged.iter().map(acknowledged).collect();
        let disk = self.disk.lock().unwrap();
        let replayed = || disk.segments[disk.first_segment..].iter().flatten();
        for (key, _) in promised.iter().enumerate().filter(|(_, promised)| **promised) {
            let saved = disk.image.as_ref().is_some_and(|image| image.contains_digest(digest(key)));
            assert!(saved || replayed().any(|&found| found == digest(key)), "key {key} is lost");
        }
    }
}

/// `threads` of them: one makes a checkpoint, the others insert, and the process dies at any moment.
/// What was acknowledged is in the image or in the log after it.
pub(crate) fn what_is_acknowledged_during_a_checkpoint_is_kept(threads: usize, plant: Plant) {
    let server = Server::new(threads - 2, plant);
    let ours = server.clone();
    let mut others = vec![spawn(move || ours.checkpoint())];
    others.extend((0..threads - 2).map(|key| {
        let server = server.clone();
        spawn(move || server.insert(key))
    }));
    server.crash();
    others.into_iter().for_each(|other| other.join().unwrap());
    server.crash();
    assert_eq!(server.unsafe_count.load(Ordering::Acquire), 0);
}

/// All but one insert the same key, and the process dies at any moment: who is told "not new" can
/// rely on the key as much as who put it in.
pub(crate) fn what_is_acknowledged_as_not_new_is_kept(threads: usize, plant: Plant) {
    let server = Server::new(1, plant);
    let insert = || {
        let server = server.clone();
        move || server.insert(0)
    };
    let others: Vec<_> = (1..threads).map(|_| spawn(insert())).collect();
    server.crash();
    others.into_iter().for_each(|other| other.join().unwrap());
    server.crash();
    assert_eq!(server.unsafe_count.load(Ordering::Acquire), 0);
}

/// The same with checkpoints, one after the other, in a thread of their own.
pub(crate) fn checkpoints_and_repeated_keys_lose_nothing(threads: usize, plant: Plant) {
    let server = Server::new(2, plant);
    let ours = server.clone();
    let mut others = vec![spawn(move || {
        ours.checkpoint();
        ours.checkpoint();
    })];
    others.extend((0..threads - 2).map(|i| {
        let server = server.clone();
        spawn(move || {
            server.insert(i % 2);
            server.insert((i + 1) % 2);
        })
    }));
    server.crash();
    others.into_iter().for_each(|other| other.join().unwrap());
    server.crash();
}
