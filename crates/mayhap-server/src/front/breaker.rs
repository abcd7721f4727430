//! Circuit breakers: while the store does not answer, requests fail at once instead of waiting.

use crate::lock::lock;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Requests in a row without an answer that open a circuit. A single one means little.
const MANY: u32 = 8;
/// While a circuit is open, one request in this time is sent.
const RETRY: Duration = Duration::from_secs(1);
/// The most circuits of a cluster; requests for other filters always wait for the store.
const MAX_CIRCUITS: usize = 10_000;

/// One circuit for a server, which answers for all filters or for none; one for each filter of a
/// cluster, whose other nodes may well answer.
#[derive(Debug)]
pub(super) struct Breakers {
    is_cluster: bool,
    /// Circuits with failures, by filter name; empty for a server.
    failing: Mutex<HashMap<Box<str>, Circuit>>,
}

#[derive(Debug)]
struct Circuit {
    /// The number of failures in a row.
    failures: u32,
    /// Until then nothing is sent, if there were [`MANY`] failures.
    open_until: Instant,
}

impl Breakers {
    pub(super) fn new(is_cluster: bool) -> Self {
        Self { is_cluster, failing: Mutex::default() }
    }

    fn key<'a>(&self, name: &'a str) -> &'a str {
        if self.is_cluster { name } else { "" }
    }

    /// Checks whether to send a request for this filter now.
    ///
    /// # Errors
    ///
    /// The number of requests in a row that had no answer.
    pub(super) fn check(&self, name: &str, now: Instant) -> Result<(), u32> {
        let mut failing = lock(&self.failing);
        let Some(circuit) = failing.get_mut(self.key(name)) else { return Ok(()) };
        if circuit.failures < MANY {
            return Ok(());
        }
        if now < circuit.open_until {
            return Err(circuit.failures);
        }
        // This one is the trial; the others fail until it has an answer.
        circuit.open_until = now + RETRY;
        Ok(())
    }

    /// Notes that requests for this filter had no answer.
    pub(super) fn note(&self, name: &str, requests: usize, now: Instant) {
        let mut failing = lock(&self.failing);
        let name = self.key(name);
        if !failing.contains_key(name) && failing.len() >= MAX_CIRCUITS {
            return;
        }
        let first = || Circuit { failures: 0, open_until: now };
        let circuit = failing.entry(name.into()).or_insert_with(first);
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        circuit.failures = circuit.failures.saturating_add(requests);
        circuit.open_until = now + RETRY;
    }

    /// Notes that a request for this filter was answered.
    pub(super) fn close(&self, name: &str) {
        lock(&self.failing).remove(self.key(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circuit_opens_after_failures_in_a_row_and_closes_with_an_answer() {
        let (breakers, start) = (Breakers::new(false), Instant::now());
        for _ in 0..MANY - 1 {
            breakers.note("f", 1, start);
        }
        // An answer between them.
        breakers.close("g");
        for _ in 0..MANY {
            assert_eq!(breakers.check("f", start), Ok(()));
            breakers.note("f", 1, start);
        }
        let soon = start + RETRY / 2;
        for name in ["f", "g"] {
            assert_eq!(breakers.check(name, soon), Err(MANY), "one server for all");
        }
        // One trial a second, and no more while it lasts.
        for second in 1..4 {
            let now = start + RETRY * second;
            assert_eq!(breakers.check("g", now), Ok(()));
            assert_eq!(breakers.check("f", now), Err(MANY + second - 1));
            breakers.note("g", 1, now);
            assert_eq!(breakers.check("f", now), Err(MANY + second));
        }
        breakers.close("g");
        assert_eq!(breakers.check("f", start), Ok(()));
    }

    #[test]
    fn filters_of_a_cluster_have_circuits_of_their_own() {
        let (breakers, now) = (Breakers::new(true), Instant::now());
        for _ in 0..MANY {
            breakers.note("f", 1, now);
        }
        assert_eq!(breakers.check("f", now), Err(MANY));
        assert_eq!(breakers.check("g", now), Ok(()));
        for i in 0..MAX_CIRCUITS {
            breakers.note(&i.to_string(), 1, now);
        }
        assert_eq!(lock(&breakers.failing).len(), MAX_CIRCUITS);
        assert_eq!(breakers.check("f", now), Err(MANY), "known before");
    }
}
