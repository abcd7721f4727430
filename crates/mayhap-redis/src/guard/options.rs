//! How long a guard remembers and waits.

use std::time::Duration;

/// What a guard does while the filter or the cache gives no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// The next one answers: right answers, and an attack reaches the database.
    Open,
    /// It answers with an error: the database is safe, and nobody is served.
    Closed,
}

/// How long a guard remembers and waits.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// How long the cache keeps a value; zero: not at all.
    pub value_ttl: Duration,
    /// How long the cache keeps that the loader has nothing for a key which the filter lets pass,
    /// so that one false positive cannot reach the loader again and again; zero: not at all. For as
    /// long a key that another process creates may seem absent.
    pub absent_ttl: Duration,
    /// What happens while the filter or the cache gives no answer.
    pub failing: Failing,
    /// How long a call of the filter or of the cache may take.
    pub timeout: Duration,
    /// How long the circuit breaker of a filter or cache stays open after 8 failures in a row; one
    /// request then tries it. The others meanwhile do as [`GuardOptions::failing`] says, at once.
    /// Zero: every request tries it.
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
