//! The clock: interleaved rounds, medians, and only the filter calls timed.

use crate::contestants::{Cell, Contestant, Row, Scratch};
use crate::keys::{BenchKey, FIRST_ABSENT, Stream, mix};
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
        &(|seed| Stream::Hit { n, seed }) as &dyn Fn(u64) -> Stream,
        &|seed| Stream::Miss { seed },
        &|seed| Stream::Mix { n, seed },
    ]
    .map(|stream| query_rounds(rows, plan, stream));
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

/// Fills every filter with the ids `0..n`: again and again if that is quick, or once, a part in each
/// round.
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
    let work = Work { stream: Stream::Sequence { start: from }, keys: to - from };
    if row.threads == 1 {
        let contestant = &mut *row.contestant;
        return work.alone(contestant, |contestant, keys, scratch| contestant.insert(keys, scratch)).0;
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
        let (time, found) = query(row, Work { stream, keys });
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

fn query<K: BenchKey>(row: &Row<K>, work: Work) -> (Duration, u64) {
    let contestant = &*row.contestant;
    if row.threads == 1 {
        return work.alone(&mut { contestant }, |c, keys, scratch| c.contains(keys, scratch));
    }
    work.together(row.threads, |keys, scratch| contestant.contains(keys, scratch))
}

fn measured_fpr<K: BenchKey>(row: &Row<K>, n: u64) -> f64 {
    if row.is_floor {
        return f64::NAN;
    }
    let stream = Stream::Sequence { start: FIRST_ABSENT + n };
    query(row, Work { stream, keys: RATE_PROBES }).1 as f64 / RATE_PROBES as f64
}
