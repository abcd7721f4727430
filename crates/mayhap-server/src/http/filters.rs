//! What is done with filters: list, look, merge, delete.

use super::body::Json;
use super::name::Name;
use super::query::{Query, flag, number};
use super::{Failure, State, encode};
use crate::Turn;
use crate::clock::unix_ms;
use crate::config::Rights;
use crate::durable::{Log, Unwritten};
use crate::keyspace::{Entry, Info};
use axum::extract::{Extension, State as From};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Filters of one page of the list, unless the request has a lower limit.
const MAX_PAGE: usize = 1000;

pub(super) type Answer = Result<Response, Failure>;

/// Runs what may wait for a disk, or takes long, on a thread of its own.
pub(super) async fn blocking(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    let panicked = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
    tokio::task::spawn_blocking(work).await.map_err(panicked)?
}

/// # Errors
///
/// 403 if the user has not this right.
pub(super) fn need(has: bool, right: &str) -> Result<(), Failure> {
    if has {
        return Ok(());
    }
    Err(Failure::new(StatusCode::FORBIDDEN, format!("this user lacks the right to {right}")))
}

/// # Errors
///
/// 403 if the user has not this right, or not with this filter.
pub(super) fn need_on(has: bool, right: &str, rights: &Rights, name: &[u8]) -> Result<(), Failure> {
    need(has, right)?;
    if rights.covers(name) {
        return Ok(());
    }
    Err(Failure::new(StatusCode::FORBIDDEN, "this user may not use filters of this name"))
}

/// A value as JSON in a line.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Our types are plain numbers, texts and lists, which always serialise.
    let text = serde_json::to_string(value).unwrap_or_default() + "\n";
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

impl State {
    /// The filter of this name.
    ///
    /// # Errors
    ///
    /// 404.
    pub(super) fn filter(&self, name: &[u8]) -> Result<Arc<Entry>, Failure> {
        self.shared.keyspace.get(name, unix_ms()).ok_or_else(Failure::not_found)
    }

    /// What a request works with, as a turn of a loop has it.
    pub(super) fn turn(&self) -> Turn {
        let recorder = self.shared.log.as_ref().map(crate::durable::Log::recorder);
        Turn { recorder, now: unix_ms(), ..Turn::default() }
    }

    /// The same for a request that changes a filter, before it looks that up.
    ///
    /// # Errors
    ///
    /// As [`State::check_writable`].
    pub(super) fn writing_turn(&self) -> Result<Turn, Failure> {
        let mut turn = self.turn();
        if let Some(recorder) = &mut turn.recorder {
            recorder.begin();
        }
        self.check_writable()?;
        Ok(turn)
    }

    /// Ends what [`State::turn`] began: only then may be answered what depends on it.
    pub(super) fn end(&self, turn: &mut Turn) -> Result<(), Failure> {
        self.shared.metrics.http().take(&mut turn.counts);
        let Some(recorder) = &mut turn.recorder else { return Ok(()) };
        match recorder.commit() {
            Ok(None) => {}
            Ok(Some(ticket)) => recorder.log().wait(ticket)?,
            Err(Unwritten { why, until }) => {
                if let Some(number) = until {
                    recorder.log().wait_undone(number);
                }
                return Err(why.into());
            }
        }
        Ok(())
    }

    /// Waits until an operation that was carried out is as safe as the policy promises.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        let Some(log) = &self.shared.log else { return Ok(()) };
        log.last_operation().map_or(Ok(()), |ticket| Ok(log.wait(ticket)?))
    }

    /// # Errors
    ///
    /// 503 if nothing can be written now.
    pub(super) fn check_writable(&self) -> Result<(), Failure> {
        match &self.shared.log {
            Some(log) => Ok(log.check_writable()?),
            None => Ok(()),
        }
    }
}

/// A name as JSON has it: text, or base64 if it is none; and as it stands in a path.
#[derive(Serialize)]
struct Named {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
    path: String,
}

