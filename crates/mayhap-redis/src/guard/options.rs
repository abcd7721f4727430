//! How long a guard remembers and waits.

use std::time::Duration;

/// What a guard does while the filter or the cache gives no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// It asks the next one: right answers, and an attack reaches the database.
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
    /// so that one false positive cannot be asked for again and again; zero: not at all. For as
    /// long a key that another process creates may seem absent.
    pub absent_ttl: Duration,
    /// What happens while the filter or the cache gives no answer.
    pub failing: Failing,
    /// How long an answer of the filter or of the cache is waited for.
    pub patience: Duration,
    /// After 8 failures in a row a filter or cache is left alone for this long, and then tried by
    /// one request; the others meanwhile do as [`GuardOptions::failing`] says at once. Zero: it is
    /// tried by every request.
    pub rest: Duration,
}

impl Default for GuardOptions {
    /// Values for 10 minutes, absences for 10 s, failing open, 250 ms of patience, 1 s of rest.
    fn default() -> Self {
        Self {
            value_ttl: Duration::from_secs(600),
            absent_ttl: Duration::from_secs(10),
            failing: Failing::Open,
            patience: Duration::from_millis(250),
            rest: Duration::from_secs(1),
        }
    }
}
