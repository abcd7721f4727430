//! The server as a whole: its numbers, its clients, its slow requests.

use super::describe::now;
use super::failure::{Answer, Failure, json};
use super::state::State;
use axum::extract::State as From;
use mayhap_redis::{Error, Status};
use serde_json::{Value, json};

/// Rows of an answer.
const MAX_ROWS: usize = 1000;
/// Slow requests of each node.
const MAX_SLOW: u32 = 128;

/// The numbers of the server, or the reason why there are none.
pub(super) async fn numbers(state: &State) -> Value {
    let server = &state.server;
    let mut numbers = match server.status().await {
        Ok(status) => of_status(&status),
        // Of a server that only refuses to tell, the filters are known.
        Err(error) => json!({
            "problem": mayhap_sets::server::problem(server.name(), &error),
            "is_lost": matches!(error, Error::Unavailable { .. }),
        }),
    };
    numbers["at"] = now().into();
    numbers["filters"] = state.names.count().into();
    numbers["name"] = state.options.url.clone().into();
    let [create, sized] = state.options.words.create;
    numbers["create_command"] = format!("{create} {}/seen {sized}", state.options.url).into();
    numbers["read_only"] = (!state.options.may_add).into();
    numbers
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
            "saved_at": status.saved_at.map(|at| at.saturating_mul(1000)),
            "unsaved_changes": status.unsaved_changes,
        },
    })
}

/// `GET /ui/clients`
pub(super) async fn clients(From(state): From<State>) -> Answer {
    let clients = state.server.clients().await;
    let clients = clients.map_err(|error| Failure::of(state.server.name(), &error))?;
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
    let slow = state.server.slow_requests(MAX_SLOW).await;
    let slow = slow.map_err(|error| Failure::of(state.server.name(), &error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_and_units_that_the_page_knows() {
        let status = Status {
            version: "redis 7.0.15".into(),
            nodes: 1,
            uptime_seconds: 2,
            used_bytes: 3,
            max_bytes: Some(4),
            eviction: "noeviction".into(),
            clients: 5,
            commands: 6,
            keys: 7,
            evicted_keys: 8,
            has_log: true,
            is_saved: false,
            saved_at: Some(1_700_000_000),
            unsaved_changes: 9,
        };
        let expected = json!({
            "version": "redis 7.0.15", "nodes": 1, "uptime_seconds": 2, "num_bytes": 3,
            "max_bytes": 4, "connections": 5, "requests": 6, "keys": 7,
            "persistence": {
                "eviction": "noeviction", "evicted_keys": 8, "has_log": true, "is_saved": false,
                // Milliseconds, as JavaScript counts.
                "saved_at": 1_700_000_000_000u64, "unsaved_changes": 9,
            },
        });
        assert_eq!(of_status(&status), expected);
        assert_eq!(of_status(&Status { max_bytes: None, ..status })["max_bytes"], Value::Null);
    }
}
