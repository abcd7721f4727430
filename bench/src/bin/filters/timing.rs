//! The clock: interleaved rounds, medians, and only the filter calls timed.

use crate::contestants::{Cell, DIGEST, Row, Scratch};
use mayhap::Digest;
use mayhap_bench::keys::{BenchKey, FIRST_ABSENT, Stream, mix};
use mayhap_bench::stats::median;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Keys that are made, outside of the clock, and then handed to a contestant together. They stay in
/// the second-level cache, so that what misses the cache is the filter.
const SLICE: u64 = 16 << 10;

/// Absent keys asked for to measure a rate.
pub(crate) const RATE_PROBES: u64 = 1 << 20;

/// How long and how often.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Time on the clock of one operation of one row in one round.
    pub(crate) budget: Duration,
}

/// The medians of one row, ns per key.
#[derive(Clone, Copy)]
pub(crate) struct Medians {
    pub(crate) insert: f64,
    pub(crate) hit: f64,
    pub(crate) miss: f64,
    pub(crate) mix: f64,
    pub(crate) measured_fpr: f64,
}

/// All rounds of one cell; the result has the order of `rows`.
pub(crate) fn run<K: BenchKey>(cell: Cell, rows: &mut [Row<K>], plan: Plan) -> Vec<Medians> {
    let inserts = insert_rounds(cell, rows, plan);
    let n = cell.n;
    let queries = [
        |n, seed| Stream::Hit { n, seed },
        |_, seed| Stream::Miss { seed },
        |n, seed| Stream::Mix { n, seed },
    ]
    .map(|stream: fn(u64, u64) -> Stream| query_rounds(rows, plan, |seed| stream(n, seed)));
    let [hits, misses, mixes] = &queries;
    (0..rows.len())
        .map(|i| Medians {
            insert: inserts[i],
            hit: hits[i],
            miss: misses[i],
            mix: mixes[i],
            measured_fpr: measured_fpr(&rows[i], n),
        })
        .collect()
}

/// The turns of a round: all rows, starting with another one each time.
fn turns(rows: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..rows).map(move |i| (i + round) % rows)
}

/// Fills every filter with the ids `0..n`: again and again if that is quick, or once, a part in
/// each round.
fn insert_rounds<K: BenchKey>(cell: Cell, rows: &mut [Row<K>], plan: Plan) -> Vec<f64> {
    let n = cell.n;
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..plan.rounds {
        for i in turns(rows.len(), round) {
            let row = &mut rows[i];
            if row.is_floor {
                continue;
            }
            let part = |round| n * round as u64 / plan.rounds as u64;
            times[i].push(if cell.is_filled_once() {
                let (from, to) = (part(round), part(round + 1));
                insert_range(row, from, to).as_secs_f64() * 1e9 / (to - from) as f64
            } else {
                refill(row, n, plan.budget)
            });
        }
    }
    let finish = |row: &mut Row<K>| {
        let start = Instant::now();
        row.contestant.finish();
        start.elapsed().as_secs_f64() * 1e9 / n as f64
    };
    let per_key = |row: &mut Row<K>| if cell.is_filled_once() { finish(row) } else { 0.0 };
    rows.iter_mut().zip(times).map(|(row, times)| median(times) + per_key(row)).collect()
}

/// Empties and fills until the budget is spent; ns per key.
fn refill<K: BenchKey>(row: &mut Row<K>, n: u64, budget: Duration) -> f64 {
    let (mut time, mut fills) = (Duration::ZERO, 0);
    while time < budget {
        row.contestant.clear();
        time += insert_range(row, 0, n);
        let start = Instant::now();
        row.contestant.finish();
        time += start.elapsed();
        fills += n;
    }
    time.as_secs_f64() * 1e9 / fills as f64
}

fn insert_range<K: BenchKey>(row: &mut Row<K>, from: u64, to: u64) -> Duration {
    let work = Work::new(row, Stream::Sequence { start: from }, to - from);
    if row.threads == 1 {
        return work.alone(|keys, scratch| row.contestant.insert(keys, scratch)).0;
    }
    let contestant = &*row.contestant;
    work.together(row.threads, |keys, scratch| contestant.insert_shared(keys, scratch)).0
}

fn query_rounds<K: BenchKey>(
    rows: &[Row<K>],
    plan: Plan,
    stream: impl Fn(u64) -> Stream,
) -> Vec<f64> {
    let query = |row: &Row<K>, keys: u64, seed: u64| {
        let stream = stream(mix(seed));
        let (time, found) = query(row, stream, keys);
        let is_hit = matches!(stream, Stream::Hit { .. });
        assert!(!is_hit || row.is_floor || found == keys, "{} lost a member", row.name);
        time
    };
    // One round to warm up, which also says how many keys fit the budget.
    let keys: Vec<u64> = rows
        .iter()
        .map(|row| {
            let first = SLICE * row.threads as u64;
            let slices = plan.budget.as_nanos() / query(row, first, 0).as_nanos().max(1);
            first * (slices as u64).clamp(1, 10_000)
        })
        .collect();
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..plan.rounds {
        for i in turns(rows.len(), round) {
            let time = query(&rows[i], keys[i], 1 + round as u64);
            times[i].push(time.as_secs_f64() * 1e9 / keys[i] as f64);
        }
    }
    times.into_iter().map(median).collect()
}

