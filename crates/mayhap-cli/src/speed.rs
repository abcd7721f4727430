//! The speed and the rate of a filter, measured on this machine.
//!
//! Keys are the numbers 0, 1, 2, … as the filter digests them (8 bytes); absent ones count from
//! 2^63. Each operation runs on chunks of digests made beforehand, until its share of the time is
//! up; the median chunk counts, so that a moment in which the machine did something else does not.

use crate::error::Error;
use mayhap::set::Repeats;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_sets::{KeySet, OwnSet};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Digests of a batch call.
pub const BATCH: usize = 1024;

/// Digests that are made, timed, and remade: 512 KiB, so that they are in the cache.
const CHUNK: usize = 64 * BATCH;

/// The minimum number of absent keys that are queried, whatever the time: the rate is counted on
/// them.
const MIN_PROBES: u64 = 1 << 20;

/// The minimum number of chunks of an operation.
const MIN_CHUNKS: usize = 3;

/// The number of the first absent key.
const ABSENT: u64 = 1 << 63;

/// Nanoseconds per key; `None` where the kind has no such call.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Nanoseconds {
    /// One call per key.
    pub single: Option<f64>,
    /// In batches of [`BATCH`].
    pub batch: Option<f64>,
}

/// All that was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// Making digests of 8 bytes: the cost added to every operation.
    pub digest: Nanoseconds,
    /// Insertions of new keys.
    pub insert: Nanoseconds,
    /// Questions about absent keys.
    pub miss: Nanoseconds,
    /// Queries of present keys.
    pub hit: Nanoseconds,
    /// Keys inserted here, to be found.
    pub inserted_keys: u64,
    /// Absent keys queried.
    pub absent_keys: u64,
    /// The absent keys answered "maybe".
    pub false_positives: u64,
    /// Their share.
    pub measured_fpp: f64,
    /// The rate predicted for the queried filter, from the bits where the kind has them.
    pub estimated_fpp: f64,
}

/// The measurements besides queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserts {
    /// It is empty: it is filled with this number of keys, then queried.
    First(u64),
    /// It is queried as it is, then refilled (a plain one, and one that refuses keys when it is
    /// full) or filled further with this number of keys.
    Then(u64),
    /// It takes no keys.
    Never,
}

/// Measures for about this time; a third of it is for insertions, which end early if that is not
/// enough for all keys.
///
/// # Errors
///
/// [`Error::Filter`] where the kind takes no more keys.
pub fn measure(set: &mut OwnSet, inserts: Inserts, time: Duration) -> Result<Measured, Error> {
    let mut bench = Bench { function: *set.function(), digests: Vec::new(), share: time / 9 };
    let digest = bench.digest();
    let (mut insert, mut inserted) = (Nanoseconds::default(), 0);
    if let Inserts::First(items) = inserts {
        (insert, inserted) = bench.insert(set, items)?;
    }
    // Now, so that the rate is that of the filter as it was given.
    let estimated_fpp = set.state().estimated_fpp;
    let (miss, absent_keys, false_positives) = bench.miss(set)?;
    if let Inserts::Then(items) = inserts {
        (insert, inserted) = bench.insert(set, items)?;
    }
    let hit = if inserted > 0 { bench.hit(set, inserted)? } else { Nanoseconds::default() };
    Ok(Measured {
        digest,
        insert,
        miss,
        hit,
        inserted_keys: inserted,
        absent_keys,
        false_positives,
        measured_fpp: false_positives as f64 / absent_keys as f64,
        estimated_fpp,
    })
}

/// The shared data of all operations.
struct Bench {
    function: DigestFunction,
    digests: Vec<Digest>,
    /// The time for one operation.
    share: Duration,
}

/// Chunks that were timed, by kind of call.
#[derive(Default)]
struct Times {
    single: Vec<f64>,
    batch: Vec<f64>,
}

impl Times {
    /// Times a chunk of `keys` keys.
    fn time<T>(times: &mut Vec<f64>, keys: usize, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        times.push(start.elapsed().as_secs_f64() * 1e9 / keys as f64);
        result
    }

    fn median(mut self) -> Nanoseconds {
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied()
        };
        Nanoseconds { single: median(&mut self.single), batch: median(&mut self.batch) }
    }
}

impl Bench {
    /// Makes the digests of these keys.
    fn make(&mut self, keys: impl Iterator<Item = u64>) {
        self.digests.clear();
        self.digests.extend(keys.map(|key| self.function.digest(&key)));
    }

