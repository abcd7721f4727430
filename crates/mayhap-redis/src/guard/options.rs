//! The times and the failure mode of a guard.

use std::time::Duration;

/// The behaviour of a guard while the filter or the cache does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// The next part answers: answers are correct, but an attack reaches the database.
    Open,
    /// The guard returns an error: the database is safe, but no request is served.
    Closed,
}

/// The times and the failure mode of a guard.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// How long the cache keeps a value; zero disables this.
    pub value_ttl: Duration,
    /// How long the cache keeps an absence, that is, that the loader has no value for a key that
    /// passed the filter, so that repeating a false positive does not reach the loader; zero
    /// disables this. A key created by another process may seem absent for this long.
    pub absent_ttl: Duration,
    /// The behaviour while the filter or the cache does not answer.
    pub failing: Failing,
    /// How long a call of the filter or of the cache may take.
    pub timeout: Duration,
    /// How long the circuit breaker of a filter or cache stays open after 8 consecutive failures;
    /// then one request tries it. Meanwhile the others behave as set by [`GuardOptions::failing`],
    /// at once. Zero: every request tries it.
    pub retry_after: Duration,
}

impl Default for GuardOptions {
    /// Values for 10 minutes, absences for 10 s, failing open, a timeout of 250 ms, and
    /// the next try after 1 s.
    fn default() -> Self {
        Self {
            value_ttl: Duration::from_secs(600),
            absent_ttl: Duration::from_secs(10),
            failing: Failing::Open,
            timeout: Duration::from_millis(250),
            retry_after: Duration::from_secs(1),
        }
    }
}
