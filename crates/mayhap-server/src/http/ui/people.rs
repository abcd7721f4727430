//! Clients and slow requests, for administrators, as in `CLIENT LIST` and `SLOWLOG`.

use super::super::handler::{json as answer, need};
use super::super::{Failure, State};
use crate::config::Rights;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use axum::response::Response;
use mayhap_engine::unix_ms;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The most rows of an answer.
const MAX_ROWS: usize = 1000;

/// `GET /ui/clients`
pub(super) async fn clients(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
) -> Result<Response, Failure> {
    need(rights.admin, "admin")?;
    let now = unix_ms();
    let rows = state.shared.clients.list().into_iter().take(MAX_ROWS).map(|client| {
        let info = client.info();
        json!({
            "id": client.id,
            "address": address(client.address),
            "name": String::from_utf8_lossy(&info.name),
            "user": info.user,
            "connected_ms": now.saturating_sub(client.since),
            "idle_ms": now.saturating_sub(client.active()),
            "requests": client.requests(),
            "num_bytes": client.buffered_bytes(),
        })
    });
    Ok(answer(StatusCode::OK, &rows.collect::<Vec<Value>>()))
}

/// `GET /ui/slow`
pub(super) async fn slow(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
) -> Result<Response, Failure> {
    need(rights.admin, "admin")?;
    let rows = state.shared.slow_log.newest(MAX_ROWS).into_iter().map(|slow| {
        let words: Vec<_> = slow.words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        json!({
            "id": slow.id,
            "at_ms": slow.at * 1000,
            "took_ms": slow.took.as_secs_f64() * 1000.0,
            "request": words.join(" "),
            "address": address(slow.address),
            "client": String::from_utf8_lossy(&slow.client),
        })
    });
    Ok(answer(StatusCode::OK, &rows.collect::<Vec<Value>>()))
}

fn address(address: Option<SocketAddr>) -> String {
    address.map_or_else(|| "unix".into(), |address| address.to_string())
}
