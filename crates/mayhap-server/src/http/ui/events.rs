//! Statistics of the server and of the filters on the screen, once a second, as server-sent
//! events.

use super::super::describe::describe;
use super::super::handler::need;
use super::super::query::Query;
use super::super::target::decode;
use super::super::{Failure, State};
use super::in_store;
use crate::config::Rights;
use crate::metrics::Counter;
use axum::extract::{Extension, State as From};
use axum::response::Response;
use mayhap_dashboard::events::{EventsQuery, Numbers, stream};
use mayhap_engine::unix_ms;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;

/// `GET /ui/events?filters=a,b`
///
/// The stream ends when the server stops and when the users have changed. The connection counts as
/// idle: it makes room for others. The browser reconnects.
pub(super) async fn events(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Extension(mut stopped): Extension<watch::Receiver<bool>>,
    Query(wanted): Query<EventsQuery>,
) -> Result<Response, Failure> {
    need(rights.read, "read")?;
    let limit = state.shared.config().max_name_bytes;
    let names = wanted.names().map_err(|error| Failure::bad(error.to_string()))?.into_iter();
    let names = names.map(|name| decode(name, limit));
    let names: Arc<[Vec<u8>]> = names.collect::<Result<_, Failure>>()?;
    let users_version = state.shared.users_version();
    let next = move || -> Numbers<Value> {
        let (state, rights, names) = (state.clone(), rights.clone(), names.clone());
        Box::pin(async move {
            if state.shared.users_version() != users_version {
                return None;
            }
            if let Some(front) = state.shared.front() {
                return in_store::numbers(&state, front, &rights, &names).await;
            }
            // Not on the thread of all connections: a filter may be busy.
            let numbers = move || {
                let filters = described(&state, &rights, &names);
                json!({ "server": server(&state), "filters": filters })
            };
            tokio::task::spawn_blocking(numbers).await.ok()
        })
    };
    let end = async move {
        let _ = stopped.changed().await;
    };
    Ok(stream(wanted.events, next, end))
}

/// The named filters that exist and that the user may read.
fn described(state: &State, rights: &Rights, names: &[Vec<u8>]) -> Vec<Value> {
    let covered = names.iter().filter(|name| rights.covers(name));
    let found = covered.filter_map(|name| {
        let entry = state.shared.keyspace.get(name, unix_ms())?;
        serde_json::to_value(describe(name, &entry)).ok()
    });
    found.collect()
}

/// A few numbers of the metrics page about the whole server.
fn server(state: &State) -> Value {
    let shared = &state.shared;
    let keyspace = &shared.keyspace;
    let log = shared.log.as_ref().map(|log| {
        let stats = log.stats();
        json!({
            "policy": stats.policy.name(),
            "writable": stats.writable,
            "log_bytes": stats.log_bytes,
            "image_bytes": stats.image_bytes,
            "unsynced_frames": stats.unsynced_frames,
            "unsynced_ms": stats.unsynced_ms,
            "changed_filters": stats.changed_filters,
            "checkpoint_running": stats.checkpoint_running,
            "checkpoint_at": stats.checkpoint_at,
            "checkpoint_failed": stats.checkpoint_error.is_some(),
        })
    });
    let mut numbers = of_clients(state);
    numbers["filters"] = keyspace.len().into();
    numbers["num_bytes"] = keyspace.used_bytes().into();
    numbers["max_bytes"] = shared.config().max_memory.into();
    numbers["log"] = log.into();
    numbers
}

/// Those that do not depend on where the filters are.
pub(super) fn of_clients(state: &State) -> Value {
    let shared = &state.shared;
    let metrics = &shared.metrics;
    let found = metrics.total(Counter::ItemsFound);
    json!({
        "at": unix_ms(),
        "uptime_seconds": metrics.uptime().as_secs(),
        "connections": shared.clients.connected(),
        "requests": shared.clients.requests() + metrics.total(Counter::HttpRequests),
        "items_checked": found + metrics.total(Counter::ItemsAbsent),
        "items_found": found,
        "items_added": metrics.total(Counter::ItemsAdded),
    })
}
