//! Operations on filters: list, describe, merge, delete.

use super::body::Json;
use super::describe::{Described, created, describe};
use super::handler::{Answer, blocking, json, need, need_on};
use super::query::{Query, flag, number};
use super::target::{Target, changing, reading};
use super::{Failure, State, in_store};
use crate::config::Rights;
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::Entry;
use mayhap_engine::unix_ms;
use serde::Deserialize;
use std::sync::Arc;

/// The most filters of one page of the list; a request may have a lower limit.
const MAX_PAGE: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    cursor: Option<String>,
    limit: Option<String>,
    #[serde(rename = "match")]
    pattern: Option<String>,
}

/// `GET /v1/filters?cursor=0&limit=100&match=shop:*`
pub(super) async fn list(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Query(page): Query<Page>,
) -> Answer {
    need(rights.read, "read")?;
    let cursor = number("cursor", page.cursor.as_deref())?.unwrap_or(0);
    let limit: u64 = number("limit", page.limit.as_deref())?.unwrap_or(100);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, MAX_PAGE);
    if let Some(front) = state.shared.front() {
        return in_store::list(front, rights, (cursor, limit, page.pattern)).await;
    }
    blocking(move || {
        let pattern = page.pattern.as_deref().map(str::as_bytes);
        let keyspace = &state.shared.keyspace;
        let found = keyspace.scan(cursor, limit, pattern, unix_ms())?;
        let names = found.names.iter().filter(|name| rights.covers(name));
        // A filter that was removed meanwhile is left out.
        let filters: Vec<Described> = names
            .filter_map(|name| Some(describe(name, &*keyspace.get(name, unix_ms())?)))
            .collect();
        let next = (found.cursor != 0).then_some(found.cursor);
        let page = serde_json::json!({ "filters": filters, "next": next });
        Ok(json(StatusCode::OK, &page))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Look {
    measure: Option<String>,
}

/// `GET /v1/filters/{name}?measure=true`
pub(super) async fn info(target: Target, Query(look): Query<Look>) -> Answer {
    let measures = flag("measure", look.measure.as_deref());
    if let Some(front) = target.front() {
        return in_store::info(front, target, measures?).await;
    }
    reading(target, move |Target { state, name, .. }| {
        let measures = measures?;
        let entry = state.filter(&name)?;
        let described = describe(&name, &entry).saving(entry.saving());
        let measured = measures.then(|| entry.measure());
        if measures {
            entry.check_file()?;
        }
        let described = described.measured(measured);
        Ok(json(StatusCode::OK, &described))
    })
    .await
}

/// `DELETE /v1/filters/{name}`
pub(super) async fn delete(target: Target) -> Answer {
    if let Some(front) = target.front() {
        return in_store::delete(front, target).await;
    }
    changing(target, |Target { state, name, .. }| {
        let log = state.shared.log.as_deref();
        log.map_or(Ok(()), Log::check_deletable)?;
        if !state.shared.keyspace.remove(&name, unix_ms(), log)? {
            return Err(Failure::not_found());
        }
        state.settle()?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Merge {
    from: Vec<String>,
}

/// `POST /v1/filters/{name}/merge`
pub(super) async fn merge(target: Target, Json { value: merge, charge }: Json<Merge>) -> Answer {
    changing(target, move |Target { state, name, rights, .. }| {
        let _charge = charge;
        for from in &merge.from {
            need_on(rights.read, "read", &rights, from.as_bytes())?;
        }
        state.check_writable()?;
        let from: Vec<Arc<Entry>> = merge
            .from
            .iter()
            .map(|from| state.filter(from.as_bytes()))
            .collect::<Result<_, _>>()?;
        let log = state.shared.log.as_deref();
        let entry = state.shared.keyspace.merge(&name, &from, 0, unix_ms(), log)?;
        created(&state, &name, &entry)
    })
    .await
}