impl Named {
    fn new(name: &[u8]) -> Self {
        use base64::Engine;
        let text = std::str::from_utf8(name).ok().map(str::to_owned);
        let base64 = || base64::engine::general_purpose::STANDARD.encode(name);
        let name_base64 = text.is_none().then(base64);
        Self { name: text, name_base64, path: format!("/v1/filters/{}", encode(name)) }
    }
}

#[derive(Serialize)]
pub(super) struct Described {
    #[serde(flatten)]
    named: Named,
    kind: &'static str,
    keyed: bool,
    digest: Option<String>,
    capacity: u64,
    items: u64,
    distinct_items: u64,
    items_checked: u64,
    num_bytes: u64,
    layers: u64,
    expansion: Option<u32>,
    target_fpp: f64,
    expected_fpp: f64,
    read_only: bool,
    over_capacity: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten_early: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clears: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_jumps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_fpp: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill_alarm: Option<bool>,
    expires_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// What the list has of a filter.
pub(super) fn describe(name: &[u8], entry: &Entry) -> Described {
    let info = entry.info();
    let Info { capacity, num_bytes, layers, items, distinct_items, .. } = info;
    let Info { expansion, target_fpp, expected_fpp, kind, keyed, read_only, .. } = info;
    let Info { over_capacity, forgotten_early, clears, clock_jumps, .. } = info;
    let expires_at = Some(entry.expires_at()).filter(|&at| at != 0);
    Described {
        named: Named::new(name),
        kind,
        keyed,
        digest: entry.digest_name(),
        capacity,
        items,
        distinct_items,
        items_checked: entry.items_checked(),
        num_bytes,
        layers,
        expansion,
        target_fpp,
        expected_fpp,
        read_only,
        over_capacity,
        forgotten_early,
        clears,
        clock_jumps: clock_jumps.map(|jumps| jumps.count),
        fill_ratio: None,
        estimated_fpp: None,
        fill_alarm: None,
        expires_at,
        problem: entry.file_problem().map(|problem| problem.to_string()),
    }
}

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
    blocking(move || {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, MAX_PAGE);
        let pattern = page.pattern.as_deref().map(str::as_bytes);
        let keyspace = &state.shared.keyspace;
        let found = keyspace.scan(cursor, limit, pattern, unix_ms())?;
        let names = found.names.iter().filter(|name| rights.covers(name));
        // One that was removed meanwhile is left out.
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
pub(super) async fn info(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Query(look): Query<Look>,
) -> Answer {
    need_on(rights.read, "read", &rights, &name)?;
    let measures = flag("measure", look.measure.as_deref())?;
    blocking(move || {
        let entry = state.filter(&name)?;
        let mut described = describe(&name, &entry);
        if measures {
            let measured = entry.measure();
            entry.check_file()?;
            described.fill_ratio = Some(measured.fill_ratio);
            described.estimated_fpp = Some(measured.estimated_fpp);
            described.fill_alarm = measured.fill_alarm;
        }
        Ok(json(StatusCode::OK, &described))
    })
    .await
}

/// The answer that a filter was made, once that is safe.
pub(super) fn created(state: &State, name: &[u8], entry: &Entry) -> Answer {
    state.settle()?;
    Ok(json(StatusCode::CREATED, &describe(name, entry)))
}

/// `DELETE /v1/filters/{name}`
pub(super) async fn delete(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    blocking(move || {
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
pub(super) async fn merge(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: merge, charge }: Json<Merge>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    for from in &merge.from {
        need_on(rights.read, "read", &rights, from.as_bytes())?;
    }
    blocking(move || {
        let _charge = charge;
        state.check_writable()?;
        let from: Vec<Arc<Entry>> = merge
            .from
            .iter()
            .map(|from| state.filter(from.as_bytes()))
            .collect::<Result<_, _>>()?;
        let log = state.shared.log.as_deref();
        let entry = state.shared.keyspace.merge(&name, &from, unix_ms(), log)?;
        created(&state, &name, &entry)
    })
    .await
}
