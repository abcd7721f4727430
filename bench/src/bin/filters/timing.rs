//! The clock: interleaved rounds, medians, and only the filter calls timed.

use crate::contestants::{Fills, Row, Scratch, Table};
use crate::report::Record;
use mayhap_bench::keys::{BenchKey, FIRST_ABSENT, Stream, mix};
use mayhap_bench::stats::median;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The number of absent keys queried to measure a rate; fewer for many sets, since each key is
/// queried in every set.
pub(crate) const RATE_PROBES: u64 = 1 << 20;

/// The duration and the number of repetitions.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Time on the clock of one operation of one row in one round.
    pub(crate) budget: Duration,
}

/// All rounds of one table; the result has the order of its rows.
pub(crate) fn run<K: BenchKey>(mut table: Table<K>, plan: Plan) -> Vec<Record> {
    let fills = fill_rounds(&mut table, plan);
    let n = table.n;
    let ask = |stream: fn(u64, u64, u64) -> Stream| query_rounds(&table, plan, stream);
    let hits = ask(|first, n, seed| Stream::Hit { first, n, seed });
    let misses = ask(|_, _, seed| Stream::Miss { seed });
    let mixes = table.mixes.then(|| ask(|first, n, seed| Stream::Mix { first, n, seed }));
    let rates: Vec<f64> = table.rows.iter().map(|row| measured_fpr(&table, row)).collect();
    let record = |(i, row): (usize, &mut Row<K>)| Record {
        table: table.title,
        contestant: row.name,
        threads: row.threads,
        keys: K::NAME,
        n,
        target_fpp: table.target_fpp,
        refused: row.contestant.failures(),
        measured_fpr: rates[i],
        bits_per_key: row.contestant.free() as f64 * 8.0 / n as f64,
        insert_ns: fills[i].0,
        hit_ns: hits[i],
        miss_ns: misses[i],
        mix_ns: mixes.as_ref().map(|mixes| mixes[i]),
        remove_ns: fills[i].1,
    };
    table.rows.iter_mut().enumerate().map(record).collect()
}

/// The turns of a round: all rows, starting with another one each time.
fn turns(rows: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..rows).map(move |i| (i + round) % rows)
}

fn ns_per_key(time: Duration, keys: u64) -> f64 {
    time.as_secs_f64() * 1e9 / keys as f64
}

/// Fills every filter with its ids: repeatedly, or once, a part in each round. The last filters
/// stay full. For each row the times of an insertion and of a removal.
fn fill_rounds<K: BenchKey>(table: &mut Table<K>, plan: Plan) -> Vec<(f64, Option<f64>)> {
    let Table { n, fills, slice, .. } = *table;
    let rows = table.rows.len();
    let mut times = vec![(Vec::new(), Vec::new()); rows];
    for round in 0..plan.rounds {
        for i in turns(rows, round) {
            let row = &mut table.rows[i];
            if row.filled.is_some() {
                continue;
            }
            if fills == Fills::Once {
                if round == 0 {
                    row.contestant.restart(true);
                }
                let part = |round| n * round as u64 / plan.rounds as u64;
                let (from, to) = (part(round), part(round + 1));
                times[i].0.push(ns_per_key(insert_range(row, from, to, slice), to - from));
            } else {
                let (insert, remove) = refill(row, n, fills == Fills::New, slice, plan.budget);
                times[i].0.push(insert);
                times[i].1.extend(remove);
            }
        }
    }
    let figures = |(row, (inserts, removes)): (&mut Row<K>, (Vec<f64>, Vec<f64>))| {
        if let Some(insert_ns) = row.filled {
            return (insert_ns, None);
        }
        let finish = if fills == Fills::Once { ns_per_key(finish(row), n) } else { 0.0 };
        let remove = (!removes.is_empty()).then(|| median(removes));
        (median(inserts) + finish, remove)
    };
    table.rows.iter_mut().zip(times).map(figures).collect()
}

/// Fills empty filters until the budget is spent, and empties one key by key where the row measures
/// that; ns per inserted and per removed key. The last one stays full.
fn refill<K: BenchKey>(
    row: &mut Row<K>,
    n: u64,
    is_new: bool,
    slice: u64,
    budget: Duration,
) -> (f64, Option<f64>) {
    let (mut inserting, mut inserted) = (Duration::ZERO, 0);
    let (mut removing, mut removed) = (Duration::ZERO, 0);
    loop {
        row.contestant.restart(is_new);
        // The time before a window is full is not its steady state.
        let warm_up = if row.fed == 1 { 0 } else { n };
        insert_range(row, 0, warm_up, slice);
        inserting += insert_range(row, warm_up, row.fed * n, slice) + finish(row);
        inserted += row.fed * n - warm_up;
        let is_to_empty = row.can_remove && removed == 0;
        if !is_to_empty && inserting >= budget {
            break;
        }
        if row.can_remove {
            let work = Work::new(row, Stream::Sequence { start: 0 }, n, slice);
            let contestant = &mut row.contestant;
            let (time, found) = work.alone(|keys, scratch| contestant.remove(keys, scratch));
            let is_right = found == n || contestant.failures() > 0;
            assert!(is_right, "{} removed {found} of {n} members", row.name);
            (removing, removed) = (removing + time, removed + n);
        }
    }
    let remove = (removed > 0).then(|| ns_per_key(removing, removed));
    (ns_per_key(inserting, inserted), remove)
}