    fn digest(&mut self) -> Nanoseconds {
        let keys: Vec<u64> = (0..CHUNK as u64).collect();
        let mut digests = vec![Digest::new(0); CHUNK];
        let (mut times, start) = (Times::default(), Instant::now());
        while times.batch.len() < MIN_CHUNKS || start.elapsed() < self.share {
            Times::time(&mut times.single, CHUNK, || {
                for key in &keys {
                    black_box(self.function.digest(black_box(key)));
                }
            });
            Times::time(&mut times.batch, CHUNK, || {
                for (keys, digests) in keys.chunks(BATCH).zip(digests.chunks_mut(BATCH)) {
                    self.function.digest_batch(black_box(keys), digests);
                }
                black_box(&mut digests);
            });
        }
        times.median()
    }

    /// Inserts the keys from 0 to `items`, and into a plain filter, emptied, again while there is
    /// time; returns the number inside.
    fn insert(&mut self, set: &mut OwnSet, items: u64) -> Result<(Nanoseconds, u64), Error> {
        if let Some(filter) = set.plain_mut() {
            // It also touches all memory, so that no insertion waits for a page of it.
            filter.clear();
        } else if set.numbers(Repeats::Renew).is_hard {
            // It refuses keys beyond those that it was made for.
            set.clear()?;
        }
        let (mut times, start) = (Times::default(), Instant::now());
        let (mut next, mut passes) = (0, 0);
        let mut new = Bitmap::new();
        for chunk in 0u64.. {
            let keys = (items - next).min(CHUNK as u64);
            self.make(next..next + keys);
            next += keys;
            match set.plain_mut().filter(|_| chunk % 2 == 1) {
                Some(filter) => Times::time(&mut times.single, keys as usize, || {
                    for &digest in &self.digests {
                        black_box(filter.insert_digest(digest));
                    }
                }),
                None => Times::time(&mut times.batch, keys as usize, || {
                    let mut batches = self.digests.chunks(BATCH);
                    batches.try_for_each(|digests| {
                        set.insert_into(digests.into(), Repeats::Renew, &mut new)
                    })
                })?,
            }
            let (is_full, is_late) = (next == items, start.elapsed() >= 3 * self.share);
            let is_timed = times.single.len() >= MIN_CHUNKS || set.plain_mut().is_none();
            // A pass that fitted in the time once is completed: the filter is full.
            if is_timed && is_late && (is_full || passes == 0) {
                break;
            }
            if is_full {
                let Some(filter) = set.plain_mut() else { break };
                filter.clear();
                (next, passes) = (0, passes + 1);
            }
        }
        Ok((times.median(), next))
    }

    /// Queries absent keys; also returns how many they were and how many of them were found.
    fn miss(&mut self, set: &mut OwnSet) -> Result<(Nanoseconds, u64, u64), Error> {
        let mut times = Times::default();
        let (mut queried, mut found) = (0, 0);
        let start = Instant::now();
        while queried < MIN_PROBES || start.elapsed() < 2 * self.share {
            self.make((ABSENT + queried)..(ABSENT + queried + CHUNK as u64));
            let batch = self.query_batch(set, &mut times)?;
            if set.plain_mut().is_some() {
                // Others, whose lines are not in the cache yet; they are not counted.
                let from = ABSENT + ABSENT / 2 + queried;
                self.make(from..from + CHUNK as u64);
                self.query_single(set, &mut times);
            }
            queried += CHUNK as u64;
            found += batch;
        }
        Ok((times.median(), queried, found))
    }

    /// Queries present keys, in a scattered order.
    fn hit(&mut self, set: &mut OwnSet, inserted: u64) -> Result<Nanoseconds, Error> {
        let mut times = Times::default();
        let (start, mut at) = (Instant::now(), 0u64);
        while times.batch.len() < MIN_CHUNKS || start.elapsed() < 2 * self.share {
            for is_single in [false, true] {
                self.make((at..at + CHUNK as u64).map(|i| scattered(i, inserted)));
                at += CHUNK as u64;
                if !is_single {
                    self.query_batch(set, &mut times)?;
                } else if set.plain_mut().is_some() {
                    self.query_single(set, &mut times);
                }
            }
        }
        Ok(times.median())
    }

    fn query_batch(&self, set: &mut OwnSet, times: &mut Times) -> Result<u64, Error> {
        let mut bitmap = Bitmap::new();
        Times::time(&mut times.batch, self.digests.len(), || {
            let mut batches = self.digests.chunks(BATCH);
            batches.try_fold(0, |found, digests| {
                set.contains_into(digests.into(), &mut bitmap)?;
                Ok(found + bitmap.count_ones() as u64)
            })
        })
    }

    fn query_single(&self, set: &mut OwnSet, times: &mut Times) {
        if let Some(filter) = set.plain_mut() {
            Times::time(&mut times.single, self.digests.len(), || {
                for &digest in &self.digests {
                    black_box(filter.contains_digest(digest));
                }
            });
        }
    }
}

/// The key of step `i` among `count`: by an odd multiple of the golden ratio's bits, so that every
/// part of the keys has its turn.
fn scattered(i: u64, count: u64) -> u64 {
    let spread = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((u128::from(spread) * u128::from(count)) >> 64) as u64
}
