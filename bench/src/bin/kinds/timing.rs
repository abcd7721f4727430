//! The clock: interleaved rounds, medians, and only the filter calls timed.

use crate::contestants::{Contestant, Row, Scratch, Table};
use crate::report::Record;
use mayhap_bench::keys::{FIRST_ABSENT, mix};
use mayhap_bench::stats::median;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Keys that are made, outside of the clock, and then handed to a contestant together.
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

/// The turns of a round: all rows, starting with another one each time.
pub(crate) fn turns(rows: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..rows).map(move |i| (i + round) % rows)
}

/// Random number `i` of a stream, below `n`.
pub(crate) fn random_below(n: u64, seed: u64, i: u64) -> u64 {
    ((u128::from(mix(mix(seed) ^ i)) * u128::from(n)) >> 64) as u64
}

/// Times `call` on the keys with these ids, slice by slice; also the sum of its answers.
fn clock(
    ids: impl Iterator<Item = u64>,
    mut call: impl FnMut(&[u64], &mut Scratch) -> u64,
) -> (Duration, u64) {
    let (mut ids, mut keys) = (ids.peekable(), Vec::new());
    let (mut time, mut answers, mut scratch) = (Duration::ZERO, 0, Scratch::default());
    while ids.peek().is_some() {
        keys.clear();
        keys.extend(ids.by_ref().take(SLICE as usize).map(mix));
        let start = Instant::now();
        answers += black_box(call(black_box(&keys), &mut scratch));
        time += start.elapsed();
    }
    (time, answers)
}

/// The times of one row, ns per key, one for each round.
#[derive(Default)]
struct Times {
    insert: Vec<f64>,
    remove: Vec<f64>,
    hit: Vec<f64>,
    miss: Vec<f64>,
}

/// All rounds of one table.
pub(crate) fn run(table: &mut Table, plan: Plan) -> Vec<Record> {
    let n = table.n;
    let mut times: Vec<Times> = table.rows.iter().map(|_| Times::default()).collect();
    for round in 0..plan.rounds {
        for i in turns(table.rows.len(), round) {
            let row = &mut table.rows[i];
            refill(row, n, plan.budget, &mut times[i]);
            let first = (row.fed - 1) * n;
            let seed = 1 + round as u64;
            let member = |i| first + random_below(n, seed, i);
            let hit = query(row, plan.budget, true, member);
            times[i].hit.push(hit);
            let absent = |i| FIRST_ABSENT + random_below(FIRST_ABSENT, seed, i);
            let miss = query(row, plan.budget, false, absent);
            times[i].miss.push(miss);
        }
    }
    let (title, target_fpp) = (table.title, table.target_fpp);
    table
        .rows
        .iter_mut()
        .zip(times)
        .map(|(row, times)| {
            let ids = 2 * FIRST_ABSENT..2 * FIRST_ABSENT + RATE_PROBES;
            let maybe = clock(ids, |keys, scratch| row.contestant.contains(keys, scratch)).1;
            Record {
                table: title,
                contestant: row.name.to_owned(),
                n,
                target_fpp,
                refused: row.contestant.failures(),
                measured_fpr: maybe as f64 / RATE_PROBES as f64,
                bits_per_key: row.contestant.free() as f64 * 8.0 / n as f64,
                insert_ns: median(times.insert),
                hit_ns: median(times.hit),
                miss_ns: median(times.miss),
                remove_ns: Some(median(times.remove)).filter(|ns| !ns.is_nan()),
            }
        })
        .collect()
}

/// Fills new filters until the budget is spent, and empties them key by key where that is a row's
/// trade. The last one stays full.
fn refill(row: &mut Row, n: u64, budget: Duration, times: &mut Times) {
    let (mut inserting, mut inserted) = (Duration::ZERO, 0);
    let (mut removing, mut removed) = (Duration::ZERO, 0);
    loop {
        // What comes before the window is full is not its steady state.
        let warm_up = if row.fed == 1 { 0 } else { n };
        fill(&mut *row.contestant, 0, warm_up);
        inserting += fill(&mut *row.contestant, warm_up, row.fed * n);
        inserted += row.fed * n - warm_up;
        if row.can_remove && removed == 0 || inserting < budget {
            if row.can_remove {
                let contestant = &mut *row.contestant;
                let (time, found) = clock(0..n, |keys, scratch| contestant.remove(keys, scratch));
                let is_right = found == n || contestant.failures() > 0;
                assert!(is_right, "{} removed {found} of {n} members", row.name);
                (removing, removed) = (removing + time, removed + n);
            }
            continue;
        }
        break;
    }
    times.insert.push(inserting.as_secs_f64() * 1e9 / inserted as f64);
    if removed > 0 {
        times.remove.push(removing.as_secs_f64() * 1e9 / removed as f64);
    }
}

/// Inserts ids `from..to`, into a new filter if it starts at 0.
fn fill(contestant: &mut dyn Contestant, from: u64, to: u64) -> Duration {
    if from == to {
        return Duration::ZERO;
    }
    if from == 0 {
        contestant.renew();
    }
    let (time, _) = clock(from..to, |keys, scratch| contestant.insert(keys, scratch));
    let start = Instant::now();
    contestant.finish();
    time + start.elapsed()
}

/// Asks until the budget is spent; ns per key.
fn query(row: &Row, budget: Duration, is_hit: bool, id: impl Fn(u64) -> u64) -> f64 {
    let (mut time, mut asked) = (Duration::ZERO, 0);
    while time < budget {
        let ids = (asked..asked + SLICE).map(&id);
        let (slice, found) = clock(ids, |keys, scratch| row.contestant.contains(keys, scratch));
        let is_right = !is_hit || found == SLICE || row.contestant.failures() > 0;
        assert!(is_right, "{} lost a member", row.name);
        (time, asked) = (time + slice, asked + SLICE);
    }
    time.as_secs_f64() * 1e9 / asked as f64
}
