//! The server as a whole: its numbers, its clients, its slow requests.

use super::failure::{Answer, Failure, json};
use super::state::State;
use crate::store::{self, now};
use axum::extract::State as From;
use mayhap_redis::Error;
use serde_json::{Value, json};

/// Rows of an answer.
const MAX_ROWS: usize = 1000;
/// Slow requests of each node.
const MAX_SLOW: u32 = 128;

/// The numbers of the server, or the reason why there are none.
pub(super) async fn numbers(state: &State) -> Value {
    let server = &state.server;
    let mut numbers = match server.status().await {
        Ok(status) => store::server(&status),
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
