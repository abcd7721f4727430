//! What concerns the server as a whole: its numbers, its clients, its slow requests.

use super::State;
use super::describe::now;
use super::failure::Failure;
use super::filters::{Answer, json};
use axum::extract::State as From;
use mayhap_redis::Status;
use serde_json::{Value, json};

/// Rows of an answer.
const MAX_ROWS: usize = 1000;
/// Slow requests of each node.
const MAX_SLOW: u32 = 128;

impl State {
    /// The numbers of the server, or why there are none.
    pub(super) async fn numbers_of_server(&self) -> Value {
        let mut numbers = match self.0.server.status().await {
            Ok(status) => of_status(&status),
            Err(error) => {
                json!({ "problem": mayhap_remote::problem(self.0.server.name(), &error).0 })
            }
        };
        numbers["at"] = now().into();
        numbers["filters"] = self.0.names.count().into();
        numbers["name"] = self.0.options.url.clone().into();
        numbers["read_only"] = (!self.0.options.may_add).into();
        numbers
    }

    fn failed(&self, error: &mayhap_redis::Error) -> Failure {
        Failure::of(self.0.server.name(), error)
    }
}

fn of_status(status: &Status) -> Value {
    json!({
        "version": status.version,
        "nodes": status.nodes,
        "uptime_seconds": status.uptime_seconds,
        "num_bytes": status.used_bytes,
        "max_bytes": status.max_bytes,
        "connections": status.clients,
        "requests": status.commands,
        "keys": status.keys,
        "persistence": {
            "eviction": status.eviction,
            "evicted_keys": status.evicted_keys,
            "has_log": status.has_log,
            "is_saved": status.is_saved,
            "saved_at": status.saved_at.saturating_mul(1000),
            "unsaved_changes": status.unsaved_changes,
        },
    })
}

/// `GET /ui/clients`
pub(super) async fn clients(From(state): From<State>) -> Answer {
    let clients = state.0.server.clients().await.map_err(|error| state.failed(&error))?;
    let rows = clients.into_iter().take(MAX_ROWS).map(|client| {
        json!({
            "id": client.id,
            "address": client.address,
            "name": client.name,
            "user": client.user,
            "connected_ms": client.connected_seconds.saturating_mul(1000),
            "idle_ms": client.idle_seconds.saturating_mul(1000),
            "request": client.last_command,
            "num_bytes": client.num_bytes,
        })
    });
    Ok(json(&rows.collect()))
}

/// `GET /ui/slow`
pub(super) async fn slow(From(state): From<State>) -> Answer {
    let slow = state.0.server.slow_requests(MAX_SLOW).await;
    let slow = slow.map_err(|error| state.failed(&error))?;
    let rows = slow.into_iter().take(MAX_ROWS).map(|slow| {
        json!({
            "id": slow.id,
            "at_ms": slow.at.saturating_mul(1000),
            "took_ms": slow.took_us as f64 / 1000.0,
            "request": slow.request,
            "address": slow.address,
            "client": slow.client,
        })
    });
    Ok(json(&rows.collect()))
}
