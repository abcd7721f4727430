//! What the server counts.
//!
//! A thread counts in plain numbers ([`Counts`], in its [`crate::Turn`]) and gives them, once a
//! turn, to a lane of its own ([`Lane`]), which no other thread writes to. Whoever asks adds the
//! lanes up. `times.rs` is how long things took, `process.rs` what
//! the system says of the process, `page.rs` writes all of it as Prometheus reads it.

#[cfg(not(any(loom, shuttle)))]
mod page;
mod process;
mod times;

#[cfg(not(any(loom, shuttle)))]
pub use page::page;
pub use process::Process;
pub use times::{Times, Took};

use crate::count::Count;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is counted here; connections and bytes are in [`crate::net::Clients`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Commands that ask filters.
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
    /// Keys that were given to be added.
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

/// What a thread has counted and not yet given away.
#[derive(Debug, Clone, Default)]
pub struct Counts([u64; COUNTERS]);

impl Counts {
    /// Counts `n` more.
    #[inline]
    pub const fn add(&mut self, counter: Counter, n: u64) {
        let at = counter as usize;
        self.0[at] = self.0[at].wrapping_add(n);
    }

    /// Counts keys that were looked up, `found` of which may be there.
    ///
    /// Both answers are counted: the difference of two counters that other threads write would go
    /// up and down.
    #[inline]
    pub const fn checked(&mut self, items: usize, found: usize) {
        self.add(Counter::ItemsFound, found as u64);
        self.add(Counter::ItemsAbsent, (items - found) as u64);
    }
}

/// What one thread has counted. Two cache lines apart from others, as processors fetch in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Lane {
    counts: [Count; COUNTERS],
    times: Times,
}

impl Lane {
    /// Takes over what was counted.
    pub fn take(&self, counts: &mut Counts) {
        for (sum, count) in self.counts.iter().zip(&mut counts.0) {
            if *count != 0 {
                sum.add(std::mem::take(count));
            }
        }
    }

    /// Counts `n` more.
    pub fn add(&self, counter: Counter, n: u64) {
        self.counts[counter as usize].add(n);
    }

    /// One more turn, or request, that took so long.
    pub fn took(&self, time: Duration) {
        self.times.took(time);
    }
}

/// What the server counts.
#[derive(Debug)]
pub struct Metrics {
    lanes: Box<[Lane]>,
    /// Requests that were carried out beside the loops.
    pub jobs: Times,
    claimed: Count,
    started: Instant,
    sampled: Mutex<Sample>,
}

/// How many requests there were, and how many a second before that.
#[derive(Debug)]
struct Sample {
    at: Instant,
    requests: u64,
    rate: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Metrics {
    /// With lanes for so many loop threads, and one for HTTP.
    pub fn new(loops: usize) -> Self {
        let lanes = (0..=loops).map(|_| Lane::default()).collect();
        let (claimed, jobs) = (Count::default(), Times::default());
        let started = Instant::now();
        let sampled = Mutex::new(Sample { at: started, requests: 0, rate: 0 });
        Self { lanes, jobs, claimed, started, sampled }
    }

    /// The number of a lane for a loop thread of its own.
    pub fn claim(&self) -> usize {
        // Beyond the loops there were to be, some share; the last one stays HTTP's.
        (self.claimed.add(1) as usize - 1) % (self.lanes.len() - 1).max(1)
    }

    /// The lane of a loop thread, from 0.
    pub fn lane(&self, index: usize) -> &Lane {
        // Any lane counts right; two threads on one only wait for each other.
        &self.lanes[index % self.lanes.len()]
    }

    /// The lane of HTTP.
    pub fn http(&self) -> &Lane {
        self.lane(self.lanes.len() - 1)
    }

    /// All that was counted of this.
    pub fn total(&self, counter: Counter) -> u64 {
        let at = counter as usize;
        self.lanes.iter().map(|lane| lane.counts[at].get()).sum()
    }

    /// How long the server has been there.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Requests a second since this was last called, of `requests` until now; the last answer again
    /// within a second.
    pub fn rate_of(&self, requests: u64) -> u64 {
        let mut last = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let time = last.at.elapsed();
        if time >= Duration::from_secs(1) {
            let rate = requests.saturating_sub(last.requests) as f64 / time.as_secs_f64();
            *last = Sample { at: Instant::now(), requests, rate: rate as u64 };
        }
        last.rate
    }

    /// Turns by class of time, and their time together; of loops, or of HTTP.
    fn times(&self, of_http: bool) -> Took {
        let (loops, http) = self.lanes.split_at(self.lanes.len() - 1);
        let mut sum = Took::default();
        (if of_http { http } else { loops }).iter().for_each(|lane| lane.times.add_to(&mut sum));
        sum
    }
}
