//! The identity of a filter on a server: server, name and digest function, and the generation that
//! it assumes.

use super::generation::Generation;
use super::meta::State;
use super::place::Target;
use super::wire::read_meta;
use crate::{Error, Loss, Server};
use mayhap::DigestFunction;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The state shared by all clones of a [`super::NativeFilter`].
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) server: Server,
    pub(super) name: String,
    pub(super) digest_function: DigestFunction,
    current: RwLock<Arc<Current>>,
}

/// The generation that a handle assumes.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) made: Generation,
    /// Whether it is meant to replace the filter of this name, and has not done so yet.
    pub(super) is_next: bool,
}

impl Handle {
    pub(super) fn new(
        server: &Server,
        place: Target<'_>,
        digest_function: DigestFunction,
        made: Generation,
    ) -> Self {
        let current = RwLock::new(Arc::new(Current { made, is_next: place.is_next }));
        Self { server: server.clone(), name: place.name.into(), digest_function, current }
    }

    pub(super) fn current(&self) -> Arc<Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Continues with another generation.
    pub(super) fn switch(&self, made: Generation, is_next: bool) {
        let current = Arc::new(Current { made, is_next });
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// Where the parameters of a generation are.
    pub(super) fn place_of(&self, current: &Current) -> Target<'_> {
        Target { name: &self.name, is_next: current.is_next }
    }

    /// Where the parameters are now.
    pub(super) fn place(&self) -> Target<'_> {
        self.place_of(&self.current())
    }

    pub(super) fn gone(&self, loss: Loss) -> Error {
        Error::Gone { name: self.name.clone(), loss: loss.into() }
    }

    pub(super) fn switched(&self) -> Error {
        Error::Switched { name: self.name.clone() }
    }

    /// The time that a call may take.
    pub(super) fn until_switched(&self) -> Until<'_> {
        self.until(self.server.deadline())
    }

    /// The end of a call that waits for switches.
    pub(super) fn until(&self, at: Instant) -> Until<'_> {
        Until { at, name: &self.name, what: "switches" }
    }

    /// The current filter, after switches.
    pub(super) async fn fresh(&self) -> Result<Generation, Error> {
        match read_meta(&self.server, self.place()).await?.0 {
            Some(meta) if meta.state == State::Ready => Ok(Generation::new(meta, &self.name)),
            _ => Err(self.gone(Loss::ExpiredOrDeleted)),
        }
    }
}

/// The end of a call that waits for other clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until<'a> {
    at: Instant,
    name: &'a str,
    what: &'static str,
}

impl<'a> Until<'a> {
    /// The deadline of a call that begins now; `what` other clients do meanwhile.
    pub(super) fn new(server: &Server, name: &'a str, what: &'static str) -> Self {
        Self { at: server.deadline(), name, what }
    }

    pub(super) fn at(&self) -> Instant {
        self.at
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.at
    }

    /// The error of a call that waited in vain.
    pub(super) fn busy(&self) -> Error {
        Error::Busy { name: self.name.into(), what: self.what }
    }

    /// Waits for the next attempt; [`Error::Busy`] if there is no time left.
    pub(super) async fn pause(&self, time: Duration) -> Result<(), Error> {
        if self.is_over() {
            return Err(self.busy());
        }
        tokio::time::sleep(time).await;
        Ok(())
    }
}
