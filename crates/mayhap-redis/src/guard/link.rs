//! Asking a server that may be dead without making everybody wait for it.

use super::error::{Shared, Silent};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Failures in a row after which a server is left alone. A single slow answer says little.
const MANY: u32 = 8;

/// The way to a filter or a cache.
#[derive(Debug)]
pub(super) struct Link {
    patience: Duration,
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    /// Until when nobody asks, and what failed last.
    resting: Option<(Instant, Shared)>,
}

impl Link {
    pub(super) fn new(patience: Duration, rest: Duration) -> Self {
        Self { patience, rest, state: Mutex::default() }
    }

    /// Awaits an answer for as long as patience lasts, or none while the server rests.
    pub(super) async fn ask<T, E: Into<Shared>>(
        &self,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Shared> {
        self.may_ask()?;
        let error: Shared = match timeout(self.patience, answer).await {
            Ok(Ok(value)) => {
                *self.state() = State::default();
                return Ok(value);
            }
            Ok(Err(error)) => error.into(),
            Err(_) => Silent(self.patience).into(),
        };
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MANY {
            state.resting = Some((Instant::now() + self.rest, error.clone()));
        }
        Err(error)
    }

    /// Whether to ask now. After a rest one request goes first; the others wait for its luck.
    fn may_ask(&self) -> Result<(), Shared> {
        if let Some((until, error)) = &mut self.state().resting {
            let now = Instant::now();
            if now < *until {
                return Err(error.clone());
            }
            *until = now + self.rest;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Silent> for Shared {
    fn from(error: Silent) -> Self {
        std::sync::Arc::new(error)
    }
}