fn finish<K>(row: &mut Row<K>) -> Duration {
    let start = Instant::now();
    row.contestant.finish();
    start.elapsed()
}

fn insert_range<K: BenchKey>(row: &mut Row<K>, from: u64, to: u64, slice: u64) -> Duration {
    let work = Work::new(row, Stream::Sequence { start: from }, to - from, slice);
    if row.threads == 1 {
        return work.alone(|keys, scratch| row.contestant.insert(keys, scratch)).0;
    }
    let contestant = &*row.contestant;
    work.together(row.threads, |keys, scratch| contestant.insert_shared(keys, scratch)).0
}

/// The medians of all rows; `stream` is given the first member, their number and a seed.
fn query_rounds<K: BenchKey>(
    table: &Table<K>,
    plan: Plan,
    stream: fn(u64, u64, u64) -> Stream,
) -> Vec<f64> {
    let (rows, n, slice) = (&table.rows, table.n, table.slice);
    let query = |row: &Row<K>, keys: u64, seed: u64| {
        let stream = stream((row.fed - 1) * n, n, mix(seed));
        let (time, found) = query(row, stream, keys, slice);
        let is_hit = matches!(stream, Stream::Hit { .. });
        let is_right = found >= keys || row.is_floor() || row.contestant.failures() > 0;
        assert!(!is_hit || is_right, "{} lost a member", row.name);
        time
    };
    // One round to warm up, which also determines the number of keys that fit the budget.
    let keys_of = |row: &Row<K>| {
        let first = slice * row.threads as u64;
        let slices = plan.budget.as_nanos() / query(row, first, 0).as_nanos().max(1);
        first * (slices as u64).clamp(1, 10_000)
    };
    let keys: Vec<u64> = rows.iter().map(keys_of).collect();
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..plan.rounds {
        for i in turns(rows.len(), round) {
            let time = query(&rows[i], keys[i], 1 + round as u64);
            times[i].push(ns_per_key(time, keys[i]));
        }
    }
    times.into_iter().map(median).collect()
}

fn query<K: BenchKey>(row: &Row<K>, stream: Stream, keys: u64, slice: u64) -> (Duration, u64) {
    let work = Work::new(row, stream, keys, slice);
    let contains = |keys: &[K], scratch: &mut Scratch| row.contestant.contains(keys, scratch);
    if row.threads == 1 { work.alone(contains) } else { work.together(row.threads, contains) }
}

fn measured_fpr<K: BenchKey>(table: &Table<K>, row: &Row<K>) -> f64 {
    if row.is_floor() {
        return f64::NAN;
    }
    let probes = if table.sets == 1 { RATE_PROBES } else { RATE_PROBES / 16 };
    let stream = Stream::Sequence { start: 2 * FIRST_ABSENT };
    query(row, stream, probes, table.slice).1 as f64 / (probes * table.sets) as f64
}

/// Keys to process in slices.
#[derive(Clone, Copy)]
struct Work {
    stream: Stream,
    keys: u64,
    slice: u64,
    wants_digests: bool,
}

impl Work {
    fn new<K>(row: &Row<K>, stream: Stream, keys: u64, slice: u64) -> Self {
        Self { stream, keys, slice, wants_digests: row.contestant.wants_digests() }
    }

    /// Makes keys `from..to` and does all other work that is not timed.
    fn prepare<K: BenchKey>(self, from: u64, to: u64, keys: &mut Vec<K>, scratch: &mut Scratch) {
        self.stream.fill(from, to, keys);
        if self.wants_digests {
            scratch.digest(keys);
        }
    }

    /// Time of the calls, and the sum of their answers.
    fn alone<K: BenchKey>(
        self,
        mut call: impl FnMut(&[K], &mut Scratch) -> u64,
    ) -> (Duration, u64) {
        let (mut keys, mut scratch) = (Vec::new(), Scratch::default());
        let (mut time, mut answers) = (Duration::ZERO, 0u64);
        for from in (0..self.keys).step_by(self.slice as usize) {
            self.prepare(from, self.keys.min(from + self.slice), &mut keys, &mut scratch);
            let start = Instant::now();
            let answer = black_box(call(black_box(&keys), &mut scratch));
            time += start.elapsed();
            answers = answers.wrapping_add(answer);
        }
        (time, answers)
    }

    /// Same as [`Work::alone`], a share of each slice in each thread at the same time: they wait
    /// for each other before the clock starts, and the time is the mean of theirs.
    fn together<K: BenchKey>(
        self,
        threads: usize,
        call: impl Fn(&[K], &mut Scratch) -> u64 + Sync,
    ) -> (Duration, u64) {
        let arrived = AtomicUsize::new(0);
        let one_thread = |thread: u64| {
            let (mut keys, mut scratch) = (Vec::new(), Scratch::default());
            let (mut time, mut answers) = (Duration::ZERO, 0u64);
            let slice = self.slice * threads as u64;
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
/// longer than a slice, but not forever: the other one may be waiting for this very CPU.
fn meet(arrived: &AtomicUsize, total: usize) {
    arrived.fetch_add(1, Ordering::AcqRel);
    for spins in 0u64.. {
        if arrived.load(Ordering::Acquire) >= total {
            break;
        }
        if spins < 100_000 { spin_loop() } else { thread::yield_now() }
    }
}