fn query<K: BenchKey>(row: &Row<K>, stream: Stream, keys: u64) -> (Duration, u64) {
    let work = Work::new(row, stream, keys);
    let contains = |keys: &[K], scratch: &mut Scratch| row.contestant.contains(keys, scratch);
    if row.threads == 1 { work.alone(contains) } else { work.together(row.threads, contains) }
}

fn measured_fpr<K: BenchKey>(row: &Row<K>, n: u64) -> f64 {
    if row.is_floor {
        return f64::NAN;
    }
    let stream = Stream::Sequence { start: FIRST_ABSENT + n };
    query(row, stream, RATE_PROBES).1 as f64 / RATE_PROBES as f64
}

/// Keys to go through in slices.
#[derive(Clone, Copy)]
struct Work {
    stream: Stream,
    keys: u64,
    wants_digests: bool,
}

impl Work {
    fn new<K>(row: &Row<K>, stream: Stream, keys: u64) -> Self {
        Self { stream, keys, wants_digests: row.contestant.wants_digests() }
    }

    /// Makes keys `from..to` and what else is not timed.
    fn prepare<K: BenchKey>(self, from: u64, to: u64, keys: &mut Vec<K>, scratch: &mut Scratch) {
        self.stream.fill(from, to, keys);
        if self.wants_digests {
            scratch.digests.resize(keys.len(), Digest::default());
            DIGEST.digest_batch(keys, &mut scratch.digests);
        }
    }

    /// Time of the calls, and the sum of their answers.
    fn alone<K: BenchKey>(
        self,
        mut call: impl FnMut(&[K], &mut Scratch) -> u64,
    ) -> (Duration, u64) {
        let (mut keys, mut scratch) = (Vec::new(), Scratch::default());
        let (mut time, mut answers) = (Duration::ZERO, 0u64);
        for from in (0..self.keys).step_by(SLICE as usize) {
            self.prepare(from, self.keys.min(from + SLICE), &mut keys, &mut scratch);
            let start = Instant::now();
            let answer = black_box(call(black_box(&keys), &mut scratch));
            time += start.elapsed();
            answers = answers.wrapping_add(answer);
        }
        (time, answers)
    }

    /// As [`Work::alone`], a share of each slice in each thread at the same time: they wait for
    /// each other before the clock starts, and the time is the mean of theirs.
    fn together<K: BenchKey>(
        self,
        threads: usize,
        call: impl Fn(&[K], &mut Scratch) -> u64 + Sync,
    ) -> (Duration, u64) {
        let arrived = AtomicUsize::new(0);
        let one_thread = |thread: u64| {
            let (mut keys, mut scratch) = (Vec::new(), Scratch::default());
            let (mut time, mut answers) = (Duration::ZERO, 0u64);
            let slice = SLICE * threads as u64;
            for (i, from) in (0..self.keys).step_by(slice as usize).enumerate() {
                let len = slice.min(self.keys - from);
                let cut = |part: u64| from + len * part / threads as u64;
                self.prepare(cut(thread), cut(thread + 1), &mut keys, &mut scratch);
                meet(&arrived, threads * (i + 1));
                let start = Instant::now();
                let answer = black_box(call(black_box(&keys), &mut scratch));
                time += start.elapsed();
                answers = answers.wrapping_add(answer);
            }
            (time, answers)
        };
        let results: Vec<(Duration, u64)> = thread::scope(|scope| {
            let one_thread = &one_thread;
            let spawn = |thread| scope.spawn(move || one_thread(thread));
            let threads: Vec<_> = (0..threads as u64).map(spawn).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let time: Duration = results.iter().map(|(time, _)| *time).sum();
        (time / threads as u32, results.iter().map(|(_, answers)| answers).sum())
    }
}

/// Waits until `total` arrivals have been counted. Spins, since waking a sleeping thread takes
/// longer than a slice, but not for ever: the other one may be waiting for this very CPU.
fn meet(arrived: &AtomicUsize, total: usize) {
    arrived.fetch_add(1, Ordering::AcqRel);
    for spins in 0u64.. {
        if arrived.load(Ordering::Acquire) >= total {
            break;
        }
        if spins < 100_000 { spin_loop() } else { thread::yield_now() }
    }
}
