//! State that all handlers share.

use super::attached::Attached;
use super::names::Names;
use super::options::Options;
use crate::history::History;
use mayhap_redis::Server;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The shared state, as each handler gets it.
pub(super) type State = Arc<Shared>;

/// State that all handlers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) options: Options,
    pub(super) names: Names,
    /// The last hour of the filters that pages have shown.
    pub(super) history: History,
    attached: Mutex<HashMap<String, Attached>>,
}

impl Shared {
    /// Begins to list the filters of the server.
    pub(super) fn new(server: Server, options: Options) -> State {
        let (names, attached) = (Names::watch(server.clone()), Mutex::default());
        Arc::new(Self { server, options, names, history: History::default(), attached })
    }

    /// Filters that were looked up before, by name.
    pub(super) fn attached(&self) -> MutexGuard<'_, HashMap<String, Attached>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
