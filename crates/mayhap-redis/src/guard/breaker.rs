//! A circuit breaker: calls to a server that may be dead, without all callers waiting for it.

use super::error::{Shared, TimedOut};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{self, Instant};

/// The number of consecutive failures that opens the circuit. A single slow answer means little.
const MANY: u32 = 8;

/// Calls to a filter or a cache. Closed at first; open after [`MANY`] consecutive failures, and
/// then half-open every `retry_after`, for one trial call.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    timeout: Duration,
    retry_after: Duration,
    state: Mutex<Circuit>,
}

#[derive(Debug, Default)]
struct Circuit {
    /// In a row.
    failures: u32,
    /// The end of the open time, and the last failure.
    open: Option<(Instant, Shared)>,
}

impl CircuitBreaker {
    pub(super) fn new(timeout: Duration, retry_after: Duration) -> Self {
        Self { timeout, retry_after, state: Mutex::default() }
    }

    /// Awaits an answer until the timeout; fails at once while the circuit is open.
    pub(super) async fn call<T, E: Into<Shared>>(
        &self,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Shared> {
        self.check_closed()?;
        let error: Shared = match time::timeout(self.timeout, answer).await {
            Ok(Ok(value)) => {
                *self.state() = Circuit::default();
                return Ok(value);
            }
            Ok(Err(error)) => error.into(),
            Err(_) => TimedOut(self.timeout).into(),
        };
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MANY {
            state.open = Some((Instant::now() + self.retry_after, error.clone()));
        }
        Err(error)
    }

    /// Checks whether to call now. When the open time ends, one trial call is allowed; the others
    /// fail until it has succeeded.
    fn check_closed(&self) -> Result<(), Shared> {
        if let Some((until, error)) = &mut self.state().open {
            let now = Instant::now();
            if now < *until {
                return Err(error.clone());
            }
            *until = now + self.retry_after;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, Circuit> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<TimedOut> for Shared {
    fn from(error: TimedOut) -> Self {
        std::sync::Arc::new(error)
    }
}
