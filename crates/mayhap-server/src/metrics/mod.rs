//! The server's counters.
//!
//! A thread counts in plain numbers ([`Counts`], in its [`crate::Turn`]) and adds them, once a
//! turn, to a lane of its own ([`Lane`]), which no other thread writes to. A reader adds up the
//! lanes. `process.rs` has statistics of the process from the system, `page.rs` writes all of it in
//! the format of Prometheus.

mod page;
mod process;

pub use page::page;
pub use process::Process;

use crate::lock::lock;
use mayhap_engine::{Count, Times, Took};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The counters; connections and bytes are in [`crate::net::Clients`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Commands that query filters.
    Reads,
    /// Commands that change filters.
    Writes,
    /// All other commands.
    Others,
    /// Commands that were answered with an error.
    Errors,
    /// Keys that were looked up and may be in their filter.
    ItemsFound,
    /// Keys that were looked up and surely are not.
    ItemsAbsent,
    /// Keys in requests to add them.
    ItemsAdded,
    /// Logins that failed.
    LoginsFailed,
    /// HTTP requests.
    HttpRequests,
    /// HTTP requests that were answered with 4xx or 5xx.
    HttpErrors,
    /// HTTP connections that were refused: too many.
    HttpRefused,
}

const COUNTERS: usize = Counter::HttpRefused as usize + 1;

/// Counts of a thread that are not yet in its lane.
#[derive(Debug, Clone, Default)]
pub struct Counts([u64; COUNTERS]);

impl Counts {
    /// Adds `n`.
    #[inline]
    pub const fn add(&mut self, counter: Counter, n: u64) {
        let at = counter as usize;
        self.0[at] = self.0[at].wrapping_add(n);
    }

    /// Counts keys that were looked up, `found` of which may be present.
    ///
    /// Both answers are counted: the difference of two counters that other threads write would go
    /// up and down.
    #[inline]
    pub const fn checked(&mut self, items: usize, found: usize) {
        self.add(Counter::ItemsFound, found as u64);
        self.add(Counter::ItemsAbsent, (items - found) as u64);
    }
}

/// Counters of one thread. Two cache lines apart from others, as processors fetch in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Lane {
    counts: [Count; COUNTERS],
    times: Times,
}

impl Lane {
    /// Adds these counts, and resets them.
    pub fn take(&self, counts: &mut Counts) {
        for (sum, count) in self.counts.iter().zip(&mut counts.0) {
            if *count != 0 {
                sum.add(std::mem::take(count));
            }
        }
    }

    /// Adds `n`.
    pub fn add(&self, counter: Counter, n: u64) {
        self.counts[counter as usize].add(n);
    }

    /// Records the duration of a turn or a request.
    pub fn took(&self, time: Duration) {
        self.times.took(time);
    }
}

/// The server's counters.
#[derive(Debug)]
pub struct Metrics {
    lanes: Box<[Lane]>,
    /// Requests that were executed outside of the loops.
    pub jobs: Times,
    claimed: Count,
    started: Instant,
    sampled: Mutex<Sample>,
}

/// The number of requests at a time, and the rate before that.
#[derive(Debug)]
struct Sample {
    at: Instant,
    requests: u64,
    rate: u64,
}

impl Metrics {
    /// With lanes for `loops` loop threads, and one for HTTP.
    pub fn new(loops: usize) -> Self {
        let lanes = (0..=loops).map(|_| Lane::default()).collect();
        let (claimed, jobs) = (Count::default(), Times::default());
        let started = Instant::now();
        let sampled = Mutex::new(Sample { at: started, requests: 0, rate: 0 });
        Self { lanes, jobs, claimed, started, sampled }
    }

    /// The number of a lane for a loop thread of its own.
    pub fn claim(&self) -> usize {
        // If there are more loops than lanes, some share; the last lane stays HTTP's.
        (self.claimed.add(1) as usize - 1) % (self.lanes.len() - 1).max(1)
    }

    /// The lane of a loop thread, from 0.
    pub fn lane(&self, index: usize) -> &Lane {
        // Any lane counts correctly; two threads on one only slow each other down.
        &self.lanes[index % self.lanes.len()]
    }

    /// The lane of HTTP.
    pub fn http(&self) -> &Lane {
        self.lane(self.lanes.len() - 1)
    }

    /// The total of a counter.
    pub fn total(&self, counter: Counter) -> u64 {
        let at = counter as usize;
        self.lanes.iter().map(|lane| lane.counts[at].get()).sum()
    }

    /// The time since the start of the server.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Requests per second since this was last called, given `requests` until now; the previous
    /// answer if that was less than a second ago.
    pub fn rate_of(&self, requests: u64) -> u64 {
        let mut last = lock(&self.sampled);
        let time = last.at.elapsed();
        if time >= Duration::from_secs(1) {
            let rate = requests.saturating_sub(last.requests) as f64 / time.as_secs_f64();
            *last = Sample { at: Instant::now(), requests, rate: rate as u64 };
        }
        last.rate
    }

    /// Turns by class of time, and their total time; of loops, or of HTTP.
    fn times(&self, of_http: bool) -> Took {
        let (loops, http) = self.lanes.split_at(self.lanes.len() - 1);
        let mut sum = Took::default();
        (if of_http { http } else { loops }).iter().for_each(|lane| lane.times.add_to(&mut sum));
        sum
    }
}
